/* The wrappers of copies, fills and waits against the driver and the ring of hook_driver.h. */
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
#include "state/live.h"

static void alloc(uint64_t address)
{
	CUdeviceptr out = 0;
	driver.address = address;
	assert_int_equal(wrap_cuMemAlloc_v2(&out, 4096), driver.result);
	assert_int_equal(errno, EPIPE);
}

static void test_elapsed_times_are_recorded(void **state)
{
	(void)state;
	float ms = 1.5f;
	assert_int_equal(wrap_cuEventElapsedTime(&ms, (CUevent)0x11, (CUevent)0x22), CUDA_SUCCESS);
	const struct gp_record *r = only(GP_ELAPSED);
	assert_int_equal(r->elapsed.start, 0x11);
	assert_int_equal(r->elapsed.end, 0x22);
	assert_int_equal(r->elapsed.elapsed_ns, 1500000);
	ms = -1;
	wrap_cuEventElapsedTime_v2(&ms, (CUevent)0x22, (CUevent)0x11);
	ms = __builtin_nanf("");
	wrap_cuEventElapsedTime_v2(&ms, (CUevent)0x22, (CUevent)0x11);
	driver.result = 600; /* not ready: the result is not set */
	ms = 1;
	assert_int_equal(wrap_cuEventElapsedTime_v2(&ms, NULL, NULL), 600);
	assert_int_equal(count(GP_ELAPSED), 1);
	assert_int_equal(gp_thread.inside, 0);
}

static void test_copies_and_waits_are_recorded_after_the_call(void **state)
{
	(void)state;
	char here[16] = "";
	size_t before = committed();
	wrap_cuMemcpyHtoDAsync_v2(0x7f1200000000, here, 8, (CUstream)0x55);
	assert_int_equal(driver.seen_at_call, before);
	const struct gp_record *copy = only(GP_COPY);
	assert_int_equal(gp_call_kind(copy->aux), GP_COPY_TO_DEVICE);
	assert_true(copy->aux & GP_CALL_ASYNC);
	assert_int_equal(copy->copy.to, 0x7f1200000000);
	assert_int_equal(copy->copy.from, here);
	assert_int_equal(copy->copy.bytes, 8);
	assert_int_equal(copy->copy.stream, 0x55);
	driver.result = 700;
	before = committed();
	wrap_cuStreamSynchronize((CUstream)0x55);
	assert_int_equal(driver.seen_at_call, before);
	const struct gp_record *wait = only(GP_WAIT);
	assert_int_equal(gp_call_kind(wait->aux), GP_WAIT_STREAM);
	assert_int_equal(wait->wait.handle, 0x55);
	assert_int_equal(wait->code, 700);
	assert_true(wait->time >= copy->time);
	errno = 0;
	wrap_cuCtxSynchronize();
	assert_int_equal(errno, EPIPE); /* the driver's, not ours */
	assert_int_equal(count(GP_WAIT), 2);
}

/* Fills count in bytes, volumes in bytes of all rows. */
static void test_bytes_of_fills_and_volumes(void **state)
{
	(void)state;
	wrap_cuMemsetD16_v2(0x7f1200000000, 1, 100);
	assert_int_equal(only(GP_COPY)->copy.bytes, 200);
	gp_thread.head = 0;
	wrap_cuMemsetD2D32Async(0x7f1200000000, 512, 1, 10, 3, NULL);
	assert_int_equal(only(GP_COPY)->copy.bytes, 120);
	assert_int_equal(gp_call_kind(only(GP_COPY)->aux), GP_COPY_FILL);
	gp_thread.head = 0;
	const CUDA_MEMCPY3D volume = { .srcMemoryType = MEMORY_HOST,
				       .dstMemoryType = MEMORY_DEVICE,
				       .WidthInBytes = 16,
				       .Height = 4,
				       .Depth = 2 };
	wrap_cuMemcpy3D_v2(&volume);
	assert_int_equal(only(GP_COPY)->copy.bytes, 128);
	assert_int_equal(gp_call_kind(only(GP_COPY)->aux), GP_COPY_TO_DEVICE);
	gp_thread.head = 0;
	wrap_cuMemcpy2D_v2(NULL);
	assert_int_equal(count(GP_COPY), 1);
}

