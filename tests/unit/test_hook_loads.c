/*
 * The wrappers of calls that load modules and make contexts, against the driver and the ring of
 * hook_driver.h: size, duration, and what a refused call leaves out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hook_driver.h"
#include "record/recorder.h"

static void test_module_loads_have_size_and_duration(void **state)
{
	(void)state;
	static const char ptx[] = ".version 8.0\n";
	CUmodule module = (CUmodule)0x77;
	size_t before = committed();
	wrap_cuModuleLoadData(&module, ptx);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(driver.seen_at_call, before);
	const struct gp_record *load = only(GP_MODULE_LOAD);
	assert_int_equal(load->aux, GP_MODULE_PTX);
	assert_int_equal(load->module_load.handle, 0x77);
	assert_int_equal(load->module_load.bytes, sizeof ptx - 1);
	assert_in_range(load->module_load.took, 1, load->time);
	assert_int_equal(only(GP_RESOURCE)->resource.handle, 0x77);
	gp_thread.head = 0;
	CUlibrary library = (CUlibrary)0x88;
	wrap_cuLibraryLoadFromFile(&library, "kernels.cubin", NULL, NULL, 0, NULL, NULL, 0);
	load = only(GP_MODULE_LOAD);
	assert_int_equal(load->aux, GP_MODULE_LIBRARY);
	assert_int_equal(load->module_load.bytes, 0);
	/* the image of a refused load is not read */
	gp_thread.head = 0;
	driver.result = 200;
	wrap_cuModuleLoadData(&module, (const void *)16);
	load = only(GP_MODULE_LOAD);
	assert_int_equal(load->code, 200);
	assert_int_equal(load->module_load.handle, 0);
	assert_int_equal(count(GP_RESOURCE), 0);
}

static void test_contexts_have_the_duration_of_their_call(void **state)
{
	(void)state;
	CUcontext context = (CUcontext)0x2000;
	wrap_cuCtxCreate_v2(&context, 0, 0);
	const struct gp_record *made = only(GP_CONTEXT);
	assert_in_range(made->context.took, 1, made->time);
	assert_in_range(made->context.made, made->context.took, made->time);
	/* a primary context is defined at its first use */
	fresh(NULL);
	wrap_cuDevicePrimaryCtxRetain(&context, 0);
	assert_int_equal(committed(), 0);
	CUdeviceptr memory = 0;
	wrap_cuMemAlloc_v2(&memory, 4096);
	made = only(GP_CONTEXT);
	const uint64_t ended = made->context.made, took = made->context.took;
	assert_in_range(took, 1, ended);
	assert_in_range(ended, 1, made->time);
	/* retained again: the same */
	wrap_cuDevicePrimaryCtxRetain(&context, 0);
	assert_int_equal(atomic_load(&primaries_made[0]), ended);
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	gp_clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_module_loads_have_size_and_duration, fresh),
		cmocka_unit_test_setup(test_contexts_have_the_duration_of_their_call, fresh),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
