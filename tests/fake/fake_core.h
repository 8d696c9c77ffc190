/*
 * Shared by all parts of the fake driver: error numbers, the one lock, objects behind handles, the
 * calling thread's state, requested faults and counts of calls. Only fake_cuda.c includes it,
 * before the other fake_*.h.
 */
#ifndef FAKE_CORE_H
#define FAKE_CORE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../../interpose/driver/cuda_types.h"

/* cuda.h's numbers that cuda_types.h does not need */
enum {
	FAKE_NO_DEVICE = 100,
	FAKE_INVALID_DEVICE = 101,
	FAKE_ALREADY_MAPPED = 208,
	FAKE_NOT_MAPPED = 211,
	FAKE_NOT_READY = 600,
	FAKE_ALREADY_REGISTERED = 712,
	FAKE_NOT_REGISTERED = 713,
	FAKE_NOT_SUPPORTED = 801,
};

#define FAKE_DEVICES 16
#define FAKE_CONTEXT_STACK 14
#define fake_likely(x) __builtin_expect(!!(x), 1)
#define fake_unlikely(x) __builtin_expect(!!(x), 0)

enum fake_row {
#define FUNCTION(symbol, name, version, per_thread) FAKE_##symbol,
#include "fake_others.def"
#include "fake_versions.def"
#undef FUNCTION
	FAKE_ROWS,
};

struct fake_function {
	const char *symbol, *name;
	int version;
	bool is_per_thread;
	bool is_missing;
	void *address;
};
static struct fake_function fake_functions[FAKE_ROWS];

/* Settings from the environment. */
static struct {
	int devices;
	int version;
	uint64_t device_bytes;
	unsigned long launch_ns, ready_ns;
	_Atomic unsigned free_us;
} fake_setup = { .devices = 2, .version = 13000, .device_bytes = 8ull << 30 };

/*
 * ---- the lock: held for tens of nanoseconds, also across a fork, so that the child finds
 * consistent data ----
 */

static _Atomic uint32_t fake_lock_word;

static inline void fake_lock(void)
{
	for (unsigned turn = 0;; turn++) {
		uint32_t open = 0;
		if (fake_likely(atomic_compare_exchange_weak_explicit(
			    &fake_lock_word, &open, 1, memory_order_acquire, memory_order_relaxed)))
			return;
		if (turn % 64 == 63)
			sched_yield();
	}
}

static inline void fake_unlock(void)
{
	atomic_store_explicit(&fake_lock_word, 0, memory_order_release);
}

/*
 * ---- objects behind handles; a new object takes the address of a destroyed one of its kind ----
 */

enum fake_kind {
	FAKE_NOTHING,
	FAKE_CONTEXT,
	FAKE_STREAM,
	FAKE_EVENT,
	FAKE_MODULE, /* and library */
	FAKE_KERNEL, /* and function */
	FAKE_GRAPH,
	FAKE_EXEC,
	FAKE_NODE,
	FAKE_POOL,
	FAKE_PHYSICAL, /* and multicast */
	FAKE_MAPPING,
	FAKE_ARRAY,
	FAKE_EXTERNAL,
	FAKE_HOST,
	FAKE_GREEN,
	FAKE_KINDS,
};

struct fake_object {
	enum fake_kind kind;
	int device;
	unsigned references, flags;
	struct fake_object *owner, *next, *first; /* of a list that the kind gives a meaning */
	struct fake_object *origin; /* of a stream that joined the capture of another one */
	uint64_t address, bytes, number, recorded_ns;
	int mode, status, priority;
	bool is_registered;
	char name[136];
};

#define FAKE_OBJECTS (1u << 20)
static struct fake_object *fake_arena;
static uint32_t fake_arena_used;
static struct fake_object *fake_unused[FAKE_KINDS];
static uint64_t fake_numbers;

/* Lock held. NULL: no more memory for handles. */
static struct fake_object *fake_new(enum fake_kind kind, int device)
{
	struct fake_object *object = fake_unused[kind];
	if (object)
		fake_unused[kind] = object->next;
	else if (fake_arena_used < FAKE_OBJECTS)
		object = &fake_arena[fake_arena_used++];
	else
		return NULL;
	memset(object, 0, sizeof *object);
	*object = (struct fake_object){
		.kind = kind, .device = device, .references = 1, .number = ++fake_numbers
	};
	return object;
}

/* Lock held. */
static void fake_delete(struct fake_object *object)
{
	enum fake_kind kind = object->kind;
	object->kind = FAKE_NOTHING;
	object->next = fake_unused[kind];
	fake_unused[kind] = object;
}

/* NULL: the handle was not valid. */
static inline CUresult fake_destroy(struct fake_object *object)
{
	if (!object)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	fake_delete(object);
	fake_unlock();
	return CUDA_SUCCESS;
}