/* The copy that the last call left, after which the ring is empty. */
static struct gp_record only_copy(enum gp_call kind, uint64_t to, uint64_t from, uint64_t bytes)
{
	const struct gp_record copy = *only(GP_COPY);
	assert_int_equal(gp_call_kind(copy.aux), kind);
	assert_int_equal(copy.copy.to, to);
	assert_int_equal(copy.copy.from, from);
	assert_int_equal(copy.copy.bytes, bytes);
	gp_thread.head = 0;
	return copy;
}

/* An array has no address. */
static void test_copies_of_arrays(void **state)
{
	(void)state;
	const CUarray array = (CUarray)0x77;
	const uint64_t device = 0x7f1200000000;
	char here[16];
	const uint64_t host = (uint64_t)here;
	wrap_cuMemcpyDtoA_v2(array, 8, device, 16);
	only_copy(GP_COPY_ON_DEVICE, 0, device, 16);
	wrap_cuMemcpyAtoD_v2_ptds(device, array, 8, 24);
	only_copy(GP_COPY_ON_DEVICE, device, 0, 24);
	wrap_cuMemcpyAtoA_v2(array, 1, array, 2, 32);
	only_copy(GP_COPY_ON_DEVICE, 0, 0, 32);
	wrap_cuMemcpyHtoA_v2(array, 8, here, 16);
	assert_false(only_copy(GP_COPY_TO_DEVICE, 0, host, 16).aux & GP_CALL_ASYNC);
	wrap_cuMemcpyHtoAAsync_v2_ptsz(array, 8, here, 12, (CUstream)0x55);
	const struct gp_record async = only_copy(GP_COPY_TO_DEVICE, 0, host, 12);
	assert_true(async.aux & GP_CALL_ASYNC);
	assert_int_equal(async.copy.stream, 0x55);
	wrap_cuMemcpyAtoH_v2(here, array, 8, 16);
	only_copy(GP_COPY_TO_HOST, host, 0, 16);
	wrap_cuMemcpyAtoHAsync_v2(here, array, 8, 10, NULL);
	assert_true(only_copy(GP_COPY_TO_HOST, host, 0, 10).aux & GP_CALL_ASYNC);
}

/* Volumes between devices, pages, and a copy with attributes. */
static void test_copies_between_devices(void **state)
{
	(void)state;
	CUDA_MEMCPY3D_PEER volume = { .srcMemoryType = MEMORY_DEVICE,
				      .srcDevice = 0x7f1200000000,
				      .dstMemoryType = MEMORY_DEVICE,
				      .dstDevice = 0x7f3400000000,
				      .dstXInBytes = 8,
				      .WidthInBytes = 16,
				      .Height = 4,
				      .Depth = 2 };
	wrap_cuMemcpy3DPeer(&volume);
	only_copy(GP_COPY_PEER, 0x7f3400000008, 0x7f1200000000, 128);
	volume.srcMemoryType = MEMORY_HOST;
	wrap_cuMemcpy3DPeerAsync_ptsz(&volume, (CUstream)0x55);
	assert_int_equal(only_copy(GP_COPY_TO_DEVICE, 0x7f3400000008, 0, 128).copy.stream, 0x55);
	wrap_cuMemcpy3DPeer(NULL);
	only_copy(GP_COPY_UNIFIED, 0, 0, 0);
	const CUmemLocation location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 };
	wrap_cuMemPrefetchAsync(0x7f1200000000, 4096, 1, NULL);
	only_copy(GP_COPY_PREFETCH, 0x7f1200000000, 0, 4096);
	wrap_cuMemPrefetchAsync_v2(0x7f1200000000, 8192, location, 0, (CUstream)0x55);
	assert_int_equal(only_copy(GP_COPY_PREFETCH, 0x7f1200000000, 0, 8192).copy.stream, 0x55);
	wrap_cuMemcpyWithAttributesAsync(0x7f1200000000, 0x7f3400000000, 64, NULL, NULL);
	only_copy(GP_COPY_UNIFIED, 0x7f1200000000, 0x7f3400000000, 64);
}

