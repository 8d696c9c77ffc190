/*
 * `gpuprof run --keep N`: removes older recordings of the same command. Promises to remove nothing
 * else: the name is one that the output pattern gives on this host, and the file says itself that
 * it is a finished recording of the same command, made on this host.
 */
#ifndef GP_RETENTION_H
#define GP_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A recording of the run that ends. */
struct gp_made {
	char *path, *command;
};

/*
 * Keeps what was made now and, of what is older, as many as are missing to `keep`. Writes the names
 * of those removed to `removed`, quoted, and returns their number.
 */
size_t gp_retain_newest(const char *pattern, uint64_t keep, const struct gp_made *made,
			size_t count, char *removed, size_t capacity);

#endif
