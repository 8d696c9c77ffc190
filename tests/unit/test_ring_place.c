/*
 * The rings lie in a shared file only if a store into reserved space can never fail. A store into a
 * mapping of a full BTRFS can: the file system writes to a new place, and the job gets SIGBUS.
 * There the rings are private memory. A descriptor whose file has changed belongs to the job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/magic.h>

#include "../../libgpuprof/record/ranges/scope.h"
#include "../../libgpuprof/record/recorder.h"

static unsigned long fake_type;

/* in place of libc's: every directory is on a file system of `fake_type` with a lot of room */
int statfs(const char *path, struct statfs *out)
{
	(void)path;
	*out = (struct statfs){ .f_bsize = 4096, .f_bavail = 1 << 20 };
	memcpy(&out->f_type, &fake_type, sizeof out->f_type);
	return 0;
}

static struct gp_recorder recorder;
static char directory[64], recording[80];

static void open_place(unsigned long type)
{
	memset(&recorder, 0, sizeof recorder);
	strcpy(directory, "/tmp/gpuprof-ring-place.XXXXXX");
	assert_non_null(mkdtemp(directory));
	fake_type = type;
	strcpy(gp_settings.ring_dir, directory);
	snprintf(recording, sizeof recording, "%s/x.gpr", directory);
	strcpy(recorder.writer.path, recording);
	assert_true(gp_ring_place_open(&recorder, gp_scope_begin));
}

static bool is_shared_on(unsigned long type)
{
	open_place(type);
	bool is_shared = !recorder.is_private;
	gp_ring_place_close(&recorder);
	assert_int_equal(rmdir(directory), 0);
	return is_shared;
}

static void where_space_stays_reserved(void **state)
{
	(void)state;
	assert_true(is_shared_on(TMPFS_MAGIC));
	assert_true(is_shared_on(EXT4_SUPER_MAGIC));
}

static void not_where_a_store_may_fail(void **state)
{
	(void)state;
	assert_false(is_shared_on(BTRFS_SUPER_MAGIC));
	assert_false(is_shared_on(NFS_SUPER_MAGIC));
}

/* opens a file of the job on the descriptor `fd` */
static int give_to_the_job(int fd)
{
	char path[] = "/tmp/gpuprof-jobs-file.XXXXXX";
	int job = mkstemp(path);
	assert_true(job >= 0);
	unlink(path);
	assert_int_equal(write(job, "theirs", 6), 6);
	assert_int_equal(dup2(job, fd), fd);
	return job;
}

static void assert_untouched(int job, int fd)
{
	struct stat st;
	char text[8] = "";
	assert_int_equal(fstat(job, &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(pread(job, text, sizeof text, 0), 6);
	assert_string_equal(text, "theirs");
	assert_int_equal(close(fd), 0); /* the recorder has not closed it */
	close(job);
}

static void a_ring_is_not_made_in_the_jobs_file(void **state)
{
	(void)state;
	open_place(TMPFS_MAGIC);
	const int fd = recorder.ring_fd, directory_fd = recorder.ring_dir_fd;
	int job = give_to_the_job(fd), other = give_to_the_job(directory_fd);
	assert_true(gp_ring_place_add(&recorder));
	assert_false(recorder.views[0].is_shared);
	gp_ring_place_close(&recorder);
	assert_untouched(job, fd);
	assert_untouched(other, directory_fd);
	assert_int_equal(rmdir(directory), 0);
}

static void a_block_is_not_written_to_the_jobs_file(void **state)
{
	(void)state;
	open_place(TMPFS_MAGIC);
	struct gp_file_writer *w = &recorder.writer;
	w->control = gp_control;
	assert_true(gp_file_create(w, recording));
	const int fd = w->fd;
	int job = give_to_the_job(fd);
	assert_false(gp_file_segment(w, 0, 0));
	assert_false(gp_file_put_header(w));
	gp_file_close(w);
	assert_untouched(job, fd);
	gp_ring_place_close(&recorder);
	assert_int_equal(unlink(recording), 0);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_space_stays_reserved),
		cmocka_unit_test(not_where_a_store_may_fail),
		cmocka_unit_test(a_ring_is_not_made_in_the_jobs_file),
		cmocka_unit_test(a_block_is_not_written_to_the_jobs_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
