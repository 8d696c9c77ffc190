/*
 * Lives and curves of random histories: sums at each event, in several segments, after a ring
 * overwrote its start, with a gap and with damage. The shortest lives are left out.
 */
#include "lives_reader.h"
#include "random_history.h"
#include "range_records.h"

#include "analyze/lives/curve_points.h"
#include "analyze/lives/life_store.h"

/* A segment ends after each `part` events; 0: never. */
static void write_history(struct writer *w, const struct history *h, size_t part)
{
	for (size_t k = 0; k < h->events; k++) {
		put(w, k / 7 % 4, h->event[k]);
		if (part != 0 && (k + 1) % part == 0)
			next_segment(w);
	}
}

/* The value of a curve at a moment. */
static uint64_t value_at(const struct read_curve *curve, uint64_t at_ns)
{
	uint64_t value = 0;
	for (size_t k = 0; curve != NULL && k < curve->points; k++)
		if (curve->point[k].at_ns <= at_ns)
			value = curve->point[k].most;
	return value;
}

/* Events are 64 ns apart, and the first is one at 64 ns. */
static void assert_curves(const struct lives_reader *r, const struct history *h)
{
	struct brute model = { 0 };
	for (size_t k = 0; k < h->events; k++) {
		brute_apply(&model, &h->event[k]);
		for (unsigned device = 0; device < 2 && k % 10 == 0; device++)
			for (unsigned of = 0; of < GP_CURVES; of++)
				assert_int_equal(value_at(find_curve(r, device, of), (k + 1) * 64),
						 model.now[device][of]);
	}
	free(model.entry);
}

static size_t lives_of(const struct lives_reader *r, unsigned of)
{
	size_t lives = 0;
	for (size_t k = 0; k < r->count; k++)
		lives += r->lives.group[r->life[k].group].of == of;
	return lives;
}

static struct lives_reader reader;

static void sums_are_curves(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct history h = history_make(seed, true);
		struct writer w;
		writer_open(&w, "random.gpr", 0, 0);
		write_history(&w, &h, seed % 2 ? 0 : 500);
		struct gp_recording *recording = fixture_read(&w);
		lives_read(&reader, recording, NULL);
		assert_sums(&reader);
		assert_curves(&reader, &h);
		for (unsigned of = 0; of <= GP_LIVES_OF_PENDING; of++)
			assert_true(lives_of(&reader, of) > 0);
		assert_int_equal(reader.lives.left_out, 0);
		assert_int_equal(reader.lives.shorter_than_ns, 0);
		assert_int_equal(reader.lives.from_ns, 0);
		lives_reader_free(&reader);
		gp_recording_close(recording);
		history_drop(&h);
	}
}

/* The owner overwrites a slot during the first two replays. */
static void overtake(void *context, uint64_t done, uint64_t bytes, unsigned pass)
{
	struct gp_recording *recording = context;
	static unsigned last;
	(void)done;
	(void)bytes;
	recording->overtakes += pass != last && recording->overtakes < 2;
	last = pass;
}

static void overwritten_parts_are_read_again(void **state)
{
	(void)state;
	struct history h = history_make(71, true);
	struct writer w;
	writer_open(&w, "again.gpr", 0, 0);
	write_history(&w, &h, 500);
	const struct gp_info *info;
	writer_close(&w, true);
	struct gp_recording *recording = fixture_info(w.path, &info);
	gp_recording_watch(recording, overtake, recording);
	lives_read(&reader, recording, NULL);
	assert_int_equal(recording->overtakes, 2);
	assert_sums(&reader);
	assert_curves(&reader, &h);
	lives_reader_free(&reader);
	gp_recording_close(recording);
	history_drop(&h);
}

