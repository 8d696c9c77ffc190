/*
 * The wrappers against the driver and the ring of hook_driver.h: the events of each call, their
 * order and device. The driver is called once, and never by the recorder during a capture.
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
#include "state/live.h"

static void launch(uintptr_t function, CUstream stream)
{
	wrap_cuLaunchKernel((CUfunction)function, 2, 3, 4, 5, 6, 7, 8, stream, NULL, NULL);
	assert_int_equal(errno, EPIPE);
}

static void alloc(uint64_t address)
{
	CUdeviceptr out = 0;
	driver.address = address;
	assert_int_equal(wrap_cuMemAlloc_v2(&out, 4096), driver.result);
	assert_int_equal(errno, EPIPE);
}

/* ---- tests ---- */

/*
 * Every wrapper, with all arguments pointing at zeros: one call of the driver and the driver's
 * result, with and without recording.
 */
static void each_row_calls_once(bool is_recording)
{
	static uint64_t zeroes[512];
	const uintptr_t z = (uintptr_t)zeroes;
	typedef CUresult any(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
			     uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++) {
		fresh(NULL);
		if (!is_recording)
			gp_thread.level = GP_LEVEL_OFF;
		driver.result = 719;
		any *wrapper = (any *)gp_cuda_wrappers[row].wrapper;
		assert_int_equal(wrapper(z, z, z, z, z, z, z, z, z, z, z, z), 719);
		assert_int_equal(errno, EPIPE);
		for (unsigned k = 0; k < GP_CUDA_ROWS; k++)
			assert_int_equal(driver.row_calls[k], k == row);
		assert_int_equal(gp_thread.inside, 0);
		assert_true(is_recording || committed() == 0);
	}
}

static void test_rows_call_once(void **state)
{
	(void)state;
	each_row_calls_once(true);
	each_row_calls_once(false);
}

static void test_no_driver(void **state)
{
	(void)state;
	memset(&gp_cuda, 0, sizeof gp_cuda);
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++) {
		typedef CUresult any(uintptr_t, uintptr_t);
		any *wrapper = (any *)gp_cuda_wrappers[row].wrapper;
		assert_int_equal(wrapper(0, 0), CUDA_ERROR_NOT_INITIALIZED);
	}
	assert_int_equal(committed(), 0);
}

static void test_alloc_is_recorded_after(void **state)
{
	(void)state;
	alloc(0x7f1200000000);
	const struct gp_record *r = only(GP_ALLOC);
	assert_int_equal(r->alloc.address, 0x7f1200000000);
	assert_int_equal(r->alloc.bytes, 4096);
	assert_int_equal(r->space, GP_SPACE_DEVICE);
	assert_int_equal(r->device, 0);
	assert_int_equal(r->alloc.owner, 0x1000);
	assert_int_equal(r->order, 0);
	assert_int_equal(driver.seen_at_call, 0);
}

/* From the call to its return, at the time of the return; rounded down by less than 2^-10. */
static void test_allocations_have_a_duration(void **state)
{
	(void)state;
	CUdeviceptr out = 0;
	CUmemAllocationProp prop = { 0 };
	CUmemGenericAllocationHandle handle = 0xabc0;
	driver.takes = 100000;
	uint64_t at[5] = { gp_clock_now() };
	alloc(0x7f1200000000);
	at[1] = gp_clock_now();
	wrap_cuMemAllocAsync(&out, 4096, NULL);
	at[2] = gp_clock_now();
	wrap_cuMemCreate(&handle, 1 << 21, &prop, 0);
	at[3] = gp_clock_now();
	wrap_cuMemMap(0x7f0000000000, 1 << 21, 0, handle, 0);
	at[4] = gp_clock_now();
	unsigned seen = 0;
	for (size_t k = 0; k < committed(); k++) {
		const struct gp_record *r = record(k);
		if (r->kind != GP_ALLOC && r->kind != GP_MAP)
			continue;
		const uint64_t took = gp_alloc_took(r->code);
		assert_in_range(took, driver.takes - (driver.takes >> 10), at[seen + 1] - at[seen]);
		assert_in_range(r->time - took, at[seen], at[seen + 1]);
		seen++;
	}
	assert_int_equal(seen, 4);
	/* memory that exists already */
	wrap_cuMemRetainAllocationHandle(&handle, NULL);
	driver.address = 0x7f1300000000;
	wrap_cuIpcOpenMemHandle_v2(&out, (CUipcMemHandle){ 0 }, 0);
	assert_int_equal(record(committed() - 1)->kind, GP_ALLOC);
	assert_int_equal(record(committed() - 1)->code, 0);
}

