/*
 * Numbered names become one row. The row equals that of a twin recording with # in the names. Other
 * names stay apart.
 */
#include "range_records.h"

#define FIRST_NAME 100u

/* Ids of names in order of first use; the twin's texts contain #. */
static char names[4096][48];
static uint32_t named;
static bool is_twin;

static uint32_t id_of(struct writer *w, const char *format, unsigned number)
{
	char text[48];
	snprintf(text, sizeof text, format, number);
	if (is_twin) {
		char *to = text;
		for (const char *from = text; *from != '\0'; from++)
			if (*from < '0' || *from > '9')
				*to++ = *from;
			else if (to == text || to[-1] != '#')
				*to++ = '#';
		*to = '\0';
	}
	for (uint32_t k = 0; k < named; k++)
		if (strcmp(names[k], text) == 0)
			return FIRST_NAME + k;
	strcpy(names[named], text);
	define_name(w, FIRST_NAME + named, text);
	return FIRST_NAME + named++;
}

static void open_range(struct writer *w, const char *format, unsigned number)
{
	put_push(w, 1, id_of(w, format, number), GP_RANGE_NVTX);
}
static void mark(struct writer *w, const char *format, unsigned number)
{
	const uint32_t id = id_of(w, format, number);
	put(w, 1, (struct gp_record){ .kind = GP_MARK, .aux = id, .mark.source = 1 });
}
static void begin_with(struct writer *w, const char *file, bool twin)
{
	named = 0;
	is_twin = twin;
	begin(w, file);
}

/* Steps of different lengths with their parts; the texts are defined first. */
static void put_steps(struct writer *w, unsigned steps)
{
	uint64_t seed = 88172645463325252u;
	for (unsigned k = 0; k < steps; k++) {
		id_of(w, "step %u", k);
		id_of(w, "loss i=%u", k);
		id_of(w, "batch %u of 7", k);
	}
	for (unsigned layer = 0; layer < 8; layer++)
		id_of(w, "layer.%u.mlp", layer);
	for (unsigned k = 0; k < steps; k++) {
		open_range(w, "step %u", k);
		open_range(w, "batch %u of 7", k);
		put_launch(w, 1);
		put_pop(w, 1, 1);
		for (unsigned layer = 0; layer < 8; layer++) {
			open_range(w, "layer.%u.mlp", layer);
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			for (unsigned n = (unsigned)(seed >> 61); n > 0; n--)
				put_launch(w, 1);
			put_alloc(w, 1, 0x1000 * (1 + layer + 8 * k), 512 + (seed >> 50));
			if (seed >> 63)
				put_free(w, 1, 0x1000 * (1 + layer + 8 * k));
			put_pop(w, 1, 1);
		}
		mark(w, "loss i=%u", k);
		if (k + 1 < steps)
			put_pop(w, 1, 1); /* the last one stays open */
	}
}

static struct gp_recording *build_folded(struct writer *w, uint64_t fold, struct gp_phases *out)
{
	struct gp_phases_options asked = whole;
	asked.fold = fold;
	writer_close(w, true);
	return build_as(w->path, &asked, out);
}

static void assert_like(const struct gp_phase *a, const struct gp_phase *b, const char *name)
{
	assert_string_equal(a->name, name);
	assert_int_equal(a->depth, b->depth);
	assert_int_equal(a->style, b->style);
	assert_int_equal(a->calls, b->calls);
	assert_int_equal(a->open, b->open);
	assert_int_equal(a->allocated_bytes, b->allocated_bytes);
	assert_int_equal(a->freed_bytes, b->freed_bytes);
	assert_int_equal(a->retained_bytes, b->retained_bytes);
	assert_int_equal(a->peak_bytes, b->peak_bytes);
	assert_int_equal(a->launches, b->launches);
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->mean_ns, b->mean_ns);
	assert_in_range(a->deviation_ns + 1, b->deviation_ns, b->deviation_ns + 2);
}

