/*
 * The row of each target, and mutation through the fuzzers' interfaces: libFuzzer by two functions
 * of its own, AFL++ by afl_custom_*, whose target FUZZ_TARGET names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_lines.h"
#include "fuzz.h"

static const struct fuzz_target targets[] = {
	{ "block", 0, NULL, NULL },
	{ "recording", 0, fuzz_mutate_recording, fuzz_cross_recording },
	{ "commands", FUZZ_COMMAND_LINES, fuzz_mutate_recording, fuzz_cross_recording },
	{ "symbols", 0, fuzz_mutate_elf, NULL },
	{ "baseline", FUZZ_BASELINE_CHOICES, fuzz_mutate_json, NULL },
	{ "rings", FUZZ_RING_CHOICES, fuzz_mutate_ring, NULL },
};

const struct fuzz_target *fuzz_target_get(const char *name)
{
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
		if (name && strcmp(targets[i].name, name) == 0)
			return &targets[i];
	fprintf(stderr, "fuzz: no target '%s' in mutate.c\n", name ? name : "");
	exit(2);
}

size_t fuzz_mutate_bytes(uint8_t *data, size_t bytes, size_t room)
{
	static const uint8_t edge[] = { 0, 1, 0x7f, 0x80, 0xff, 16, 64, 0xfe };
	for (size_t n = 1 + fuzz_below(8); n && bytes; n--) {
		size_t at = fuzz_below(bytes), some = 1 + fuzz_below(16);
		switch (fuzz_below(7)) {
		case 0:
			data[at] ^= (uint8_t)(1u << fuzz_below(8));
			break;
		case 1:
			data[at] = edge[fuzz_below(sizeof edge)];
			break;
		case 2:
			data[at] = (uint8_t)fuzz_random();
			break;
		case 3: /* a number of 8 bytes, or the first bytes of one */
			some = bytes - at < 8 ? bytes - at : 8;
			uint64_t number = fuzz_number(data[at]);
			memcpy(data + at, &number, some);
			break;
		case 4:
			some = some < bytes - at ? some : bytes - at;
			memmove(data + at, data + at + some, bytes - at - some);
			bytes -= some;
			break;
		case 5:
			if (fuzz_below(4) == 0)
				bytes = at + 1;
			break;
		default:
			if (some <= room - bytes) {
				memmove(data + at + some, data + at, bytes - at);
				bytes += some;
			}
		}
	}
	return bytes;
}

/* Hides the choosing byte from the mutator, and sometimes changes it. */
static size_t choose(const struct fuzz_target *target, uint8_t *data)
{
	if (target->choices == 0)
		return 0;
	if (fuzz_below(3) == 0)
		data[0] = (uint8_t)fuzz_below(target->choices);
	return 1;
}

size_t fuzz_mutate(const struct fuzz_target *target, uint8_t *data, size_t bytes, size_t room)
{
	if (bytes < 2)
		return bytes;
	size_t at = choose(target, data), length = 0;
	/* also bytes, for parts without a checksum and for files that are cut short */
	if (target->mutate && fuzz_below(40))
		length = target->mutate(data + at, bytes - at, room - at);
	if (length == 0)
		length = fuzz_mutate_bytes(data + at, bytes - at, room - at);
	return at + length;
}

size_t fuzz_cross(const struct fuzz_target *target, uint8_t *data, size_t bytes, size_t room,
		  const uint8_t *other, size_t other_bytes)
{
	size_t at = target->choices > 0, length = 0;
	if (target->cross && bytes > at && other_bytes > at)
		length = target->cross(data + at, bytes - at, room - at, other + at,
				       other_bytes - at);
	return length ? at + length : fuzz_mutate(target, data, bytes, room);
}

/* ---- libFuzzer ---- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t bytes, const uint8_t *other,
				 size_t other_bytes, uint8_t *out, size_t room, unsigned seed);

#ifndef FUZZ_AFL
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	fuzz_random_begin(seed);
	return fuzz_mutate(fuzz_target_get(fuzz_name), data, bytes, room);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t bytes, const uint8_t *other,
				 size_t other_bytes, uint8_t *out, size_t room, unsigned seed)
{
	fuzz_random_begin(seed);
	bytes = bytes < room ? bytes : room;
	memcpy(out, data, bytes);
	return fuzz_cross(fuzz_target_get(fuzz_name), out, bytes, room, other, other_bytes);
}
#else

/* ---- AFL++ ---- */

#define AFL_ROOM (1u << 20)

struct afl_mutator {
	const struct fuzz_target *target;
	uint8_t out[AFL_ROOM];
};

void *afl_custom_init(void *afl, unsigned seed);
size_t afl_custom_fuzz(void *mutator, uint8_t *data, size_t bytes, uint8_t **out, uint8_t *other,
		       size_t other_bytes, size_t most);
void afl_custom_deinit(void *mutator);

void *afl_custom_init(void *afl, unsigned seed)
{
	(void)afl;
	struct afl_mutator *m = malloc(sizeof *m);
	fuzz_random_begin(seed);
	if (m)
		m->target = fuzz_target_get(getenv("FUZZ_TARGET"));
	return m;
}

size_t afl_custom_fuzz(void *mutator, uint8_t *data, size_t bytes, uint8_t **out, uint8_t *other,
		       size_t other_bytes, size_t most)
{
	struct afl_mutator *m = mutator;
	size_t room = most < AFL_ROOM ? most : AFL_ROOM;
	bytes = bytes < room ? bytes : room;
	memcpy(m->out, data, bytes);
	*out = m->out;
	return other && fuzz_below(8) == 0 ?
		       fuzz_cross(m->target, m->out, bytes, room, other, other_bytes) :
		       fuzz_mutate(m->target, m->out, bytes, room);
}

void afl_custom_deinit(void *mutator)
{
	free(mutator);
}
#endif