static void test_free_is_recorded_before(void **state)
{
	(void)state;
	alloc(0x7f1200000000);
	size_t before = committed();
	assert_int_equal(wrap_cuMemFree_v2(0x7f1200000000), CUDA_SUCCESS);
	assert_int_equal(driver.seen_at_call, before + 1);
	assert_int_equal(committed(), before + 2);
	assert_int_equal(only(GP_FREE)->free.address, 0x7f1200000000);
	const struct gp_record *wait = only(GP_WAIT);
	assert_int_equal(gp_call_kind(wait->aux), GP_WAIT_FREE);
	assert_int_equal(wait->wait.handle, 0x7f1200000000);
}

static void test_refused_free_is_undone(void **state)
{
	(void)state;
	alloc(0x7f1200000000);
	driver.result = CUDA_ERROR_INVALID_VALUE;
	assert_int_equal(wrap_cuMemFree_v2(0x7f1200000000), CUDA_ERROR_INVALID_VALUE);
	const struct gp_record *r = only(GP_FREE_FAILED);
	assert_int_equal(r->free_failed.undoes, only(GP_FREE)->order);
	assert_int_equal(r->code, CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(wrap_cuMemUnmap(0x7f1200000000, 1 << 21), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(only(GP_UNMAP_FAILED)->unmap_failed.undoes, only(GP_UNMAP)->order);
}

static void test_frees_of_null_are_not_recorded(void **state)
{
	(void)state;
	wrap_cuMemFree_v2(0);
	wrap_cuMemFreeHost(NULL);
	driver.result = CUDA_ERROR_INVALID_VALUE;
	wrap_cuMemFreeAsync(0, NULL);
	assert_int_equal(committed(), 0);
}

static void test_failed_alloc(void **state)
{
	(void)state;
	driver.result = CUDA_ERROR_OUT_OF_MEMORY;
	alloc(0xdead);
	const struct gp_record *r = only(GP_ALLOC_FAILED);
	assert_int_equal(r->alloc_failed.bytes, 4096);
	assert_int_equal(r->alloc_failed.free_bytes, 77);
	assert_int_equal(r->alloc_failed.total_bytes, 99);
	assert_int_equal(r->code, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(count(GP_ALLOC), 0);
	/* the job may end after it: it is written at once */
	assert_int_equal(atomic_load(&gp_control->flushes_requested), 1);
}

static void test_other_failures_are_not_urgent(void **state)
{
	(void)state;
	driver.result = CUDA_ERROR_INVALID_VALUE;
	alloc(0xdead);
	assert_int_equal(only(GP_ALLOC_FAILED)->code, CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(atomic_load(&gp_control->flushes_requested), 0);
}

/* A nested call of the recorder would damage the reservation of the outer call. */
static void test_nested_calls_are_not_recorded(void **state)
{
	(void)state;
	gp_thread.inside = gp_here();
	gp_thread.is_drain = 1; /* not counted either: the test has no recorder */
	alloc(0x7f1200000000);
	launch(0x5000, NULL);
	CUstream stream;
	wrap_cuStreamCreate(&stream, 0);
	assert_int_equal(committed(), 0);
	assert_int_equal(driver.own_calls, 0);
}

/* The device that a reader gives to the one FREE, which has no device itself. */
static unsigned freed_device(void)
{
	struct gp_live *live = gp_live_open();
	unsigned device = GP_DEVICE_UNKNOWN;
	assert_int_equal(only(GP_FREE)->device, GP_DEVICE_UNKNOWN);
	for (size_t k = 0; k < committed(); k += 1u + record(k)->extra) {
		gp_live_apply(live, record(k));
		if (record(k)->kind == GP_FREE)
			device = gp_live_ended_device(live, record(k));
	}
	gp_live_close(live);
	return device;
}

/*
 * One thread, two GPUs: set current, push and pop, streams of one device used while the other is
 * current.
 */
static void test_two_devices_in_one_thread(void **state)
{
	(void)state;
	CUcontext first, second, popped;
	CUstream stream;
	wrap_cuDevicePrimaryCtxRetain(&first, 0);
	wrap_cuDevicePrimaryCtxRetain(&second, 1);
	wrap_cuCtxSetCurrent(first);
	alloc(0x7f0000000000);
	wrap_cuCtxSetCurrent(second);
	alloc(0x7f0000100000);
	driver.address = 0x9000;
	wrap_cuStreamCreate(&stream, 0);
	wrap_cuCtxPushCurrent_v2(first);
	alloc(0x7f0000200000);
	launch(0x5000, stream);
	wrap_cuMemFree_v2(0x7f0000100000);
	wrap_cuCtxPopCurrent_v2(&popped);
	alloc(0x7f0000300000);
	const uint8_t expected[] = { 0, 1, 0, 1 };
	unsigned seen = 0;
	for (size_t k = 0; k < committed(); k += 1u + record(k)->extra)
		if (record(k)->kind == GP_ALLOC)
			assert_int_equal(record(k)->device, expected[seen++]);
	assert_int_equal(seen, 4);
	assert_int_equal(only(GP_LAUNCH)->device, 1);
	assert_int_equal(freed_device(), 1);
	assert_int_equal(only(GP_STREAM)->device, 1);
	assert_int_equal(count(GP_GPU), 2);
	assert_int_equal(count(GP_CONTEXT), 2);
}

static void test_unknown_objects_are_looked_up_once(void **state)
{
	(void)state;
	driver.current = (CUcontext)0x1003;
	for (unsigned k = 0; k < 3; k++)
		launch(0x5000, (CUstream)0x8002);
	for (unsigned k = 0; k < 3; k++)
		alloc(0x7f0000000000 + k * 4096);
	/* name, stream's device; then the current context and its device */
	assert_int_equal(driver.own_calls, 4);
	for (size_t k = 0; k < committed(); k += 1u + record(k)->extra)
		if (record(k)->kind == GP_LAUNCH)
			assert_int_equal(record(k)->device, 2);
	assert_int_equal(count(GP_LAUNCH), 3);
	assert_int_equal(count(GP_KERNEL), 1);
}

static void test_launch_fields(void **state)
{
	(void)state;
	launch(0x5000, CU_STREAM_PER_THREAD);
	const struct gp_record *r = only(GP_LAUNCH);
	assert_int_equal(r->launch.kernel, 0x5000);
	assert_int_equal(r->launch.stream, 2);
	assert_int_equal(r->launch.grid, 2ull | 3ull << 32 | 4ull << 48);
	assert_int_equal(r->launch.block, 5ull | 6ull << 16 | 7ull << 32);
	assert_int_equal(r->aux, 8);
	uint64_t length;
	memcpy(&length, only(GP_KERNEL) + 1, sizeof length);
	assert_int_equal(length, strlen("scale_rows"));
	assert_memory_equal((const char *)(only(GP_KERNEL) + 1) + 8, "scale_rows", length);
}

/* NULL is another stream in the functions for per-thread streams. */
static void test_default_streams(void **state)
{
	(void)state;
	wrap_cuLaunchKernel_ptsz((CUfunction)0x5000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	assert_int_equal(only(GP_LAUNCH)->launch.stream, 2);
	CUdeviceptr out;
	wrap_cuMemAllocAsync(&out, 64, NULL);
	assert_int_equal(only(GP_ALLOC)->alloc.stream, 0);
	wrap_cuMemFreeAsync(out, CU_STREAM_LEGACY);
	assert_int_equal(only(GP_FREE)->free.stream, 0);
}

static void test_names_again_after_unload(void **state)
{
	(void)state;
	launch(0x5000, NULL);
	launch(0x5000, NULL);
	assert_int_equal(count(GP_KERNEL), 1);
	wrap_cuModuleUnload((CUmodule)0x6000);
	launch(0x5000, NULL);
	assert_int_equal(count(GP_KERNEL), 2);
}

static void test_no_call_of_ours_in_a_capture(void **state)
{
	(void)state;
	CUgraph graph = (CUgraph)0x4000;
	CUdeviceptr out;
	wrap_cuStreamBeginCapture_v2((CUstream)0x8001, 0);
	unsigned before = driver.own_calls;
	launch(0x5000, (CUstream)0x8001);
	driver.result = CUDA_ERROR_OUT_OF_MEMORY;
	alloc(0x7f0000000000);
	driver.result = CUDA_SUCCESS;
	wrap_cuMemAllocAsync(&out, 64, (CUstream)0x8001);
	wrap_cuDevicePrimaryCtxRelease_v2(0);
	assert_int_equal(driver.own_calls, before);
	assert_int_equal(only(GP_LAUNCH)->launch.block >> 48, GP_LAUNCH_CAPTURED);
	assert_int_equal(only(GP_ALLOC)->space, GP_SPACE_GRAPH);
	assert_int_equal(count(GP_KERNEL), 0);
	wrap_cuStreamEndCapture((CUstream)0x8001, &graph);
	assert_int_equal(only(GP_KERNEL)->kernel.handle, 0x5000); /* it had to wait */
	assert_int_equal(only(GP_CAPTURE_END)->capture_end.graph, 0x4000);
	assert_false(gp_is_capturing());
}

static void test_captures_that_fail(void **state)
{
	(void)state;
	CUgraph graph;
	driver.result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	wrap_cuStreamBeginCapture_v2((CUstream)0x8001, 0);
	assert_false(gp_is_capturing());
	driver.result = CUDA_SUCCESS;
	wrap_cuStreamBeginCapture_v2((CUstream)0x8001, 0);
	driver.result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	wrap_cuStreamEndCapture((CUstream)0x8001, &graph);
	assert_true(gp_is_capturing());
	driver.result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	wrap_cuStreamEndCapture((CUstream)0x8001, &graph);
	assert_false(gp_is_capturing());
	driver.result = CUDA_SUCCESS;
	for (uintptr_t k = 0; k < 2 * CAPTURES_KNOWN; k++)
		wrap_cuStreamBeginCapture_v2((CUstream)(0x8001 + 16 * k), 0);
	for (uintptr_t k = 0; k < 2 * CAPTURES_KNOWN; k++) {
		assert_true(gp_is_capturing());
		wrap_cuStreamEndCapture((CUstream)(0x8001 + 16 * k), &graph);
	}
	assert_false(gp_is_capturing());
}

static void test_owner_gone(void **state)
{
	(void)state;
	CUcontext context;
	wrap_cuDevicePrimaryCtxRetain(&context, 1);
	wrap_cuCtxSetCurrent(context);
	alloc(0x7f0000000000);
	size_t before = committed();
	wrap_cuDevicePrimaryCtxReset_v2(1);
	const struct gp_record *r = only(GP_OWNER_GONE);
	assert_int_equal(r->owner_gone.owner, only(GP_ALLOC)->alloc.owner);
	assert_int_equal(r->aux, GP_HOW_PRIMARY_RESET);
	assert_int_equal(r->device, 1);
	assert_int_equal(driver.seen_at_call, before + 1);
}

/* Memory of a graph lives as long as the graph or an executable graph made from it. */
static void test_graph_memory(void **state)
{
	(void)state;
	CUDA_MEM_ALLOC_NODE_PARAMS params = { .poolProps.location = { CU_MEM_LOCATION_TYPE_DEVICE,
								      1 },
					      .bytesize = 512,
					      .dptr = 0x7f0000000000 };
	CUgraph graph = (CUgraph)0x4000;
	CUgraphExec exec = (CUgraphExec)0x4400;
	CUgraphNode node = (CUgraphNode)0x4800;
	wrap_cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params);
	assert_int_equal(only(GP_ALLOC)->alloc.owner, 0x4000);
	assert_int_equal(only(GP_ALLOC)->device, 1);
	assert_int_equal(only(GP_ALLOC)->space, GP_SPACE_GRAPH);
	wrap_cuGraphInstantiateWithFlags(&exec, graph, 0);
	wrap_cuGraphDestroy(graph);
	assert_int_equal(count(GP_OWNER_GONE), 0);
	wrap_cuGraphExecDestroy(exec);
	assert_int_equal(only(GP_OWNER_GONE)->owner_gone.owner, 0x4000);
	assert_int_equal(only(GP_OWNER_GONE)->aux, GP_HOW_EXEC_DESTROY);
	wrap_cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params);
	wrap_cuGraphDestroy(graph);
	assert_int_equal(count(GP_OWNER_GONE), 2);
	/*
	 * launched, and not freed by a node: it stays live, also without launches in the recording
	 */
	gp_thread.level = GP_LEVEL_MEMORY;
	for (unsigned has_free_node = 0; has_free_node < 2; has_free_node++) {
		wrap_cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params);
		if (has_free_node)
			wrap_cuGraphAddMemFreeNode(&node, graph, NULL, 0, params.dptr);
		wrap_cuGraphInstantiateWithFlags(&exec, graph, 0);
		wrap_cuGraphLaunch(exec, NULL);
		wrap_cuGraphDestroy(graph);
		wrap_cuGraphExecDestroy(exec);
		assert_int_equal(count(GP_OWNER_GONE), 2 + has_free_node);
	}
}

static const struct gp_record *last(enum gp_kind kind)
{
	const struct gp_record *found = NULL;
	for (size_t k = 0; k < committed(); k += 1u + record(k)->extra)
		if (record(k)->kind == kind)
			found = record(k);
	assert_non_null(found);
	return found;
}

/* Memory of a capture lives as long as its graph, and ends with a capture that fails. */
static void test_captured_memory(void **state)
{
	(void)state;
	CUstream stream = (CUstream)0x8001;
	CUgraph graph = (CUgraph)0x4000;
	CUdeviceptr out;
	wrap_cuStreamBeginCapture_v2(stream, 0);
	wrap_cuMemAllocAsync(&out, 64, stream);
	const uint64_t owner = only(GP_ALLOC)->alloc.owner;
	assert_int_equal(owner % 2, 1); /* no handle is odd */
	driver.result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	wrap_cuStreamEndCapture(stream, &graph);
	assert_int_equal(count(GP_OWNER_GONE), 0);
	driver.result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	wrap_cuStreamEndCapture(stream, &graph);
	assert_int_equal(only(GP_OWNER_GONE)->owner_gone.owner, owner);
	driver.result = CUDA_SUCCESS;

	/* one that succeeds has another owner, until the graph is destroyed */
	wrap_cuStreamBeginCapture_v2(stream, 0);
	wrap_cuMemAllocAsync(&out, 64, stream);
	graph = (CUgraph)0x4000;
	wrap_cuStreamEndCapture(stream, &graph);
	assert_int_equal(count(GP_OWNER_GONE), 1);
	wrap_cuGraphDestroy(graph);
	assert_int_equal(count(GP_OWNER_GONE), 2);
	assert_int_not_equal(last(GP_OWNER_GONE)->owner_gone.owner, owner);
	assert_int_equal(last(GP_OWNER_GONE)->owner_gone.owner, last(GP_ALLOC)->alloc.owner);

	/* and a stream that ends in its capture */
	wrap_cuStreamBeginCapture_v2(stream, 0);
	wrap_cuMemAllocAsync(&out, 64, stream);
	wrap_cuStreamDestroy_v2(stream);
	assert_int_equal(last(GP_OWNER_GONE)->owner_gone.owner, last(GP_ALLOC)->alloc.owner);
	assert_int_equal(count(GP_OWNER_GONE), 3);
}

static void test_virtual_memory(void **state)
{
	(void)state;
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	CUmemGenericAllocationHandle handle = 0xabc0;
	wrap_cuMemCreate(&handle, 1 << 21, &prop, 0);
	wrap_cuMemMap(0x7f0000000000, 1 << 21, 0, handle, 0);
	wrap_cuMemUnmap(0x7f0000000000, 1 << 21);
	wrap_cuMemRelease(handle);
	assert_int_equal(only(GP_ALLOC)->device, 1); /* though device 0 is current */
	assert_int_equal(only(GP_ALLOC)->space, GP_SPACE_PHYSICAL);
	assert_int_equal(only(GP_MAP)->device, 1);
	assert_int_equal(only(GP_MAP)->map.handle, 0xabc0);
	assert_int_equal(only(GP_UNMAP)->device, GP_DEVICE_UNKNOWN); /* the device of the MAP */
	assert_int_equal(only(GP_FREE)->device, 1);
	assert_int_equal(only(GP_FREE)->space, GP_SPACE_PHYSICAL);
}

/* Only the last reference to physical memory or to memory of another process is a free. */
static void test_further_references(void **state)
{
	(void)state;
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	CUmemGenericAllocationHandle handle = 0xabc0;
	CUdeviceptr lent = 0x7f4400000000;
	CUipcMemHandle name = { { 0 } };
	wrap_cuMemCreate(&handle, 1 << 21, &prop, 0);
	wrap_cuMemRetainAllocationHandle(&handle, NULL);
	assert_int_equal(count(GP_ALLOC), 1);
	driver.result = CUDA_ERROR_INVALID_VALUE;
	wrap_cuMemRelease(handle); /* refused: the state is unchanged */
	driver.result = CUDA_SUCCESS;
	wrap_cuMemRelease(handle);
	assert_int_equal(count(GP_FREE) + count(GP_FREE_FAILED), 0);
	wrap_cuMemRelease(handle);
	assert_int_equal(count(GP_FREE), 1);
	wrap_cuIpcOpenMemHandle_v2(&lent, name, 0);
	wrap_cuIpcOpenMemHandle_v2(&lent, name, 0);
	assert_int_equal(count(GP_ALLOC), 2);
	wrap_cuIpcCloseMemHandle(lent);
	assert_int_equal(count(GP_FREE), 1);
	wrap_cuIpcCloseMemHandle(lent);
	assert_int_equal(count(GP_FREE), 2);
}

static void test_array_bytes(void **state)
{
	(void)state;
	assert_int_equal(gp_array_bytes(100, 10, 0, 0x20, 4, 0, 1), 100 * 10 * 16); /* float4 */
	assert_int_equal(gp_array_bytes(100, 0, 0, 0x01, 1, 0, 1), 100);
	assert_int_equal(gp_array_bytes(8, 8, 0, 0x10, 2, 0, 4), (64 + 16 + 4 + 1) * 4);
	assert_int_equal(gp_array_bytes(8, 8, 4, 0x01, 1, ARRAY_LAYERED, 2), (64 + 16) * 4);
	assert_int_equal(gp_array_bytes(8, 8, 4, 0x01, 1, ARRAY_SPARSE, 2), 0);
	assert_int_equal(gp_array_bytes(1, 1, 1, 0xc5, 1, 0, 1), 8); /* unorm 16 bits x4 */
}

/*
 * Definitions from a time without recording are recorded at first use; after a restart all are
 * recorded again.
 */
static void test_definitions_are_recorded_late_and_again(void **state)
{
	(void)state;
	CUcontext context;
	CUstream stream;
	gp_thread.level = GP_LEVEL_OFF;
	wrap_cuDevicePrimaryCtxRetain(&context, 1);
	wrap_cuCtxSetCurrent(context);
	driver.address = 0x9000;
	wrap_cuStreamCreate(&stream, 0);
	assert_int_equal(committed(), 0);
	gp_thread.level = GP_LEVEL_ALL;
	launch(0x5000, stream);
	assert_int_equal(only(GP_STREAM)->device, 1);
	assert_int_equal(only(GP_GPU)->device, 1);
	gp_context_restart(false);
	gp_kernel_forget();
	launch(0x5000, stream);
	assert_int_equal(count(GP_STREAM), 2);
	assert_int_equal(count(GP_GPU), 2);
	assert_int_equal(count(GP_KERNEL), 2);
}

static void test_thread_times_grow(void **state)
{
	(void)state;
	for (uintptr_t k = 0; k < 8; k++)
		launch(0x5000 + 64 * k, (CUstream)(0x8000 + 16 * k));
	for (size_t k = 0, next; k < committed(); k = next) {
		next = k + 1u + record(k)->extra;
		assert_true(next >= committed() || record(k)->time <= record(next)->time);
	}
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	gp_clock_init();
#define TEST(name) cmocka_unit_test_setup(name, fresh)
	const struct CMUnitTest tests[] = {
		TEST(test_rows_call_once),
		TEST(test_no_driver),
		TEST(test_alloc_is_recorded_after),
		TEST(test_allocations_have_a_duration),
		TEST(test_free_is_recorded_before),
		TEST(test_refused_free_is_undone),
		TEST(test_frees_of_null_are_not_recorded),
		TEST(test_other_failures_are_not_urgent),
		TEST(test_failed_alloc),
		TEST(test_nested_calls_are_not_recorded),
		TEST(test_two_devices_in_one_thread),
		TEST(test_unknown_objects_are_looked_up_once),
		TEST(test_launch_fields),
		TEST(test_default_streams),
		TEST(test_names_again_after_unload),
		TEST(test_no_call_of_ours_in_a_capture),
		TEST(test_captures_that_fail),
		TEST(test_owner_gone),
		TEST(test_graph_memory),
		TEST(test_captured_memory),
		TEST(test_virtual_memory),
		TEST(test_further_references),
		TEST(test_array_bytes),
		TEST(test_definitions_are_recorded_late_and_again),
		TEST(test_thread_times_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
