/* The failing driver's record of the last calls. */
#ifndef ECHO_DRIVER_H
#define ECHO_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define ECHO_RESULT 719 /* an error code without a meaning */
#define ECHO_ERRNO 4711

struct echo {
	const char *last;
	unsigned calls, others; /* calls of rows; calls that the recorder makes itself */
	uint64_t hash;
};

/* Enough words for the registers and the stack of any row: one row takes 64 bytes by value. */
typedef int echo_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			  uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			  uint64_t, uint64_t);

struct echo_row {
	const char *symbol;
	echo_function *function;
};

#endif
