/*
 * Messages on stderr: `gpuprof: cannot open 'run.gpr': no such file`, `hint: ...`. Also masks text
 * from recordings, so that it cannot control a terminal.
 */
#ifndef GP_MESSAGE_H
#define GP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprof.h"

/*
 * `function` returns the stream for the next message in place of stderr, after the screen has
 * removed a progress line. It sets *columns, initially 0, to the width for folding.
 */
void gp_message_prepare(FILE *(*function)(unsigned *columns));

void gp_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gp_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line that another program wrote as a message, without its newline. */
void gp_message_line(const char *line, size_t bytes);

/* Lower-case cause of an errno value; valid until the next call. */
const char *gp_cause(int error);

/* Exit status for a failed status. */
int gp_exit_of(enum gp_status status);

/* Length of the well-formed UTF-8 sequence at `at`, and its code point; 0: there is none. */
size_t gp_code_point(const char *at, size_t bytes, uint32_t *code);
/*
 * The same, only for visible sequences. 0: also for an invisible character that affects other text,
 * such as a control character.
 */
size_t gp_printable(const char *at, size_t bytes);

/* Writes text, with each unprintable byte as \xNN. */
void gp_mask(FILE *out, const char *text, size_t bytes);
/* Writes text for an element or attribute of XML: always legal, at most `most` characters. */
void gp_xml_put(FILE *out, const char *text, size_t most);
/* Writes a text of a recording on a line of its own; NULL: no line. */
void gp_mask_line(FILE *out, const char *text);

/* The candidate most like `word`; NULL: none is similar enough. */
const char *gp_nearest(const char *word, const char *const *candidates, size_t count);

#endif
