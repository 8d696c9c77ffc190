/*
 * Writes a Python pickle, protocol 2, to a stream. Uses only opcodes that viewers in other
 * languages support: no class, no call. A container may have any number of items. They are written
 * in batches of at most GP_PICKLE_BATCH, since some readers pass a batch as arguments. All numbers
 * fit into 64 signed bits. Text that is not UTF-8 becomes U+FFFD.
 */
#ifndef GP_PICKLE_H
#define GP_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GP_PICKLE_BATCH 1000u
#define GP_PICKLE_DEPTH 16u

/* Index of the values already written, by two numbers or by text. Zeroed: empty. */
struct gp_pickle_rows {
	struct gp_pickle_row {
		uint64_t key, more;
		char *text;    /* a copy, owned by the row; NULL: no text */
		uint32_t memo; /* 0: not written yet */
		bool is_there;
	} * row;
	size_t places, count;
};
/*
 * Finds or adds the row of this key. NULL: out of memory. The pointer is valid until the next call.
 */
struct gp_pickle_row *gp_pickle_row_get(struct gp_pickle_rows *rows, uint64_t key, uint64_t more,
					const char *text);
void gp_pickle_rows_release(struct gp_pickle_rows *rows);

struct gp_pickle {
	FILE *out;
	bool is_out_of_memory; /* the output is incomplete */
	struct gp_pickle_rows words;
	uint64_t flushed; /* bytes */
	uint32_t memos;	  /* the last number that was assigned */
	unsigned depth;
	struct gp_pickle_level {
		bool is_dict, has_key; /* has_key: its value follows */
		unsigned items;	       /* items in the batch; for a dict, pairs */
	} level[GP_PICKLE_DEPTH];
	size_t used;
	unsigned char buffer[1 << 16];
};

void gp_pickle_init(struct gp_pickle *pickle, FILE *out);
/* Ends the pickle after its one value. Errors of the stream are in ferror(out). */
void gp_pickle_finish(struct gp_pickle *pickle);
void gp_pickle_release(struct gp_pickle *pickle);

/*
 * Writes a text that repeats: once in full, then as a reference. An item of a dict is a word and a
 * value.
 */
void gp_pickle_word(struct gp_pickle *pickle, const char *text);
/* The same, with once per `words`. */
void gp_pickle_word_of(struct gp_pickle *pickle, struct gp_pickle_rows *words, const char *text);

/*
 * Begin a container. *memo gets the number for gp_pickle_again and gp_pickle_resume; NULL: none is
 * needed.
 */
void gp_pickle_dict(struct gp_pickle *pickle, uint32_t *memo);
void gp_pickle_list(struct gp_pickle *pickle, uint32_t *memo);
/*
 * Reopens a finished list as the value at this place. Items up to its next end are appended to it.
 */
void gp_pickle_resume(struct gp_pickle *pickle, uint32_t list);
void gp_pickle_end(struct gp_pickle *pickle);
/* Writes a reference to the same object. */
void gp_pickle_again(struct gp_pickle *pickle, uint32_t memo);

void gp_pickle_text(struct gp_pickle *pickle, const char *text);
/* Writes at most INT64_MAX. */
void gp_pickle_number(struct gp_pickle *pickle, uint64_t number);
void gp_pickle_signed(struct gp_pickle *pickle, int64_t number);
void gp_pickle_real(struct gp_pickle *pickle, double number);
void gp_pickle_bool(struct gp_pickle *pickle, bool is_true);
/* A tuple of two numbers. */
void gp_pickle_pair(struct gp_pickle *pickle, uint64_t first, uint64_t second);

#endif
