/*
 * A libcuda.so.1 for machines without a GPU: every row of cuda_api.def, and the other functions
 * that programs need. It works on addresses instead of memory. It counts calls, fails on request
 * and reuses freed addresses at once. Environment:
 *
 *   FAKE_CUDA_DEVICES    number of devices (2; 0: cuInit reports that there is none)
 *   FAKE_CUDA_BYTES      memory of each (8 GiB)
 *   FAKE_CUDA_VERSION    of the driver (13000): newer functions do not exist
 *   FAKE_CUDA_MISSING    SYMBOL,SYMBOL...: these do not exist either
 *   FAKE_CUDA_FAIL       SYMBOL:NUMBER[:CODE],...: that call fails (0: each) with CODE (2)
 *   FAKE_CUDA_FAILED     file to which each such failure adds a line, the symbol
 *   FAKE_CUDA_LAUNCH_NS  duration of a launch
 *   FAKE_CUDA_FREE_US    duration of a free
 *   FAKE_CUDA_READY_NS   for so long after cuEventRecord event and stream are not ready
 *
 * Each row has a body fake_SYMBOL in one of the headers: a new row without one does not compile. Of
 * gpuprof it may include only the table and its types.
 */
#include "fake_core.h"

#include "fake_allocations.h"
#include "fake_contexts.h"
#include "fake_copies.h"
#include "fake_graphs.h"
#include "fake_launches.h"
#include "fake_lookup.h"
#include "fake_memory.h"
#include "fake_pools.h"
#include "fake_streams.h"
#include "fake_virtual.h"

#include <dlfcn.h>

#define CUDA(symbol, parameters, arguments, hook) \
	CUresult symbol parameters                \
	{                                         \
		ENTER(symbol);                    \
		return fake_##symbol arguments;   \
	}
#define CALL(symbol, parameters)
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL

/* Arguments do not matter: the caller removes them. */
#define FUNCTION(symbol, name, version, per_thread) \
	CUresult symbol(void)                       \
	{                                           \
		ENTER(symbol);                      \
		return FAKE_NOT_SUPPORTED;          \
	}
#include "fake_others.def"
#undef FUNCTION

/* ---- functions that fit in no header ---- */

CUresult cuMemGetInfo(unsigned int *free_bytes, unsigned int *total_bytes)
{
	ENTER(cuMemGetInfo);
	size_t free_now, total;
	CUresult result = fake_memory_info(&free_now, &total);
	if (result == CUDA_SUCCESS) {
		*free_bytes = free_now > UINT32_MAX ? UINT32_MAX : (unsigned)free_now;
		*total_bytes = total > UINT32_MAX ? UINT32_MAX : (unsigned)total;
	}
	return result;
}

static const char *error_name(CUresult error)
{
	switch (error) {
	case CUDA_SUCCESS:
		return "CUDA_SUCCESS";
	case CUDA_ERROR_INVALID_VALUE:
		return "CUDA_ERROR_INVALID_VALUE";
	case CUDA_ERROR_OUT_OF_MEMORY:
		return "CUDA_ERROR_OUT_OF_MEMORY";
	case CUDA_ERROR_NOT_INITIALIZED:
		return "CUDA_ERROR_NOT_INITIALIZED";
	case FAKE_NO_DEVICE:
		return "CUDA_ERROR_NO_DEVICE";
	case CUDA_ERROR_INVALID_CONTEXT:
		return "CUDA_ERROR_INVALID_CONTEXT";
	case CUDA_ERROR_INVALID_HANDLE:
		return "CUDA_ERROR_INVALID_HANDLE";
	default:
		return "CUDA_ERROR_UNKNOWN";
	}
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
	ENTER(cuGetErrorName);
	*text = error_name(error);
	return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	ENTER(cuGetErrorString);
	*text = error_name(error);
	return CUDA_SUCCESS;
}

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	ENTER(cuGetExportTable);
	(void)id;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

/* ---- functions for tests ---- */

unsigned long long fake_cuda_calls(const char *symbol);
unsigned long long fake_cuda_live_bytes(int device);
unsigned long long fake_cuda_peak_bytes(int device);
unsigned long long fake_cuda_captures_broken(void);
void fake_cuda_delay_frees(unsigned us);
void *fake_cuda_look_up(const char *symbol);

/*
 * Returns what the driver finds when it looks up one of its own functions by name, as WSL's does.
 */
void *fake_cuda_look_up(const char *symbol)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	void *volatile found = dlsym(library, symbol);
	dlclose(library);
	return found;
}

