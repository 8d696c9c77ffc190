/*
 * Steps by repetition. Events are tokens: the launches and allocations of a job, without time and
 * address. So two runs through the same code give the same tokens. A symbol is one token, or three
 * in a row. docs/ANALYSIS.md, section 1, has the method.
 */
#ifndef GP_STEP_REPEAT_H
#define GP_STEP_REPEAT_H

#include "../../read/file/recording.h"
#include "../graph_content.h"
#include "steps.h"

#define GP_GRAPH_TOKENS_MAX 1024u /* capacity: enough tokens to identify a graph */
#define GP_SYMBOLS_MAX (1u << 18) /* capacity: later ones are ignored */

/* Its number is that of its row; row 0 stands for ignored symbols. */
struct gp_step_symbol {
	uint64_t key;
	/* Its places: twice the token's number, plus 1 for a symbol of three. */
	uint32_t *at, count;
	uint32_t in_graph; /* of one graph: number of its places in it */
	uint32_t votes;	   /* number of turns in which it is the first mark */
	bool is_graph;	   /* a graph with unknown content, which stands for many launches */
	bool is_mark;	   /* it occurs exactly once in every step */
};
static inline struct gp_step_symbol *gp_step_symbol(const struct gp_row_table *symbols,
						    uint32_t number)
{
	return (struct gp_step_symbol *)symbols->row + number;
}

/* The symbols of one token. */
struct gp_symbols {
	uint32_t one, three; /* 0: an ignored symbol */
};

struct gp_tokenizer {
	struct gp_row_table symbols; /* of struct gp_step_symbol */
	/* From the recording: the events that count as tokens. */
	bool has_launches, has_kernels, has_stacks, has_sizes;
	unsigned alloc_kind; /* GP_BLOCK_ALLOC, else GP_ALLOC; 0: none */
	uint64_t before[2];  /* the last two tokens */
	/* Captured launches: the launch of a graph gives the tokens of these. */
	struct gp_graphs graphs;
	const struct gp_symbols *symbol; /* of the current event */
	struct gp_symbols own;		 /* of an event that gives one */
	bool is_work; /* the event is a launch or an allocation, even without tokens */
	bool is_out_of_memory;
};

/* GP_E_MEMORY. Release also after a failure. */
enum gp_status gp_tokenizer_init(struct gp_tokenizer *tokenizer, const struct gp_info *info);
void gp_tokenizer_release(struct gp_tokenizer *tokenizer);
/*
 * Call it once the event's definitions are known. Returns the number of its tokens, which are in
 * tokenizer->symbol. `can_learn`: new symbols get numbers.
 */
size_t gp_tokenizer_next(struct gp_tokenizer *tokenizer, const struct gp_recording *recording,
			 const struct gp_record *record, bool can_learn);

/* ---- repetition ---- */

/* The interval between a token and the one before it: a step may begin there. */
struct gp_step_gap {
	struct gp_step_moment {
		int64_t at_ns;
		uint64_t live_bytes;
	} lowest, late; /* the moment of least live bytes; the moment after the longest wait */
	uint64_t wait;	/* ticks */
};

struct gp_step_token {
	uint32_t one, three; /* numbers of symbols from 1 on, 0: none */
	int64_t at_ns;
	uint64_t launches; /* before the token */
	struct gp_step_gap gap;
};

/* The tokens in order. */
struct gp_step_sequence {
	const struct gp_step_token *token;
	size_t tokens;
	struct gp_row_table *symbols; /* of struct gp_step_symbol */
};

/* The begin of steps: `before` tokens before the mark `first`, which occurs once in each. */
struct gp_step_marks {
	uint32_t first;	      /* its symbol; 0: no steps were found */
	uint64_t before;      /* the median */
	uint64_t slack_bytes; /* the tolerance of live bytes at the begins of steps */
};

/* Also sets is_mark of symbols. GP_E_MEMORY. */
enum gp_status gp_step_repeat(const struct gp_step_sequence *sequence, struct gp_step_marks *out);

#endif
