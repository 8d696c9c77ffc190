/*
 * Events in the rings of dead processes are adopted into their recordings, once. Living processes
 * keep their rings.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "read/file/recording.h"
#include "recording_writer.h"

/* Adopts as commands do that read a recording. */
static enum gp_status adopt_beside(const char *recording, unsigned *adopted, FILE *report)
{
	uint64_t wait_ns = GP_ADOPT_WAIT_NS;
	unsigned own = 0, others = 0;
	/* without a recording: none of its rings */
	gp_adopt_into(recording, &wait_ns, &own, report);
	enum gp_status status = gp_adopt(&others, report);
	if (adopted != NULL)
		*adopted = own + others;
	return status;
}

/*
 * A ring file as a dead process leaves it: `events` in two rings that are not in the recording yet.
 */
static void make_ring_file(const struct writer *w, char *path, size_t capacity, uint32_t rings)
{
	snprintf(path, capacity, "%s/gpuprof-ring-%u-%u-1", directory, (unsigned)getuid(),
		 w->header.pid);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)gp_ring_offset(rings)), 0);
	struct gp_control *c =
		mmap(NULL, gp_ring_offset(rings), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	c->magic = GP_CONTROL_MAGIC;
	c->version = GP_CONTROL_VERSION;
	c->pid = w->header.pid;
	c->is_lock_sure = 1;
	memcpy(c->boot_id, w->header.boot_id, sizeof c->boot_id);
	strcpy(c->output, w->path);
	atomic_store(&c->rings, rings);
	atomic_store(&c->next_order, w->order);
	for (uint32_t i = 0; i < rings; i++) {
		struct gp_ring *ring = (struct gp_ring *)((char *)c + gp_ring_offset(i));
		ring->thread = i;
		/* the ring is about to wrap, and to continue in the next region a little later */
		const uint64_t first = GP_REGION_SLOTS(0u) - 100;
		atomic_store(&ring->tail, first);
		atomic_store(&ring->head, first);
		for (unsigned g = 1; g < GP_RING_REGIONS; g++)
			atomic_store(&ring->grown_at[g], first + 120u * g);
		atomic_store(&ring->region, GP_RING_REGIONS - 1);
		atomic_store(&ring->sequence, w->sequence[i]);
		for (uint64_t k = 0; k < w->buffered[i]; k++) {
			uint64_t head = atomic_load(&ring->head);
			*gp_ring_slot(ring, head) = w->buffer[i][k];
			atomic_store(&ring->head, head + 1);
		}
	}
	munmap(c, gp_ring_offset(rings));
	close(fd);
}

/* An adopted block whose events are not later than the owner's last block has its clocks. */
static void assert_last_clocks(const struct writer *w)
{
	struct gp_file file;
	struct gp_index index = { 0 };
	assert_int_equal(gp_file_open(w->path, &file, NULL), GP_OK);
	assert_int_equal(gp_index_build(&file, &index), GP_OK);
	assert_true(index.last.flags & GP_BLOCK_ADOPTED);
	assert_int_equal(index.last.ticks, w->time);
	assert_int_equal(index.last.mono_ns, w->time);
	assert_int_equal(index.last.unix_ns, 5000000000u + w->time);
	gp_index_release(&index);
	gp_file_release(&file);
}