static void it_is_as_if_they_had_no_numbers(void **state)
{
	(void)state;
	static const char *const expected[] = { "step #", "batch # of #", "layer.#.mlp",
						"loss i=#" };
	struct writer w;
	struct gp_phases folded, twin;
	begin_with(&w, "numbered.gpr", false);
	put_steps(&w, 50);
	struct gp_recording *r = build_folded(&w, 5, &folded);
	begin_with(&w, "twin.gpr", true);
	put_steps(&w, 50);
	struct gp_recording *t = build_folded(&w, 0, &twin);
	/* the numbered recording defined more names first, but times are those of the events */
	assert_int_equal(twin.phases, 4);
	assert_int_equal(folded.phases, 3 + 8);
	assert_int_equal(folded.phase[0].children, 2 + 8);
	assert_like(&folded.phase[0], &twin.phase[0], expected[0]);
	assert_like(&folded.phase[1], &twin.phase[1], expected[1]);
	assert_like(&folded.phase[10], &twin.phase[3], expected[3]);
	assert_int_equal(folded.phase[0].names, 50);
	assert_int_equal(folded.phase[1].names, 50);
	assert_int_equal(folded.phase[10].names, 50);
	/* each layer comes 50 times, so layers are not numbered names */
	uint64_t launches = 0;
	for (unsigned layer = 0; layer < 8; layer++) {
		char name[32];
		snprintf(name, sizeof name, "layer.%u.mlp", layer);
		assert_string_equal(folded.phase[2 + layer].name, name);
		assert_int_equal(folded.phase[2 + layer].calls, 50);
		assert_int_equal(folded.phase[2 + layer].names, 1);
		launches += folded.phase[2 + layer].launches;
	}
	assert_int_equal(launches, twin.phase[2].launches);
	close_all(r, &folded);
	close_all(t, &twin);
}

static void so_many_are_left_apart(void **state)
{
	(void)state;
	for (unsigned fold = 0; fold < 8; fold++) {
		struct writer w;
		struct gp_phases p;
		begin_with(&w, "few.gpr", false);
		for (unsigned k = 0; k < 6; k++)
			mark(&w, "epoch %u", k);
		mark(&w, "epoch", 0);
		open_range(&w, "epoch 9", 0); /* a mark is not a range */
		put_pop(&w, 1, 1);
		struct gp_recording *r = build_folded(&w, fold, &p);
		assert_int_equal(p.phases, fold == 0 || fold >= 6 ? 8 : 3);
		if (fold != 0 && fold < 6)
			assert_string_equal(p.phase[0].name, "epoch #");
		assert_string_equal(p.phase[p.phases - 2].name, "epoch");
		assert_string_equal(p.phase[p.phases - 1].name, "epoch 9");
		assert_int_equal(p.phase[p.phases - 1].names, 1);
		close_all(r, &p);
	}
}

/*
 * Names that come twice each, as batches of an epoch may, are folded; names that come three times
 * are not.
 */
static void frequent_names_are_not_numbered(void **state)
{
	(void)state;
	for (unsigned often = 1; often < 5; often++) {
		struct writer w;
		struct gp_phases p;
		begin_with(&w, "often.gpr", false);
		for (unsigned turn = 0; turn < often; turn++)
			for (unsigned k = 0; k < 20; k++)
				mark(&w, "%u", k);
		struct gp_recording *r = build_folded(&w, 5, &p);
		assert_int_equal(p.phases, often <= 2 ? 1 : 20);
		assert_string_equal(p.phase[0].name, often <= 2 ? "#" : "0");
		close_all(r, &p);
	}
}

/* Calls outside of the span do not count. */
static void a_span_has_its_own(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	struct gp_phases_options asked = whole;
	begin_with(&w, "span.gpr", false);
	for (unsigned k = 0; k < 40; k++)
		mark(&w, "m%u", k);
	asked.fold = 5;
	asked.from_ns = (int64_t)(w.time - w.header.start_ticks);
	for (unsigned k = 40; k < 44; k++)
		mark(&w, "m%u", k);
	writer_close(&w, true);
	struct gp_recording *r = build_as(w.path, &asked, &p);
	assert_int_equal(p.phases, 5);
	close_all(r, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_as_if_they_had_no_numbers),
		cmocka_unit_test(so_many_are_left_apart),
		cmocka_unit_test(frequent_names_are_not_numbered),
		cmocka_unit_test(a_span_has_its_own),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
