/*
 * Measures a block of the caching allocator when its stack and details are recorded. block_cost.py
 * calls it through ctypes below a chain of Python functions; it goes deeper in C. It times each
 * allocation and each release on its own. In a job, other work fills the caches between two events.
 * So the program reads other memory before each event, and runs as many bytes of other code. With 0
 * bytes, it shows the cost with warm caches.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../tests/fake/fake_c10.h"
#include "../tests/unit/native_paths.h"
#include "stopwatch.h"

#define BITS 9u
#define EVENTS (1u << BITS) /* in a step */
#define LEVELS 20u
#define STEPS_MOST 400u
#define LINE 64u

static const struct fake_c10 *c10;
static void *block[EVENTS];
static uint8_t path[EVENTS][LEVELS];
static volatile unsigned char *foreign;
static size_t foreign_bytes;
static void (*foreign_code[2])(void);
static uint64_t alloc_ticks, release_ticks;
static double alloc_ns[STEPS_MOST], release_ns[STEPS_MOST], ns_per_tick;
static unsigned steps;

/*
 * A jump in each cache line. The jumps follow a generator whose period is the number of lines, so
 * no prefetcher expects the next line. The last one returns.
 */
static void write_code(unsigned char *code, size_t bytes)
{
	const uint32_t lines = (uint32_t)(bytes / LINE);
	uint32_t at = 0;
	for (uint32_t k = 1; k < lines; k++) {
		const uint32_t next = (at * 5 + 12345) & (lines - 1);
		const int32_t far = ((int32_t)next - (int32_t)at) * (int32_t)LINE - 5;
		code[at * LINE] = 0xe9; /* jmp */
		memcpy(&code[at * LINE + 1], &far, sizeof far);
		at = next;
	}
	code[at * LINE] = 0xc3; /* ret */
}

static void open_code(size_t bytes)
{
	for (int k = 0; k < 2; k++) {
		unsigned char *code = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code == MAP_FAILED)
			exit(1);
		write_code(code, bytes);
		if (mprotect(code, bytes, PROT_READ | PROT_EXEC) != 0)
			exit(1);
		*(void **)&foreign_code[k] = code;
	}
}

/* Twice the bytes that a step reads and runs, so that they are not in the cache already. */
void block_cost_open(size_t bytes)
{
	void *library = dlopen("libc10.so", RTLD_NOW | RTLD_LOCAL);
	c10 = library ? dlsym(library, "fake_c10") : NULL;
	if (!c10 || (bytes && !(foreign = calloc(2, bytes))))
		exit(1);
	foreign_bytes = bytes;
	if (bytes)
		open_code(bytes);
	ns_per_tick = tick_calibrate();
	for (unsigned i = 0; i < EVENTS; i++)
		for (unsigned k = 0; k < BITS; k++)
			path[i][LEVELS - 1 - 2 * k] = (uint8_t)(1 + (i >> k & 1) + 2 * k);
}

/* A job's other work: other lines of other pages each time. */
void block_cost_elsewhere(void)
{
	static unsigned turn;
	const size_t from = (++turn & 1) * foreign_bytes;
	if (foreign_code[0])
		foreign_code[turn & 1]();
	for (size_t at = 0; at < foreign_bytes; at += LINE)
		foreign[from + at]++;
}

static __attribute__((noinline)) void allocate(void *context)
{
	const unsigned i = *(const unsigned *)context;
	const uint64_t start = tick_begin();
	block[i] = c10->allocate(0, 512 + 512 * (i & 15));
	alloc_ticks += tick_end() - start;
}

void block_cost_allocate(unsigned i)
{
	path_run(path[i], LEVELS, allocate, &i);
}

void block_cost_release(unsigned i)
{
	const uint64_t start = tick_begin();
	c10->release(block[i]);
	release_ticks += tick_end() - start;
}

void block_cost_step(bool is_counted)
{
	if (is_counted && steps < STEPS_MOST) {
		alloc_ns[steps] = (double)alloc_ticks * ns_per_tick / EVENTS;
		release_ns[steps++] = (double)release_ticks * ns_per_tick / EVENTS;
	}
	alloc_ticks = release_ticks = 0;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Lower quartiles of the steps, because a busy machine can only add time. */
void block_cost_print(const char *name)
{
	qsort(alloc_ns, steps, sizeof *alloc_ns, by_value);
	qsort(release_ns, steps, sizeof *release_ns, by_value);
	printf("%s_alloc_ns %.1f\n%s_release_ns %.1f\n", name, alloc_ns[steps / 4], name,
	       release_ns[steps / 4]);
	fflush(stdout);
}
