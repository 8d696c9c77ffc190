/*
 * The live set at random moments of one open recording, which begins at places in memory after the
 * first question. It equals the state of a replay from the checkpoint, with lost events, too.
 */
#include "framework_model.h"
#include "read/file/replay_places.h"

#define EVENTS (3u * GP_PLACE_EVENTS / 2) /* of a segment */
#define QUESTIONS 24u

static void write_long(struct writer *w)
{
	struct model model;
	memset(&model, 0, sizeof model);
	writer_open(w, "places.gpr", 0, 0);
	model_begin(&model, w, 31);
	for (unsigned segment = 0; segment < 2; segment++) {
		while (w->time / 64 < (segment + 1) * EVENTS) {
			model_step(&model, w);
			/* a thread that rarely records, and launches that share an order */
			put(w, w->order % 997 == 0 ? 3 : 2,
			    (struct gp_record){ .kind = GP_LAUNCH });
			if (w->order % 20011 < 2)
				put(w, 1, (struct gp_record){ .kind = GP_LOST, .lost.memory = 1 });
		}
		if (segment == 0)
			next_segment(w);
	}
	writer_close(w, true);
}

static void assert_rows(const struct gp_live_rows *rows, const struct gp_memory *m)
{
	size_t at = 0;
	assert_int_equal(rows->at_ns, m->at_ns);
	assert_int_equal(rows->order, m->order);
	assert_int_equal(rows->is_uncertain, m->is_uncertain);
	for (size_t i = 0; i < m->segments; i++) {
		const struct gp_memory_segment *s = &m->segment[i];
		assert_int_equal(rows->row[at].address, s->address);
		assert_int_equal(rows->row[at++].bytes, s->bytes);
		for (size_t k = s->first; k < s->first + s->blocks; k++) {
			const struct gp_memory_block *b = &m->block[k];
			if (b->state == GP_STATE_FREE)
				continue;
			assert_int_equal(rows->row[at].address, b->address);
			assert_int_equal(rows->row[at].order, b->order);
			assert_int_equal(rows->row[at++].state, b->state);
		}
	}
	assert_int_equal(rows->rows, at + m->outsides);
}

static void assert_moment(struct gp_recording *r, struct gp_recording *slow,
			  const struct gp_moment_of *at)
{
	struct gp_live_rows rows;
	struct gp_memory memory;
	assert_int_equal(gp_live_rows_build(r, at, false, &rows), GP_OK);
	assert_int_equal(gp_memory_build(slow, at, &memory), GP_OK);
	assert_rows(&rows, &memory);
	gp_memory_free(&memory);
	gp_live_rows_free(&rows);
}

static void places_have_the_state_of_a_replay(void **state)
{
	(void)state;
	struct writer w;
	write_long(&w);
	struct gp_recording *r = fixture_open(w.path), *slow = fixture_open(w.path);
	const int64_t end_ns = model_now_ns(&w);
	uint64_t random = 88172645463325252u;
	for (unsigned i = 0; i < QUESTIONS; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		const enum gp_when when = i % 16 == 5 ? GP_WHEN_PEAK :
					  i % 16 == 9 ? GP_WHEN_END :
					  i % 4 == 2  ? GP_WHEN_ORDER :
							GP_WHEN_TIME;
		const struct gp_moment_of at = {
			.when = when,
			.at_ns = (int64_t)(random % (uint64_t)end_ns),
			.number = random % w.order,
			.device = GP_DEVICE_UNKNOWN,
			.of = GP_CURVE_ALLOCATED,
		};
		assert_moment(r, slow, &at);
	}
	gp_recording_close(slow);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(places_have_the_state_of_a_replay) };
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
