/*
 * A recording that is read while its job runs. Events that a slow drain thread has not written yet
 * are in the rings, and the reader shows one consistent moment.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "read/file/recording.h"
#include "read/regular_file.h"
#include "recording_writer.h"

#define LATE_NS 60000000000u /* the drain thread got no processor time for so long */

/* The job: a ring for each thread, and a process that holds their lock. */
struct job {
	struct gp_control *control;
	char path[300];
	int end; /* closed: the process ends */
	pid_t pid;
};

static struct gp_ring *ring_of(const struct job *job, unsigned thread)
{
	return (struct gp_ring *)((char *)job->control + gp_ring_offset(thread));
}

static void job_start_in(struct job *job, struct writer *w, const char *name, uint32_t slots,
			 uint64_t slot_bytes)
{
	int ready[2], done[2];
	char byte = 0;
	writer_open(w, name, slots, slot_bytes);
	static unsigned jobs; /* a failed job keeps its lock */
	snprintf(job->path, sizeof job->path, "%s/gpuprof-ring-%u-%u-%u", directory,
		 (unsigned)getuid(), w->header.pid, ++jobs);
	assert_int_equal(pipe(ready) | pipe(done), 0);
	int fd = open(job->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)gp_ring_offset(4)), 0);
	job->control = mmap(NULL, gp_ring_offset(4), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(job->control, MAP_FAILED);
	close(fd);
	job->pid = fork();
	if (job->pid == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
		fd = open(job->path, O_RDWR);
		byte = fcntl(fd, F_SETLK, &lock) == 0;
		close(done[1]);
		_exit(write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	close(ready[0]);
	close(ready[1]);
	close(done[0]);
	job->end = done[1];
	struct gp_control *c = job->control;
	c->version = GP_CONTROL_VERSION;
	c->is_lock_sure = 1;
	c->pid = w->header.pid = (uint32_t)job->pid;
	strcpy(w->header.boot_id, "this boot");
	memcpy(c->boot_id, w->header.boot_id, sizeof c->boot_id);
	strcpy(w->header.ring_path, job->path);
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&w->header, header);
	assert_int_equal(pwrite(w->fd, header, sizeof header, 0), sizeof header);
	/* the rings are about to wrap, and to continue in the last region after some records */
	for (unsigned t = 0; t < 4; t++) {
		struct gp_ring *ring = ring_of(job, t);
		atomic_store(&ring->tail, GP_REGION_SLOTS(0u) - 1);
		atomic_store(&ring->head, GP_REGION_SLOTS(0u) - 1);
		atomic_store(&ring->grown_at[1], GP_REGION_SLOTS(0u) + 1);
		atomic_store(&ring->grown_at[2], GP_REGION_SLOTS(0u) + 3);
		atomic_store(&ring->region, 2);
	}
	atomic_store(&c->rings, 4);
	c->magic = GP_CONTROL_MAGIC;
}

static void job_start(struct job *job, struct writer *w, const char *name)
{
	job_start_in(job, w, name, 0, 0);
}

/* Events of a thread that are not in the file are in its ring. */
static void hold_back(const struct job *job, const struct writer *w)
{
	for (unsigned t = 0; t < 4; t++) {
		struct gp_ring *ring = ring_of(job, t);
		uint64_t head = atomic_load(&ring->tail);
		for (uint64_t k = 0; k < w->buffered[t]; k++)
			*gp_ring_slot(ring, head++) = w->buffer[t][k];
		atomic_store(&ring->head, head);
	}
	atomic_store(&job->control->next_order, w->order);
	atomic_store(&job->control->write_offset, w->at);
}

static void write_rest(const struct job *job, struct writer *w, unsigned thread)
{
	flush(w, thread);
	atomic_store(&ring_of(job, thread)->tail, atomic_load(&ring_of(job, thread)->head));
}

static void job_end(struct job *job, struct writer *w)
{
	int status;
	close(job->end);
	waitpid(job->pid, &status, 0);
	assert_int_equal(status, 0);
	munmap(job->control, gp_ring_offset(4));
	unlink(job->path);
	for (unsigned t = 0; t < 4; t++)
		w->buffered[t] = 0;
	writer_close(w, false);
}

/* One thread allocates, another frees, and the driver returns the same address again. */
static void hand_over(struct writer *w, unsigned from, unsigned to, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		put(w, from,
		    (struct gp_record){ .kind = GP_ALLOC,
					.space = GP_SPACE_DEVICE,
					.alloc = { .address = 0x7000000000, .bytes = 512 } });
		put(w, to,
		    (struct gp_record){ .kind = GP_FREE,
					.space = GP_SPACE_DEVICE,
					.free = { .address = 0x7000000000 } });
	}
}

/*
 * The first `events` MEMORY events are shown, later ones are not. There are no anomalies and no
 * damage.
 */
