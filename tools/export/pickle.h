/*
 * Writes a Python pickle, protocol 2, to a stream, in the few opcodes that viewers in other
 * languages know: no class, no call. A container may have any number of items and is written as it
 * comes: in batches of at most GP_PICKLE_BATCH, since some readers pass a batch as arguments. No
 * number is outside of 64 signed bits. Text that is not UTF-8 becomes U+FFFD.
 */
#ifndef GP_PICKLE_H
#define GP_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GP_PICKLE_BATCH 1000u
#define GP_PICKLE_DEPTH 16u

/* What was written, by two numbers, and texts by themselves. Zeroed: empty. */
struct gp_pickle_rows {
	struct gp_pickle_row {
		uint64_t key, more;
		char *text;    /* a copy of its own; NULL: it has none */
		uint32_t memo; /* 0: not written yet */
		bool is_there;
	} * row;
	size_t places, count;
};
/* The row of these, made where there is none. NULL: out of memory. It moves with the next one. */
struct gp_pickle_row *gp_pickle_row_get(struct gp_pickle_rows *rows, uint64_t key, uint64_t more,
					const char *text);
void gp_pickle_rows_release(struct gp_pickle_rows *rows);

struct gp_pickle {
	FILE *out;
	bool is_out_of_memory; /* something is missing */
	struct gp_pickle_rows words;
	uint64_t flushed; /* bytes */
	uint32_t memos;	  /* the last one that was given */
	unsigned depth;
	struct gp_pickle_level {
		bool is_dict, has_key; /* has_key: its value follows */
		unsigned items;	       /* of the batch: of a dict pairs */
	} level[GP_PICKLE_DEPTH];
	size_t used;
	unsigned char buffer[1 << 16];
};

void gp_pickle_init(struct gp_pickle *pickle, FILE *out);
/* Ends it, behind its one value. Failures of the stream are in ferror(out). */
void gp_pickle_finish(struct gp_pickle *pickle);
void gp_pickle_release(struct gp_pickle *pickle);

/* A text that stands in many places and is written once. A dict's items are a word and a value. */
void gp_pickle_word(struct gp_pickle *pickle, const char *text);
/* The same once for each such table. */
void gp_pickle_word_of(struct gp_pickle *pickle, struct gp_pickle_rows *words, const char *text);

/*
 * Containers. `memo`: by what gp_pickle_again and gp_pickle_resume find it; NULL: nobody will
 * refer to it.
 */
void gp_pickle_dict(struct gp_pickle *pickle, uint32_t *memo);
void gp_pickle_list(struct gp_pickle *pickle, uint32_t *memo);
/*
 * Goes on with a list that was ended: what follows up to its end is appended to it, and it is the
 * value that stands here.
 */
void gp_pickle_resume(struct gp_pickle *pickle, uint32_t list);
void gp_pickle_end(struct gp_pickle *pickle);
/* The same object once more. */
void gp_pickle_again(struct gp_pickle *pickle, uint32_t memo);

void gp_pickle_text(struct gp_pickle *pickle, const char *text);
/* Above INT64_MAX: INT64_MAX. */
void gp_pickle_number(struct gp_pickle *pickle, uint64_t number);
void gp_pickle_signed(struct gp_pickle *pickle, int64_t number);
void gp_pickle_real(struct gp_pickle *pickle, double number);
void gp_pickle_bool(struct gp_pickle *pickle, bool is_true);
/* A tuple of two numbers. */
void gp_pickle_pair(struct gp_pickle *pickle, uint64_t first, uint64_t second);

#endif