/* The object behind a handle; NULL when it has another kind or is not valid. */
static inline struct fake_object *fake_get(uintptr_t handle, enum fake_kind kind)
{
	uintptr_t offset = handle - (uintptr_t)fake_arena;
	if (offset >= sizeof *fake_arena * FAKE_OBJECTS || offset % sizeof *fake_arena != 0)
		return NULL;
	struct fake_object *object = (struct fake_object *)handle;
	return object->kind == kind ? object : NULL;
}
#define GET(handle, kind) fake_get((uintptr_t)(handle), kind)

/* ---- the calling thread ---- */

struct fake_thread {
	struct fake_thread *next;
	struct fake_object *stack[FAKE_CONTEXT_STACK];
	unsigned depth;
	int capture_mode;
	bool is_ended;
	uint64_t calls[FAKE_ROWS];
};
static struct fake_thread *_Atomic fake_threads;
static _Thread_local struct fake_thread *fake_own __attribute__((tls_model("initial-exec")));
static pthread_key_t fake_thread_end;

/*
 * Called at a thread's end: keeps its counts, drops its context stack, and leaves the block for a
 * later thread.
 */
static void fake_end_thread(void *thread)
{
	struct fake_thread *t = thread;
	fake_lock();
	t->depth = 0;
	t->capture_mode = 0;
	t->is_ended = true;
	fake_unlock();
	fake_own = NULL;
}

static __attribute__((noinline, cold)) struct fake_thread *fake_thread_slow(void)
{
	fake_lock();
	struct fake_thread *t = atomic_load_explicit(&fake_threads, memory_order_relaxed);
	while (t && !t->is_ended)
		t = t->next;
	if (!t) {
		t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
		if (t == MAP_FAILED)
			abort();
		t->next = atomic_load_explicit(&fake_threads, memory_order_relaxed);
		atomic_store_explicit(&fake_threads, t, memory_order_release);
	}
	t->is_ended = false;
	fake_unlock();
	pthread_setspecific(fake_thread_end, t);
	return fake_own = t;
}

static inline struct fake_thread *fake_self(void)
{
	struct fake_thread *t = fake_own;
	return fake_likely(t != NULL) ? t : fake_thread_slow();
}

static inline struct fake_object *fake_current(void)
{
	struct fake_thread *t = fake_self();
	return fake_likely(t->depth != 0) ? t->stack[t->depth - 1] : NULL;
}

/* ---- requested faults ---- */

#define FAKE_FAULTS 16
static struct {
	enum fake_row row;
	uint64_t number; /* number of the call that fails, counted over all threads; 0: each call */
	int code;
	_Atomic uint64_t calls;
} fake_faults[FAKE_FAULTS];
static unsigned fake_faults_used;
/* not 0: cuInit was not called yet, or faults are requested */
static _Atomic uint32_t fake_attention = 1;
static _Atomic bool fake_is_initialised;

static void fake_tell_fault(enum fake_row row)
{
	const char *path = getenv("FAKE_CUDA_FAILED");
	FILE *file = path ? fopen(path, "ae") : NULL;
	if (!file)
		return;
	fprintf(file, "%s\n", fake_functions[row].symbol);
	fclose(file);
}

static __attribute__((noinline, cold)) CUresult fake_enter_slow(enum fake_row row)
{
	if (!atomic_load(&fake_is_initialised) && row != FAKE_cuInit &&
	    row != FAKE_cuDriverGetVersion && row != FAKE_cuGetProcAddress &&
	    row != FAKE_cuGetProcAddress_v2 && row != FAKE_cuGetErrorName &&
	    row != FAKE_cuGetErrorString)
		return CUDA_ERROR_NOT_INITIALIZED;
	for (unsigned i = 0; i < fake_faults_used; i++) {
		if (fake_faults[i].row != row)
			continue;
		uint64_t number = atomic_fetch_add(&fake_faults[i].calls, 1) + 1;
		if (fake_faults[i].number == 0 || number == fake_faults[i].number) {
			fake_tell_fault(row);
			return fake_faults[i].code;
		}
	}
	return CUDA_SUCCESS;
}

/* Each function begins with this call, and returns its result unless it is CUDA_SUCCESS. */
static inline CUresult fake_enter(enum fake_row row)
{
	uint64_t *calls = &fake_self()->calls[row];
	__atomic_store_n(calls, *calls + 1, __ATOMIC_RELAXED);
	if (fake_unlikely(atomic_load_explicit(&fake_attention, memory_order_relaxed) != 0))
		return fake_enter_slow(row);
	return CUDA_SUCCESS;
}

/* Each row's body. */
#define CUDA(symbol, parameters, arguments, hook) static inline CUresult fake_##symbol parameters;
#define CALL(symbol, parameters)
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL

#define ENTER(symbol)                                         \
	do {                                                  \
		CUresult entered = fake_enter(FAKE_##symbol); \
		if (fake_unlikely(entered != CUDA_SUCCESS))   \
			return entered;                       \
	} while (0)

#endif
