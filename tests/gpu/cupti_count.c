/*
 * Counts kernels by CUPTI's activity records, independently of gpuprof. The driver loads it
 * through CUDA_INJECTION64_PATH. When the process exits, it writes "kernels N dropped N" to the
 * file that CUPTI_COUNT_OUT names. Uses the libcupti that the process has already, else the
 * system's.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cupti.h>

#define BUFFER_BYTES (1u << 20)

static _Atomic unsigned long long kernels, dropped;

static struct {
	CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc,
					  CUpti_BuffersCallbackCompleteFunc);
	CUptiResult (*enable)(CUpti_ActivityKind);
	CUptiResult (*flush_all)(uint32_t);
	CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **);
	CUptiResult (*dropped)(CUcontext, uint32_t, size_t *);
} cupti;

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*records = 0;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				      size_t bytes, size_t valid)
{
	CUpti_Activity *record = NULL;
	size_t lost = 0;
	(void)bytes;
	while (cupti.next(buffer, valid, &record) == CUPTI_SUCCESS)
		kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
			   record->kind == CUPTI_ACTIVITY_KIND_KERNEL;
	if (cupti.dropped(context, stream, &lost) == CUPTI_SUCCESS)
		dropped += lost;
	free(buffer);
}

static void write_count(void)
{
	const char *path = getenv("CUPTI_COUNT_OUT");
	cupti.flush_all(1);
	FILE *file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "kernels %llu dropped %llu\n", (unsigned long long)kernels,
		(unsigned long long)dropped);
	fclose(file);
}

static bool find_cupti(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW);
	if (!library)
		library = dlopen("libcupti.so.12", RTLD_NOW);
	if (!library)
		library = dlopen("libcupti.so", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "cupti_count: %s\n", dlerror());
		return false;
	}
	*(void **)&cupti.register_callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.enable = dlsym(library, "cuptiActivityEnable");
	*(void **)&cupti.flush_all = dlsym(library, "cuptiActivityFlushAll");
	*(void **)&cupti.next = dlsym(library, "cuptiActivityGetNextRecord");
	*(void **)&cupti.dropped = dlsym(library, "cuptiActivityGetNumDroppedRecords");
	return cupti.register_callbacks && cupti.enable && cupti.flush_all && cupti.next &&
	       cupti.dropped;
}

/* The driver calls this in cuInit. */
int InitializeInjection(void);
int InitializeInjection(void)
{
	if (!find_cupti())
		return 0;
	CUptiResult result = cupti.register_callbacks(buffer_requested, buffer_completed);
	if (result == CUPTI_SUCCESS)
		result = cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (result != CUPTI_SUCCESS) {
		fprintf(stderr, "cupti_count: CUPTI error %d\n", (int)result);
		return 0;
	}
	atexit(write_count);
	return 1;
}
