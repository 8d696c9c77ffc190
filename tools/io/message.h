/*
 * What people read on stderr: `gpuprof: cannot open 'run.gpr': no such file`, `hint: ...`; and the
 * masking of text that comes from recordings, so that it cannot steer a terminal.
 */
#ifndef GP_MESSAGE_H
#define GP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprof.h"

/*
 * From now on asked before each message where it belongs, in the place of stderr: the screen knows
 * what has to be taken away first. *columns, 0 before: where messages are folded.
 */
void gp_message_prepare(FILE *(*function)(unsigned *columns));

void gp_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gp_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line that another program wrote as a message, without its newline. */
void gp_message_line(const char *line, size_t bytes);

/* Lower-case cause of an errno value; valid until the next call. */
const char *gp_cause(int error);

/* Exit status that a failed status means. */
int gp_exit_of(enum gp_status status);

/* Length of the well-formed UTF-8 sequence at `at`, and what it stands for; 0: there is none. */
size_t gp_code_point(const char *at, size_t bytes, uint32_t *code);
/*
 * The same of a sequence that shows as it is; 0: no such sequence, or a character that acts on
 * others without showing itself, such as a control character.
 */
size_t gp_printable(const char *at, size_t bytes);

/* Writes text with everything that is not printable as \xNN. */
void gp_mask(FILE *out, const char *text, size_t bytes);
/* Text within an element or attribute of XML: legal whatever it has; at most `most` characters. */
void gp_xml_put(FILE *out, const char *text, size_t most);
/* A line of its own for a text that a recording may have; NULL: none. */
void gp_mask_line(FILE *out, const char *text);

/* The candidate most like `word`; NULL when none is near enough to be meant. */
const char *gp_nearest(const char *word, const char *const *candidates, size_t count);

#endif