static void assert_shown(const struct writer *w, uint64_t events, unsigned uncertains)
{
	const struct gp_info *info;
	struct gp_event e;
	uint64_t seen = 0;
	struct gp_recording *r = fixture_info(w->path, &info);
	assert_true(info->is_running);
	assert_int_equal(info->anomalies + info->mismatches, 0);
	assert_int_equal(info->uncertains, uncertains);
	assert_int_equal(gp_recording_rewind(r), GP_OK);
	while (gp_recording_next(r, &e) == GP_OK) {
		bool is_memory = gp_event_infos[e.record.kind].class == GP_CLASS_MEMORY;
		assert_true(!is_memory || uncertains > 0 || e.record.order == seen);
		seen += is_memory;
	}
	assert_int_equal(seen, events);
	gp_recording_close(r);
	FILE *report = tmpfile();
	assert_int_equal(gp_verify(w->path, NULL, report), GP_OK);
	fclose(report);
}

static void a_thread_may_be_behind_for_long(void **state)
{
	(void)state;
	struct writer w;
	struct job job;
	job_start(&job, &w, "behind.gpr");
	hand_over(&w, 1, 2, 100);
	flush(&w, 1);
	flush(&w, 2);
	hand_over(&w, 1, 2, 100);
	hold_back(&job, &w);
	w.time += LATE_NS;
	write_rest(&job, &w, 1);
	/* of the events handed over since the second's block, only the allocation is there */
	assert_shown(&w, 201, 0);
	write_rest(&job, &w, 2);
	assert_shown(&w, 400, 0);
	job_end(&job, &w);
}

static void the_first_event_may_be_behind(void **state)
{
	(void)state;
	struct writer w;
	struct job job;
	job_start(&job, &w, "first.gpr");
	hand_over(&w, 3, 1, 1);
	hand_over(&w, 1, 1, 10);
	hold_back(&job, &w);
	write_rest(&job, &w, 1);
	assert_shown(&w, 0, 0);
	write_rest(&job, &w, 3);
	assert_shown(&w, 22, 0);
	job_end(&job, &w);
}

/* A loss was recorded; later events of the neighbouring thread do not count as lost. */
static void late_events_are_not_lost(void **state)
{
	(void)state;
	struct writer w;
	struct job job;
	job_start(&job, &w, "lost.gpr");
	hand_over(&w, 1, 2, 50);
	flush(&w, 1);
	flush(&w, 2);
	put(&w, 0, (struct gp_record){ .kind = GP_LOST, .aux = 100000, .lost = { .memory = 1 } });
	hand_over(&w, 1, 2, 50);
	hold_back(&job, &w);
	w.time += LATE_NS;
	write_rest(&job, &w, 0);
	write_rest(&job, &w, 1);
	assert_shown(&w, 101, 1);
	write_rest(&job, &w, 2);
	assert_shown(&w, 200, 1);
	job_end(&job, &w);
}

/* A number that its thread never publishes was skipped long ago: reports do not end there. */
static void a_number_passed_over_is_not_awaited(void **state)
{
	(void)state;
	struct writer w;
	struct job job;
	job_start(&job, &w, "passed.gpr");
	for (uint32_t t = 1; t <= 3; t++)
		put(&w, 0, (struct gp_record){ .kind = GP_THREAD, .aux = t });
	flush(&w, 0);
	hand_over(&w, 1, 2, 50);
	w.order++;
	hand_over(&w, 1, 2, 50);
	hold_back(&job, &w);
	w.time += LATE_NS;
	write_rest(&job, &w, 1);
	write_rest(&job, &w, 2);
	assert_shown(&w, 200, 1);
	hand_over(&w, 1, 2, 50);
	hold_back(&job, &w);
	write_rest(&job, &w, 1);
	assert_shown(&w, 201, 1);
	job_end(&job, &w);
}

/* The same if a replay begins in the middle: a checkpoint, and the first event after it. */
static void a_segment_that_is_sought_may_be_behind(void **state)
{
	(void)state;
	struct writer w;
	struct job job;
	struct gp_recording *r;
	uint32_t thread;
	enum gp_status status = GP_OK;
	job_start(&job, &w, "sought.gpr");
	hand_over(&w, 1, 2, 50);
	put(&w, 1,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x7000000000, .bytes = 512 } });
	next_segment(&w);
	put(&w, 2, (struct gp_record){ .kind = GP_FREE, .free = { .address = 0x7000000000 } });
	hand_over(&w, 1, 2, 50);
	hold_back(&job, &w);
	w.time += LATE_NS;
	write_rest(&job, &w, 1);
	for (unsigned is_whole = 0; is_whole < 2; is_whole++) {
		r = fixture_open(w.path);
		assert_int_equal(gp_recording_seek(r, gp_segment_by_order(r, w.order)), GP_OK);
		assert_int_equal(r->segment, 1);
		while (gp_recording_step(r, &thread, &status) != NULL)
			;
		assert_int_equal(status, GP_END);
		assert_int_equal(r->seen, is_whole ? 101 : 0);
		assert_int_equal(gp_live_entries(r->live), !is_whole);
		assert_int_equal(gp_live_count(r->live, GP_COUNT_ANOMALIES), 0);
		gp_recording_close(r);
		write_rest(&job, &w, 2);
	}
	job_end(&job, &w);
}