static void adopt_case(const char *name, uint32_t slots, uint64_t slot_bytes,
		       bool is_written_already)
{
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, name, slots, slot_bytes);
	snprintf(w.header.ring_path, sizeof w.header.ring_path, "%s/gpuprof-ring-%u-%u-1",
		 directory, (unsigned)getuid(), w.header.pid);
	strcpy(w.header.boot_id, "a boot long ago");
	w.header.clock = GP_CLOCK_TSC;
	w.header.start_mono_ns -= 24; /* clocks that are computed differ from those of blocks */
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&w.header, header);
	assert_int_equal(pwrite(w.fd, header, sizeof header, 0), sizeof header);
	put_work(&w, 4321, &seed);
	struct expected e = expect(&w);
	char path[300];
	make_ring_file(&w, path, sizeof path, 4);
	/* the owner died after it wrote thread 2's block, before it freed the slots */
	if (is_written_already) {
		assert_true(w.buffered[2] > 0);
		flush(&w, 2);
	}
	for (unsigned t = 0; t < 4; t++)
		w.buffered[t] = 0;
	writer_close(&w, false);
	FILE *report = tmpfile();
	unsigned adopted;
	assert_int_equal(adopt_beside(w.path, &adopted, report), GP_OK);
	assert_true(adopted >= 1); /* other processes may have left theirs in /dev/shm */
	assert_true(ftell(report) > 0);
	fclose(report);
	assert_int_equal(access(path, F_OK), -1);
	assert_reads(w.path, &e, true);
	if (is_written_already)
		assert_last_clocks(&w);
	struct stat before, after;
	assert_int_equal(stat(w.path, &before), 0);
	assert_int_equal(adopt_beside(w.path, &adopted, NULL), GP_OK);
	assert_int_equal(stat(w.path, &after), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
	assert_int_equal(before.st_size, after.st_size);
}

static void rings_of_the_dead_are_adopted(void **state)
{
	(void)state;
	adopt_case("dead.gpr", 0, 0, false);
	adopt_case("dead-midway.gpr", 0, 0, true);
	adopt_case("dead-ring.gpr", 4, 256 << 10, false);
	adopt_case("dead-small.gpr", 16, 24 << 10, true);
}

static void rings_of_the_living_are_left_alone(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, "alive.gpr", 0, 0);
	put_work(&w, 1000, &seed);
	char path[300];
	make_ring_file(&w, path, sizeof path, 1);
	writer_close(&w, false);
	int ready[2], done[2];
	assert_int_equal(pipe(ready) | pipe(done), 0);
	pid_t child = fork();
	if (child == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
		int fd = open(path, O_RDWR);
		char byte = fcntl(fd, F_SETLK, &lock) == 0;
		close(done[1]);
		if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 0)
			_exit(1);
		_exit(0);
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	unsigned adopted;
	assert_int_equal(adopt_beside(w.path, &adopted, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), 0);
	close(done[1]);
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	unlink(path);
}

