/*
 * A thread's memo of whole Python stacks: what repeats is found again by comparing words in place
 * instead of walking and looking up frame by frame.
 *
 * Why an equal answer is the right answer. A walk is a function of where it starts and of the words
 * that it reads: of each frame its place, its code object, its instruction, what kind it is and the
 * frame outward of it; of the code object how many have died at its address. Each row holds the
 * words of a frame. By induction from the inside: where the place of a frame is equal, all words
 * of it are compared, so the next frame's place is what the row after it has. So a hit is what a
 * walk would give; there is no guess and no hash to trust. Only frames that were reached are read.
 *
 * Deaths are compared frame by frame only after some code object that was met has died. A stack
 * keeps how many had died in all when its own were last equal, read before they were: while this
 * number stays, so do they. A count for each address is spread over 256 KiB, the sum is one word.
 *
 * Which stack to compare with: the caller's guess, then the two that followed the last one, the
 * last times. Where it is none of them, the stack is walked and then found by its id.
 */
#ifndef GP_PYTHON_MEMO_H
#define GP_PYTHON_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../process/thread_memory.h"
#include "python_walk.h"

#define GP_PYTHON_MEMO_STACKS 2048u
#define GP_PYTHON_MEMO_ROWS 46080u /* 1.1 MiB; at the end of a piece up to 383 stay empty */
#define GP_PYTHON_MEMO_STEP 2560u  /* rows that are counted and mapped at a time */
#define GP_PYTHON_MEMO_PLACES_LOG 12

/* A frame as it was read; behind the last one stands a row without a frame. */
struct gp_python_row {
	const char *frame;
	uintptr_t code; /* as it stands in the frame; of a shim 0 */
	uint64_t at;	/* instruction, above it the frame's kind */
};

struct gp_python_stack {
	struct gp_python_row *row; /* its first one; NULL: none */
	uint64_t code_frees; /* gp_python_code_frees_in_all() when those of the rows were equal */
	uint32_t content;    /* a number that no other content has or had; never 0 */
	uint32_t id;	     /* the caller's, like `why` */
	uint16_t follower;   /* found after this one, the last time; 0: none */
	uint16_t other;	     /* what that was before: at the end of a loop it is again */
	uint8_t loops,
		rows;	 /* behind the rows stand `loops` addresses, then each row's code_frees */
	uint8_t is_open; /* deeper than the limit: what lies beyond the last row is not */
	uint8_t why;
};

struct gp_python_place {
	uint32_t mark; /* of a stack that was walked; 0: none */
	uint16_t stack;
	uint16_t notes; /* times that it was noted */
};

struct gp_python_tables {
	_Alignas(64) struct gp_python_stack stack[GP_PYTHON_MEMO_STACKS];
	struct gp_python_place place[1u << GP_PYTHON_MEMO_PLACES_LOG];
};

/* Stack 0 is none. Room for rows grows by pieces. */
struct gp_python_memo {
	uint32_t contents;  /* noted so far */
	uint32_t rows_used; /* to the end of the last one, with what is left empty before it */
	uint32_t rows_most; /* that the budget allows; 0: none, and nothing is kept */
	uint16_t used;
	uint16_t last;			 /* the stack found last; 0: none */
	uint32_t rest;			 /* walks until stacks are remembered again */
	uint32_t hits;			 /* since the memo was empty */
	struct gp_python_stack *stack;	 /* the tables', or only stack 0 */
	struct gp_python_tables *tables; /* NULL: no room */
	struct gp_thread_pieces *pieces; /* the thread's, which it grows by */
	struct gp_python_row *piece[GP_PYTHON_MEMO_ROWS / GP_PYTHON_MEMO_STEP];
};

/* Without room. What it takes of `pieces` goes with them. */
void gp_python_memo_init(struct gp_python_memo *memo, struct gp_thread_pieces *pieces);

/* Brings near what the next look will read first if this is the stack. */
void gp_python_memo_expect(const struct gp_python_memo *memo, unsigned guess);

/*
 * The stack that the calling thread has now; `guess` is the number of the one that is expected, 0
 * where none is. NULL: `reason` is why it has none, or, where it is GP_PYTHON_COMPLETE, that it
 * is to be walked from `start`.
 */
const struct gp_python_stack *gp_python_memo_find(struct gp_python_memo *memo, unsigned guess,
						  struct gp_python_start *start,
						  enum gp_python_reason *reason);

/*
 * Whether the calling thread has stack `number` now, and its content has this number. `cframe`:
 * NULL, or what start->cframe was when the thread's C frames were those that they are now, down to
 * the one in which it lies. Frames are read only where the first one is the stack's.
 */
bool gp_python_memo_is(struct gp_python_memo *memo, unsigned number, uint32_t content,
		       const void *cframe);

/* What a walk from `start` gave, and what the caller made of it. */
struct gp_python_walked {
	unsigned most; /* frames that were requested */
	enum gp_python_reason reason;
	uint32_t id;
	uint8_t why;
	unsigned loops; /* at most 255 */
	const void *const *loop;
};
/* After such a walk, which it follows at once. NULL: not remembered. */
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
