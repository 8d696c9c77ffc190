/* The command lines of command_lines.def, in its order. */
#ifndef COMMAND_LINES_H
#define COMMAND_LINES_H

static const char *const fuzz_command_line[] = {
#define LINE(words) words,
#include "command_lines.def"
#undef LINE
};
#define FUZZ_COMMAND_LINES ((unsigned)(sizeof fuzz_command_line / sizeof *fuzz_command_line))

#endif