/* Memory that was live when the kept events begin has lives from there on. */
static void ring_begins_with_its_checkpoint(void **state)
{
	(void)state;
	struct history h = history_make(31, true);
	struct writer w;
	const struct gp_info *info;
	writer_open(&w, "ring.gpr", 4, 65536);
	write_history(&w, &h, 400);
	writer_close(&w, true);
	struct gp_recording *recording = fixture_info(w.path, &info);
	lives_read(&reader, recording, NULL);
	assert_true(info->kept_from_ns > 0);
	assert_int_equal(reader.lives.from_ns, info->kept_from_ns);
	assert_int_equal(reader.life[0].birth_ns, info->kept_from_ns);
	for (size_t k = 0; k < reader.count; k++) /* mapped memory is counted once from the start */
		assert_true(reader.life[k].birth_ns > info->kept_from_ns ||
			    reader.life[k].span != 1);
	assert_sums(&reader);
	lives_reader_free(&reader);
	gp_recording_close(recording);
	history_drop(&h);
}

/* Frees whose allocations were not recorded change no life. */
static void put_unknown_frees(struct writer *w)
{
	const uint64_t now = gp_live_device(w->live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
	put(w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_FREE,
				.block_free = { 0x111111000, 512, now - 512, 0 } });
	put(w, 0,
	    (struct gp_record){ .kind = GP_FREE,
				.space = GP_SPACE_DEVICE,
				.device = GP_DEVICE_UNKNOWN,
				.free.address = 0x222222000 });
}

static void unknown_frees_end_nothing(void **state)
{
	(void)state;
	struct history h = history_make(41, false);
	struct writer w;
	writer_open(&w, "unknown.gpr", 0, 0);
	write_history(&w, &h, 0);
	put_unknown_frees(&w);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x333333000, .bytes = 4096 } });
	struct gp_recording *recording = fixture_read(&w);
	lives_read(&reader, recording, NULL);
	assert_sums(&reader);
	lives_reader_free(&reader);
	gp_recording_close(recording);
	history_drop(&h);
}

/* Differences of the sums up to a moment. */
static size_t differences_until(const struct lives_reader *r, uint64_t until_ns)
{
	struct lives_reader cut = *r;
	size_t differences = 0;
	cut.life = calloc(r->count + 1, sizeof *cut.life);
	cut.count = 0;
	for (size_t k = 0; k < r->count; k++) {
		struct read_life l = r->life[k];
		if (l.birth_ns > until_ns)
			continue;
		if (l.span != 0 && l.birth_ns + l.span - 1 > until_ns)
			l.span = 0;
		cut.life[cut.count++] = l;
	}
	for (size_t k = 0; k < r->lives.curves; k++) {
		const size_t points = r->curve[k].points;
		while (cut.curve[k].points > 0 &&
		       r->curve[k].point[cut.curve[k].points - 1].at_ns > until_ns)
			cut.curve[k].points--;
		differences += sum_differences(&cut, k);
		assert_true(cut.curve[k].points <= points);
	}
	free(cut.life);
	return differences;
}

/* The sum of what lives at the end, less the curve. */
static int64_t difference_at_end(const struct lives_reader *r, size_t which)
{
	const struct read_curve *curve = &r->curve[which];
	size_t changes;
	struct change *change =
		changes_of(r, r->lives.curve[which].device, r->lives.curve[which].of, &changes);
	uint64_t sum = 0;
	for (size_t k = 0; k < changes; k++)
		sum += change[k].bytes;
	free(change);
	return (int64_t)(sum - (curve->points > 0 ? curve->point[curve->points - 1].most : 0));
}

static size_t marks_of(const struct lives_reader *r, enum gp_lives_mark_kind kind)
{
	size_t marks = 0;
	for (size_t k = 0; k < r->lives.marks; k++) {
		assert_true(k == 0 || r->lives.mark[k].at_ns >= r->lives.mark[k - 1].at_ns);
		marks += r->lives.mark[k].kind == kind;
	}
	return marks;
}

