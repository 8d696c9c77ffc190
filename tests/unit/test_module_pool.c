/* The pool returns a module while its file is unchanged, and not afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/symbols/module_pool.h"

static char copied[] = "/tmp/gpuprof-pool-XXXXXX";

/* This program, which has a build id and symbols. */
static void copy_self(const char *path)
{
	char command[128];
	snprintf(command, sizeof command, "cat /proc/%d/exe >%s", (int)getpid(), path);
	assert_int_equal(system(command), 0);
}

static struct gp_build_id id_of(const char *path)
{
	struct gp_module_file file;
	const struct gp_build_id none = { 0 };
	gp_module_file_open(&file, path, &none, UINT64_MAX, "/nowhere");
	const struct gp_build_id id = file.main.build_id;
	gp_module_file_close(&file);
	assert_true(id.bytes > 0);
	return id;
}

/* Reads the names of the file and gives them to the pool. */
static Elf *give(const char *path, const struct gp_build_id *id)
{
	struct gp_module_names names = { 0 };
	struct gp_work_limit limit = { 0 };
	gp_module_file_open(&names.file, path, id, UINT64_MAX, "/nowhere");
	assert_int_equal(names.file.why, GP_SYMBOL_NAMED);
	assert_true(gp_elf_symbols_read(&names.symbols, &names.file, &limit));
	Elf *elf = names.file.main.elf;
	gp_module_pool_give(path, id, "/nowhere", &names);
	return elf;
}

static void the_same_file_is_found_once(void **state)
{
	(void)state;
	const struct gp_build_id id = id_of(copied);
	struct gp_module_names names;
	Elf *elf = give(copied, &id);
	assert_true(gp_module_pool_take(copied, &id, "/nowhere", &names));
	assert_ptr_equal(names.file.main.elf, elf);
	assert_true(names.symbols.count > 0);
	/* the pool no longer has it */
	struct gp_module_names again;
	assert_false(gp_module_pool_take(copied, &id, "/nowhere", &again));
	gp_module_pool_give(copied, &id, "/nowhere", &names);
	assert_true(gp_module_pool_take(copied, &id, "/nowhere", &names));
	gp_module_names_close(&names);
}

static void another_module_is_not_found(void **state)
{
	(void)state;
	const struct gp_build_id id = id_of(copied);
	struct gp_build_id other = id;
	struct gp_module_names names;
	other.byte[0] ^= 1;
	give(copied, &id);
	assert_false(gp_module_pool_take(copied, &other, "/nowhere", &names));
	assert_false(gp_module_pool_take(copied, &id, "/elsewhere", &names));
	assert_false(gp_module_pool_take("/proc/self/exe", &id, "/nowhere", &names));
	assert_true(gp_module_pool_take(copied, &id, "/nowhere", &names));
	gp_module_names_close(&names);
}

static void a_changed_file_is_not_found(void **state)
{
	(void)state;
	const struct gp_build_id id = id_of(copied);
	struct gp_module_names names;
	give(copied, &id);
	assert_int_equal(truncate(copied, 4096), 0);
	assert_false(gp_module_pool_take(copied, &id, "/nowhere", &names));
	copy_self(copied);
	give(copied, &id);
	assert_int_equal(unlink(copied), 0);
	assert_false(gp_module_pool_take(copied, &id, "/nowhere", &names));
}

static void without_build_id_none_is_kept(void **state)
{
	(void)state;
	const struct gp_build_id none = { 0 };
	struct gp_module_names names = { 0 };
	copy_self(copied);
	gp_module_file_open(&names.file, copied, &none, UINT64_MAX, "/nowhere");
	gp_module_pool_give(copied, &none, "/nowhere", &names);
	assert_null(names.file.main.elf);
	assert_false(gp_module_pool_take(copied, &none, "/nowhere", &names));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_file_is_found_once),
		cmocka_unit_test(another_module_is_not_found),
		cmocka_unit_test(a_changed_file_is_not_found),
		cmocka_unit_test(without_build_id_none_is_kept),
	};
	const int fd = mkstemp(copied);
	if (fd < 0)
		return 1;
	close(fd);
	copy_self(copied);
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(copied);
	return failed;
}