/* One record for each copy of a batch; the first has the call's duration. */
static void test_batches_are_single_copies(void **state)
{
	(void)state;
	CUdeviceptr to[] = { 0x7f1200000000, 0x7f1200001000, 0x7f1200002000 };
	CUdeviceptr from[] = { 0x7f3400000000, 0x7f3400001000, 0x7f3400002000 };
	size_t bytes[] = { 100, 200, 300 };
	wrap_cuMemcpyBatchAsync_v2(to, from, bytes, 3, NULL, NULL, 0, (CUstream)0x55);
	assert_int_equal(count(GP_COPY), 3);
	for (unsigned k = 0, seen = 0; k < committed(); k++) {
		const struct gp_record *r = record(k);
		if (r->kind != GP_COPY)
			continue;
		assert_int_equal(r->copy.to, to[seen]);
		assert_int_equal(r->copy.from, from[seen]);
		assert_int_equal(r->copy.bytes, bytes[seen]);
		assert_int_equal(r->copy.stream, 0x55);
		assert_int_equal(gp_call_took(r->aux) != 0, seen++ == 0);
	}
	gp_thread.head = 0;
	wrap_cuMemcpyBatchAsync(to, from, bytes, 1, NULL, NULL, 0, NULL, NULL);
	only_copy(GP_COPY_UNIFIED, to[0], from[0], 100);
	wrap_cuMemPrefetchBatchAsync(to, bytes, 1, NULL, NULL, 0, 0, NULL);
	only_copy(GP_COPY_PREFETCH, to[0], 0, 100);

	CUDA_MEMCPY3D_BATCH_OP list[2] = {
		{ .src = { CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = from[0] },
		  .dst = { CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = to[0] },
		  .extent = { 16, 4, 2 } },
		{ .src = { CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array.array = (CUarray)0x77 },
		  .dst = { CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = to[1] },
		  .extent = { 16, 4, 2 } },
	};
	wrap_cuMemcpy3DBatchAsync_v2(2, list, 0, NULL);
	assert_int_equal(count(GP_COPY), 2);
	gp_thread.head = 0;
	wrap_cuMemcpy3DBatchAsync(1, &list[1], NULL, 0, NULL);
	only_copy(GP_COPY_UNIFIED, to[1], 0, 0); /* elements of an unknown size */
	wrap_cuMemcpy3DWithAttributesAsync(&list[0], 0, NULL);
	only_copy(GP_COPY_UNIFIED, to[0], from[0], 128);

	driver.result = 719; /* its arguments are not read */
	wrap_cuMemcpyBatchAsync_v2(NULL, NULL, NULL, 3, NULL, NULL, 0, NULL);
	assert_int_equal(only_copy(GP_COPY_UNIFIED, 0, 0, 0).code, 719);
	wrap_cuMemcpy3DBatchAsync_v2(2, NULL, 0, NULL);
	only_copy(GP_COPY_UNIFIED, 0, 0, 0);
}

/* Outside of captures, and with launches off, memory alone is recorded. */
static void test_waits_are_left_out_with_launches(void **state)
{
	(void)state;
	alloc(0x7f1200000000);
	gp_thread.level = GP_LEVEL_MEMORY;
	wrap_cuCtxSynchronize();
	wrap_cuMemcpyDtoD_v2(0x7f1200000000, 0x7f1200000100, 8);
	wrap_cuMemFree_v2(0x7f1200000000);
	assert_int_equal(count(GP_WAIT) + count(GP_COPY), 0);
	assert_int_equal(count(GP_FREE), 1);
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	gp_clock_init();
#define TEST(name) cmocka_unit_test_setup(name, fresh)
	const struct CMUnitTest tests[] = {
		TEST(test_elapsed_times_are_recorded),
		TEST(test_copies_and_waits_are_recorded_after_the_call),
		TEST(test_bytes_of_fills_and_volumes),
		TEST(test_copies_of_arrays),
		TEST(test_copies_between_devices),
		TEST(test_batches_are_single_copies),
		TEST(test_waits_are_left_out_with_launches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
