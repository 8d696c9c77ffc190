/*
 * Columns into records. Trusts no input: every stream must end exactly where its length ends. Every
 * number is checked before its use as an index. At most GP_BLOCK_RECORDS slots are written.
 */
#include <string.h>

#include "column.h"
#include "varint.h"

struct cursor {
	const unsigned char *at, *end;
};

struct entries {
	uint32_t count;
	uint64_t value[GP_DICTIONARY_MAX];
};

struct gp_column_reader {
	unsigned shift;
	struct gp_kind_coding kinds[GP_KINDS + 1];
	struct cursor in[GP_STREAMS];
	struct entries word, address, bytes, handle;
	const struct gp_kind_coding *kind_of[GP_BLOCK_RECORDS]; /* by symbol */
};

size_t gp_column_reader_bytes(void)
{
	return sizeof(struct gp_column_reader);
}

/* ---- the head ---- */

static bool read_kinds(struct gp_column_reader *reader, struct cursor *head, unsigned count)
{
	for (unsigned kind = 0; kind <= GP_KINDS; kind++)
		reader->kinds[kind] = (struct gp_kind_coding){ .bytes_field = GP_FIELD_NONE };
	if (count > GP_KINDS ||
	    (size_t)(head->end - head->at) < (size_t)count * GP_KIND_CODING_BYTES)
		return false;
	for (; count > 0; count--, head->at += GP_KIND_CODING_BYTES) {
		struct gp_kind_coding kind = { .kind = (uint16_t)gp_fixed_get(head->at, 2),
					       .takes_order = head->at[2] };
		memcpy(kind.coding, head->at + 3, GP_FIELDS);
		if (kind.kind >= GP_KINDS || !gp_kind_coding_complete(&kind))
			return false;
		reader->kinds[kind.kind] = kind;
	}
	return true;
}

static bool read_head(struct gp_column_reader *reader, const unsigned char *raw, size_t bytes,
		      uint32_t records)
{
	struct cursor head = { raw + 3, raw + bytes };
	if (bytes < 3 || raw[0] > GP_TIME_SHIFT_MAX)
		return false;
	reader->shift = raw[0];
	if (!read_kinds(reader, &head, (unsigned)gp_fixed_get(raw + 1, 2)))
		return false;
	uint64_t lengths[GP_STREAMS];
	for (unsigned i = 0; i < GP_STREAMS; i++) {
		head.at = gp_varint_get(head.at, head.end, &lengths[i]);
		if (!head.at)
			return false;
	}
	for (unsigned i = 0; i < GP_STREAMS; i++) {
		if (lengths[i] > (uint64_t)(head.end - head.at))
			return false;
		reader->in[i] = (struct cursor){ head.at, head.at + lengths[i] };
		head.at += lengths[i];
	}
	return head.at == head.end && lengths[GP_STREAM_TIME_LOW] == records &&
	       lengths[GP_STREAM_TIME_HIGH] == records;
}

/* ---- the fields of a new symbol ---- */

static bool get_varint(struct cursor *in, uint64_t *value)
{
	in->at = gp_varint_get(in->at, in->end, value);
	return in->at != NULL;
}

static bool get_sized(struct cursor *in, uint64_t *value)
{
	in->at = gp_bytes_get(in->at, in->end, value);
	return in->at != NULL;
}

/*
 * The entry of a token: GP_TOKEN_PREDICTED, GP_TOKEN_NEW, or an existing entry, stored in *value.
 */
static bool get_token(struct cursor *in, const struct entries *entries, uint64_t *token,
		      uint64_t *value)
{
	if (!get_varint(in, token))
		return false;
	if (*token < GP_TOKEN_INDEX)
		return true;
	if (*token - GP_TOKEN_INDEX >= entries->count)
		return false;
	*value = entries->value[*token - GP_TOKEN_INDEX];
	return true;
}

static uint32_t entry_add(struct entries *entries, uint64_t value)
{
	if (entries->count == GP_DICTIONARY_MAX)
		return GP_DICTIONARY_MAX;
	entries->value[entries->count] = value;
	return entries->count++;
}

