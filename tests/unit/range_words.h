/*
 * For tests that mark ranges in a forked child: short calls, and the events of the recording as
 * words.
 */
#ifndef RANGE_WORDS_H
#define RANGE_WORDS_H

#include "recorded_child.h"

#include "gpuprof.h"
#include "read/file/recording.h"
#include "record/ranges/range_mark.h"

#include <pthread.h>

static inline void put_alloc(uint64_t address)
{
	put_memory(GP_ALLOC, address);
}

static inline uint32_t push(uint32_t domain, const char *text)
{
	keep_pace();
	return gp_range_push(&(struct gp_range){
		.source = GP_RANGE_NVTX, .domain = domain, .text = text, .bytes = GP_TO_NUL });
}

static inline int64_t pop(uint32_t domain)
{
	keep_pace();
	return gp_range_pop(GP_RANGE_NVTX, domain);
}

/* All at once, each with its number, until they end. */
static inline void run_threads(unsigned count, void *(*body)(void *number))
{
	pthread_t thread[16];
	CHECK(count <= 16);
	for (uintptr_t k = 0; k < count; k++)
		CHECK(pthread_create(&thread[k], NULL, body, (void *)k) == 0);
	for (unsigned k = 0; k < count; k++)
		CHECK(pthread_join(thread[k], NULL) == 0);
}

static inline void run_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, body, argument) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- events of the recordings ---- */

static struct gp_recording *opened(const char *name, const struct gp_info **info)
{
	char path[128];
	struct gp_recording *r;
	name_of(path, sizeof path, name);
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, info), GP_OK);
	assert_true((*info)->is_complete);
	return r;
}

/* All phases of the recording. */
static inline struct gp_phases phases_of(struct gp_recording *r)
{
	static const struct gp_phases_options asked = { .device = GP_DEVICE_UNKNOWN,
							.of = GP_CURVES,
							.from_ns = INT64_MIN,
							.to_ns = INT64_MAX };
	struct gp_phases p;
	assert_int_equal(gp_phases_build(r, &asked, &p), GP_OK);
	return p;
}

/* Events of ranges as words: "+name" push, "-" pop, "?" unbalanced, "~name" again, and so on. */
static inline const char *words_of(const char *name)
{
	static char words[4096];
	const struct gp_info *info;
	struct gp_event e;
	struct gp_recording *r = opened(name, &info);
	size_t at = 0;
	while (gp_recording_next(r, &e) == GP_OK && at < sizeof words - 64) {
		const char *sign =
			e.record.kind == GP_RANGE_PUSH	  ? "+" :
			e.record.kind == GP_RANGE_POP	  ? e.record.aux ? "?" : "-" :
			e.record.kind == GP_RANGE_RESUMED ? "~" :
			e.record.kind == GP_RANGE_START	  ? "(" :
			e.record.kind == GP_RANGE_END	  ? ")" :
			e.record.kind == GP_MARK	  ? "!" :
			e.record.kind == GP_RANGE_CLOSE	  ? e.record.aux ? "/" : "x" :
			e.record.kind == GP_RANGE_STARTED ?
							  e.record.range_started.range ? "[" : "]" :
			e.record.kind == GP_ALLOC ? "*" :
						    NULL;
		if (!sign)
			continue;
		bool is_named = strchr("+~(![", *sign) != NULL;
		const char *text =
			is_named ? gp_recording_text(r, GP_RANGE_NAME, e.record.aux) : NULL;
		at += (size_t)snprintf(words + at, sizeof words - at, "%s%s%s", at ? " " : "", sign,
				       !is_named ? "" :
				       text	 ? text :
						   "NULL");
		if (strchr("+-~", *sign))
			at += (size_t)snprintf(words + at, sizeof words - at, "%u",
					       (unsigned)e.record.range_push.depth);
	}
	gp_recording_close(r);
	return words;
}

#endif