/* One lost event: exact before it; the next segment's checkpoint corrects the lives. */
static void damage_ends_at_the_next_checkpoint(void **state)
{
	(void)state;
	for (uint64_t seed = 51; seed < 57; seed++) {
		struct history h = history_make(seed, true);
		struct writer w;
		writer_open(&w, "damaged.gpr", 0, 0);
		size_t block = 0, lost_at = 0;
		for (size_t k = 0; k < h.events; k++) {
			put(&w, 0, h.event[k]);
			if (k == 1100) { /* the events from 1001 to here are one block */
				flush(&w, 0);
				block = w.blocks - 1;
				lost_at = 1000;
			} else if (k == 1000) {
				flush(&w, 0);
			}
			if (k == 2000)
				next_segment(&w);
		}
		assert_true(lost_at > 0);
		const unsigned char bad = 0x5a;
		assert_int_equal(
			pwrite(w.fd, &bad, 1, (off_t)(w.block_start[block] + GP_BLOCK_HEADER + 20)),
			1);
		writer_close(&w, true);
		const struct gp_info *info;
		struct gp_recording *recording = fixture_info(w.path, &info);
		assert_true(info->is_damaged);
		lives_read(&reader, recording, NULL);
		assert_int_equal(differences_until(&reader, (lost_at + 1) * 64), 0);
		for (size_t k = 0; k < reader.lives.curves; k++)
			assert_int_equal(difference_at_end(&reader, k), 0);
		assert_true(marks_of(&reader, GP_LIVES_LOST) > 0);
		lives_reader_free(&reader);
		gp_recording_close(recording);
		history_drop(&h);
	}
}

/* After a gap the curves are the framework's totals; lives from before it may be gone. */
static void gap_takes_totals_over(void **state)
{
	(void)state;
	struct history h = history_make(61, false);
	struct writer w;
	writer_open(&w, "gap.gpr", 0, 0);
	write_history(&w, &h, 0);
	put(&w, 0, (struct gp_record){ .kind = GP_GAP });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.block_alloc = { 0x123456000, 512, 7 << 20, 9 << 20 } });
	struct gp_recording *recording = fixture_read(&w);
	lives_read(&reader, recording, NULL);
	assert_int_equal(differences_until(&reader, h.events * 64), 0);
	assert_int_equal(value_at(find_curve(&reader, 0, GP_CURVE_ALLOCATED), UINT64_MAX), 7 << 20);
	assert_int_equal(marks_of(&reader, GP_LIVES_GAP), 1);
	lives_reader_free(&reader);
	gp_recording_close(recording);
	history_drop(&h);
}

static void marks_show_ooms_captures_and_steps(void **state)
{
	(void)state;
	struct writer w;
	struct gp_step step[3] = { { .begin_ns = 64 }, { .begin_ns = 128 }, { .begin_ns = 192 } };
	const struct gp_steps steps = { .steps = 3, .step = step };
	writer_open(&w, "marks.gpr", 0, 0);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x7000000, .bytes = 4096 } });
	put(&w, 0, (struct gp_record){ .kind = GP_CAPTURE_BEGIN });
	put(&w, 0, (struct gp_record){ .kind = GP_OOM, .code = 2, .oom = { .bytes = 12345678 } });
	struct gp_recording *recording = fixture_read(&w);
	lives_read(&reader, recording, &steps);
	assert_int_equal(marks_of(&reader, GP_LIVES_OOM), 1);
	assert_int_equal(marks_of(&reader, GP_LIVES_CAPTURE), 1);
	assert_int_equal(marks_of(&reader, GP_LIVES_STEP), 3);
	const struct gp_lives_mark *last = &reader.lives.mark[reader.lives.marks - 1];
	assert_int_equal(last->at_ns, 192);
	assert_int_equal(last->number, 3);
	for (size_t k = 0; k < reader.lives.marks; k++)
		if (reader.lives.mark[k].kind == GP_LIVES_OOM)
			assert_string_equal(reader.lives.text[reader.lives.mark[k].text],
					    "GPU 0: request of 11.77 MiB");
	lives_reader_free(&reader);
	gp_recording_close(recording);
}

/* ---- many groups ---- */

