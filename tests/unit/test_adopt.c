/* What the dead left in their rings is taken into their recording, once; the living keep theirs. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "recording_writer.h"

/*
 * A ring file as a process leaves it that is gone: `events` in two rings, not yet in the recording.
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
		/* the ring is about to wrap */
		atomic_store(&ring->tail, GP_RING_SLOTS - 100);
		atomic_store(&ring->head, GP_RING_SLOTS - 100);
		atomic_store(&ring->sequence, w->sequence[i]);
		for (uint64_t k = 0; k < w->buffered[i]; k++) {
			uint64_t head = atomic_load(&ring->head);
			ring->slots[head % GP_RING_SLOTS] = w->buffer[i][k];
			atomic_store(&ring->head, head + 1);
		}
	}
	munmap(c, gp_ring_offset(rings));
	close(fd);
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
	assert_int_equal(gp_adopt_beside(w.path, &adopted, report), GP_OK);
	assert_true(adopted >= 1); /* others may have left theirs in /dev/shm */
	assert_true(ftell(report) > 0);
	fclose(report);
	assert_int_equal(access(path, F_OK), -1);
	assert_reads(w.path, &e, true);
	struct stat before, after;
	assert_int_equal(stat(w.path, &before), 0);
	assert_int_equal(gp_adopt_beside(w.path, &adopted, NULL), GP_OK);
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
	assert_int_equal(gp_adopt_beside(w.path, &adopted, NULL), GP_OK);
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
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&w->header, header);
	assert_int_equal(pwrite(w->fd, header, sizeof header, 0), sizeof header);
	put_work(w, 1000, &seed);
	make_ring_file(w, path, capacity, 4);
	for (unsigned t = 0; t < 4; t++)
		w->buffered[t] = 0;
	writer_close(w, false);
}

static void assert_losses(const char *path, uint64_t memory, uint64_t launch, bool has_hole)
{
	struct gp_recording *r;
	const struct gp_info *info;
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_int_equal(info->lost_memory, memory);
	assert_int_equal(info->lost_launch, launch);
	assert_int_equal(info->has_hole, has_hole);
	assert_int_equal(info->is_complete, !has_hole);
	gp_recording_close(r);
}

/* Whether our parent waits for a lock: "1: -> POSIX  ADVISORY  WRITE pid ...". */
static bool is_awaited(void)
{
	char line[200];
	bool is_found = false;
	FILE *locks = fopen("/proc/locks", "r");
	while (locks && !is_found && fgets(line, sizeof line, locks)) {
		const char *waits = strstr(line, "-> POSIX");
		unsigned pid;
		is_found = waits && sscanf(waits, "-> POSIX ADVISORY WRITE %u", &pid) == 1 &&
			   (pid_t)pid == getppid();
	}
	if (locks)
		fclose(locks);
	return is_found;
}

/* What another process is adopting is awaited: who read on would see half of it. */
static void adoption_by_another_is_awaited(void **state)
{
	(void)state;
	struct writer w;
	struct stat namespace;
	char path[300], byte = 0;
	int ready[2], status;
	make_dead(&w, "awaited.gpr", path, sizeof path);
	assert_int_equal(stat("/proc/self/ns/pid", &namespace), 0);
	struct gp_control *c = map_control(path);
	c->pid_namespace = namespace.st_ino;
	munmap(c, GP_CONTROL_BYTES);
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
		int fd = open(path, O_RDWR);
		byte = fcntl(fd, F_SETLK, &lock) == 0;
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (int i = 0; i < 5000 && !is_awaited(); i++)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		_exit(!is_awaited() || unlink(path) != 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	assert_int_equal(gp_adopt_beside(w.path, NULL, NULL), GP_OK);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Told once: by a LOST record where one can be written, in the header in any case. */
static void losses_that_nobody_told(void **state)
{
	(void)state;
	for (unsigned has_hole = 0; has_hole < 2; has_hole++) {
		struct writer w;
		char path[300];
		make_dead(&w, has_hole ? "hole.gpr" : "no-ring.gpr", path, sizeof path);
		struct gp_control *c = map_control(path);
		atomic_store(&c->lost[0], 70);
		atomic_store(&c->lost[1], 5);
		c->told[0] = has_hole ? 70 : 30; /* to a disk that did not take it */
		atomic_store(&c->failed_blocks, has_hole);
		atomic_store(&c->has_hole, has_hole);
		munmap(c, GP_CONTROL_BYTES);
		assert_int_equal(gp_adopt_beside(w.path, NULL, NULL), GP_OK);
		assert_int_equal(access(path, F_OK), -1);
		assert_losses(w.path, 70, 5, has_hole);
	}
}

/* Its recording was removed, and another took the name: the rings have nowhere to go. */
static void a_name_used_again(void **state)
{
	(void)state;
	struct stat namespace;
	assert_int_equal(stat("/proc/self/ns/pid", &namespace), 0);
	static const char *const others[] = { "not a recording at all", NULL };
	for (unsigned k = 0; k < 2; k++) {
		struct writer dead, other;
		char path[300], said[400] = "";
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
		/* of another namespace: the name may mean something else there */
		assert_int_equal(gp_adopt_beside(dead.path, NULL, NULL), GP_OK);
		assert_int_equal(access(path, F_OK), 0);
		struct gp_control *c = map_control(path);
		c->pid_namespace = namespace.st_ino;
		munmap(c, GP_CONTROL_BYTES);
		FILE *report = tmpfile();
		assert_int_equal(gp_adopt_beside(dead.path, NULL, report), GP_OK);
		assert_int_equal(access(path, F_OK), -1);
		rewind(report);
		while (!strstr(said, path) && fgets(said, sizeof said, report))
			;
		assert_non_null(strstr(said, "is gone"));
		fclose(report);
		assert_int_equal(access(dead.path, F_OK), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_of_the_dead_are_adopted),
		cmocka_unit_test(rings_of_the_living_are_left_alone),
		cmocka_unit_test(adoption_by_another_is_awaited),
		cmocka_unit_test(losses_that_nobody_told),
		cmocka_unit_test(a_name_used_again),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