/* ---- reading on ---- */

static void read_on(struct gp_recording *r)
{
	uint32_t thread;
	enum gp_status status = r->is_followed ? gp_follow_more(r) : gp_follow_begin(r);
	assert_int_equal(status, GP_OK);
	while (gp_recording_step(r, &thread, &status) != NULL)
		;
	assert_int_equal(status, GP_END);
	assert_int_equal(r->index.damages, 0);
}

/*
 * The state is that of a new reader, which reads everything. Launches before a missing number may
 * be returned earlier, until all numbers are there.
 */
static void assert_as_new(const struct gp_recording *followed, const char *path, bool is_whole)
{
	uint32_t thread;
	enum gp_status status;
	struct gp_recording *r = fixture_open(path);
	while (gp_recording_step(r, &thread, &status) != NULL)
		;
	assert_int_equal(status, GP_END);
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (is_whole || kind != GP_LAUNCH)
			assert_int_equal(gp_live_count(followed->live, kind),
					 gp_live_count(r->live, kind));
	assert_int_equal(gp_live_entries(followed->live), gp_live_entries(r->live));
	assert_int_equal(gp_live_count(followed->live, GP_COUNT_ANOMALIES), 0);
	for (unsigned c = 0; c < GP_CURVES; c++)
		assert_memory_equal(&gp_live_device(followed->live, 0)->curve[c],
				    &gp_live_device(r->live, 0)->curve[c],
				    sizeof(struct gp_curve_state));
	gp_recording_close(r);
}

static void write_some(struct job *job, struct writer *w, uint64_t *state, unsigned round)
{
	put_work(w, 1 + *state % 150, state);
	hold_back(job, w);
	for (unsigned t = 0; t < 4; t++)
		if ((round * 7 + t * 3) % 5 < 2)
			write_rest(job, w, t);
	if (round % 23 == 22) {
		for (unsigned t = 0; t < 4; t++)
			write_rest(job, w, t);
		next_segment(w);
	}
	hold_back(job, w);
}

static void follow_in(const char *name, uint32_t slots, uint64_t slot_bytes, unsigned pause,
		      bool is_lapped)
{
	struct writer w;
	struct job job;
	uint64_t state = 0;
	job_start_in(&job, &w, name, slots, slot_bytes);
	write_some(&job, &w, &state, 0);
	struct gp_recording *r = fixture_open(w.path);
	read_on(r);
	for (unsigned round = 0; round < 400; round++) {
		write_some(&job, &w, &state, round);
		if (round % pause != 0)
			continue;
		read_on(r);
		assert_as_new(r, w.path, false);
	}
	for (unsigned t = 0; t < 4; t++)
		write_rest(&job, &w, t);
	hold_back(&job, &w);
	read_on(r);
	assert_int_equal(gp_recording_next_order(r), w.order);
	assert_as_new(r, w.path, true);
	/* when it was opened, and when the reading began */
	assert_int_equal(r->rewinds > 2, is_lapped);
	const uint64_t seen = r->seen;
	read_on(r); /* without news */
	assert_int_equal(r->seen, seen);
	job_end(&job, &w);
	assert_int_equal(gp_follow_more(r), GP_OK);
	assert_false(r->is_running);
	gp_recording_close(r);
}

static void reading_on_equals_a_new_reader(void **state)
{
	(void)state;
	follow_in("on.gpr", 0, 0, 1, false);
	follow_in("on_seldom.gpr", 0, 0, 37, false);
}

/* The job overwrites its slots during the reading; with a long pause, all of them. */
static void reading_on_in_a_ring_equals_a_new_reader(void **state)
{
	(void)state;
	follow_in("on_ring.gpr", 8, 16384, 1, false);
	follow_in("on_lapped.gpr", 8, 16384, 199, true);
}

/* Root may open any file. Opening a file to write may notify its owner, as a lease does. */
static void a_file_of_another_user_is_not_opened_to_write(void **state)
{
	(void)state;
	char path[300];
	snprintf(path, sizeof path, "%s/of_another", directory);
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	assert_true(fd >= 0);
	close(fd);
	fd = gp_regular_open(path, O_RDWR);
	assert_true(fd >= 0);
	close(fd);
	const bool is_given = geteuid() == 0 && chown(path, 65534, 65534) == 0;
	fd = is_given ? gp_regular_open(path, O_RDWR) : -1;
	assert_int_equal(fd, -1);
	fd = gp_regular_open(path, O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	if (!is_given) {
		print_message("skipped: only root may give a file to another user\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_may_be_behind_for_long),
		cmocka_unit_test(the_first_event_may_be_behind),
		cmocka_unit_test(late_events_are_not_lost),
		cmocka_unit_test(a_number_passed_over_is_not_awaited),
		cmocka_unit_test(a_segment_that_is_sought_may_be_behind),
		cmocka_unit_test(reading_on_equals_a_new_reader),
		cmocka_unit_test(reading_on_in_a_ring_equals_a_new_reader),
		cmocka_unit_test(a_file_of_another_user_is_not_opened_to_write),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