/* The number of calls of a function by all threads. */
unsigned long long fake_cuda_calls(const char *symbol)
{
	const struct fake_function *f = fake_by_symbol(symbol);
	unsigned long long sum = 0;
	for (const struct fake_thread *t = atomic_load(&fake_threads); f && t; t = t->next)
		sum += __atomic_load_n(&t->calls[f - fake_functions], __ATOMIC_RELAXED);
	return sum;
}

unsigned long long fake_cuda_live_bytes(int device)
{
	fake_lock();
	unsigned long long bytes = fake_device_memory[device].used_bytes;
	fake_unlock();
	return bytes;
}

unsigned long long fake_cuda_peak_bytes(int device)
{
	fake_lock();
	unsigned long long bytes = fake_device_memory[device].peak_bytes;
	fake_unlock();
	return bytes;
}

/* The number of captures that a possibly synchronising call has ended. */
unsigned long long fake_cuda_captures_broken(void)
{
	return atomic_load(&fake_captures_broken);
}

void fake_cuda_delay_frees(unsigned us)
{
	atomic_store(&fake_setup.free_us, us);
}

/* ---- the environment ---- */

/*
 * Another preload may be in front of these exports, but the resolver always returns this library's
 * own functions.
 */
#define FUNCTION(symbol, name, version, per_thread) \
	extern __typeof__(symbol) own_##symbol      \
		__attribute__((alias(#symbol), visibility("hidden")));
#include "fake_others.def"
#include "fake_versions.def"
#undef FUNCTION

static struct fake_function fake_functions[FAKE_ROWS] = {
#define FUNCTION(symbol, name, version, per_thread) \
	{ #symbol, #name, version, (per_thread) != 0, false, (void *)own_##symbol },
#include "fake_others.def"
#include "fake_versions.def"
#undef FUNCTION
};

static uint64_t number(const char *name, uint64_t standard)
{
	const char *text = getenv(name);
	return text && *text ? strtoull(text, NULL, 0) : standard;
}

static void read_faults(const char *text)
{
	while (text && *text && fake_faults_used < FAKE_FAULTS) {
		char symbol[96];
		unsigned long long call = 1;
		int code = CUDA_ERROR_OUT_OF_MEMORY;
		if (sscanf(text, "%95[^:,]:%llu:%d", symbol, &call, &code) < 1)
			break;
		const struct fake_function *f = fake_by_symbol(symbol);
		if (!f) {
			fprintf(stderr, "FAKE_CUDA_FAIL names '%s': no such function\n", symbol);
			abort();
		}
		fake_faults[fake_faults_used].row = (enum fake_row)(f - fake_functions);
		fake_faults[fake_faults_used].number = call;
		fake_faults[fake_faults_used++].code = code;
		text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL;
	}
}

static void read_environment(void)
{
	const char *missing = getenv("FAKE_CUDA_MISSING");
	bool hides = false;
	fake_setup.devices = (int)number("FAKE_CUDA_DEVICES", 2);
	if (fake_setup.devices > FAKE_DEVICES)
		fake_setup.devices = FAKE_DEVICES;
	fake_setup.version = (int)number("FAKE_CUDA_VERSION", 13000);
	fake_setup.device_bytes = number("FAKE_CUDA_BYTES", 8ull << 30);
	fake_setup.launch_ns = number("FAKE_CUDA_LAUNCH_NS", 0);
	fake_setup.ready_ns = number("FAKE_CUDA_READY_NS", 0);
	atomic_store(&fake_setup.free_us, (unsigned)number("FAKE_CUDA_FREE_US", 0));
	for (unsigned row = 0; row < FAKE_ROWS; row++) {
		struct fake_function *f = &fake_functions[row];
		f->is_missing =
			f->version > fake_setup.version || fake_is_listed(missing, f->symbol);
		hides |= f->is_missing;
	}
	read_faults(getenv("FAKE_CUDA_FAIL"));
	Dl_info info;
	struct link_map *self;
	if (hides && dladdr1(&fake_setup, &info, (void **)&self, RTLD_DL_LINKMAP))
		fake_hide(self);
}

__attribute__((constructor)) static void open_driver(void)
{
	void *arena = mmap(NULL, sizeof *fake_arena * FAKE_OBJECTS, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED || pthread_key_create(&fake_thread_end, fake_end_thread) != 0)
		abort();
	fake_arena = arena;
	pthread_atfork(fake_lock, fake_unlock, fake_unlock);
	read_environment();
}
