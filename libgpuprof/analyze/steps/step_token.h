/*
 * Events as tokens: what a job launches and allocates, without when and where. Two runs through the
 * same code give the same tokens. A symbol is a token, or three in a row; symbols have small
 * numbers.
 */
#ifndef GP_STEP_TOKEN_H
#define GP_STEP_TOKEN_H

#include "../../read/file/recording.h"
#include "../graph_content.h"
#include "steps.h"

#define GP_GRAPH_TOKENS_MAX 1024u /* of a replay: as many tell which it is */
#define GP_SYMBOLS_MAX (1u << 18) /* different ones; what comes later is not looked at */

/* Its number is that of its row; row 0 stands for those that are not looked at. */
struct gp_step_symbol {
	uint64_t key;
	bool is_graph; /* one of unknown content, which stands for many */
	bool is_mark;  /* it comes in every step, and once */
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
	bool has_launches, has_kernels, has_blocks, has_sizes;
	struct gp_step_view view;
	uint64_t before[2]; /* the last two tokens */
	/* what was captured: a launch of a graph gives the tokens that its launches would have */
	struct gp_graphs graphs;
	const struct gp_symbols *symbol; /* of the event under way */
	struct gp_symbols own;		 /* of an event that gives one */
	bool is_work; /* the event is a launch or an allocation, with tokens or without */
	bool is_out_of_memory;
};

/* GP_E_MEMORY. Release also after a failure. */
enum gp_status gp_tokenizer_init(struct gp_tokenizer *tokenizer, const struct gp_info *info,
				 const struct gp_step_view *view);
void gp_tokenizer_release(struct gp_tokenizer *tokenizer);
/*
 * After the event's definitions are known: returns how many tokens the event gives, in
 * tokenizer->symbol. `can_learn`: new symbols get numbers.
 */
size_t gp_tokenizer_next(struct gp_tokenizer *tokenizer, const struct gp_recording *recording,
			 const struct gp_record *record, bool can_learn);

#endif
