/*
 * Calls every row of the table, directly and through the looked-up function. Both calls have the
 * same words in all registers and stack slots that an argument can be in. The driver must have been
 * called once, with the same arguments; its result and its errno must come back. This driver fails
 * every call, so a test must not make further requests of it.
 */
#include "entry_probe.h"

#include <errno.h>

#include "echo_driver.h"

/* Every word points here: readable as any struct, all zero. */
static union {
	uint64_t align;
	unsigned char bytes[16][512];
} zeros;

static int call(echo_function *function)
{
	uint64_t w[16];
	for (size_t i = 0; i < 16; i++)
		w[i] = (uintptr_t)zeros.bytes[i];
	return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
			w[12], w[13], w[14], w[15]);
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	struct echo *echo = driver ? dlsym(driver, "echo") : NULL;
	const struct echo_row *rows = driver ? dlsym(driver, "echo_rows") : NULL;
	MUST(echo && rows, "not the echo driver");
	unsigned number = 0;
	for (const struct echo_row *row = rows; row->symbol; row++, number++) {
		echo_function *function;
		*(void **)&function = dlsym(driver, row->symbol);
		MUST(function, "%s", row->symbol);
		if (getenv("PROBE_OURS"))
			MUST(is_ours((void *)function), "%s", row->symbol);
		*echo = (struct echo){ 0 };
		MUST(call(row->function) == ECHO_RESULT, "%s", row->symbol);
		const struct echo bare = *echo;
		*echo = (struct echo){ 0 };
		errno = 0;
		int result = call(function), error = errno;
		MUST(result == ECHO_RESULT, "%s returned %d", row->symbol, result);
		MUST(error == ECHO_ERRNO, "%s left errno %d", row->symbol, error);
		MUST(echo->calls == 1, "%s: %u calls", row->symbol, echo->calls);
		MUST(strcmp(echo->last, row->symbol) == 0, "%s called %s", row->symbol, echo->last);
		MUST(echo->hash == bare.hash, "%s passed other arguments on", row->symbol);
	}
	printf("%u rows\n", number);
	return 0;
}
