/*
 * A thread's memo of whole stacks: what repeats is found again by comparing words in place instead
 * of walking.
 *
 * Why an equal answer is the right answer. A walk is a function of where it starts (return
 * address, stack pointer, frame pointer), of the rules, and of the words that it reads; in the end
 * it reads only: each return address; each saved frame pointer that a later rule needs (frames of
 * variable size, realigned stacks); the words that a rule names otherwise. Each entry holds all of
 * these with the places where they were read, as distances from the stack pointer. By induction
 * from the inside: where the start is equal and every word that the walk had read so far is equal,
 * the next rule is the same, so is the place that it reads next, and that word is compared too. So
 * a hit is what a walk would give, in every frame; there is no guess and no hash to trust. A saved
 * frame pointer that no rule needs is not compared: nothing depends on it. Rules change only when
 * a library is unloaded; then the memo is emptied before it is searched again (native_walk.c): no
 * entry holds any more, whoever still has its number.
 */
#ifndef GP_NATIVE_MEMO_H
#define GP_NATIVE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../process/thread_memory.h"
#include "native_walk.h"

#define GP_NATIVE_MEMO_ENTRIES 2048u /* 3 MiB a thread */
#define GP_NATIVE_MEMO_STEP 64u	     /* entries that are counted and mapped at a time */
#define GP_NATIVE_MEMO_HEADS 1024u
#define GP_NATIVE_MEMO_SEEN 4096u
#define GP_NATIVE_CHAIN_MOST 16u /* entries of one key that are compared before we walk */
#define GP_NATIVE_STARTS 1024u
#define GP_NATIVE_PEEKS 6u
#define GP_NATIVE_GROUP 8u /* rows that one branch decides over */

/*
 * What a look needs stands in front, in the order of need: a job's caches are cold. Row k states
 * that the word stack.pc[k] stands at[k] words above sp: return addresses from row 1 on, then what
 * else the walk depended on, then row 1 again and again, so that rows come in whole groups. Row 0
 * is the key.
 */
struct gp_native_entry {
	_Alignas(64) uintptr_t sp;
	uintptr_t frame;   /* the frame pointer at the start, if needs_frame */
	uint16_t next;	   /* of the same head, 0 none */
	uint16_t head;	   /* + 1; 0: free, waiting for the hand */
	uint16_t follower; /* found after this one, the last time; 0: none */
	uint8_t needs_frame : 1;
	uint8_t is_recent : 1; /* since the hand last passed */
	uint8_t rows;	       /* but for row 0 */
	struct gp_native_stack stack;
	uint16_t at[GP_NATIVE_ROWS];
};

/* A word other than a return address that a walk depended on. */
struct gp_native_word {
	uint64_t value;
	uint32_t at; /* bytes from the stack pointer */
	uint32_t by; /* the frame that was left by it */
};

/* What a walk gives. */
struct gp_native_walked {
	struct gp_native_entry entry; /* without the rows of words */
	uint64_t sum;		      /* of the pcs, taken while they are walked: gp_native_sum */
	unsigned words;
	struct gp_native_word word[GP_NATIVE_WORDS_MOST];
	/* for the next walk (native_follow.h) */
	unsigned steady_from; /* from this frame on it depends on nothing but pcs and words */
	uintptr_t frame_from; /* where the outermost frame pointer was read; 0: it is the start's */
	unsigned frame_by;    /* by leaving this frame */
};

/*
 * Many stacks may have one start: all that is allocated below one operator's call. So the key also
 * takes in the words at a few places where stacks of this start were seen to differ.
 */
struct gp_native_places {
	uintptr_t sp, pc;
	uint32_t peeks;
	uint32_t at[GP_NATIVE_PEEKS];
};

/* By which an entry is found. */
struct gp_native_tables {
	_Alignas(64) struct gp_native_places places[GP_NATIVE_STARTS];
	uint16_t head[GP_NATIVE_MEMO_HEADS];
	uint32_t seen[GP_NATIVE_MEMO_SEEN]; /* marks of stacks that were walked once */
};

/* Entry 0 is none. `room` grows by pieces. */
struct gp_native_memo {
	uint16_t used, hand;
	uint16_t last, expected; /* the entry found last, and what followed it then; 0: none */
	uint16_t guess;		 /* the caller's, which comes first */
	uint16_t room;		 /* entries that the budget allows; 0: none, and nothing is kept */
	uint32_t made;		 /* entries so far */
	struct gp_native_tables *tables; /* NULL: no room */
	struct gp_thread_pieces *pieces; /* the thread's, which it grows by */
	/* without room, the first one points at entry 0 alone */
	struct gp_native_entry *piece[GP_NATIVE_MEMO_ENTRIES / GP_NATIVE_MEMO_STEP];
};

/* Without room. What it takes of `pieces` goes with them. */
void gp_native_memo_init(struct gp_native_memo *memo, struct gp_thread_pieces *pieces);

static inline uint64_t gp_native_sum(uint64_t sum, uintptr_t pc)
{
	return (sum << 11 | sum >> 53) ^ pc;
}

/* Which entry the next look shall begin with, 0: none; brings near what it will read. Whatever the
 * number was once given to, only an entry that holds now is found. */
void gp_native_memo_expect(struct gp_native_memo *memo, unsigned guess);

/* The entry that holds here; NULL: walk. The stack from start->sp up must be the thread's own. */
struct gp_native_entry *gp_native_memo_find(struct gp_native_memo *memo,
					    const struct gp_native_start *start);

/*
 * After a walk. The entry that already holds this stack, or, when it is seen for the second time, a
 * new one, *is_evicted when another stack was forgotten for it; NULL: seen for the first time, or
 * the budget has no room for a memo.
 */
struct gp_native_entry *gp_native_memo_add(struct gp_native_memo *memo,
					   struct gp_native_walked *walked, bool *is_evicted);

void gp_native_memo_forget(struct gp_native_memo *memo);

#endif
