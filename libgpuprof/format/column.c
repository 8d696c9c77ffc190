/* The choice of codings from events.def, and the start of a block's memory. */
#include "column.h"

#include <string.h>

void gp_column_state_init(struct gp_column_state *state)
{
	/* bytes_at and symbol are written before they are read */
	memset(state, 0, offsetof(struct gp_column_state, bytes_at));
	memset(state->word_predicted, 0, sizeof state->word_predicted);
	memset(state->successor, 0, sizeof state->successor);
	state->bytes_at[GP_DICTIONARY_MAX] = 0;
	state->last = state->before = GP_BLOCK_RECORDS;
}

bool gp_kind_coding_complete(struct gp_kind_coding *kind)
{
	kind->bytes_field = GP_FIELD_NONE;
	kind->totals = 0;
	memset(kind->total_field, 0, sizeof kind->total_field);
	memset(kind->kept, 0xff, sizeof kind->kept);
	for (unsigned field = 0; field < GP_FIELDS; field++) {
		unsigned coding = kind->coding[field];
		if (coding == GP_CODING_BYTES && kind->bytes_field == GP_FIELD_NONE)
			kind->bytes_field = (uint8_t)field;
		if (coding < GP_CODING_TOTAL)
			continue;
		if (coding >= GP_CODINGS || field == GP_FIELD_AUX)
			return false;
		kind->kept[field] = 0;
		kind->total_sign[kind->totals] = coding == GP_CODING_TOTAL_PLUS	 ? 1 :
						 coding == GP_CODING_TOTAL_MINUS ? UINT64_MAX :
										   0;
		kind->total_field[kind->totals++] = (uint8_t)field;
	}
	return kind->takes_order <= 1;
}

/* The first total of a block event changes by its bytes; the second stays. */
static enum gp_coding coding_of_total(unsigned kind, bool is_first)
{
	if (is_first && kind == GP_BLOCK_ALLOC)
		return GP_CODING_TOTAL_PLUS;
	return is_first && kind == GP_BLOCK_FREE ? GP_CODING_TOTAL_MINUS : GP_CODING_TOTAL;
}

static enum gp_coding coding_of(unsigned kind, enum gp_defined meaning, bool is_first_total)
{
	switch (meaning) {
	case GP_ADDRESS:
		return GP_CODING_ADDRESS;
	case GP_BYTES:
		return GP_CODING_BYTES;
	case GP_HANDLE:
		return GP_CODING_HANDLE;
	case GP_GRID:
	case GP_BLOCK:
		return GP_CODING_WORD;
	case GP_TOTAL:
		return coding_of_total(kind, is_first_total);
	case GP_UNUSED:
	case GP_NUMBER:
	case GP_CALL:
	case GP_TICKS:
		break;
	}
	return GP_CODING_NUMBER;
}

void gp_kind_coding_of(unsigned kind, struct gp_kind_coding *out)
{
	*out = (struct gp_kind_coding){ .kind = (uint16_t)kind };
	gp_kind_coding_complete(out);
	if (kind >= GP_KINDS || !gp_event_infos[kind].name)
		return;
	const struct gp_event_info *info = &gp_event_infos[kind];
	bool is_first_total = true;
	out->takes_order = info->class == GP_CLASS_MEMORY;
	for (unsigned field = 0; field < GP_FIELDS; field++) {
		enum gp_defined meaning =
			field == GP_FIELD_AUX ? info->aux.meaning : info->v[field].meaning;
		out->coding[field] = (uint8_t)coding_of(kind, meaning, is_first_total);
		is_first_total &= meaning != GP_TOTAL;
	}
	gp_kind_coding_complete(out);
}