#define NUMBERED 600u
#define STACKS 500u

/* A name a step: more groups than are kept before they are joined. All of them end as "step #". */
static void numbered_ranges_are_joined(void **state)
{
	(void)state;
	struct writer w;
	char name[32];
	uint64_t bytes = 0;
	memset(depth_of, 0, sizeof depth_of);
	writer_open(&w, "numbered.gpr", 0, 0);
	for (unsigned step = 0; step < NUMBERED; step++) {
		snprintf(name, sizeof name, "step %u", step);
		define_name(&w, step + 1, name);
		put_push(&w, 0, step + 1, GP_RANGE_NVTX);
		for (unsigned k = 0; k < STACKS; k++) {
			put(&w, 0,
			    (struct gp_record){ .kind = GP_ALLOC,
						.space = GP_SPACE_DEVICE,
						.device = k % 2,
						.stack = k + 1,
						.alloc = { 0x700000000000, 512 * (k + 1) } });
			put_free(&w, 0, 0x700000000000);
			bytes += 512 * (k + 1);
		}
		put_pop(&w, 0, GP_RANGE_NVTX);
	}
	struct gp_recording *recording = fixture_read(&w);
	lives_read(&reader, recording, NULL);
	assert_sums(&reader);
	assert_int_equal(reader.count, NUMBERED * STACKS);
	assert_int_equal(reader.lives.groups, 2); /* these stacks are not defined */
	for (size_t k = 0; k < reader.count; k++) {
		const struct gp_lives_group *g = &reader.lives.group[reader.life[k].group];
		assert_int_equal(g->device, k % STACKS % 2);
		assert_string_equal(reader.lives.text[g->range], "step #");
		assert_string_equal(reader.lives.text[g->line], "its stack was not kept");
		bytes -= reader.life[k].bytes;
	}
	assert_int_equal(bytes, 0);
	lives_reader_free(&reader);
	gp_recording_close(recording);
}

/* ---- lives that are left out ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

#define LIVES 3000u

static void fill_lives(struct gp_life_row *row, unsigned live)
{
	for (unsigned k = 0; k < LIVES; k++)
		row[k] = (struct gp_life_row){
			.birth_ns = draw(100000),
			.span = k < live ? 0 : 1 + (1ull << draw(20)) / 2 + draw(2),
			.bytes = k % 3 == 0 ? UINT64_MAX - draw(9) : draw(1u << 30),
			.address = draw(UINT64_MAX),
			.order = draw(UINT64_MAX),
			.group = (uint32_t)draw(UINT32_MAX)
		};
}

static size_t kept_from(const struct gp_life_row *row, uint64_t shorter)
{
	size_t kept = 0;
	for (unsigned k = 0; k < LIVES; k++)
		kept += row[k].span == 0 || row[k].span - 1 >= shorter;
	return kept;
}

static int compare_rows(const void *left, const void *right)
{
	return gp_life_is_before(left, right) ? -1 : gp_life_is_before(right, left);
}

static void assert_rows(struct gp_life_store *s, struct gp_life_row *row, uint64_t shorter)
{
	struct gp_life_merge merge;
	struct gp_life_row next;
	qsort(row, LIVES, sizeof *row, compare_rows);
	assert_true(gp_life_merge_open(&merge, s));
	for (unsigned k = 0; k < LIVES; k++) {
		if (row[k].span != 0 && row[k].span - 1 < shorter)
			continue;
		assert_true(gp_life_merge_next(&merge, &next));
		assert_int_equal(next.birth_ns, row[k].birth_ns);
		assert_int_equal(next.span, row[k].span);
		assert_int_equal(next.bytes, row[k].bytes);
		assert_int_equal(next.address, row[k].address);
		assert_int_equal(next.order, row[k].order);
		assert_int_equal(next.group, row[k].group);
	}
	assert_false(gp_life_merge_next(&merge, &next));
	gp_life_merge_close(&merge);
}

/* The least power of two with which `most` are enough, whatever the order of arrival. */
static void shortest_lives_are_left_out(void **state)
{
	(void)state;
	static const size_t mosts[] = { LIVES, LIVES - 1, 2000, 900, 301, 300 };
	struct gp_life_row *row = calloc(LIVES, sizeof *row);
	for (unsigned k = 0; k < sizeof mosts / sizeof *mosts; k++) {
		struct gp_life_store s = { .most = mosts[k], .a_block = 64 };
		uint64_t shorter = 0;
		fill_lives(row, 300);
		for (unsigned i = 0; i < LIVES; i++)
			gp_life_store_add(&s, &row[i]);
		assert_true(gp_life_store_settle(&s));
		while (kept_from(row, shorter) > s.most)
			shorter = shorter != 0 ? shorter * 2 : 1;
		if (mosts[k] == 300) /* no ended one is kept */
			assert_true(gp_life_store_shorter(&s) >= shorter);
		else
			assert_int_equal(gp_life_store_shorter(&s), shorter);
		assert_true(k == 0 || shorter > 0);
		assert_rows(&s, row, shorter);
		gp_life_store_release(&s);
	}
	free(row);
}