static bool get_word(struct gp_column_reader *reader, uint64_t *predicted, uint64_t *value)
{
	uint64_t token;
	struct cursor *fresh = &reader->in[GP_STREAM_WORD_NEW];
	*value = *predicted;
	if (!get_token(&reader->in[GP_STREAM_WORD], &reader->word, &token, value))
		return false;
	if (token == GP_TOKEN_NEW) {
		if (fresh->end - fresh->at < 8)
			return false;
		*value = gp_fixed_get(fresh->at, 8);
		fresh->at += 8;
		entry_add(&reader->word, *value);
	}
	*predicted = *value;
	return true;
}

static bool get_address(struct gp_column_reader *reader, struct gp_column_state *state,
			uint32_t *entry, uint64_t *value)
{
	uint64_t token, delta;
	if (!get_token(&reader->in[GP_STREAM_ADDRESS], &reader->address, &token, value) ||
	    token == GP_TOKEN_PREDICTED)
		return false;
	if (token != GP_TOKEN_NEW) {
		*entry = (uint32_t)token - GP_TOKEN_INDEX;
		return true;
	}
	if (!get_sized(&reader->in[GP_STREAM_ADDRESS_NEW], &delta))
		return false;
	*value = state->address_new += delta;
	*entry = entry_add(&reader->address, *value);
	if (*entry < GP_DICTIONARY_MAX)
		state->bytes_at[*entry] = 0;
	return true;
}

static bool get_bytes(struct gp_column_reader *reader, uint64_t *predicted, uint64_t *value)
{
	uint64_t token;
	*value = *predicted;
	if (!get_token(&reader->in[GP_STREAM_BYTES], &reader->bytes, &token, value))
		return false;
	if (token == GP_TOKEN_NEW) {
		if (!get_sized(&reader->in[GP_STREAM_BYTES_NEW], value))
			return false;
		entry_add(&reader->bytes, *value);
	}
	*predicted = *value;
	return true;
}

static bool get_handle(struct gp_column_reader *reader, struct gp_column_state *state,
		       uint64_t *predicted, uint64_t *value)
{
	uint64_t token, delta;
	*value = *predicted;
	if (!get_token(&reader->in[GP_STREAM_HANDLE], &reader->handle, &token, value))
		return false;
	if (token == GP_TOKEN_NEW) {
		if (!get_varint(&reader->in[GP_STREAM_HANDLE_NEW], &delta))
			return false;
		*value = state->handle_new += gp_unzigzag(delta);
		entry_add(&reader->handle, *value);
	}
	*predicted = *value;
	return true;
}

static bool get_field(struct gp_column_reader *reader, struct gp_column_state *state,
		      const struct gp_kind_coding *kind, unsigned field, uint32_t *address,
		      uint64_t *value)
{
	uint64_t *predicted = &state->predicted[kind - reader->kinds][field];
	switch (kind->coding[field]) {
	case GP_CODING_NUMBER:
		return get_varint(&reader->in[GP_STREAM_NUMBER], value);
	case GP_CODING_WORD:
		return get_word(reader, predicted, value);
	case GP_CODING_ADDRESS:
		return get_address(reader, state, address, value);
	case GP_CODING_BYTES:
		return get_bytes(reader, &state->bytes_at[*address], value);
	case GP_CODING_HANDLE:
		return get_handle(reader, state, predicted, value);
	default: /* each record has its totals */
		*value = 0;
		return true;
	}
}

static bool get_symbol(struct gp_column_reader *reader, struct gp_column_state *state)
{
	struct gp_record *r = &state->symbol[state->symbols];
	uint64_t shape, stack, value = 0;
	uint32_t address = GP_DICTIONARY_MAX;
	if (!get_word(reader, &state->word_predicted[0], &shape) ||
	    !get_word(reader, &state->word_predicted[1], &stack) || stack > UINT32_MAX)
		return false;
	*r = (struct gp_record){ .stack = (uint32_t)stack };
	gp_shape_to(r, shape);
	const struct gp_kind_coding *kind = &reader->kinds[r->kind < GP_KINDS ? r->kind : GP_KINDS];
	for (unsigned field = 0; field < GP_FIELD_AUX; field++)
		if (!get_field(reader, state, kind, field, &address, &r->v[field]))
			return false;
	if (!get_field(reader, state, kind, GP_FIELD_AUX, &address, &value) || value > UINT32_MAX)
		return false;
	r->aux = (uint32_t)value;
	reader->kind_of[state->symbols++] = kind;
	return true;
}

/* ---- every record ---- */

