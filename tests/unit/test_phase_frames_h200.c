/*
 * Recordings of PyTorch on an H200 with both ranges and stacks. Phases from frames lie inside the
 * recorded ranges, call by call, in the same order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/phases/phase_frames.h"
#include "analyze/phases/phase_kind.h"
#include "read/frames/frame_phase.h"

#define CALLS 1024u

struct call {
	enum gp_frame_phase phase;
	uint64_t from, to; /* ticks */
};
struct sequence {
	struct call call[CALLS];
	size_t calls;
};

static void open_call(struct sequence *s, enum gp_frame_phase phase, uint64_t from)
{
	assert_true(s->calls < CALLS);
	s->call[s->calls++] = (struct call){ .phase = phase, .from = from };
}

static void close_call(struct sequence *s, enum gp_frame_phase phase, uint64_t to)
{
	size_t k = s->calls;
	while (k-- > 0 && (s->call[k].phase != phase || s->call[k].to != 0))
		;
	assert_true(k < s->calls);
	s->call[k].to = to;
}

/* Only phases that have a range of their own. */
static enum gp_frame_phase phase_of(const struct gp_recording *r, uint64_t source, uint32_t name)
{
	switch (gp_phase_kind_of((unsigned)source,
				 gp_defined_text(r->definitions, GP_RANGE_NAME, name))) {
	case GP_PHASE_DATA:
		return GP_FRAME_DATA;
	case GP_PHASE_OPTIMIZER:
		return GP_FRAME_OPTIMIZER;
	case GP_PHASE_ENGINE:
		return GP_FRAME_BACKWARD;
	case GP_PHASE_ZERO_GRAD:
	case GP_PHASE_FORWARD:
	case GP_PHASE_BACKWARD:
	case GP_PHASE_OTHER:
		break;
	}
	return GP_FRAME_NONE;
}

static void read_recorded(struct gp_recording *r, struct sequence *out)
{
	enum gp_frame_phase open[GP_RANGES_DEEP];
	unsigned depth = 0;
	enum gp_status status = gp_recording_rewind(r);
	const struct gp_record *record;
	uint32_t thread;
	assert_int_equal(status, GP_OK);
	while ((record = gp_recording_step(r, &thread, &status)) != NULL) {
		if (record->kind == GP_RANGE_PUSH) {
			open[depth] = phase_of(r, record->range_push.source, record->aux);
			if (open[depth++] != GP_FRAME_NONE)
				open_call(out, open[depth - 1], record->time);
		} else if (record->kind == GP_RANGE_POP && open[--depth] != GP_FRAME_NONE) {
			close_call(out, open[depth], record->time);
		}
	}
	assert_int_equal(depth, 0);
}

/*
 * Reads the calls of all phases but forward. Returns the number of forwards, which is larger: an
 * evaluation has some.
 */
static size_t read_frames(struct gp_recording *r, struct sequence *out)
{
	struct gp_frame_ranges frames;
	size_t forwards = 0;
	assert_int_equal(gp_frame_ranges_find(r, &frames), GP_OK);
	for (size_t k = 0; k < frames.ranges; k++) {
		const struct gp_frame_range *f = &frames.range[k];
		assert_int_equal(f->depth, 0);
		if (f->phase == GP_FRAME_FORWARD)
			forwards += f->is_push;
		else if (f->is_push)
			open_call(out, f->phase, f->time);
		else
			close_call(out, f->phase, f->time);
	}
	gp_frame_ranges_release(&frames);
	return forwards;
}

/*
 * The first gradient is allocated on the way to the engine. So a backward from frames begins before
 * the recorded range, and after all earlier ranges.
 */
static void compare(const struct sequence *recorded, const struct sequence *frames, size_t left_out)
{
	uint64_t before = 0;
	size_t at = 0;
	for (size_t k = 0; k < frames->calls; k++) {
		const struct call *call = &frames->call[k];
		while (at < recorded->calls && recorded->call[at].to < call->to)
			before = recorded->call[at++].to;
		assert_true(at < recorded->calls);
		assert_int_equal(call->phase, recorded->call[at].phase);
		assert_true(call->from > before && call->to <= recorded->call[at].to);
		assert_true(call->from >= recorded->call[at].from ||
			    call->phase == GP_FRAME_BACKWARD);
		before = recorded->call[at++].to;
	}
	assert_int_equal(recorded->calls - frames->calls, left_out);
}

static const struct {
	const char *file;
	size_t calls, forwards, left_out;
} recordings[] = {
	{ "h200_clean_train.gpr", 120, 78, 0 },
	{ "leak_hooks.gpr", 120, 120, 0 },
	{ "leak_loss_list.gpr", 120, 78, 0 },
	{ "leak_streams.gpr", 120, 78, 0 },
	/* the loader's last call, which only finds the end of the data */
	{ "leak_pinned.gpr", 180, 60, 1 },
	/* two backwards without an allocation, of the compiler */
	{ "h200_clean_compile.gpr", 120, 78, 2 },
};

static void phases_of_frames_lie_in_recorded_ranges(void **state)
{
	(void)state;
	static struct sequence recorded, frames;
	for (size_t k = 0; k < sizeof recordings / sizeof *recordings; k++) {
		char path[512];
		struct gp_recording *r;
		const struct gp_info *info;
		const char *data = getenv("TEST_DATA"); /* set by run_units.sh */
		recorded.calls = frames.calls = 0;
		snprintf(path, sizeof path, "%s/%s", data != NULL ? data : "tests/data",
			 recordings[k].file);
		assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
		assert_int_equal(gp_recording_info(r, &info), GP_OK);
		read_recorded(r, &recorded);
		const size_t forwards = read_frames(r, &frames);
		print_message("    %s: %zu told, %zu and %zu forwards by frames\n",
			      recordings[k].file, recorded.calls, frames.calls, forwards);
		assert_int_equal(frames.calls, recordings[k].calls);
		assert_int_equal(forwards, recordings[k].forwards);
		compare(&recorded, &frames, recordings[k].left_out);
		gp_recording_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases_of_frames_lie_in_recorded_ranges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
