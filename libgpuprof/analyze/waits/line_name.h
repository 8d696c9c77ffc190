/* The line of code that reports name for a call with a stack: `waits` and its timers. */
#ifndef GP_LINE_NAME_H
#define GP_LINE_NAME_H

#include "../groups/group_key.h"

struct gp_line_name {
	char key[GP_KEY_MAX]; /* a text for people; in brackets why there is no line */
	const char *without;  /* why there is no line, a static text; NULL: there is one */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
};

/* `stack` 0: none was recorded. `buffer` is scratch. */
void gp_line_name(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		  struct gp_read_stack *buffer, struct gp_line_name *out);

#endif
