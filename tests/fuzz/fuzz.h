/*
 * Shared by fuzz targets, mutators and drivers. A target is a file fuzz_NAME.c that defines
 * LLVMFuzzerTestOneInput and fuzz_name, and a row in mutate.c. The same objects are linked with
 * libFuzzer, with AFL++ (whose mutator is a shared object) or with driver.c.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file name of a target, without "fuzz_". */
extern const char fuzz_name[];
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* ---- mutate.c: one row for each target ---- */

struct fuzz_target {
	const char *name;
	unsigned choices; /* the first byte of an input selects one; 0: inputs have no such byte */
	/*
	 * Changes an input in place and returns its new length, at most `room`. The choosing byte
	 * is not part of `data`. 0: the bytes do not have the form that this mutator needs.
	 */
	size_t (*mutate)(uint8_t *data, size_t bytes, size_t room);
	/* Copies parts of `other` into `data`; NULL: the target has no such mutator. */
	size_t (*cross)(uint8_t *data, size_t bytes, size_t room, const uint8_t *other,
			size_t other_bytes);
};
const struct fuzz_target *fuzz_target_get(const char *name);

/* One mutation of a whole input, with the choosing byte. Falls back to mutating bytes. */
size_t fuzz_mutate(const struct fuzz_target *target, uint8_t *data, size_t bytes, size_t room);
size_t fuzz_cross(const struct fuzz_target *target, uint8_t *data, size_t bytes, size_t room,
		  const uint8_t *other, size_t other_bytes);
size_t fuzz_mutate_bytes(uint8_t *data, size_t bytes, size_t room);

/* ---- random.c: one fixed sequence for each seed ---- */

void fuzz_random_begin(uint64_t seed);
uint64_t fuzz_random(void);
/* 0 to limit - 1; 0 where limit is 0. */
size_t fuzz_below(size_t limit);
/* A number near `old`, at the edge of a type, or small. */
uint64_t fuzz_number(uint64_t old);
/* A text that a terminal, a page or a parser could interpret. */
const char *fuzz_text(void);

/* ---- mutators ---- */

size_t fuzz_mutate_recording(uint8_t *data, size_t bytes, size_t room);
size_t fuzz_cross_recording(uint8_t *data, size_t bytes, size_t room, const uint8_t *other,
			    size_t other_bytes);
size_t fuzz_mutate_elf(uint8_t *data, size_t bytes, size_t room);
size_t fuzz_mutate_json(uint8_t *data, size_t bytes, size_t room);
size_t fuzz_mutate_ring(uint8_t *data, size_t bytes, size_t room);

#define FUZZ_BASELINE_CHOICES 3u
#define FUZZ_RING_CHOICES 6u

/* ---- place.c: a target's files, and the limits of a run ---- */

/*
 * A folder of this process, made at the first call and removed at exit. A failure ends the process.
 */
const char *fuzz_place(void);
/* Writes `bytes` to `name` in the folder and returns its path, valid until the next call. */
const char *fuzz_put(const char *name, const uint8_t *data, size_t bytes);
/*
 * Between these two calls a run has limits for an input of `bytes`: 6 s + 3 s a MiB of CPU time,
 * and 256 MiB + 20 bytes a byte of memory. A run that exceeds them aborts with a line that names
 * `what`. AddressSanitizer changes both figures, so with it only the 10 s and 1 GiB of the driver
 * apply.
 */
void fuzz_limit_begin(void);
void fuzz_limit_end(size_t bytes, const char *what);

#endif
