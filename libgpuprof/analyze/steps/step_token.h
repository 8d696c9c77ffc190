/*
 * Events as tokens: what a job launches and allocates, without when and where. Two runs through the
 * same code give the same tokens. A symbol is a token, or three in a row; symbols have small
 * numbers.
 */
#ifndef GP_STEP_TOKEN_H
#define GP_STEP_TOKEN_H

#include "../../read/file/recording.h"
#include "../graph_content.h"

/* What of a recording counts: tests look for steps in parts of real ones. */
struct gp_step_view {
	bool has_no_ranges, has_no_stacks, has_no_launches, has_no_allocations;
};

#define GP_GRAPH_TOKENS_MAX 1024u /* of a replay: as many tell which it is */
#define GP_SYMBOLS_MAX (1u << 18) /* different ones; what comes later is not looked at */

struct gp_symbol_table {
	uint64_t *key;	  /* by place, 0: empty */
	uint32_t *place;  /* its number */
	uint32_t symbols; /* numbers are 1 to this */
	bool *is_graph;	  /* by number: one of unknown content, which stands for many */
};

/* What one token says. */
struct gp_symbols {
	uint32_t one, three; /* 0: not among those that are looked at */
};

struct gp_tokenizer {
	struct gp_symbol_table table;
	/* of the recording: what counts as a token */
	bool has_launches, has_kernels, has_blocks, has_sizes;
	struct gp_step_view view;
	uint64_t before[2]; /* the last two tokens */
	/* what was captured: a launch of a graph gives the tokens that its launches would have */
	struct gp_graphs graphs;
	const struct gp_symbols *symbol; /* of the event under way */
	struct gp_symbols own;		 /* of an event that gives one */
	bool is_work; /* a launch or an allocation, whether it gives a token or none */
	bool is_out_of_memory;
};

enum gp_status gp_tokenizer_init(struct gp_tokenizer *tokenizer, const struct gp_info *info,
				 const struct gp_step_view *view);
void gp_tokenizer_release(struct gp_tokenizer *tokenizer);
/* Starts again with the first event; numbers stay. */
void gp_tokenizer_rewind(struct gp_tokenizer *tokenizer);
/*
 * After the event's definitions are known: returns how many tokens the event gives, in
 * tokenizer->symbol. `can_learn`: new symbols get numbers.
 */
size_t gp_tokenizer_next(struct gp_tokenizer *tokenizer, const struct gp_recording *recording,
			 const struct gp_record *record, bool can_learn);

#endif
