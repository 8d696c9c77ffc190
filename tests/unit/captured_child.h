/*
 * For tests of captures: checks in a forked child (are its launches recorded?) and checks of its
 * recording.
 */
#ifndef CAPTURED_CHILD_H
#define CAPTURED_CHILD_H

#include "recorded_child.h"

#include "gpuprof.h"
#include "record/ranges/range_mark.h"

/* Runs `body` in a child with that rule, recorded as `name`. */
static inline void record(const char *name, const char *range, const char *end, void (*body)(void))
{
	setenv("GPUPROF_CAPTURE_RANGE", range, 1);
	setenv("GPUPROF_CAPTURE_RANGE_END", end, 1);
	assert_int_equal(in_child(name, "0", body), 0);
}

/* ---- the job ---- */

static inline void allocate(void)
{
	static _Atomic uint64_t address = 4096;
	put_memory(GP_ALLOC, atomic_fetch_add(&address, 4096));
}

/* Allocations are recorded always, launches only during a capture. */
static inline bool is_launch_recorded(void)
{
	allocate();
	if (!gp_enter_launch())
		return false;
	struct gp_record *r = gp_reserve(GP_LAUNCH);
	CHECK(r);
	gp_commit(r);
	gp_leave();
	return true;
}

static inline void push_of(enum gp_range_source source, uint32_t domain, const char *text)
{
	gp_range_push(&(struct gp_range){
		.source = source, .domain = domain, .text = text, .bytes = GP_TO_NUL });
}
static inline void push(const char *text)
{
	push_of(GP_RANGE_NVTX, 0, text);
}
static inline void pop(void)
{
	CHECK(gp_range_pop(GP_RANGE_NVTX, 0) >= 0);
}

static inline struct gp_range_handle *push_kept(const char *text, const void *key)
{
	return gp_range_push_kept(
		&(struct gp_range){ .source = GP_RANGE_TORCH, .text = text, .bytes = GP_TO_NUL },
		key);
}

static inline uint64_t start(const char *text)
{
	return gp_range_start(
		&(struct gp_range){ .source = GP_RANGE_NVTX, .text = text, .bytes = GP_TO_NUL });
}

/* ---- readers ---- */

/*
 * Checks the numbers of spans, launches and allocations, and the causes that opened and closed the
 * last span.
 */
static inline void assert_recorded(const char *name, uint64_t spans, uint64_t launches,
				   uint64_t allocs, unsigned by)
{
	char path[128];
	struct gp_recording *r;
	const struct gp_info *info;
	name_of(path, sizeof path, name);
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_true(info->is_captured_in_part);
	assert_int_equal(info->captures, spans);
	assert_int_equal(info->captureds, spans);
	assert_int_equal(info->counts[GP_LAUNCH], launches);
	assert_int_equal(info->counts[GP_ALLOC], allocs);
	for (size_t k = 0; k < info->captureds; k++) {
		assert_int_equal(info->captured[k].opened_by, by);
		if (!info->captured[k].is_open)
			assert_int_equal(info->captured[k].closed_by, by);
	}
	gp_recording_close(r);
}

#endif
