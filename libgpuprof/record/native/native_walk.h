/*
 * The native frames of the calling thread: return addresses, the innermost first, without own
 * frames. By rules that libunwind gave once per address (native_learn.h). No malloc, no lock, no
 * system call, except where code is met for the first time. errno is kept; memory that is not the
 * thread's stack is looked at before it is read; libunwind is entered through a gate that closes
 * when the process forks.
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
/* Other words that a stack may depend on: where each frame has a frame pointer, one each. */
#define GP_NATIVE_WORDS_MOST 80u
#define GP_NATIVE_ROWS (GP_NATIVE_DEPTH + GP_NATIVE_WORDS_MOST + 1)

enum gp_native_end {
	GP_NATIVE_WHOLE,     /* to the thread's outermost frame */
	GP_NATIVE_TRUNCATED, /* deeper than the limit */
	GP_NATIVE_FOREIGN,   /* ends at code without unwind information */
	GP_NATIVE_BROKEN,    /* ends where the stack makes no sense or cannot be read */
	GP_NATIVE_UP_TO,     /* to the caller of the frame in which the caller's address lies */
};

struct gp_native_stack {
	uint8_t depth;
	uint8_t end;	 /* enum gp_native_end */
	uint16_t number; /* of its place in the memo, which may be another's by now; 0: none */
	/* the caller's, 0 in what was not met before; kept as long as the stack is remembered */
	uint32_t id, id_generation;
	uint32_t made; /* a number that no stack had which was remembered as this one is */
	uint64_t id_marks;
	uint32_t beside, pair;	      /* what it last stood beside, and what both are together */
	const void *anchor;	      /* what holds for the caller wherever this is the stack */
	uintptr_t pc[GP_NATIVE_ROWS]; /* `depth` of them; what follows is the memo's */
};

struct gp_native_setup {
	uint16_t depth;		    /* 1 to GP_NATIVE_DEPTH */
	uintptr_t own_from, own_to; /* text whose frames are left out at the inner end */
	void *(*lookup)(void *context, const char *name); /* as in gp_native_learn_open */
	void *context;
};

/*
 * Once a process, where the loader may be entered. NULL, or why there are no native stacks: a text
 * without an end of line.
 */
const char *gp_native_open(const struct gp_native_setup *setup);

struct gp_native_counts {
	uint64_t hits, misses; /* found in the memo, walked */
	uint64_t followed;  /* misses that went the way of the walk before, from where they met */
	uint64_t evicted;   /* stacks forgotten for others */
	uint64_t learned;   /* misses that met new code */
	uint64_t refused;   /* no stack: the gate was closed */
	uint64_t foreign;   /* walks on a stack that is not the thread's own */
	uint64_t forgotten; /* times that everything was, as a library was unloaded */
};

/* A thread's state. May be used by one thread, and by its forked child. */
struct gp_native_thread;
/* Its memory is of these pieces, and goes with them. NULL: no memory. */
struct gp_native_thread *gp_native_thread_open(struct gp_thread_pieces *pieces);
/* A walk was left by a jump: forgets what may be half written, and walks again. */
void gp_native_thread_left(struct gp_native_thread *thread);
const struct gp_native_counts *gp_native_thread_counts(const struct gp_native_thread *thread);

/* Where a walk begins. */
struct gp_native_start {
	uintptr_t pc, sp, frame;
};

/* What gp_native_stack_find has for gp_native_stack_take. */
struct gp_native_look {
	struct gp_native_start start;
	uintptr_t readable; /* from here up; 0: there is nothing to take */
	bool is_own;	    /* it lies on the thread's own stack */
};

/*
 * The stack of the caller of the function whose frame address (__builtin_frame_address(0)) is
 * given, frames in own text left out; where that is NULL, the caller's own. The answer is valid
 * until the next call of this thread.
 *
 * `find` answers with a stack that the memo has: NULL, it has none that holds. `take` then walks.
 * NULL: none could be had, which `refused` counts, or a walk of this thread is under way (a signal
 * handler). `up_to`: an address on the stack: the last frame is the caller of the one in which it
 * lies; NULL, all. What `find` gives may have been taken with another one: gp_native_stack_is_up_to
 * tells.
 */
struct gp_native_stack *gp_native_stack_find(struct gp_native_thread *thread,
					     const void *frame_address,
					     struct gp_native_look *look);
struct gp_native_stack *gp_native_stack_take(struct gp_native_thread *thread,
					     const struct gp_native_look *look, const void *up_to);
/* Both in one, with all frames. */
struct gp_native_stack *gp_native_stack_now(struct gp_native_thread *thread,
					    const void *frame_address);
/* Whether a stack that `find` gave ends where `take` would end it with `up_to`. */
bool gp_native_stack_is_up_to(const struct gp_native_stack *stack, const void *up_to);

/*
 * The stack of this number, 0: none, is likely the next answer: it is compared first, and caches
 * are asked for what that needs. Early enough, it is there in time.
 */
void gp_native_stack_expect(struct gp_native_thread *thread, unsigned number);

/*
 * Marks the frames of the stack just answered that the addresses on the stack, innermost first, lie
 * in: bit k is frame k. `known`: the likely answer, which is cheaper to confirm. False: it cannot
 * be told for all, as they are out of order. What lies in the outermost frame that was walked to or
 * beyond is not marked: where that frame ends is not known.
 */
bool gp_native_stack_mark(const struct gp_native_stack *stack, const void *const *address,
			  unsigned addresses, uint64_t known, uint64_t *marks);

/* Walks and forgets, as if there were no memo: what the tests compare with. */
struct gp_native_stack *gp_native_stack_walk(struct gp_native_thread *thread,
					     const void *frame_address);

#endif