static struct gp_control *map_control(const char *path)
{
	int fd = open(path, O_RDWR);
	struct gp_control *c =
		mmap(NULL, GP_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(c, MAP_FAILED);
	return c;
}

/* A dead process's ring file and its recording, named by each other. */
static void make_dead(struct writer *w, const char *name, char *path, size_t capacity)
{
	uint64_t seed = 0;
	writer_open(w, name, 0, 0);
	snprintf(w->header.ring_path, sizeof w->header.ring_path, "%s/gpuprof-ring-%u-%u-1",
		 directory, (unsigned)getuid(), w->header.pid);
	strcpy(w->header.boot_id, "a boot long ago");
	put_header(w);
	put_work(w, 1000, &seed);
	make_ring_file(w, path, capacity, 4);
	for (unsigned t = 0; t < 4; t++)
		w->buffered[t] = 0;
	writer_close(w, false);
}

static void assert_losses(const char *path, uint64_t memory, uint64_t launch, bool has_hole)
{
	const struct gp_info *info;
	struct gp_recording *r = fixture_info(path, &info);
	assert_int_equal(info->lost_memory, memory);
	assert_int_equal(info->lost_launch, launch);
	assert_int_equal(info->has_hole, has_hole);
	assert_int_equal(info->is_complete, !has_hole);
	/* blocks of an older recorder keep the rules of its version */
	assert_int_equal(info->format_minor, memory > 0 ? GP_FORMAT_LOSSES : 0);
	gp_recording_close(r);
}

/*
 * A child that adopts the rings at `path` and holds their lock. It signals when it has the lock. It
 * ends when it reads `until` from `report`, and removes the rings; NULL: it runs until it is
 * killed.
 */
static pid_t adopt_elsewhere(const char *path, const int report[2], const char *until)
{
	int ready[2];
	char byte = 0;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
		int fd = open(path, O_RDWR);
		byte = fcntl(fd, F_SETLK, &lock) == 0;
		alarm(200); /* ends the child if the test fails */
		close(report[1]);
		FILE *in = fdopen(report[0], "r");
		char line[600] = "";
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		while (until ? !strstr(line, until) : 1)
			if (!fgets(line, sizeof line, in))
				until ? _exit(2) : (void)pause();
		_exit(unlink(path) != 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void be_of_this_namespace(const char *path)
{
	struct stat namespace;
	assert_int_equal(stat("/proc/self/ns/pid", &namespace), 0);
	struct gp_control *c = map_control(path);
	c->pid_namespace = namespace.st_ino;
	munmap(c, GP_CONTROL_BYTES);
}

/*
 * A reader waits for an adoption by another process and reports it: half of the events may be
 * missing.
 */
static void adoption_by_another_is_awaited(void **state)
{
	(void)state;
	struct writer w;
	char path[300];
	int report[2], status;
	make_dead(&w, "awaited.gpr", path, sizeof path);
	be_of_this_namespace(path);
	assert_int_equal(pipe(report), 0);
	pid_t child = adopt_elsewhere(path, report, "waiting for process");
	FILE *out = fdopen(report[1], "w");
	assert_int_equal(adopt_beside(w.path, NULL, out), GP_OK);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fclose(out);
	close(report[0]);
}

static void assert_reported(FILE *report, const char *what)
{
	char line[600] = "";
	rewind(report);
	while (!strstr(line, what) && fgets(line, sizeof line, report))
		;
	assert_non_null(strstr(line, what));
}

/*
 * A hanging adoption delays its own recording for a limited time, and other recordings not at all.
 */
static void adoption_that_hangs_is_left(void **state)
{
	(void)state;
	struct writer w, other;
	char path[300];
	int no_report[2], status;
	uint64_t wait_ns = 200000000;
	make_dead(&w, "hangs.gpr", path, sizeof path);
	be_of_this_namespace(path);
	assert_int_equal(pipe(no_report), 0);
	pid_t child = adopt_elsewhere(path, no_report, NULL);
	FILE *report = tmpfile();
	alarm(200);
	writer_open(&other, "no-hang.gpr", 0, 0);
	writer_close(&other, true);
	assert_int_equal(gp_adopt_into(other.path, &wait_ns, NULL, report), GP_OK);
	assert_int_equal(gp_adopt(NULL, report), GP_OK);
	assert_int_equal(wait_ns, 200000000);
	assert_int_equal(gp_adopt_into(w.path, &wait_ns, NULL, report), GP_OK);
	alarm(0);
	assert_int_equal(wait_ns, 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_reported(report, "may lack");
	fclose(report);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(gp_adopt_into(w.path, NULL, NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), -1);
	close(no_report[0]);
	close(no_report[1]);
}

/* Losses are recorded once: in a LOST record if one can be written, in the header in any case. */
static void unrecorded_losses_are_recorded_once(void **state)
{
	(void)state;
	for (unsigned has_hole = 0; has_hole < 2; has_hole++) {
		struct writer w;
		char path[300];
		make_dead(&w, has_hole ? "hole.gpr" : "no-ring.gpr", path, sizeof path);
		struct gp_control *c = map_control(path);
		atomic_store(&c->lost[0], 70);
		atomic_store(&c->lost[1], 5);
		c->reported[0] = has_hole ? 70 : 30; /* the disk refused this record */
		atomic_store(&c->failed_blocks, has_hole);
		atomic_store(&c->has_hole, has_hole);
		munmap(c, GP_CONTROL_BYTES);
		assert_int_equal(adopt_beside(w.path, NULL, NULL), GP_OK);
		assert_int_equal(access(path, F_OK), -1);
		assert_losses(w.path, 70, 5, has_hole);
	}
}

static void make_old(const char *path)
{
	const struct timespec long_ago[2] = { { .tv_sec = time(NULL) - 8 * 24 * 3600 },
					      { .tv_sec = time(NULL) - 8 * 24 * 3600 } };
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
}

/* The recording is gone, and another one has its name: the rings stay for 7 days. */
static void a_name_used_again(void **state)
{
	(void)state;
	static const char *const others[] = { "not a recording at all", NULL };
	setenv("GPUPROF_RING_DIR", directory, 1);
	for (unsigned k = 0; k < 2; k++) {
		struct writer dead, other;
		char path[300];
		make_dead(&dead, k ? "again.gpr" : "foreign.gpr", path, sizeof path);
		unlink(dead.path);
		if (others[k]) {
			int fd = open(dead.path, O_WRONLY | O_CREAT, 0600);
			char bytes[GP_FILE_HEADER] = "";
			strcpy(bytes, others[k]);
			assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
			close(fd);
		} else {
			writer_open(&other, "again.gpr", 0, 0);
			writer_close(&other, true);
		}
		FILE *report = tmpfile();
		be_of_this_namespace(path);
		assert_int_equal(adopt_beside(dead.path, NULL, report), GP_OK);
		assert_int_equal(access(path, F_OK), 0);
		assert_reported(report, "its recording is not at");
		make_old(path);
		struct gp_control *c = map_control(path);
		/* a recent heartbeat of the owner: its rings stay, even if the file is old */
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		atomic_store(&c->heartbeat_ns, (uint64_t)now.tv_sec * 1000000000u);
		make_old(path);
		assert_int_equal(adopt_beside(dead.path, NULL, NULL), GP_OK);
		assert_int_equal(access(path, F_OK), 0);
		atomic_store(&c->heartbeat_ns, UINT64_MAX); /* of another boot */
		munmap(c, GP_CONTROL_BYTES);
		make_old(path);
		assert_int_equal(adopt_beside(dead.path, NULL, report), GP_OK);
		assert_int_equal(access(path, F_OK), -1);
		assert_reported(report, "removed");
		fclose(report);
		assert_int_equal(access(dead.path, F_OK), 0);
	}
	unsetenv("GPUPROF_RING_DIR");
}

/* The directory is gone or belongs to another container: its rings stay for 7 days, too. */
static void a_directory_that_is_gone(void **state)
{
	(void)state;
	struct writer dead;
	char path[300];
	setenv("GPUPROF_RING_DIR", directory, 1);
	make_dead(&dead, "gone.gpr", path, sizeof path);
	unlink(dead.path);
	struct gp_control *c = map_control(path);
	snprintf(c->output, sizeof c->output, "%s/gone/gone.gpr", directory);
	atomic_store(&c->heartbeat_ns, UINT64_MAX); /* of another boot */
	munmap(c, GP_CONTROL_BYTES);
	assert_int_equal(gp_adopt(NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), 0);
	make_old(path);
	assert_int_equal(gp_adopt(NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), -1);
	unsetenv("GPUPROF_RING_DIR");
}

/*
 * Both files may come from one archive: a ring file that names another recording must not write to
 * it.
 */
static void a_ring_beside_a_recording_that_is_not_its_own(void **state)
{
	(void)state;
	struct writer dead, innocent;
	struct stat before, after;
	char path[300];
	make_dead(&dead, "elsewhere.gpr", path, sizeof path);
	be_of_this_namespace(path);
	assert_int_equal(stat(dead.path, &before), 0);
	writer_open(&innocent, "innocent.gpr", 0, 0);
	writer_close(&innocent, true);
	assert_int_equal(adopt_beside(innocent.path, NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(stat(dead.path, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(adopt_beside(dead.path, NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), -1);
}

/*
 * A moved recording adopts its own rings when it is read. Other recordings leave these rings alone.
 */
static void a_recording_that_was_moved(void **state)
{
	(void)state;
	struct writer dead, other;
	char path[300], moved[300];
	make_dead(&dead, "before.gpr", path, sizeof path);
	be_of_this_namespace(path);
	snprintf(moved, sizeof moved, "%s/moved.gpr", directory);
	assert_int_equal(rename(dead.path, moved), 0);
	writer_open(&other, "other.gpr", 0, 0);
	writer_close(&other, true);
	assert_int_equal(adopt_beside(other.path, NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(adopt_beside(moved, NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), -1);
	assert_losses(moved, 0, 0, false);
	const struct gp_info *info;
	uint64_t events = 0;
	struct gp_recording *r = fixture_info(moved, &info);
	assert_int_equal(info->uncertains, 0);
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		events += info->counts[kind];
	assert_true(events >= dead.order);
	gp_recording_close(r);
}

/* A sparse file of a few bytes may claim thousands of rings: holes without data are skipped. */
static void rings_in_a_hole_are_passed_over(void **state)
{
	(void)state;
	struct writer w;
	char path[300];
	struct gp_ring_file rings;
	writer_open(&w, "holes.gpr", 0, 0);
	make_ring_file(&w, path, sizeof path, 1);
	writer_close(&w, true);
	struct gp_control *c = map_control(path);
	atomic_store(&c->rings, UINT32_MAX);
	const uint32_t thread = 77;
	const int fd = open(path, O_RDWR);
	const off_t last = (off_t)gp_ring_offset(GP_RINGS_MAX - 1);
	assert_int_equal(ftruncate(fd, last + (off_t)GP_RING_BYTES), 0);
	assert_int_equal(
		pwrite(fd, &thread, sizeof thread, last + (off_t)offsetof(struct gp_ring, thread)),
		sizeof thread);
	assert_int_equal(gp_ring_file_open(path, false, &rings), GP_OK);
	assert_int_equal(rings.rings, 2);
	assert_int_equal(gp_ring_file_ring(&rings, 0)->thread, 0);
	assert_int_equal(gp_ring_file_ring(&rings, 1)->thread, thread);
	gp_ring_file_close(&rings);
	atomic_store(&c->rings, GP_RINGS_MAX - 1);
	assert_int_equal(gp_ring_file_open(path, false, &rings), GP_OK);
	assert_int_equal(rings.rings, 1);
	gp_ring_file_close(&rings);
	assert_int_equal(ftruncate(fd, last + (off_t)GP_RING_BYTES + 1), 0);
	assert_int_equal(gp_ring_file_open(path, false, &rings), GP_E_NOT_RECORDING);
	close(fd);
	munmap(c, GP_CONTROL_BYTES);
	unlink(path);
}

static atomic_bool is_clock_stopped;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static const struct timespec stopped = { .tv_sec = 1 };
	if (!is_clock_stopped)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = stopped;
	return 0;
}

/* Holds the rings' lock and always requests a flush of one more event, until it is killed. */
static void request_flushes_for_ever(const char *path, int ready)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	struct gp_control *c = map_control(path);
	int fd = open(path, O_RDWR);
	char byte = fcntl(fd, F_SETLK, &lock) == 0;
	alarm(200); /* ends the child if the test fails */
	for (uint64_t order = 1;; order++) {
		atomic_store(&c->flushes_requested, order + 1);
		atomic_store(&c->flushes_done, order);
		atomic_fetch_add(&c->flushes, 1);
		if (order == 1 && write(ready, &byte, 1) != 1)
			_exit(1);
		nanosleep(&(const struct timespec){ 0, 1000000 }, NULL);
	}
}

/* A reader waits for the flushes that were requested before it came, and not for later ones. */
static void a_job_with_endless_flush_requests_is_read(void **state)
{
	(void)state;
	struct writer w;
	char path[300], byte = 0;
	int ready[2];
	make_dead(&w, "polls.gpr", path, sizeof path);
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0)
		request_flushes_for_ever(path, ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	assert_true(gp_ring_file_is_written(&w.header));
	/*
	 * with a stopped clock the limit of a second is not reached, so waiting for all would end
	 * by SIGALRM
	 */
	is_clock_stopped = true;
	gp_ring_file_await(&w.header);
	is_clock_stopped = false;
	int status;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_of_the_dead_are_adopted),
		cmocka_unit_test(rings_of_the_living_are_left_alone),
		cmocka_unit_test(adoption_by_another_is_awaited),
		cmocka_unit_test(adoption_that_hangs_is_left),
		cmocka_unit_test(unrecorded_losses_are_recorded_once),
		cmocka_unit_test(a_name_used_again),
		cmocka_unit_test(a_directory_that_is_gone),
		cmocka_unit_test(a_ring_beside_a_recording_that_is_not_its_own),
		cmocka_unit_test(a_recording_that_was_moved),
		cmocka_unit_test(rings_in_a_hole_are_passed_over),
		cmocka_unit_test(a_job_with_endless_flush_requests_is_read),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
