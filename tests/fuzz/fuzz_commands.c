/*
 * Every command that reads recordings, in this process: the first byte chooses a line of
 * command_lines.def, the rest is the recording. What the commands print goes to /dev/null.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/command.h"
#include "command_lines.h"
#include "fuzz.h"

const char fuzz_name[] = "commands";

#define WORDS 24

static int run(int argc, char **argv)
{
	for (const struct gp_command *const *c = gp_commands; *c; c++)
		if (strcmp((*c)->name, argv[0]) == 0)
			return (*c)->run(argc, argv);
	fprintf(stderr, "fuzz: no command '%s'\n", argv[0]);
	abort();
}

/* glibc lets a program put another stream in the place of stderr and stdout. */
static void run_quietly(int argc, char **argv)
{
	static FILE *quiet;
	FILE *out = stdout, *err = stderr;
	if (!quiet)
		quiet = fopen("/dev/null", "we");
	if (!quiet)
		abort();
	if (!getenv("FUZZ_SHOW"))
		stdout = stderr = quiet;
	int status = run(argc, argv);
	fflush(quiet);
	stdout = out;
	stderr = err;
	if (status < GP_EXIT_OK || status > GP_EXIT_INTERNAL)
		abort();
}

/* `line` is cut into words in place. */
static int split(char *line, char *recording, char *new_file, char **argv)
{
	int argc = 0;
	char *rest = line;
	for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS - 1;) {
		if (strcmp(word, "@") == 0)
			word = recording;
		else if (word[0] == '#')
			word = strcat(new_file, word + 1);
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char line[256], recording[PATH_MAX], new_file[PATH_MAX], *argv[WORDS];
	if (bytes < 2)
		return 0;
	const char *words = fuzz_command_line[data[0] % FUZZ_COMMAND_LINES];
	snprintf(line, sizeof line, "%s", words);
	snprintf(new_file, PATH_MAX / 2, "%s/new", fuzz_place());
	snprintf(recording, sizeof recording, "%s", fuzz_put("a.gpr", data + 1, bytes - 1));
	int argc = split(line, recording, new_file, argv);
	fuzz_limit_begin();
	run_quietly(argc, argv);
	fuzz_limit_end(bytes - 1, words);
	unlink(new_file);
	return 0;
}
