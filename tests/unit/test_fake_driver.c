/*
 * Properties of the fake driver that other tests rely on. Freed addresses pass from thread to
 * thread at once, memory runs out, and refusals and captures are those of a real driver. Faults
 * occur when they are requested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fake/driver_entry.h"

#define MIB (1ull << 20)

static struct driver cuda;
static void *library;
static CUresult (*mem_info)(size_t *, size_t *);
static CUresult (*pool_attribute)(void *, int, void *);
static CUresult (*default_pool)(void **, CUdevice);
static unsigned long long (*calls)(const char *);

static CUdeviceptr allocated(size_t bytes)
{
	CUdeviceptr address = 0;
	assert_int_equal(cuda.cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
	assert_true(address != 0);
	return address;
}

static size_t free_now(void)
{
	size_t free_bytes, total;
	assert_int_equal(mem_info(&free_bytes, &total), CUDA_SUCCESS);
	return free_bytes;
}

static void *allocate_elsewhere(void *bytes)
{
	CUdeviceptr address = 0;
	if (!driver_use(&cuda, 0) || cuda.cuMemAlloc_v2(&address, (uintptr_t)bytes) != CUDA_SUCCESS)
		return NULL;
	return (void *)(uintptr_t)address;
}

static void hands_a_freed_address_to_the_next_thread(void **state)
{
	(void)state;
	for (size_t bytes = 512; bytes <= 64 * MIB; bytes *= 2) {
		pthread_t thread;
		void *other;
		CUdeviceptr address = allocated(bytes);
		assert_int_equal(address % (bytes >= 2 * MIB ? 2 * MIB : 512), 0);
		assert_int_equal(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
		assert_int_equal(
			pthread_create(&thread, NULL, allocate_elsewhere, (void *)(uintptr_t)bytes),
			0);
		pthread_join(thread, &other);
		assert_true((uintptr_t)other == address);
		assert_int_equal(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	}
}

static void runs_out_of_memory(void **state)
{
	(void)state;
	CUdeviceptr address = 5, big = allocated(free_now() / MIB * MIB - 4 * MIB);
	assert_int_equal(cuda.cuMemAlloc_v2(&address, 5 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	assert_true(address == 5);
	CUdeviceptr small = allocated(3 * MIB);
	assert_int_equal(cuda.cuMemFree_v2(big), CUDA_SUCCESS);
	assert_int_equal(cuda.cuMemFree_v2(small), CUDA_SUCCESS);
	/* the other device has its own memory */
	assert_true(driver_use(&cuda, 1));
	size_t before = free_now();
	address = allocated(MIB);
	assert_int_equal(before - free_now(), MIB);
	assert_int_equal(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	assert_true(driver_use(&cuda, 0));
}

static void refuses_the_calls_that_a_real_driver_refuses(void **state)
{
	(void)state;
	CUdeviceptr address = allocated(4096);
	assert_int_equal(cuda.cuMemFree_v2(address + 512), 1);
	assert_int_equal(cuda.cuMemFree_v2(address), CUDA_SUCCESS);
	assert_int_equal(cuda.cuMemFree_v2(address), 1);
	assert_int_equal(cuda.cuMemAlloc_v2(&address, 0), 1);
	assert_int_equal(cuda.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 400);
	assert_int_equal(cuda.cuStreamDestroy_v2((CUstream)&address), 400);
}

static void maps_and_unmaps(void **state)
{
	(void)state;
	const struct vmm_prop prop = { .type = 1, .location = { 1, 0 } };
	const struct vmm_access access = { { 1, 0 }, 3 };
	CUdeviceptr range;
	CUhandle handle;
	size_t before = free_now();
	assert_int_equal(cuda.cuMemAddressReserve(&range, 64 * MIB, 0, 0, 0), CUDA_SUCCESS);
	assert_int_equal(free_now(), before);
	assert_int_equal(cuda.cuMemCreate(&handle, 4 * MIB, &prop, 0), CUDA_SUCCESS);
	assert_int_equal(before - free_now(), 4 * MIB);
	assert_int_equal(cuda.cuMemMap(range, 4 * MIB, 0, handle, 0), CUDA_SUCCESS);
	assert_int_equal(cuda.cuMemMap(range, 4 * MIB, 0, handle, 0), 208);
	assert_int_equal(cuda.cuMemMap(range + 62 * MIB, 4 * MIB, 0, handle, 0), 1);
	assert_int_equal(cuda.cuMemSetAccess(range, 4 * MIB, &access, 1), CUDA_SUCCESS);
	assert_int_equal(cuda.cuMemAddressFree(range, 64 * MIB), 1);
	assert_int_equal(cuda.cuMemRelease(handle), CUDA_SUCCESS);
	assert_int_equal(cuda.cuMemRelease(handle), 1);
	assert_int_equal(before - free_now(), 4 * MIB); /* still mapped */
	assert_int_equal(cuda.cuMemUnmap(range, 2 * MIB), 1);
	assert_int_equal(cuda.cuMemUnmap(range, 4 * MIB), CUDA_SUCCESS);
	assert_int_equal(free_now(), before);
	assert_int_equal(cuda.cuMemAddressFree(range, 64 * MIB), CUDA_SUCCESS);
}

