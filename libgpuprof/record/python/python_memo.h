/*
 * A thread's memo of whole Python stacks. A repeated stack is found by comparing words in place,
 * without a walk and without a look-up for each frame.
 *
 * Why the result is correct. A walk is a function of its start and of the words that it reads. Of
 * each frame it reads its place, code object, instruction, kind, and the next outer frame. Of the
 * code object it reads how many have died at its address. Each row holds the words of a frame. The
 * proof is by induction from the inside: if the place of a frame is equal, all its words are
 * compared. The next frame's place is therefore that in the next row. A hit is the result of a
 * walk, without a guess or a trusted hash. Only reached frames are read.
 *
 * Deaths are compared for each frame only after some met code object has died. A stack keeps the
 * total of deaths at which its own counts were last equal. That total was read before them: while
 * it is unchanged, so are they. A count for each address takes 256 KiB, the total is one word.
 *
 * Stacks to compare with: the caller's guess, then the two latest successors of the last one. If
 * none matches, the stack is walked and then found by its id.
 */
#ifndef GP_PYTHON_MEMO_H
#define GP_PYTHON_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../process/thread_memory.h"
#include "python_walk.h"

#define GP_PYTHON_MEMO_STACKS 2048u
#define GP_PYTHON_MEMO_ROWS 46080u /* 1.1 MiB; up to 383 stay empty at the end of a piece */
#define GP_PYTHON_MEMO_STEP 2560u  /* rows that are counted and mapped together */
#define GP_PYTHON_MEMO_PLACES_LOG 12

/* A frame as it was read; a row without a frame follows the last one. */
struct gp_python_row {
	const char *frame;
	uintptr_t code; /* as stored in the frame; of a shim 0 */
	uint64_t at;	/* instruction, with the frame's kind in the bits above */
};

struct gp_python_stack {
	struct gp_python_row *row; /* its first one; NULL: none */
	const void *const *self;   /* the caller's: gp_python_module_place */
	/* gp_python_code_frees_in_all() when those of the rows were last equal */
	uint64_t code_frees;
	uint32_t content;    /* a number that is unique for this content forever; never 0 */
	uint32_t id;	     /* the caller's, like `why` */
	uint16_t follower;   /* the stack found after this one the last time; 0: none */
	uint16_t other;	     /* the one before that: at the end of a loop it follows again */
	uint8_t loops, rows; /* after the rows: `loops` addresses, then each row's code_frees */
	uint8_t is_open; /* cut at the depth limit: does not hold what lies beyond the last row */
	uint8_t why;
};

struct gp_python_place {
	uint32_t mark; /* of a walked stack; 0: none */
	uint16_t stack;
	uint16_t notes; /* number of times that it was noted */
};

struct gp_python_tables {
	_Alignas(64) struct gp_python_stack stack[GP_PYTHON_MEMO_STACKS];
	struct gp_python_place place[1u << GP_PYTHON_MEMO_PLACES_LOG];
};

/* Stack 0 means none. Room for rows grows by pieces. */
struct gp_python_memo {
	uint32_t contents;  /* rows so far */
	uint32_t rows_used; /* up to the end of the last one, including empty rows before it */
	uint32_t rows_most; /* that the budget allows; 0: keeps none */
	uint16_t used;
	uint16_t last;			 /* the stack found last; 0: none */
	uint32_t rest;			 /* number of walks until stacks are remembered again */
	uint32_t hits;			 /* since the memo was empty */
	struct gp_python_stack *stack;	 /* the tables', or only stack 0 */
	struct gp_python_tables *tables; /* NULL: no room */
	struct gp_thread_pieces *pieces; /* the thread's, from which it grows */
	struct gp_python_row *piece[GP_PYTHON_MEMO_ROWS / GP_PYTHON_MEMO_STEP];
};

/* A memo without room. Its memory is freed with `pieces`. */
void gp_python_memo_init(struct gp_python_memo *memo, struct gp_thread_pieces *pieces);

/* Prefetches what the next look reads first if this is the stack. */
void gp_python_memo_expect(const struct gp_python_memo *memo, unsigned guess);

/*
 * The calling thread's current stack. `guess`: number of the likely stack; 0: none. NULL: see
 * `reason`. If that is GP_PYTHON_COMPLETE, walk from `start`; otherwise it is why there is no
 * stack.
 */
const struct gp_python_stack *gp_python_memo_find(struct gp_python_memo *memo, unsigned guess,
						  struct gp_python_start *start,
						  enum gp_python_reason *reason);

/*
 * True if the calling thread now has stack `number`, with content of this number. `cframe`: NULL,
 * or start->cframe at a time when the thread's C frames were those of now, down to the one that
 * contains it. Reads frames only if the first one is the stack's.
 */
bool gp_python_memo_is(struct gp_python_memo *memo, unsigned number, uint32_t content,
		       const void *cframe);

/* The result of a walk from `start`, and the caller's ids for it. */
struct gp_python_walked {
	unsigned most; /* requested number of frames */
	enum gp_python_reason reason;
	uint32_t id;
	uint8_t why;
	unsigned loops; /* at most 255 */
	const void *const *loop;
	const void *const *self; /* gp_python_module_place */
};
/* Call right after such a walk. NULL: not remembered. */
const struct gp_python_stack *gp_python_memo_add(struct gp_python_memo *memo,
						 const struct gp_python_start *start,
						 const struct gp_python_walked *walked);

static inline unsigned gp_python_number(const struct gp_python_memo *memo,
					const struct gp_python_stack *stack)
{
	return (unsigned)(stack - memo->stack);
}

/* Addresses inside the C frames of the loops that run the stack, innermost first. */
static inline const void *const *gp_python_loops(const struct gp_python_stack *stack)
{
	return (const void *const *)(const void *)&stack->row[stack->rows + 1u];
}

void gp_python_memo_forget(struct gp_python_memo *memo);

#endif
