/*
 * The memory that launches, copies and fills use: which parameters are scanned, which uses are
 * recorded, which calls the driver gets. No memory is read that may be unmapped. Runs against the
 * driver and the ring of hook_driver.h.
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

/* ---- kernels: the layout of their parameters ---- */

#define KERNEL ((CUfunction)0x5000)
#define HANDLE ((CUfunction)0x6000)  /* a CUkernel without a CUfunction */
#define UNKNOWN ((CUfunction)0x7000) /* a kernel that the driver has no data of */

static struct {
	size_t bytes[64];
	unsigned parameters;
	unsigned asked;
} layout;

static CUresult report_layout(size_t index, size_t *offset, size_t *bytes)
{
	size_t at = 0;
	if (index == 0)
		layout.asked++;
	errno = ENOENT;
	for (size_t k = 0; k < layout.parameters; k++) {
		size_t alignment = layout.bytes[k] >= 8 ? 8 : layout.bytes[k];
		at = (at + alignment - 1) / alignment * alignment;
		*offset = at;
		*bytes = layout.bytes[k];
		if (k == index)
			return CUDA_SUCCESS;
		at += layout.bytes[k];
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult function_parameter(CUfunction f, size_t index, size_t *offset, size_t *bytes)
{
	return f == HANDLE || f == UNKNOWN ? CUDA_ERROR_INVALID_HANDLE :
					     report_layout(index, offset, bytes);
}

static CUresult kernel_parameter(CUkernel k, size_t index, size_t *offset, size_t *bytes)
{
	if ((CUfunction)k == UNKNOWN) {
		layout.asked++;
		return CUDA_ERROR_INVALID_HANDLE;
	}
	return report_layout(index, offset, bytes);
}

static void takes(unsigned parameters, const size_t *bytes)
{
	layout.parameters = parameters;
	memcpy(layout.bytes, bytes, parameters * sizeof *bytes);
}

static int begin(void **state)
{
	fresh(state);
	gp_cuda.cuFuncGetParamInfo = function_parameter;
	gp_cuda.cuKernelGetParamInfo = kernel_parameter;
	memset(&layout, 0, sizeof layout);
	if (gp_use_layouts)
		memset((void *)gp_use_layouts, 0, PLACES * sizeof *gp_use_layouts);
	atomic_store(&room_used, 0);
	atomic_store(&gp_use_map.low, UINT64_MAX);
	atomic_store(&gp_use_map.high, 0);
	atomic_store(&gp_use_map.beyond, 0);
	atomic_store(&gp_captures, 0);
	atomic_store(&gp_uses_requested, 1);
	gp_uses_restart();
	assert_int_equal(only(GP_FACT)->fact.value, 1);
	return 0;
}

static CUdeviceptr alloc(uint64_t address, size_t bytes)
{
	CUdeviceptr out = 0;
	driver.address = address;
	assert_int_equal(wrap_cuMemAlloc_v2(&out, bytes), CUDA_SUCCESS);
	return out;
}

static CUresult launch(CUfunction function, void **parameters, void **extra)
{
	CUresult result =
		wrap_cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, extra);
	assert_int_equal(errno, EPIPE);
	return result;
}

/* Of all USE events, in order, without the zeros. */
static unsigned used(uint64_t *out, unsigned most)
{
	unsigned found = 0;
	for (size_t k = 0; k < committed(); k += 1u + record(k)->extra)
		for (unsigned v = 0; v < 4 && record(k)->kind == GP_USE; v++)
			if (record(k)->v[v] && found < most)
				out[found++] = record(k)->v[v];
	return found;
}

static bool is_scanned(const struct gp_record *r)
{
	return (r->launch.block >> 48 & GP_LAUNCH_SCANNED) != 0;
}

/* ---- launches ---- */

static void test_pointers_are_recorded(void **state)
{
	(void)state;
	uint64_t out[8];
	int n = 7;
	CUdeviceptr x = alloc(0x7f0000000000, 4096), y = alloc(0x7f0040000000, 3 << 20);
	uint64_t nowhere = 0x7f8000000000;
	y += (2 << 20) + 512;
	takes(4, (size_t[]){ 4, 8, 8, 8 });
	void *parameters[] = { &n, &x, &y, &nowhere };
	launch(KERNEL, parameters, NULL);
	assert_int_equal(used(out, 8), 2);
	assert_int_equal(out[0], x);
	assert_int_equal(out[1], y);
	const struct gp_record *launched = only(GP_LAUNCH), *use = only(GP_USE);
	assert_true(is_scanned(launched));
	assert_ptr_equal(use, launched + 1);
	assert_int_equal(use->aux, GP_USE_LAUNCH);
	assert_int_equal(use->device, 0);
	assert_true(use->time >= launched->time);
	assert_int_equal(use->order, launched->order);
}

/* A struct of thousands of bytes, with a pointer at each offset that 8 divides in turn. */
static void test_structs_of_any_size(void **state)
{
	(void)state;
	static uint64_t words[4096];
	const size_t bytes[] = { 8, 12, 64, 4096, 4120, 32760 };
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	for (unsigned b = 0; b < sizeof bytes / sizeof *bytes; b++) {
		takes(2, (size_t[]){ 4, bytes[b] });
		gp_kernel_forget();
		for (size_t at = 0; at < bytes[b] / 8; at += at < 16 ? 1 : 97) {
			uint64_t out[4];
			int n = 1;
			gp_thread.head = 0;
			memset(words, 0x5a, sizeof words);
			words[at] = x + at;
			launch(KERNEL, (void *[]){ &n, words }, NULL);
			assert_int_equal(used(out, 4), 1);
			assert_int_equal(out[0], x + at);
		}
	}
}

/* More pointers than fit into an event; equal ones are recorded once an event. */
static void test_many_pointers(void **state)
{
	(void)state;
	static uint64_t words[110], out[128];
	CUdeviceptr x = alloc(0x7f0000000000, 1 << 20);
	takes(1, (size_t[]){ sizeof words });
	for (unsigned k = 0; k < 110; k++)
		words[k] = x + 512 * k;
	launch(KERNEL, (void *[]){ words }, NULL);
	assert_int_equal(used(out, 128), 110);
	assert_memory_equal(out, words, sizeof words);
	assert_int_equal(count(GP_USE), 28);
	gp_thread.head = 0;
	for (unsigned k = 0; k < 110; k++)
		words[k] = x;
	launch(KERNEL, (void *[]){ words }, NULL);
	assert_int_equal(used(out, 128), 1);
}

static void test_words_need_no_alignment(void **state)
{
	(void)state;
	unsigned char bytes[8 * 5 + 1];
	uint64_t out[8];
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	memset(bytes, 0, sizeof bytes);
	memcpy(bytes + 1 + 8 * 4, &x, sizeof x);
	takes(1, (size_t[]){ 40 });
	launch(KERNEL, (void *[]){ bytes + 1 }, NULL);
	assert_int_equal(used(out, 8), 1);
}

static void test_buffer(void **state)
{
	(void)state;
	uint64_t buffer[5] = { 1, 2, 3, 0, 5 }, out[8];
	size_t bytes = sizeof buffer;
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	buffer[3] = x;
	launch(KERNEL, NULL, (void *[]){ EXTRA_BUFFER, buffer, EXTRA_BYTES, &bytes, EXTRA_END });
	assert_int_equal(used(out, 8), 1);
	assert_int_equal(out[0], x);
	assert_true(is_scanned(only(GP_LAUNCH)));
	assert_int_equal(layout.asked, 0);
	gp_thread.head = 0;
	bytes = (size_t)1 << 40; /* too large for any kernel */
	launch(KERNEL, NULL, (void *[]){ EXTRA_BYTES, &bytes, EXTRA_BUFFER, buffer, EXTRA_END });
	assert_false(is_scanned(only(GP_LAUNCH)));
	assert_int_equal(count(GP_USE), 0);
}

static void test_other_ways_to_launch(void **state)
{
	(void)state;
	uint64_t out[8];
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	void *parameters[] = { &x };
	const CUlaunchConfig config = { .gridDimX = 1 };
	CUDA_LAUNCH_PARAMS list[2] = { { .function = KERNEL, .kernelParams = parameters },
				       { .function = KERNEL, .kernelParams = parameters } };
	takes(1, (size_t[]){ 8 });
	wrap_cuLaunchKernelEx(&config, KERNEL, parameters, NULL);
	assert_int_equal(used(out, 8), 1);
	wrap_cuLaunchCooperativeKernel(KERNEL, 1, 1, 1, 1, 1, 1, 0, NULL, parameters);
	assert_int_equal(used(out, 8), 2);
	wrap_cuLaunchCooperativeKernelMultiDevice(list, 2, 0);
	assert_int_equal(used(out, 8), 4);
	gp_thread.head = 0;
	wrap_cuLaunch(KERNEL); /* its parameters were set one by one before */
	assert_int_equal(used(out, 8), 0);
	assert_false(is_scanned(only(GP_LAUNCH)));
}

/*
 * The driver is called once for each kernel. An unknown kernel is not scanned, and its launch shows
 * that.
 */
static void test_layouts(void **state)
{
	(void)state;
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	void *parameters[] = { &x };
	takes(1, (size_t[]){ 8 });
	for (int k = 0; k < 3; k++)
		launch(KERNEL, parameters, NULL);
	assert_int_equal(layout.asked, 1);
	assert_int_equal(count(GP_USE), 3);
	launch(HANDLE, parameters, NULL);
	assert_int_equal(layout.asked, 2);
	assert_int_equal(count(GP_USE), 4);
	for (int k = 0; k < 3; k++) {
		gp_thread.head = 0;
		launch(UNKNOWN, (void *[]){ (void *)1 }, NULL); /* its parameters are not read */
		assert_int_equal(count(GP_USE), 0);
		assert_false(is_scanned(only(GP_LAUNCH)));
	}
	assert_int_equal(layout.asked, 3);
	/* functions were unloaded: another one may have the address */
	takes(2, (size_t[]){ 4, 8 });
	gp_kernel_forget();
	gp_thread.head = 0;
	launch(KERNEL, (void *[]){ &x, &x }, NULL);
	assert_int_equal(layout.asked, 4);
	assert_int_equal(count(GP_USE), 1);
	gp_kernel_forget();
	uint64_t before = atomic_load(&room_used);
	launch(KERNEL, (void *[]){ &x, &x }, NULL); /* or the same one is there again */
	assert_int_equal(layout.asked, 5);
	assert_int_equal(atomic_load(&room_used), before);
}

static void test_kernels_without_parameters(void **state)
{
	(void)state;
	alloc(0x7f0000000000, 4096);
	launch(KERNEL, NULL, NULL);
	assert_true(is_scanned(only(GP_LAUNCH)));
	gp_thread.head = 0;
	gp_kernel_forget();
	takes(1, (size_t[]){ 8 });
	launch(KERNEL, NULL, NULL); /* the kernel has a parameter, and the launch has none */
	assert_false(is_scanned(only(GP_LAUNCH)));
	assert_int_equal(count(GP_USE), 0);
}

static void test_many_kernels(void **state)
{
	(void)state;
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	takes(1, (size_t[]){ 8 });
	for (unsigned turn = 0; turn < 2; turn++)
		for (uintptr_t k = 0; k < 20000; k++) {
			gp_thread.head = 0;
			launch((CUfunction)(0x10000 + 64 * k), (void *[]){ &x }, NULL);
			assert_int_equal(count(GP_USE), 1);
		}
	assert_int_equal(layout.asked, 20000);
}

/* A refused launch may have any parameters. */
static void test_refused_launch(void **state)
{
	(void)state;
	alloc(0x7f0000000000, 4096);
	takes(1, (size_t[]){ 8 });
	driver.result = 719;
	launch(KERNEL, (void *[]){ (void *)1 }, NULL);
	assert_false(is_scanned(only(GP_LAUNCH)));
	assert_int_equal(count(GP_USE), 0);
}

static void test_captured(void **state)
{
	(void)state;
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	CUstream stream = (CUstream)0x9000;
	takes(1, (size_t[]){ 8 });
	wrap_cuStreamBeginCapture_v2(stream, 0);
	launch(KERNEL, (void *[]){ &x }, NULL);
	assert_int_equal(layout.asked, 0); /* never during a capture */
	assert_false(is_scanned(only(GP_LAUNCH)));
	wrap_cuStreamEndCapture(stream, NULL);
	launch(KERNEL, (void *[]){ &x }, NULL);
	wrap_cuStreamBeginCapture_v2(stream, 0);
	gp_thread.head = 0;
	launch(KERNEL, (void *[]){ &x }, NULL);
	assert_int_equal(only(GP_USE)->aux, GP_USE_LAUNCH | GP_USE_CAPTURED);
	assert_true(is_scanned(only(GP_LAUNCH)));
	wrap_cuStreamEndCapture(stream, NULL);
}

static void test_off(void **state)
{
	(void)state;
	CUdeviceptr x = alloc(0x7f0000000000, 4096);
	takes(1, (size_t[]){ 8 });
	atomic_store(&gp_uses_requested, 0);
	gp_thread.head = 0;
	launch(KERNEL, (void *[]){ &x }, NULL);
	wrap_cuMemcpyDtoDAsync_v2(x, x, 8, NULL);
	assert_int_equal(layout.asked, 0);
	assert_int_equal(count(GP_USE), 0);
	assert_false(is_scanned(only(GP_LAUNCH)));
	/* memory that was allocated meanwhile is in the map when recording goes on */
	CUdeviceptr y = alloc(0x7f4000000000, 4096);
	atomic_store(&gp_uses_requested, 1);
	launch(KERNEL, (void *[]){ &y }, NULL);
	assert_int_equal(count(GP_USE), 1);
}

/* ---- copies and fills ---- */

static void test_copies(void **state)
{
	(void)state;
	char here[16];
	CUdeviceptr x = alloc(0x7f0000000000, 1 << 20), y = alloc(0x7f2000000000, 1 << 20);
	gp_thread.head = 0;
	wrap_cuMemcpyDtoDAsync_v2(x + 512, y, 8, NULL);
	assert_int_equal(only(GP_USE)->use.first, x + 512);
	assert_int_equal(only(GP_USE)->use.second, y);
	assert_int_equal(only(GP_USE)->aux, GP_USE_COPY);
	gp_thread.head = 0;
	wrap_cuMemcpyDtoH_v2(here, y, 8);
	assert_int_equal(only(GP_USE)->use.first, 0);
	assert_int_equal(only(GP_USE)->use.second, y);
	gp_thread.head = 0;
	wrap_cuMemcpyHtoDAsync_v2(x, here, 8, NULL);
	assert_int_equal(only(GP_USE)->use.first, x);
	assert_int_equal(only(GP_USE)->use.second, 0);
	gp_thread.head = 0;
	wrap_cuMemsetD32Async(y, 0, 8, NULL);
	assert_int_equal(only(GP_USE)->use.first, y);
	assert_int_equal(only(GP_USE)->aux, GP_USE_FILL);
	gp_thread.head = 0;
	wrap_cuMemcpyHtoD_v2(0x7f8000000000, here, 8); /* memory without an allocation event */
	driver.result = 719;
	wrap_cuMemcpyDtoD_v2(x, y, 8);
	assert_int_equal(count(GP_USE), 0);
}

static void test_copies_of_rows(void **state)
{
	(void)state;
	char here[16];
	CUdeviceptr x = alloc(0x7f0000000000, 1 << 20), y = alloc(0x7f2000000000, 1 << 20);
	const CUDA_MEMCPY2D plane = { .srcMemoryType = MEMORY_HOST,
				      .srcHost = here,
				      .srcDevice = y,
				      .dstMemoryType = MEMORY_DEVICE,
				      .dstDevice = x,
				      .dstXInBytes = 16,
				      .dstY = 2,
				      .dstPitch = 512 };
	const CUDA_MEMCPY3D volume = { .srcMemoryType = MEMORY_UNIFIED,
				       .srcDevice = y,
				       .srcZ = 1,
				       .srcHeight = 4,
				       .srcPitch = 512,
				       .dstMemoryType = 3, /* an array */
				       .dstDevice = x };
	gp_thread.head = 0;
	wrap_cuMemcpy2DAsync_v2(&plane, NULL);
	assert_int_equal(only(GP_USE)->use.first, x + 16 + 2 * 512);
	assert_int_equal(only(GP_USE)->use.second, 0);
	gp_thread.head = 0;
	wrap_cuMemcpy3D_v2(&volume);
	assert_int_equal(only(GP_USE)->use.first, 0);
	assert_int_equal(only(GP_USE)->use.second, y + 4 * 512);
}

/* ---- the map ---- */

static bool is_known(uint64_t address)
{
	uint64_t low = atomic_load(&gp_use_map.low), high = atomic_load(&gp_use_map.high);
	return gp_use_is_known(gp_use_map.bit, low, high > low ? high - low : 0, address);
}

/* Against a list of ranges: a word is in the map exactly if its granule contains a byte of one. */
static void test_map_is_its_granules(void **state)
{
	(void)state;
	struct {
		uint64_t from, to;
	} range[200];
	uint64_t seed = 1;
	unsigned both[2] = { 0, 0 };
#define RANDOM (seed = seed * 6364136223846793005u + 1442695040888963407u, seed >> 20)
	for (unsigned k = 0; k < 200; k++) {
		uint64_t bytes = RANDOM % (k % 10 ? 8u << 20 : 1u << 30) + 1;
		range[k].from = 0x7f0000000000 + RANDOM % (8ull << 30);
		range[k].to = range[k].from + bytes;
		gp_use_map_add(range[k].from, bytes);
	}
	for (unsigned k = 0; k < 20000; k++) {
		uint64_t address = 0x7f0000000000 - (1ull << 30) + RANDOM % (11ull << 30);
		uint64_t granule = address >> GP_USE_GRANULE_SHIFT;
		bool is_in = false;
		for (unsigned i = 0; i < 200 && !is_in; i++)
			is_in = range[i].from >> GP_USE_GRANULE_SHIFT <= granule &&
				(range[i].to - 1) >> GP_USE_GRANULE_SHIFT >= granule;
		/* addresses outside of all memory are skipped before their granule is looked up */
		if (address >= atomic_load(&gp_use_map.low) &&
		    address < atomic_load(&gp_use_map.high))
			assert_int_equal(is_known(address), is_in);
		else
			assert_false(is_known(address));
		both[is_in]++;
	}
	assert_true(both[0] > 1000 && both[1] > 1000);
	for (unsigned k = 0; k < 200; k++)
		assert_true(is_known(range[k].from) && is_known(range[k].to - 1));
}

/* Memory beyond the map's range is counted, and recorded as a fact. */
static void test_beyond_the_map(void **state)
{
	(void)state;
	gp_thread.head = 0;
	gp_use_map_add(1ull << 48, 4096);
	assert_int_equal(only(GP_FACT)->aux, GP_FACT_USES_BEYOND);
	assert_int_equal(only(GP_FACT)->fact.value, 1);
	gp_use_map_add((1ull << 48) - 4096, 8192);
	gp_use_map_add(1ull << 63, UINT64_MAX);
	assert_int_equal(atomic_load(&gp_use_map.beyond), 3);
	assert_int_equal(count(GP_FACT), 2); /* of the first and the second */
	assert_false(is_known(1ull << 48));
	gp_use_map_add((1ull << 48) - 4096, 4096);
	assert_true(is_known((1ull << 48) - 1));
}

static void test_every_space_that_is_used(void **state)
{
	(void)state;
	CUdeviceptr managed = 0x7f1000000000;
	void *host = (void *)0x7f2000000000;
	CUmemGenericAllocationHandle handle = 0xabc0;
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	wrap_cuMemAllocManaged(&managed, 4096, 1);
	wrap_cuMemHostAlloc(&host, 4096, 0);
	wrap_cuMemHostRegister_v2((void *)0x7f3000000000, 4096, 0);
	wrap_cuMemCreate(&handle, 1 << 21, &prop, 0);
	wrap_cuMemMap(0x7f4000000000, 1 << 21, 0, handle, 0);
	assert_true(is_known(0x7f1000000000) && is_known(0x7f2000000000));
	assert_true(is_known(0x7f3000000000) && is_known(0x7f4000000000));
	assert_false(is_known(handle));
}

int main(void)
{
	ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_pointers_are_recorded, begin),
		cmocka_unit_test_setup(test_structs_of_any_size, begin),
		cmocka_unit_test_setup(test_many_pointers, begin),
		cmocka_unit_test_setup(test_words_need_no_alignment, begin),
		cmocka_unit_test_setup(test_buffer, begin),
		cmocka_unit_test_setup(test_other_ways_to_launch, begin),
		cmocka_unit_test_setup(test_layouts, begin),
		cmocka_unit_test_setup(test_kernels_without_parameters, begin),
		cmocka_unit_test_setup(test_many_kernels, begin),
		cmocka_unit_test_setup(test_refused_launch, begin),
		cmocka_unit_test_setup(test_captured, begin),
		cmocka_unit_test_setup(test_off, begin),
		cmocka_unit_test_setup(test_copies, begin),
		cmocka_unit_test_setup(test_copies_of_rows, begin),
		cmocka_unit_test_setup(test_map_is_its_granules, begin),
		cmocka_unit_test_setup(test_beyond_the_map, begin),
		cmocka_unit_test_setup(test_every_space_that_is_used, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
