/*
 * Facts about NVIDIA's CUPTI that sharing it relies on, as far as they show without a GPU: it walks
 * records in a buffer that it never filled, as those are that we hand to the job; it answers the
 * end of a buffer and an empty record as the fake does; its clock is CLOCK_REALTIME.
 *   real_records LIBRARY
 * Exit status 77: the library is not of CUDA 13.0, whose record sizes are written down here.
 */
#include "../../interpose/cupti/cupti_abi.h"
#include "../victims/victim.h"

#define VERSION 130001u
enum { KIND_RUNTIME = 5, INVALID_KIND = 21 };

static const struct {
	uint32_t kind;
	size_t bytes;
} records[] = {
	{ GP_CUPTI_CONCURRENT_KERNEL, 216 },
	{ GP_CUPTI_MEMCPY, 96 },
	{ KIND_RUNTIME, 40 },
	{ GP_CUPTI_MEMSET, 88 },
	{ GP_CUPTI_KERNEL, 216 },
};
#define RECORDS (sizeof records / sizeof *records)

int main(int argc, char **argv)
{
	must(argc == 2);
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *record = NULL;
	uint32_t (*next)(uint8_t *, size_t, void **) = NULL;
	uint32_t (*get_version)(uint32_t *) = NULL, (*get_time)(uint64_t *) = NULL, version = 0;
	uint64_t ns = 0;
	struct timespec now;
	must(library);
	*(void **)&next = dlsym(library, "cuptiActivityGetNextRecord");
	*(void **)&get_version = dlsym(library, "cuptiGetVersion");
	*(void **)&get_time = dlsym(library, "cuptiGetTimestamp");
	must(next && get_version && get_time && get_version(&version) == GP_CUPTI_SUCCESS);
	if (version != VERSION)
		return VICTIM_SKIPPED;

	must(get_time(&ns) == GP_CUPTI_SUCCESS);
	clock_gettime(CLOCK_REALTIME, &now);
	must((uint64_t)now.tv_sec - ns / 1000000000 < 60);

	uint8_t *buffer = calloc(1, 4096);
	size_t used = 0;
	for (unsigned k = 0; k < RECORDS; k++) {
		memcpy(buffer + used, &records[k].kind, sizeof records[k].kind);
		used += records[k].bytes;
	}
	uint8_t *expected = buffer;
	for (unsigned k = 0; k < RECORDS; k++) {
		must(next(buffer, used, &record) == GP_CUPTI_SUCCESS && record == expected);
		expected += records[k].bytes;
	}
	must(next(buffer, used, &record) == GP_CUPTI_LIMIT_REACHED);
	record = NULL;
	must(next(buffer, 0, &record) == GP_CUPTI_LIMIT_REACHED);
	for (unsigned k = 0; k < RECORDS; k++)
		must(next(buffer, used + 216, &record) == GP_CUPTI_SUCCESS);
	must(next(buffer, used + 216, &record) == INVALID_KIND);
	free(buffer);
	return 0;
}
