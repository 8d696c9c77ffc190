/*
 * `gpuprof run --keep N`: removes older recordings of the same command, and no other files. The
 * name must match the output pattern on this host. The file must be a finished recording of the
 * same command, made on this host.
 */
#ifndef GP_RETENTION_H
#define GP_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A recording of the run that is ending. */
struct gp_made {
	char *path, *command;
};

/*
 * Keeps the new recordings, and the newest older ones up to `keep` in all. Writes the names of
 * those removed to `removed`, quoted, and returns their number.
 */
size_t gp_retain_newest(const char *pattern, uint64_t keep, const struct gp_made *made,
			size_t count, char *removed, size_t capacity);

#endif
