/*
 * Shared by the measuring programs: calls to the driver with and without the recorder's wrappers,
 * and bursts that fit into a ring. A wait function returns when the drain thread has emptied the
 * ring. Each program runs under the preload on the fake driver. It prints a line "figure value" for
 * each measurement, and bench.sh takes the median.
 */
#ifndef BURST_H
#define BURST_H

#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../libgpuprof/format/layout.h"
#include "../tests/fake/driver_entry.h"

#define BURST 4096u /* calls: well below GP_RING_SLOTS */
#define BLOCKS 31u  /* times that a cost is measured */

static inline void must_at(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	exit(1);
}
#define must(what) must_at((what), #what, __FILE__, __LINE__)

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One way to the driver: through the recorder or directly. */
struct calls {
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			   unsigned, CUstream, void **, void **);
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUresult (*free)(CUdeviceptr);
	CUresult (*create)(void **, unsigned);
	CUresult (*destroy)(void *);
	CUresult (*copy)(CUdeviceptr, const void *, size_t, CUstream);
	CUresult (*wait)(void);
	CUresult (*query)(CUstream);
	CUresult (*replay)(CUgraphExec, CUstream);
};

struct bench {
	struct driver driver; /* wrapped */
	struct calls wrapped, bare;
	CUfunction kernel;
	CUdeviceptr memory; /* 512 bytes */
	const struct gp_control *control;
	const unsigned char *rings;
};

/* Returns the number of dynamic symbols: the end of the longest chain of the GNU hash table. */
static inline size_t symbols_of(const uint32_t *hash)
{
	uint32_t buckets = hash[0], first = hash[1], last = 0;
	const uint32_t *bucket = hash + 4 + (size_t)hash[2] * 2, *chain = bucket + buckets;
	for (uint32_t i = 0; i < buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	while (last >= first && !(chain[last - first] & 1))
		last++;
	return (size_t)last + 1;
}

/* The driver's own function, read from its symbol table, because the recorder interposes dlsym. */
static inline void *past_the_preload(void *library, const char *symbol)
{
	const struct link_map *map = NULL;
	const char *names = NULL;
	const ElfW(Sym) *table = NULL;
	const uint32_t *hash = NULL;
	must(dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)d->d_un.d_ptr; /* glibc has relocated these three */
		if (d->d_tag == DT_STRTAB)
			names = at;
		else if (d->d_tag == DT_SYMTAB)
			table = at;
		else if (d->d_tag == DT_GNU_HASH)
			hash = at;
	}
	must(names && table && hash);
	for (size_t i = 0; i < symbols_of(hash); i++) {
		void *found = (void *)(map->l_addr + table[i].st_value);
		if (!table[i].st_shndx || strcmp(names + table[i].st_name, symbol) != 0)
			continue;
		must(found != dlsym(library, symbol)); /* else the recorder is not preloaded */
		return found;
	}
	must(!"the driver lacks a function");
	return NULL;
}

static inline void map_rings(struct bench *b)
{
	char pattern[128];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/gpuprof-ring-%u-%d-*", (unsigned)getuid(),
		 (int)getpid());
	must(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
	int file = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	must(file >= 0);
	/* as large as it may grow, because the rings of later threads are mapped there */
	b->rings = mmap(NULL, gp_ring_offset(GP_RINGS_MAX), PROT_READ, MAP_SHARED, file, 0);
	must(b->rings != MAP_FAILED);
	b->control = (const struct gp_control *)(const void *)b->rings;
	must(b->control->magic == GP_CONTROL_MAGIC);
	close(file);
	globfree(&found);
}

/* Opens both ways to the driver; records no event. */
static inline void bench_open_driver(struct bench *b)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	must(library != NULL);
	must(driver_open(&b->driver, FROM_DLSYM) && driver_use(&b->driver, 0));
	b->wrapped = (struct calls){ .launch = b->driver.cuLaunchKernel,
				     .alloc = b->driver.cuMemAlloc_v2,
				     .free = b->driver.cuMemFree_v2,
				     .copy = b->driver.cuMemcpyHtoDAsync_v2,
				     .wait = b->driver.cuCtxSynchronize,
				     .replay = b->driver.cuGraphLaunch };
	*(void **)&b->wrapped.create = dlsym(library, "cuEventCreate");
	*(void **)&b->wrapped.destroy = dlsym(library, "cuEventDestroy_v2");
	*(void **)&b->wrapped.query = dlsym(library, "cuStreamQuery");
	*(void **)&b->bare.query = past_the_preload(library, "cuStreamQuery");
	*(void **)&b->bare.launch = past_the_preload(library, "cuLaunchKernel");
	*(void **)&b->bare.alloc = past_the_preload(library, "cuMemAlloc_v2");
	*(void **)&b->bare.free = past_the_preload(library, "cuMemFree_v2");
	*(void **)&b->bare.create = past_the_preload(library, "cuEventCreate");
	*(void **)&b->bare.destroy = past_the_preload(library, "cuEventDestroy_v2");
	*(void **)&b->bare.copy = past_the_preload(library, "cuMemcpyHtoDAsync_v2");
	*(void **)&b->bare.wait = past_the_preload(library, "cuCtxSynchronize");
	*(void **)&b->bare.replay = past_the_preload(library, "cuGraphLaunch");
}

