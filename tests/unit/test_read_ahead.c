/*
 * Events that a second thread decoded ahead: as many, in the same order and with the same damage as
 * those of one thread; and the same in a child of fork.
 */
#include <sched.h>
#include <sys/wait.h>

#include "read/file/read_ahead.h"
#include "recording_writer.h"

static cpu_set_t all_cores;

/* A reader on one core has no second thread. */
static void cores_use(bool is_one)
{
	cpu_set_t cores = all_cores;
	for (size_t core = 0; is_one && CPU_COUNT(&cores) > 1; core++)
		CPU_CLR(core, &cores);
	assert_int_equal(sched_setaffinity(0, sizeof cores, &cores), 0);
}

static void write_work(struct writer *w, const char *name, unsigned segments, uint64_t events)
{
	uint64_t state = 0;
	writer_open(w, name, 0, 0);
	for (unsigned i = 0; i < segments; i++) {
		put_work(w, events, &state);
		if (i + 1 < segments)
			next_segment(w);
	}
	writer_close(w, true);
}

struct digest {
	uint64_t events, sum;
};

/* The next events, all of them or as many as `most`. */
static void digest_read(struct gp_recording *r, uint64_t most, struct digest *d)
{
	struct gp_event event;
	for (; most > 0 && gp_recording_next(r, &event) == GP_OK; most--) {
		const uint64_t parts[] = { event.record.time, event.record.order, event.record.kind,
					   event.record.v[0], event.record.v[2],  event.thread };
		for (unsigned k = 0; k < sizeof parts / sizeof *parts; k++)
			d->sum = (d->sum ^ parts[k]) * 0x100000001b3u;
		d->events++;
	}
}

static struct digest digest_of(const char *path, bool is_one_core, uint64_t *damages)
{
	struct digest d = { 0 };
	cores_use(is_one_core);
	const struct gp_info *info;
	struct gp_recording *r = fixture_info(path, &info);
	*damages = info->damages;
	digest_read(r, UINT64_MAX, &d);
	gp_recording_close(r);
	cores_use(false);
	return d;
}

static void assert_same(const char *path, uint64_t damages)
{
	uint64_t found[2];
	const struct digest one = digest_of(path, true, &found[0]);
	const struct digest two = digest_of(path, false, &found[1]);
	assert_true(one.events > 0);
	assert_int_equal(one.events, two.events);
	assert_int_equal(one.sum, two.sum);
	assert_int_equal(found[0], damages);
	assert_int_equal(found[1], damages);
}

static void events_are_the_same(void **state)
{
	(void)state;
	struct writer w;
	write_work(&w, "ahead.gpr", 3, 40000);
	assert_same(w.path, 0);
}

static void damage_is_the_same(void **state)
{
	(void)state;
	struct writer w;
	write_work(&w, "hurt.gpr", 2, 40000);
	const size_t hurt[] = { 9, 10, 40 };
	int fd = open(w.path, O_RDWR);
	for (unsigned k = 0; k < sizeof hurt / sizeof *hurt; k++) {
		unsigned char byte;
		const off_t at = (off_t)(w.block_start[hurt[k]] + GP_BLOCK_HEADER + 40);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	assert_same(w.path, sizeof hurt / sizeof *hurt);
}

/* A replay may end anywhere: a rewind or a close must not wait for blocks that are not needed. */
static void replays_end_anywhere(void **state)
{
	(void)state;
	struct writer w;
	write_work(&w, "stopped.gpr", 1, 40000);
	uint64_t damages;
	const struct digest whole = digest_of(w.path, true, &damages);
	struct gp_recording *r = fixture_open(w.path);
	for (uint64_t most = 1; most < 39000; most += 1700) {
		struct digest part = { 0 };
		digest_read(r, most, &part);
		assert_int_equal(part.events, most);
		assert_int_equal(gp_recording_rewind(r), GP_OK);
	}
	struct digest again = { 0 };
	digest_read(r, UINT64_MAX, &again);
	assert_int_equal(again.sum, whole.sum);
	assert_int_equal(gp_recording_rewind(r), GP_OK);
	digest_read(r, 5000, &again);
	gp_recording_close(r);
}

/* Both go on from the same event, each with its own thread. */
static void children_read_on(void **state)
{
	(void)state;
	struct writer w;
	write_work(&w, "forked.gpr", 1, 40000);
	uint64_t damages;
	const struct digest whole = digest_of(w.path, true, &damages);
	for (uint64_t before = 0; before < 39000; before += 1300) {
		struct gp_recording *r = fixture_open(w.path);
		struct digest d = { 0 };
		digest_read(r, before, &d);
		const pid_t child = fork();
		assert_true(child >= 0);
		digest_read(r, UINT64_MAX, &d);
		gp_recording_close(r);
		const bool is_same = d.events == whole.events && d.sum == whole.sum;
		if (child == 0)
			_exit(is_same ? 0 : 1);
		assert_true(is_same);
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* The thread is in the middle of a block in some of the forks. */
static void children_decode_queued_blocks(void **state)
{
	(void)state;
	struct writer w;
	write_work(&w, "queued.gpr", 1, 20000);
	struct gp_recording *r = fixture_open(w.path);
	struct gp_block_list list = { .file = &r->file, .index = &r->index };
	struct gp_block_room room;
	static struct gp_record out[GP_AHEAD_MOST][GP_BLOCK_RECORDS];
	gp_block_list_begin(&list, 0);
	assert_true(gp_block_list_add(&list, GP_BLOCK_EVENTS));
	assert_true(list.blocks >= GP_AHEAD_MOST && gp_block_room_open(&room));
	struct gp_read_ahead *ahead = gp_ahead_open(&r->file);
	assert_non_null(ahead);
	for (unsigned round = 0; round < 100; round++) {
		for (unsigned k = 0; k < GP_AHEAD_MOST; k++) {
			assert_true(gp_ahead_has_room(ahead));
			gp_ahead_queue(ahead, &list.block[k], out[k], out[k]);
		}
		assert_false(gp_ahead_has_room(ahead));
		const pid_t child = fork();
		assert_true(child >= 0);
		alarm(child == 0 ? 20 : 0);
		bool is_right = true;
		for (unsigned k = GP_AHEAD_MOST; k-- > 0;) {
			enum gp_status status = GP_E_DAMAGED;
			uint64_t slots = 0;
			void *context = NULL;
			is_right &= gp_ahead_take(ahead, &list.block[k], &room, &status, &slots,
						  &context) &&
				    status == GP_OK && slots == list.block[k].header.records &&
				    context == out[k];
		}
		if (child == 0) {
			gp_ahead_close(ahead);
			_exit(is_right ? 0 : 1);
		}
		assert_true(is_right);
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	assert_null(gp_ahead_drop(ahead));
	gp_ahead_close(ahead);
	gp_block_room_release(&room);
	free(list.block);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_the_same),
		cmocka_unit_test(damage_is_the_same),
		cmocka_unit_test(replays_end_anywhere),
		cmocka_unit_test(children_read_on),
		cmocka_unit_test(children_decode_queued_blocks),
	};
	if (sched_getaffinity(0, sizeof all_cores, &all_cores) != 0 || CPU_COUNT(&all_cores) < 2) {
		puts("skipped: one core");
		return 0;
	}
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
