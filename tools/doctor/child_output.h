/*
 * Runs a program and captures its stdout, with a time limit. Prints no text of its own.
 */
#ifndef GP_CHILD_OUTPUT_H
#define GP_CHILD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "../run/launch.h"

struct gp_captured {
	bool is_started, is_late; /* late: killed at the time limit */
	int exit_status;	  /* -1: ended by a signal, or not started */
	char text[8192];	  /* start of its stdout, as far as it fits */
};

/* A setting whose value is NULL removes the variable. */
void gp_capture(char **argv, const struct gp_setting *settings, size_t count, unsigned limit_ms,
		struct gp_captured *out);

/* The value of the line "key value" in `text`. False: no such line. */
bool gp_captured_value(const char *text, const char *key, char *out, size_t capacity);

#endif