static bool next_symbol(struct gp_column_reader *reader, struct gp_column_state *state,
			uint32_t *symbol)
{
	uint64_t token;
	uint16_t *successor = &state->successor[gp_successor_cell(state->last, state->before)];
	if (!get_varint(&reader->in[GP_STREAM_SYMBOL], &token))
		return false;
	if (token == GP_TOKEN_PREDICTED) {
		if (*successor == 0)
			return false;
		*symbol = *successor - 1u;
	} else if (token == GP_TOKEN_NEW) {
		*symbol = state->symbols;
		if (!get_symbol(reader, state))
			return false;
	} else {
		if (token - GP_TOKEN_INDEX >= state->symbols)
			return false;
		*symbol = (uint32_t)token - GP_TOKEN_INDEX;
	}
	*successor = (uint16_t)(*symbol + 1);
	state->before = state->last;
	state->last = *symbol;
	return true;
}

static bool next_time(struct gp_column_reader *reader, struct gp_column_state *state,
		      uint64_t *ticks)
{
	/* the head was checked: both streams have a byte for each record */
	uint64_t delta = *reader->in[GP_STREAM_TIME_LOW].at++;
	delta |= (uint64_t)*reader->in[GP_STREAM_TIME_HIGH].at++ << 8;
	if (delta == GP_TIME_WIDE) {
		if (!get_varint(&reader->in[GP_STREAM_TIME_WIDE], &delta))
			return false;
		delta = gp_unzigzag(delta);
	}
	state->time += delta;
	*ticks = state->time << reader->shift;
	return *ticks >> reader->shift == state->time;
}

static bool next_totals(struct gp_column_reader *reader, struct gp_column_state *state,
			const struct gp_kind_coding *kind, struct gp_record *r)
{
	for (unsigned place = 0; place < kind->totals; place++) {
		uint64_t delta;
		if (!get_sized(&reader->in[GP_STREAM_TOTAL], &delta))
			return false;
		uint64_t total = gp_total_predicted(state, kind, r, place) + delta;
		state->totals[r->device][place] = total;
		r->v[kind->total_field[place]] = total;
	}
	return true;
}

static bool next_record(struct gp_column_reader *reader, struct gp_column_state *state,
			struct gp_record *r)
{
	uint32_t symbol;
	uint64_t ticks, delta;
	if (!next_time(reader, state, &ticks) ||
	    !get_varint(&reader->in[GP_STREAM_ORDER], &delta) ||
	    !next_symbol(reader, state, &symbol))
		return false;
	const struct gp_kind_coding *kind = reader->kind_of[symbol];
	*r = state->symbol[symbol];
	r->time = ticks;
	r->order = state->next_order + gp_unzigzag(delta);
	state->next_order = r->order + kind->takes_order;
	return !kind->totals || next_totals(reader, state, kind, r);
}

static bool get_text(struct gp_column_reader *reader, struct gp_record *to, unsigned extra)
{
	struct cursor *text = &reader->in[GP_STREAM_TEXT];
	size_t bytes = (size_t)extra * 64;
	if ((size_t)(text->end - text->at) < bytes)
		return false;
	memcpy(to, text->at, bytes);
	text->at += bytes;
	return true;
}

enum gp_status gp_columns_read(struct gp_column_reader *reader, struct gp_column_state *state,
			       const struct gp_block_header *header, const unsigned char *raw,
			       struct gp_record *records, uint64_t *slots)
{
	uint64_t filled = 0;
	gp_column_state_init(state);
	reader->word.count = reader->address.count = reader->bytes.count = reader->handle.count = 0;
	if (header->records > GP_BLOCK_RECORDS ||
	    !read_head(reader, raw, header->raw_bytes, header->records))
		return GP_E_DAMAGED;
	for (uint32_t i = 0; i < header->records; i++) {
		if (filled >= GP_BLOCK_RECORDS || !next_record(reader, state, &records[filled]))
			return GP_E_DAMAGED;
		unsigned extra = records[filled++].extra;
		if (extra > GP_BLOCK_RECORDS - filled)
			return GP_E_DAMAGED;
		if (extra && !get_text(reader, &records[filled], extra))
			return GP_E_DAMAGED;
		filled += extra;
	}
	for (unsigned i = 0; i < GP_STREAMS; i++)
		if (reader->in[i].at != reader->in[i].end)
			return GP_E_DAMAGED;
	*slots = filled;
	return GP_OK;
}