static void too_many_live_ones_are_cut(void **state)
{
	(void)state;
	struct gp_life_row *row = calloc(LIVES, sizeof *row), next;
	struct gp_life_store s = { .most = 200, .a_block = 64 };
	struct gp_life_merge merge;
	fill_lives(row, 300);
	for (unsigned i = 0; i < LIVES; i++)
		gp_life_store_add(&s, &row[i]);
	assert_true(gp_life_store_settle(&s));
	assert_int_equal(gp_life_store_shorter(&s), UINT64_MAX);
	assert_true(gp_life_merge_open(&merge, &s));
	size_t live = 0;
	while (gp_life_merge_next(&merge, &next)) {
		assert_int_equal(next.span, 0);
		live++;
	}
	assert_int_equal(live, 300); /* the caller stops at `most` */
	gp_life_merge_close(&merge);
	gp_life_store_release(&s);
	free(row);
}

/* ---- curves with too many points ---- */

#define CHANGES 5000u

static struct read_point *decode(const unsigned char *block, size_t bytes, size_t *points)
{
	const unsigned char *at[4], *end[4];
	struct read_point last = { 0 }, *point;
	*points = read_header(block, bytes, 4, at, end);
	point = calloc(*points + 1, sizeof *point);
	for (size_t k = 0; k < *points; k++) {
		last.at_ns += read_number(&at[0], end[0]);
		last.most += unsign(read_number(&at[1], end[1]));
		last.range = read_number(&at[2], end[2]);
		point[k] = last;
	}
	return point;
}

static void spans_keep_the_extremes(void **state)
{
	(void)state;
	static const uint64_t mosts[] = { 2 * CHANGES, 1000, 64 };
	struct read_point *change = calloc(CHANGES, sizeof *change);
	for (unsigned round = 0; round < 3; round++) {
		struct gp_curve_points c = { .most = mosts[round] };
		uint64_t at_ns = draw(1000);
		size_t count, points;
		for (unsigned k = 0; k < CHANGES; k++) {
			at_ns += draw(4) == 0 ? 0 : 1ull << draw(14);
			change[k] = (struct read_point){ at_ns, 1 + 2 * draw(1u << 30) + k % 2, 0 };
			gp_points_add(&c, at_ns, change[k].most);
		}
		unsigned char *block = gp_points_finish(&c, &count);
		struct read_point *point = decode(block, count, &points);
		assert_true(points <= mosts[round]);
		assert_int_equal(c.bits == 0, round == 0);
		assert_true(round > 0 || points == CHANGES);
		for (size_t k = 0, i = 0; k < points; k++) {
			uint64_t most = 0, fewest = UINT64_MAX;
			assert_int_equal(point[k].at_ns, change[i].at_ns);
			for (;
			     i < CHANGES &&
			     (round == 0 ? i == k :
					   k + 1 == points || change[i].at_ns < point[k + 1].at_ns);
			     i++) {
				most = change[i].most > most ? change[i].most : most;
				fewest = change[i].most < fewest ? change[i].most : fewest;
			}
			assert_int_equal(point[k].most, most);
			assert_int_equal(point[k].most - point[k].range, fewest);
		}
		free(point);
		free(block);
		gp_points_release(&c);
	}
	free(change);
}

