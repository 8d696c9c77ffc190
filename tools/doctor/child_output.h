/* Runs a program to hear what it says: stdout only, with a limit of time. Prints nothing itself. */
#ifndef GP_CHILD_OUTPUT_H
#define GP_CHILD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "../run/launch.h"

struct gp_captured {
	bool is_started, is_late; /* late: it was ended because its time was over */
	int exit_status;	  /* -1: ended by a signal, or not started */
	char text[8192];	  /* what fits of its stdout */
};

/* A setting whose value is NULL removes the variable. */
void gp_capture(char **argv, const struct gp_setting *settings, size_t count, unsigned limit_ms,
		struct gp_captured *out);

/* The value of the line "key value" in `text`. False: no such line. */
bool gp_captured_value(const char *text, const char *key, char *out, size_t capacity);

#endif
