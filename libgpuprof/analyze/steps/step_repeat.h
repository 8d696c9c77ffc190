/*
 * Steps by repetition. Events are tokens: what a job launches and allocates, without when and
 * where, so two runs through the same code give the same tokens. A symbol is a token, or three in a
 * row. docs/ANALYSIS.md, section 1, has the method.
 */
#ifndef GP_STEP_REPEAT_H
#define GP_STEP_REPEAT_H

#include "../../read/file/recording.h"
#include "../graph_content.h"
#include "steps.h"

#define GP_GRAPH_TOKENS_MAX 1024u /* capacity: as many tell which graph it is */
#define GP_SYMBOLS_MAX (1u << 18) /* capacity: later ones are not looked at */

/* Its number is that of its row; row 0 stands for those that are not looked at. */
struct gp_step_symbol {
	uint64_t key;
	/* where it comes: twice the token's number, and 1 more for a symbol of three */
	uint32_t *at, count;
	uint32_t votes; /* turns in which it is the first mark */
	bool is_graph;	/* one of unknown content, which stands for many */
	bool is_mark;	/* it comes in every step, and once */
};
static inline struct gp_step_symbol *gp_step_symbol(const struct gp_row_table *symbols,
						    uint32_t number)
{
	return (struct gp_step_symbol *)symbols->row + number;
}

/* What one token says. */
struct gp_symbols {
	uint32_t one, three; /* 0: not among those that are looked at */
};

struct gp_tokenizer {
	struct gp_row_table symbols; /* of struct gp_step_symbol */
	/* of the recording: what counts as a token */
	bool has_launches, has_kernels, has_stacks, has_sizes;
	unsigned alloc_kind; /* GP_BLOCK_ALLOC, else GP_ALLOC; 0: none */
	uint64_t before[2];  /* the last two tokens */
	/* what was captured: a launch of a graph gives the tokens that its launches would have */
	struct gp_graphs graphs;
	const struct gp_symbols *symbol; /* of the event under way */
	struct gp_symbols own;		 /* of an event that gives one */
	bool is_work; /* the event is a launch or an allocation, with tokens or without */
	bool is_out_of_memory;
};

/* GP_E_MEMORY. Release also after a failure. */
enum gp_status gp_tokenizer_init(struct gp_tokenizer *tokenizer, const struct gp_info *info);
void gp_tokenizer_release(struct gp_tokenizer *tokenizer);
/*
 * After the event's definitions are known: returns how many tokens the event gives, in
 * tokenizer->symbol. `can_learn`: new symbols get numbers.
 */
size_t gp_tokenizer_next(struct gp_tokenizer *tokenizer, const struct gp_recording *recording,
			 const struct gp_record *record, bool can_learn);

/* ---- what repeats ---- */

/* What lies before a token, behind the one before it: a step may begin there. */
struct gp_step_gap {
	struct gp_step_moment {
		int64_t at_ns;
		uint64_t live_bytes;
	} lowest, late; /* where least is live; behind the longest wait */
	uint64_t wait;	/* ticks */
};

struct gp_step_token {
	uint32_t one, three; /* symbols from 1 on, 0 none */
	int64_t at_ns;
	uint64_t launches; /* before it */
	struct gp_step_gap gap;
};

/* What came, in order. */
struct gp_step_sequence {
	const struct gp_step_token *token;
	size_t tokens;
	struct gp_row_table *symbols; /* of struct gp_step_symbol */
};

/* Where steps begin: `before` tokens before the mark `first`, which comes once in each. */
struct gp_step_marks {
	uint32_t first;	      /* its symbol; 0: no steps were found */
	uint64_t before;      /* the median */
	uint64_t slack_bytes; /* what is live may differ by so much where steps begin */
};

/* Sets is_mark of symbols, too. GP_E_MEMORY. */
enum gp_status gp_step_repeat(const struct gp_step_sequence *sequence, struct gp_step_marks *out);

#endif
