/*
 * Events as tokens: what a job launches and allocates, without when and where. Two runs through the
 * same code give the same tokens. A symbol is a token, or three in a row; symbols have small
 * numbers.
 */
#ifndef GP_STEP_TOKEN_H
#define GP_STEP_TOKEN_H

#include "../read/recording.h"
#include "step_learn.h"

#define GP_SYMBOLS_MAX (1u << 18) /* different ones; what comes later is not looked at */

struct gp_symbol_table {
	uint64_t *key;	  /* by place, 0: empty */
	uint32_t *place;  /* its number */
	uint32_t symbols; /* numbers are 1 to this */
	uint8_t *trait;	  /* by number: GP_TRAIT_* of step_learn.h */
};

struct gp_tokenizer {
	struct gp_symbol_table table;
	/* of the recording: what counts as a token */
	bool has_blocks, has_sizes;
	uint64_t before[2]; /* the last two tokens */
};

/* What one event says; both 0: it is no token. */
struct gp_symbols {
	uint32_t one, three; /* 0: not among those that are looked at */
};

enum gp_status gp_tokenizer_init(struct gp_tokenizer *tokenizer, const struct gp_info *info);
void gp_tokenizer_release(struct gp_tokenizer *tokenizer);
/* Starts again with the first event; numbers stay. */
void gp_tokenizer_rewind(struct gp_tokenizer *tokenizer);
/*
 * After the event's definitions are known. `can_learn`: new symbols get numbers. False: the event
 * is no token.
 */
bool gp_tokenizer_next(struct gp_tokenizer *tokenizer, const struct gp_recording *recording,
		       const struct gp_record *record, bool can_learn, struct gp_symbols *out);

#endif
