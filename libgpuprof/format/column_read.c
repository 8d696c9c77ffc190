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

static inline bool get_varint(struct cursor *in, uint64_t *value)
{
	in->at = gp_varint_get(in->at, in->end, value);
	return in->at != NULL;
}

static inline bool get_sized(struct cursor *in, uint64_t *value)
{
	in->at = gp_bytes_get(in->at, in->end, value);
	return in->at != NULL;
}

/*
 * The entry of a token: GP_TOKEN_PREDICTED, GP_TOKEN_NEW, or an existing entry, stored in *value.
 */
static inline bool get_token(struct cursor *in, const struct entries *entries, uint64_t *token,
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

static inline bool get_word(struct gp_column_reader *reader, uint64_t *predicted, uint64_t *value)
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

static inline bool get_address(struct gp_column_reader *reader, struct gp_column_state *state,
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

static inline bool get_bytes(struct gp_column_reader *reader, uint64_t *predicted, uint64_t *value)
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

static inline bool get_handle(struct gp_column_reader *reader, struct gp_column_state *state,
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

/* The fields that a new symbol of this kind has in the streams. */
static inline bool get_fields(struct gp_column_reader *reader, struct gp_column_state *state,
			      const struct gp_kind_coding *kind, uint64_t predicted[GP_FIELDS],
			      uint64_t value[GP_FIELDS])
{
	uint32_t address = GP_DICTIONARY_MAX;
	for (unsigned field = 0; field < GP_FIELDS; field++) {
		bool is_read = true;
		switch (kind->coding[field]) {
		case GP_CODING_NUMBER:
			is_read = get_varint(&reader->in[GP_STREAM_NUMBER], &value[field]);
			break;
		case GP_CODING_WORD:
			is_read = get_word(reader, &predicted[field], &value[field]);
			break;
		case GP_CODING_ADDRESS:
			is_read = get_address(reader, state, &address, &value[field]);
			break;
		case GP_CODING_BYTES:
			is_read = get_bytes(reader, &state->bytes_at[address], &value[field]);
			break;
		case GP_CODING_HANDLE:
			is_read = get_handle(reader, state, &predicted[field], &value[field]);
			break;
		default: /* each record has its totals */
			break;
		}
		if (!is_read)
			return false;
	}
	return true;
}

static bool get_symbol(struct gp_column_reader *reader, struct gp_column_state *state)
{
	struct gp_record *r = &state->symbol[state->symbols];
	uint64_t shape, stack, value[GP_FIELDS] = { 0 };
	if (!get_word(reader, &state->word_predicted[0], &shape) ||
	    !get_word(reader, &state->word_predicted[1], &stack) || stack > UINT32_MAX)
		return false;
	unsigned number = (uint16_t)shape < GP_KINDS ? (uint16_t)shape : GP_KINDS;
	const struct gp_kind_coding *kind = &reader->kinds[number];
	if (!get_fields(reader, state, kind, state->predicted[number], value) ||
	    value[GP_FIELD_AUX] > UINT32_MAX)
		return false;
	*r = (struct gp_record){ .stack = (uint32_t)stack,
				 .aux = (uint32_t)value[GP_FIELD_AUX],
				 .v = { value[0], value[1], value[2], value[3] } };
	gp_shape_to(r, shape);
	reader->kind_of[state->symbols++] = kind;
	return true;
}

/* ---- every record ---- */

/*
 * What each record needs, apart from new symbols and totals. The loop keeps it in registers: a
 * store to a record could change memory that any pointer of the reader reaches.
 */
struct every_record {
	const unsigned char *low, *high;
	struct cursor order, symbol;
	uint64_t time, next_order;
	uint32_t last, before;
};

static inline bool next_symbol(struct gp_column_reader *reader, struct gp_column_state *state,
			       struct every_record *at, uint32_t *symbol)
{
	uint64_t token;
	uint16_t *successor = &state->successor[gp_successor_cell(at->last, at->before)];
	if (!get_varint(&at->symbol, &token))
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
	at->before = at->last;
	at->last = *symbol;
	return true;
}

static inline bool next_time(struct gp_column_reader *reader, struct every_record *at,
			     uint64_t *ticks)
{
	/* the head was checked: both streams have a byte for each record */
	uint64_t delta = *at->low++;
	delta |= (uint64_t)*at->high++ << 8;
	if (delta == GP_TIME_WIDE) {
		if (!get_varint(&reader->in[GP_STREAM_TIME_WIDE], &delta))
			return false;
		delta = gp_unzigzag(delta);
	}
	at->time += delta;
	*ticks = at->time << reader->shift;
	return *ticks >> reader->shift == at->time;
}

static inline bool next_totals(struct gp_column_reader *reader, struct gp_column_state *state,
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

static inline bool next_record(struct gp_column_reader *reader, struct gp_column_state *state,
			       struct every_record *at, struct gp_record *r)
{
	uint32_t symbol;
	uint64_t ticks, delta;
	if (!next_time(reader, at, &ticks) || !get_varint(&at->order, &delta) ||
	    !next_symbol(reader, state, at, &symbol))
		return false;
	const struct gp_kind_coding *kind = reader->kind_of[symbol];
	*r = state->symbol[symbol];
	r->time = ticks;
	r->order = at->next_order + gp_unzigzag(delta);
	at->next_order = r->order + kind->takes_order;
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

static bool read_records(struct gp_column_reader *reader, struct gp_column_state *state,
			 uint32_t count, struct gp_record *records, uint64_t *slots)
{
	struct cursor *in = reader->in;
	struct every_record at = { .low = in[GP_STREAM_TIME_LOW].at,
				   .high = in[GP_STREAM_TIME_HIGH].at,
				   .order = in[GP_STREAM_ORDER],
				   .symbol = in[GP_STREAM_SYMBOL],
				   .last = GP_BLOCK_RECORDS,
				   .before = GP_BLOCK_RECORDS };
	uint64_t filled = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (filled >= GP_BLOCK_RECORDS ||
		    !next_record(reader, state, &at, &records[filled]))
			return false;
		unsigned extra = records[filled++].extra;
		if (extra > GP_BLOCK_RECORDS - filled)
			return false;
		if (extra && !get_text(reader, &records[filled], extra))
			return false;
		filled += extra;
	}
	in[GP_STREAM_TIME_LOW].at = at.low;
	in[GP_STREAM_TIME_HIGH].at = at.high;
	in[GP_STREAM_ORDER] = at.order;
	in[GP_STREAM_SYMBOL] = at.symbol;
	*slots = filled;
	return true;
}

enum gp_status gp_columns_read(struct gp_column_reader *reader, struct gp_column_state *state,
			       const struct gp_block_header *header, const unsigned char *raw,
			       struct gp_record *records, uint64_t *slots)
{
	uint64_t filled;
	gp_column_state_init(state);
	reader->word.count = reader->address.count = reader->bytes.count = reader->handle.count = 0;
	if (header->records > GP_BLOCK_RECORDS ||
	    !read_head(reader, raw, header->raw_bytes, header->records) ||
	    !read_records(reader, state, header->records, records, &filled))
		return GP_E_DAMAGED;
	for (unsigned i = 0; i < GP_STREAMS; i++)
		if (reader->in[i].at != reader->in[i].end)
			return GP_E_DAMAGED;
	*slots = filled;
	return GP_OK;
}
