/*
 * The native frames of the calling thread: return addresses, innermost first, without own frames.
 * Walks by rules, which libunwind provides once per address (native_learn.h). No malloc, no lock
 * and no system call, except for new code. Keeps errno. Tests memory outside of the thread's stack
 * before it reads it. Enters libunwind through a gate that closes when the process forks.
 *
 *	why = gp_native_open(&setup);				// in a resolver
 *
 *	struct gp_native_thread *t = gp_native_thread_open(&pieces); // once a thread, mmap
 *	struct gp_native_look look;
 *	struct gp_native_stack *s = gp_native_stack_find(t, __builtin_frame_address(0), &look);
 *	if (!s)
 *		s = gp_native_stack_take(t, &look, NULL);
 *	if (s && s->id_generation != mine)
 *		s->id = intern(s->pc, s->depth), s->id_generation = mine;
 *	gp_thread_pieces_close(&pieces);			// when it ends
 */
#ifndef GP_NATIVE_WALK_H
#define GP_NATIVE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../process/thread_memory.h"

#define GP_NATIVE_DEPTH 64u
/* Other words that a stack may depend on: one for each frame, for its frame pointer. */
#define GP_NATIVE_WORDS_MOST 80u
#define GP_NATIVE_ROWS (GP_NATIVE_DEPTH + GP_NATIVE_WORDS_MOST + 1)

enum gp_native_end {
	GP_NATIVE_WHOLE,     /* up to the thread's outermost frame */
	GP_NATIVE_TRUNCATED, /* cut at the depth limit */
	GP_NATIVE_FOREIGN,   /* ends at code without unwind information */
	GP_NATIVE_BROKEN,    /* ends where the stack is inconsistent or unreadable */
	GP_NATIVE_UP_TO,     /* up to the caller of the frame that contains the given address */
};

struct gp_native_stack {
	uint8_t depth;
	uint8_t end;	 /* enum gp_native_end */
	uint16_t number; /* index of its memo entry, which may have another stack by now; 0: none */
	/* the caller's, 0 in a new stack; kept as long as the stack is remembered */
	uint32_t id, id_generation;
	uint32_t made; /* a number that no earlier stack of this entry had */
	uint64_t id_marks;
	/* the Python stack that it was last paired with, and their common id */
	uint32_t beside, pair;
	const void *anchor; /* the caller's notes that are valid wherever this is the stack */
	uintptr_t pc[GP_NATIVE_ROWS]; /* `depth` of them; the memo owns the rest */
};

struct gp_native_setup {
	uint16_t depth;		    /* 1 to GP_NATIVE_DEPTH */
	uintptr_t own_from, own_to; /* code whose frames are left out at the inner end */
	void *(*lookup)(void *context, const char *name); /* as in gp_native_learn_open */
	void *context;
};

/*
 * Call once per process, where the loader may be entered. Returns NULL, or why there are no native
 * stacks: a text without a newline.
 */
const char *gp_native_open(const struct gp_native_setup *setup);

struct gp_native_counts {
	uint64_t refused;  /* no stack: the gate was closed */
	uint64_t followed; /* walks that took their outer part from the walk before; for tests */
	uint64_t evicted;  /* stacks that the memo dropped to make room; for tests */
};

/* A thread's state. Only that thread, and its forked child, may use it. */
struct gp_native_thread;
/* Its memory is allocated from these pieces and freed with them. NULL: no memory. */
struct gp_native_thread *gp_native_thread_open(struct gp_thread_pieces *pieces);
/*
 * Call after a jump left a walk: discards entries that may be half written, and allows walks again.
 */
void gp_native_thread_left(struct gp_native_thread *thread);
const struct gp_native_counts *gp_native_thread_counts(const struct gp_native_thread *thread);

/* Where a walk begins. */
struct gp_native_start {
	uintptr_t pc, sp, frame;
};

/* State that gp_native_stack_find passes to gp_native_stack_take. */
struct gp_native_look {
	struct gp_native_start start;
	uintptr_t readable; /* from here up; 0: no stack can be taken */
	bool is_own;	    /* it lies on the thread's own stack */
};

/*
 * The stack of the caller of the function with the given frame address
 * (__builtin_frame_address(0)), without frames in own text. NULL: the caller's own stack. The
 * result is valid until the next call of this thread.
 *
 * `find` returns a stack of the memo; NULL: none matches. `take` then walks. It returns NULL if it
 * cannot, which `refused` counts, or if a walk of this thread is in progress (a signal handler).
 * `up_to` is an address on the stack: the last frame is the caller of the frame that contains it;
 * NULL: all frames. A result of `find` may have been taken with another `up_to`:
 * gp_native_stack_is_up_to checks that.
 */
struct gp_native_stack *gp_native_stack_find(struct gp_native_thread *thread,
					     const void *frame_address,
					     struct gp_native_look *look);
struct gp_native_stack *gp_native_stack_take(struct gp_native_thread *thread,
					     const struct gp_native_look *look, const void *up_to);
/* Both in one, with all frames. */
struct gp_native_stack *gp_native_stack_now(struct gp_native_thread *thread,
					    const void *frame_address);
/* True if a stack that `find` returned ends where `take` would end it with `up_to`. */
bool gp_native_stack_is_up_to(const struct gp_native_stack *stack, const void *up_to);

/*
 * Predicts the next result: the stack of this number, 0: none. It is compared first, and its data
 * is prefetched. Call it early enough to hide the latency.
 */
void gp_native_stack_expect(struct gp_native_thread *thread, unsigned number);

/*
 * Marks the frames of the last result that contain the addresses on the stack, which are innermost
 * first. Bit k is frame k. `known`: the likely result, which is cheaper to confirm. False: the
 * addresses are out of order. An address in the outermost walked frame or beyond is not marked,
 * because the end of that frame is unknown.
 */
bool gp_native_stack_mark(const struct gp_native_stack *stack, const void *const *address,
			  unsigned addresses, uint64_t known, uint64_t *marks);

/* Walks and forgets, as without a memo: the reference for tests. */
struct gp_native_stack *gp_native_stack_walk(struct gp_native_thread *thread,
					     const void *frame_address);

#endif
