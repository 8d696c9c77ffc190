/*
 * The rings lie in a shared file only where a store into reserved space can never fail. A store
 * into a mapping of a full BTRFS can: the file system writes to a new place, and the job gets
 * SIGBUS. So there the rings are private memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/magic.h>

#include "../../libgpuprof/record/recorder.h"

static unsigned long told_type;

/* in place of libc's: every directory is on a file system of `told_type` with a lot of room */
int statfs(const char *path, struct statfs *out)
{
	(void)path;
	*out = (struct statfs){ .f_bsize = 4096, .f_bavail = 1 << 20 };
	memcpy(&out->f_type, &told_type, sizeof out->f_type);
	return 0;
}

static bool is_shared_on(unsigned long type)
{
	static struct gp_recorder recorder;
	memset(&recorder, 0, sizeof recorder);
	char directory[] = "/tmp/gpuprof-ring-place.XXXXXX";
	assert_non_null(mkdtemp(directory));
	told_type = type;
	strcpy(gp_settings.ring_dir, directory);
	snprintf(recorder.writer.path, sizeof recorder.writer.path, "%s/x.gpr", directory);
	assert_true(gp_ring_place_open(&recorder));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_space_stays_reserved),
		cmocka_unit_test(not_where_a_store_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