static void damaged_blocks_are_refused(void **state)
{
	(void)state;
	struct gp_life_row row[10] = { { .bytes = 300, .address = 0x7000000 } };
	unsigned char *room = malloc(gp_life_room(10));
	size_t count;
	const unsigned char *bytes = gp_life_encode(row, 10, room, &count);
	for (size_t cut = 0; cut < count; cut++) {
		struct gp_life_reader r;
		unsigned char *copy = malloc(cut + 1);
		memcpy(copy, bytes, cut);
		unsigned rows = 0;
		if (gp_life_reader_open(&r, copy, cut))
			while (gp_life_read(&r))
				rows++;
		assert_int_equal(rows, 0);
		free(copy);
	}
	free(room);
}

/* The arena of a block, and of its segment whose report came later; free memory of the device. */
static void arenas_may_be_known_late(void **state)
{
	(void)state;
	struct writer w;
	const struct gp_record record[] = {
		{ .kind = GP_ALLOC, .space = GP_SPACE_DEVICE, .v = { 0x7000000, 2 << 20 } },
		{ .kind = GP_BLOCK_ALLOC, .v = { 0x7000000, 512, 512, 2 << 20 } },
		{ .kind = GP_SEGMENT_ALLOC, .code = 1, .v = { 0x7000000, 2 << 20 } },
		{ .kind = GP_BLOCK_EXISTING, .code = 1, .aux = 1, .v = { 0x7000000, 512, 512 } },
		{ .kind = GP_DEVICE_MEMORY,
		  .device_memory = { .free_bytes = 3 << 20, .total_bytes = 9 << 20 } },
	};
	writer_open(&w, "late.gpr", 0, 0);
	put_definition(
		&w, 0,
		(struct gp_record){ .kind = GP_ARENA, .aux = 1, .arena = { 0x77, 0, 5, 1 } });
	for (size_t k = 0; k < sizeof record / sizeof *record; k++)
		put(&w, 0, record[k]);
	struct gp_recording *recording = fixture_read(&w);
	lives_read(&reader, recording, NULL);
	assert_int_equal(reader.count, 3);
	assert_int_equal(reader.lives.arenas, 2);
	assert_int_equal(reader.lives.arena[1].stream, 0x77);
	for (size_t k = 0; k < 3; k++) {
		const struct gp_lives_group *g = &reader.lives.group[reader.life[k].group];
		assert_int_equal(g->arena, g->of == GP_LIVES_OF_DRIVER ? 0 : 1);
	}
	assert_int_equal(reader.lives.capacity[0].total_bytes, 9 << 20);
	assert_int_equal(reader.lives.capacity[0].used.points, 1);
	lives_reader_free(&reader);
	gp_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_curves),
		cmocka_unit_test(ring_begins_with_its_checkpoint),
		cmocka_unit_test(overwritten_parts_are_read_again),
		cmocka_unit_test(unknown_frees_end_nothing),
		cmocka_unit_test(damage_ends_at_the_next_checkpoint),
		cmocka_unit_test(gap_takes_totals_over),
		cmocka_unit_test(marks_show_ooms_captures_and_steps),
		cmocka_unit_test(numbered_ranges_are_joined),
		cmocka_unit_test(shortest_lives_are_left_out),
		cmocka_unit_test(too_many_live_ones_are_cut),
		cmocka_unit_test(spans_keep_the_extremes),
		cmocka_unit_test(damaged_blocks_are_refused),
		cmocka_unit_test(arenas_may_be_known_late),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
