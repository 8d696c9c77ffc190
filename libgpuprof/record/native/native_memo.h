/*
 * A thread's memo of whole stacks: a repeated stack is found by comparing words in place, without a
 * walk.
 *
 * Why the result is correct. A walk is a function of its start (return address, stack pointer,
 * frame pointer), of the rules, and of the words that it reads. It reads only three kinds of words.
 * Each return address. Each saved frame pointer that a later rule needs (frames of variable size,
 * realigned stacks). The other words that a rule names. Each entry holds all of these with their
 * places, as distances from the stack pointer. The proof is by induction from the inside. If the
 * start and every word read so far are equal, the next rule is equal. So is the place that it reads
 * next, and that word is compared, too. A hit is therefore the result of a walk, in every frame,
 * without a guess or a trusted hash. A saved frame pointer that no rule needs is not compared: the
 * result does not depend on it. Rules change only when a library is unloaded. The memo is then
 * emptied before the next search (native_walk.c): no entry matches any more, even if a caller still
 * has its number.
 */
#ifndef GP_NATIVE_MEMO_H
#define GP_NATIVE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../process/thread_memory.h"
#include "native_walk.h"

#define GP_NATIVE_MEMO_ENTRIES 2048u /* 3 MiB per thread */
#define GP_NATIVE_MEMO_STEP 64u	     /* entries that are counted and mapped together */
#define GP_NATIVE_MEMO_HEADS 1024u
#define GP_NATIVE_MEMO_SEEN 4096u
#define GP_NATIVE_CHAIN_MOST 16u /* entries of one key that are compared before a walk */
#define GP_NATIVE_STARTS 1024u
#define GP_NATIVE_PEEKS 6u
#define GP_NATIVE_GROUP 8u /* rows that one branch covers */

/*
 * Fields of a look-up come first, in the order of use: a job's caches are cold. Row k states that
 * the word at[k] words above sp equals stack.pc[k]. Rows from 1 on are return addresses, then other
 * words that the walk depended on, then row 1 again. The repetition fills the last group. Row 0 is
 * the key.
 */
struct gp_native_entry {
	_Alignas(64) uintptr_t sp;
	uintptr_t frame;   /* the frame pointer at the start, if needs_frame */
	uint16_t next;	   /* next of the same head; 0: none */
	uint16_t head;	   /* + 1; 0: free, to be reused by the hand */
	uint16_t follower; /* entry found after this one the last time; 0: none */
	uint8_t needs_frame : 1;
	uint8_t is_recent : 1; /* used since the hand last passed */
	uint8_t rows;	       /* without row 0 */
	struct gp_native_stack stack;
	uint16_t at[GP_NATIVE_ROWS];
};

/* A word other than a return address that a walk depended on. */
struct gp_native_word {
	uint64_t value;
	uint32_t at; /* bytes from the stack pointer */
	uint32_t by; /* the frame that was left by this word */
};

/* Result of a walk. */
struct gp_native_walked {
	struct gp_native_entry entry; /* excludes the rows of words */
	uint64_t sum;		      /* sum of the pcs, computed during the walk: gp_native_sum */
	unsigned words;
	struct gp_native_word word[GP_NATIVE_WORDS_MOST];
	/* for the next walk (native_follow.h) */
	unsigned steady_from; /* from this frame on it depends only on pcs and words */
	uintptr_t frame_from; /* where the outermost frame pointer was read; 0: it is the start's */
	unsigned frame_by;    /* after leaving this frame */
};

/*
 * Many stacks may have one start: all allocations below one operator's call. So the key also
 * includes words at a few places where stacks of this start have differed.
 */
struct gp_native_places {
	uintptr_t sp, pc;
	uint32_t peeks;
	uint32_t at[GP_NATIVE_PEEKS];
};

/* The key of an entry. */
struct gp_native_tables {
	_Alignas(64) struct gp_native_places places[GP_NATIVE_STARTS];
	uint16_t head[GP_NATIVE_MEMO_HEADS];
	uint32_t seen[GP_NATIVE_MEMO_SEEN]; /* fingerprints of stacks that were walked once */
};

/* Entry 0 means none. `room` grows by pieces. */
struct gp_native_memo {
	uint16_t used, hand;
	uint16_t last, expected; /* the entry found last, and its successor at that time; 0: none */
	uint16_t guess;		 /* the caller's guess, which is compared first */
	uint16_t room;		 /* entries that the budget allows; 0: keeps none */
	uint32_t made;		 /* entries so far */
	struct gp_native_tables *tables; /* NULL: no room */
	struct gp_thread_pieces *pieces; /* the thread's, from which it grows */
	/* without room, the first one points at entry 0 alone */
	struct gp_native_entry *piece[GP_NATIVE_MEMO_ENTRIES / GP_NATIVE_MEMO_STEP];
};

/* A memo without room. Its memory is freed with `pieces`. */
void gp_native_memo_init(struct gp_native_memo *memo, struct gp_thread_pieces *pieces);

static inline uint64_t gp_native_sum(uint64_t sum, uintptr_t pc)
{
	return (sum << 11 | sum >> 53) ^ pc;
}

/*
 * Sets the entry to compare first, 0: none, and prefetches its data. Even if the number has another
 * meaning by now, only a matching entry is found.
 */
void gp_native_memo_expect(struct gp_native_memo *memo, unsigned guess);

/* The matching entry; NULL: walk. The stack from start->sp up must be the thread's own. */
struct gp_native_entry *gp_native_memo_find(struct gp_native_memo *memo,
					    const struct gp_native_start *start);

/*
 * Call after a walk. Returns the entry that already holds this stack. For a stack seen the second
 * time, returns a new entry; *is_evicted: another stack was forgotten for it. NULL: seen for the
 * first time, or the budget has no room for a memo.
 */
struct gp_native_entry *gp_native_memo_add(struct gp_native_memo *memo,
					   struct gp_native_walked *walked, bool *is_evicted);

void gp_native_memo_forget(struct gp_native_memo *memo);

#endif