/* In global mode a call that may synchronize is refused, and the capture is lost. */
static void loses_a_capture_to_an_unsafe_call(void **state)
{
	(void)state;
	CUstream stream;
	CUgraph graph;
	CUdeviceptr address;
	void *pool;
	uint64_t value;
	assert_int_equal(default_pool(&pool, 0), CUDA_SUCCESS);
	assert_int_equal(pool_attribute(pool, 5, &value), CUDA_SUCCESS);
	assert_int_equal(cuda.cuStreamCreate(&stream, 1), CUDA_SUCCESS);
	assert_int_equal(cuda.cuStreamBeginCapture_v2(stream, 0), CUDA_SUCCESS);
	assert_int_equal(pool_attribute(pool, 5, &value), 900);
	assert_int_equal(cuda.cuStreamEndCapture(stream, &graph), 901);
	assert_int_equal(cuda.cuStreamBeginCapture_v2(stream, 2), CUDA_SUCCESS); /* relaxed */
	assert_int_equal(pool_attribute(pool, 5, &value), CUDA_SUCCESS);
	assert_int_equal(cuda.cuMemAllocAsync(&address, 4096, stream), CUDA_SUCCESS);
	assert_int_equal(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	size_t before = free_now();
	assert_int_equal(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
	assert_int_equal(free_now() - before, 4096);
	assert_int_equal(cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

static void reuses_the_handle_of_an_unloaded_function(void **state)
{
	(void)state;
	CUmodule module;
	CUfunction first, again;
	assert_int_equal(cuda.cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
	assert_int_equal(cuda.cuModuleGetFunction(&first, module, "one"), CUDA_SUCCESS);
	assert_int_equal(cuda.cuModuleGetFunction(&again, module, "one"), CUDA_SUCCESS);
	assert_ptr_equal(first, again);
	assert_int_equal(cuda.cuModuleUnload(module), CUDA_SUCCESS);
	assert_int_equal(cuda.cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
	assert_int_equal(cuda.cuModuleGetFunction(&again, module, "two"), CUDA_SUCCESS);
	assert_ptr_equal(first, again);
	assert_int_equal(cuda.cuModuleUnload(module), CUDA_SUCCESS);
}

static void counts_calls(void **state)
{
	(void)state;
	unsigned long long before = calls("cuMemAlloc_v2");
	for (int i = 0; i < 7; i++)
		cuda.cuMemFree_v2(allocated(512));
	assert_int_equal(calls("cuMemAlloc_v2") - before, 7);
}

/* The environment is read when the driver is loaded: the test needs a process of its own. */
static void fails_the_call_that_was_named(void **state)
{
	(void)state;
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		setenv("FAKE_CUDA_FAIL", "cuMemAlloc_v2:3,cuMemFree_v2:1:719", 1);
		setenv("FAKE_CUDA_DEVICES", "1", 1);
		execl("/proc/self/exe", "faulty", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Runs in that process: 0 if the faults occurred as requested. */
static int see_the_faults(void)
{
	CUdeviceptr address;
	CUdevice device;
	for (int i = 1; i <= 4; i++)
		if (cuda.cuMemAlloc_v2(&address, 512) != (i == 3 ? CUDA_ERROR_OUT_OF_MEMORY : 0))
			return i;
	if (cuda.cuMemFree_v2(address) != 719 || cuda.cuMemFree_v2(address) != CUDA_SUCCESS)
		return 5;
	return cuda.cuDeviceGet(&device, 1) == 101 ? 0 : 6;
}

static void find_all(void)
{
	char path[600];
	ssize_t bytes = readlink("/proc/self/exe", path, 512);
	path[bytes > 0 ? bytes : 0] = '\0';
	for (int i = 0; i < 2; i++) /* twice: BUILD/unit/test_fake_driver */
		*strrchr(path, '/') = '\0';
	strcat(path, "/fake/libcuda.so.1");
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library || !driver_open(&cuda, FROM_DLSYM) || !driver_use(&cuda, 0)) {
		fprintf(stderr, "no fake driver at '%s'\n", path);
		exit(1);
	}
	*(void **)&mem_info = dlsym(library, "cuMemGetInfo_v2");
	*(void **)&pool_attribute = dlsym(library, "cuMemPoolGetAttribute");
	*(void **)&default_pool = dlsym(library, "cuDeviceGetDefaultMemPool");
	*(void **)&calls = dlsym(library, "fake_cuda_calls");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hands_a_freed_address_to_the_next_thread),
		cmocka_unit_test(runs_out_of_memory),
		cmocka_unit_test(refuses_the_calls_that_a_real_driver_refuses),
		cmocka_unit_test(maps_and_unmaps),
		cmocka_unit_test(loses_a_capture_to_an_unsafe_call),
		cmocka_unit_test(reuses_the_handle_of_an_unloaded_function),
		cmocka_unit_test(counts_calls),
		cmocka_unit_test(fails_the_call_that_was_named),
	};
	find_all();
	if (argc == 1 && strcmp(argv[0], "faulty") == 0)
		return see_the_faults();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