/*
 * Leaves room for further bursts in every ring. A ring's tail moves only when a block is full, so
 * the ring is rarely empty.
 */
static inline bool has_room(const struct bench *b)
{
	for (uint32_t i = 0; i < atomic_load(&b->control->rings); i++) {
		const struct gp_ring *ring =
			(const struct gp_ring *)(const void *)(b->rings + gp_ring_offset(i));
		const uint32_t region = atomic_load(&ring->region);
		if (atomic_load(&ring->head) - atomic_load(&ring->tail) >
		    GP_REGION_SLOTS(region) / 2)
			return false;
	}
	return true;
}

/* The rings signal no event, so this looks every 100 us, and gives up after 20 s. */
static inline void wait_for_room(const struct bench *b)
{
	for (int i = 0; i < 200000; i++) {
		if (has_room(b))
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	must(!"the drain thread does not empty the rings");
}

/*
 * Returns at the end of a drain turn that found all events. As in a job, a burst then meets a drain
 * thread that sleeps.
 */
static inline void wait_for_quiet(const struct bench *b)
{
	wait_for_room(b);
	for (int turns = 0; turns < 2; turns++) {
		uint64_t last = atomic_load(&b->control->heartbeat_ns);
		while (atomic_load(&b->control->heartbeat_ns) == last)
			nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	}
}

/* Also records first events, so that the rings exist and this thread's ring has grown. */
static inline void bench_open(struct bench *b)
{
	CUmodule module;
	CUdeviceptr first;
	bench_open_driver(b);
	must(b->driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(b->driver.cuModuleGetFunction(&b->kernel, module, "gemm") == CUDA_SUCCESS);
	must(b->wrapped.alloc(&first, 512) == CUDA_SUCCESS &&
	     b->wrapped.free(first) == CUDA_SUCCESS);
	must(b->wrapped.alloc(&b->memory, 512) == CUDA_SUCCESS);
	map_rings(b);
	const struct gp_ring *own =
		(const struct gp_ring *)(const void *)(b->rings + gp_ring_offset(1));
	while (atomic_load(&own->region) + 1 < GP_RING_REGIONS) {
		for (unsigned i = 0; i < 64; i++)
			must(b->wrapped.alloc(&first, 512) == CUDA_SUCCESS &&
			     b->wrapped.free(first) == CUDA_SUCCESS);
		sched_yield();
	}
	wait_for_quiet(b);
}

static inline uint64_t lost_events(const struct bench *b)
{
	uint64_t lost = 0;
	for (uint32_t i = 0; i < atomic_load(&b->control->rings); i++) {
		const struct gp_ring *ring =
			(const struct gp_ring *)(const void *)(b->rings + gp_ring_offset(i));
		lost += atomic_load(&ring->lost_memory) + atomic_load(&ring->lost_launch) +
			atomic_load(&ring->lost_other);
	}
	return lost;
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static inline double median(double *values, size_t number)
{
	qsort(values, number, sizeof *values, by_value);
	return number % 2 ? values[number / 2] : (values[number / 2 - 1] + values[number / 2]) / 2;
}

static inline void burst_launch(const struct calls *calls, CUfunction kernel, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		calls->launch(kernel, 64 + (i & 7), 1, 1, 256, 1, 1, 0, NULL, NULL, NULL);
}

static inline void burst_alloc(const struct calls *calls, unsigned pairs)
{
	for (unsigned i = 0; i < pairs; i++) {
		CUdeviceptr address;
		must(calls->alloc(&address, 512 + (i & 63) * 512) == CUDA_SUCCESS);
		must(calls->free(address) == CUDA_SUCCESS);
	}
}

static inline void burst_events(const struct calls *calls, unsigned pairs)
{
	for (unsigned i = 0; i < pairs; i++) {
		void *event;
		must(calls->create(&event, 0) == CUDA_SUCCESS);
		must(calls->destroy(event) == CUDA_SUCCESS);
	}
}

#endif
