/*
 * Records into columns. Runs in the job's process, once for every event. A record that follows the
 * two before it as last time costs one comparison. Another record that the block already has costs
 * one hash look-up. Streams have room for the worst record, so this code does not check for space.
 */
#include <string.h>

#include "column.h"
#include "varint.h"

#define RECORDS GP_BLOCK_RECORDS

struct dictionary {
	uint32_t count;
	uint16_t slot[GP_DICTIONARY_SLOTS]; /* 1 + entry */
	uint16_t slot_of[GP_DICTIONARY_MAX];
	uint64_t value[GP_DICTIONARY_MAX];
};

struct gp_column_writer {
	struct gp_kind_coding kinds[GP_KINDS + 1]; /* the last: kinds without a row */
	bool is_listed[GP_KINDS];
	unsigned char *end[GP_STREAMS];
	unsigned char *head;
	unsigned listed;
	uint32_t symbols;
	uint16_t symbol_slot[GP_DICTIONARY_SLOTS]; /* 1 + symbol */
	uint16_t slot_of_symbol[RECORDS];
	struct dictionary word, address, bytes, handle;
	unsigned char head_bytes[GP_COLUMNS_HEAD];
	unsigned char time_low[RECORDS], time_high[RECORDS];
	unsigned char time_wide[RECORDS * 10], order[RECORDS * 10];
	unsigned char symbol[RECORDS * 2];
	unsigned char total[RECORDS * 4 * 10];
	unsigned char number[RECORDS * GP_FIELDS * 10];
	unsigned char word_token[RECORDS * (GP_FIELDS + 2) * 2],
		word_new[RECORDS * (GP_FIELDS + 2) * 8];
	unsigned char address_token[RECORDS * GP_FIELDS * 2], address_new[RECORDS * GP_FIELDS * 10];
	unsigned char bytes_token[RECORDS * GP_FIELDS * 2], bytes_new[RECORDS * GP_FIELDS * 10];
	unsigned char handle_token[RECORDS * GP_FIELDS * 2], handle_new[RECORDS * GP_FIELDS * 10];
	unsigned char text[RECORDS * 64];
};

/* The beginnings, in the order of enum gp_stream. */
static void streams_of(struct gp_column_writer *w, unsigned char *column_write_begin[GP_STREAMS])
{
	unsigned char *const all[GP_STREAMS] = {
		w->time_low,  w->time_high,	w->time_wide,	w->order,
		w->symbol,    w->total,		w->number,	w->word_token,
		w->word_new,  w->address_token, w->address_new, w->bytes_token,
		w->bytes_new, w->handle_token,	w->handle_new,	w->text,
	};
	memcpy(column_write_begin, all, sizeof all);
}

size_t gp_column_writer_bytes(void)
{
	return sizeof(struct gp_column_writer);
}

void gp_column_writer_init(struct gp_column_writer *w)
{
	struct dictionary *const all[] = { &w->word, &w->address, &w->bytes, &w->handle };
	for (unsigned i = 0; i < 4; i++) {
		all[i]->count = 0;
		memset(all[i]->slot, 0, sizeof all[i]->slot);
	}
	w->symbols = 0;
	memset(w->symbol_slot, 0, sizeof w->symbol_slot);
	for (unsigned kind = 0; kind <= GP_KINDS; kind++)
		gp_kind_coding_of(kind, &w->kinds[kind]);
}

/* Clears only what the last block used: most blocks use little of it. */
static void empty(uint16_t *slot, const uint16_t *used, uint32_t *number)
{
	while (*number > 0)
		slot[used[--*number]] = 0;
}

static void column_write_begin(struct gp_column_writer *w)
{
	struct dictionary *const all[] = { &w->word, &w->address, &w->bytes, &w->handle };
	for (unsigned i = 0; i < 4; i++)
		empty(all[i]->slot, all[i]->slot_of, &all[i]->count);
	empty(w->symbol_slot, w->slot_of_symbol, &w->symbols);
	memset(w->is_listed, 0, sizeof w->is_listed);
	streams_of(w, w->end);
	w->listed = 0;
	w->head = w->head_bytes + 3;
}

static unsigned char *put_token(unsigned char *out, uint32_t token)
{
	return gp_varint_put(out, token);
}

/* The entry of a value. New values get the next number if there is room and `is_new` is set. */
static uint32_t dictionary_find(struct dictionary *d, uint64_t value, bool *is_new)
{
	uint32_t at = (uint32_t)((value ^ value >> 32) * 0x9e3779b97f4a7c15u >> 50);
	for (; d->slot[at]; at = (at + 1) % GP_DICTIONARY_SLOTS) {
		uint32_t entry = d->slot[at] - 1u;
		if (d->value[entry] == value) {
			*is_new = false;
			return entry;
		}
	}
	*is_new = true;
	if (d->count == GP_DICTIONARY_MAX)
		return GP_DICTIONARY_MAX;
	d->value[d->count] = value;
	d->slot[at] = (uint16_t)(d->count + 1);
	d->slot_of[d->count] = (uint16_t)at;
	return d->count++;
}

/* ---- the fields of a new symbol ---- */

static void put_word(struct gp_column_writer *w, uint64_t value, uint64_t *predicted)
{
	bool is_new = false;
	unsigned char **token = &w->end[GP_STREAM_WORD];
	if (value == *predicted) {
		*token = put_token(*token, GP_TOKEN_PREDICTED);
		return;
	}
	*predicted = value;
	uint32_t entry = dictionary_find(&w->word, value, &is_new);
	*token = put_token(*token, is_new ? GP_TOKEN_NEW : GP_TOKEN_INDEX + entry);
	if (is_new)
		w->end[GP_STREAM_WORD_NEW] = gp_fixed_put(w->end[GP_STREAM_WORD_NEW], value, 8);
}

static uint32_t put_address(struct gp_column_writer *w, struct gp_column_state *state,
			    uint64_t value)
{
	bool is_new;
	uint32_t entry = dictionary_find(&w->address, value, &is_new);
	unsigned char **token = &w->end[GP_STREAM_ADDRESS];
	*token = put_token(*token, is_new ? GP_TOKEN_NEW : GP_TOKEN_INDEX + entry);
	if (!is_new)
		return entry;
	unsigned char **fresh = &w->end[GP_STREAM_ADDRESS_NEW];
	*fresh = gp_bytes_put(*fresh, value - state->address_new);
	state->address_new = value;
	if (entry < GP_DICTIONARY_MAX)
		state->bytes_at[entry] = 0;
	return entry;
}

static void column_write_put_bytes(struct gp_column_writer *w, uint64_t value, uint64_t *predicted)
{
	bool is_new = false;
	unsigned char **token = &w->end[GP_STREAM_BYTES];
	if (value == *predicted) {
		*token = put_token(*token, GP_TOKEN_PREDICTED);
		return;
	}
	*predicted = value;
	uint32_t entry = dictionary_find(&w->bytes, value, &is_new);
	*token = put_token(*token, is_new ? GP_TOKEN_NEW : GP_TOKEN_INDEX + entry);
	if (is_new)
		w->end[GP_STREAM_BYTES_NEW] = gp_bytes_put(w->end[GP_STREAM_BYTES_NEW], value);
}

static void put_handle(struct gp_column_writer *w, struct gp_column_state *state, uint64_t value,
		       uint64_t *predicted)
{
	bool is_new = false;
	unsigned char **token = &w->end[GP_STREAM_HANDLE];
	if (value == *predicted) {
		*token = put_token(*token, GP_TOKEN_PREDICTED);
		return;
	}
	*predicted = value;
	uint32_t entry = dictionary_find(&w->handle, value, &is_new);
	*token = put_token(*token, is_new ? GP_TOKEN_NEW : GP_TOKEN_INDEX + entry);
	if (!is_new)
		return;
	unsigned char **fresh = &w->end[GP_STREAM_HANDLE_NEW];
	*fresh = gp_varint_put(*fresh, gp_zigzag(value - state->handle_new));
	state->handle_new = value;
}

static void list_kind(struct gp_column_writer *w, const struct gp_kind_coding *kind)
{
	if (kind == &w->kinds[GP_KINDS] || w->is_listed[kind->kind])
		return;
	w->is_listed[kind->kind] = true;
	w->listed++;
	w->head = gp_fixed_put(w->head, kind->kind, 2);
	*w->head++ = kind->takes_order;
	for (unsigned field = 0; field < GP_FIELDS; field++)
		*w->head++ = kind->coding[field];
}

static void put_symbol(struct gp_column_writer *w, struct gp_column_state *state,
		       const struct gp_kind_coding *kind, const struct gp_record *r)
{
	list_kind(w, kind);
	put_word(w, gp_shape_of(r), &state->word_predicted[0]);
	put_word(w, r->stack, &state->word_predicted[1]);
	uint64_t *predicted = state->predicted[kind - w->kinds];
	uint32_t address = GP_DICTIONARY_MAX;
	for (unsigned field = 0; field < GP_FIELDS; field++) {
		uint64_t value = field == GP_FIELD_AUX ? r->aux : r->v[field];
		switch (kind->coding[field]) {
		case GP_CODING_NUMBER:
			w->end[GP_STREAM_NUMBER] = gp_varint_put(w->end[GP_STREAM_NUMBER], value);
			break;
		case GP_CODING_WORD:
			put_word(w, value, &predicted[field]);
			break;
		case GP_CODING_ADDRESS:
			address = put_address(w, state, value);
			break;
		case GP_CODING_BYTES:
			column_write_put_bytes(w, value, &state->bytes_at[address]);
			break;
		case GP_CODING_HANDLE:
			put_handle(w, state, value, &predicted[field]);
			break;
		default: /* each record writes its totals */
			break;
		}
	}
}

/* ---- every record ---- */

#define HOT static inline __attribute__((always_inline))

/* State that changes with every record: kept out of memory that the written bytes might alias. */
struct cursor {
	unsigned char *time_wide, *order, *symbol, *total;
	uint64_t time, next_order, lowest, highest;
	uint32_t records, last, before;
};

/* The words of a symbol: the last 48 bytes of the record without totals. */
typedef uint64_t pair __attribute__((vector_size(16)));
struct words {
	pair shape, low, high;
};

HOT struct words words_of(const struct gp_record *r, const uint64_t kept[4])
{
	_Static_assert(offsetof(struct gp_record, kind) == 16, "a symbol is the last 48 bytes");
	struct words k;
	pair mask[2];
	memcpy(&k, &r->kind, sizeof k);
	memcpy(mask, kept, sizeof mask);
	k.low &= mask[0];
	k.high &= mask[1];
	return k;
}

HOT bool is_symbol(struct words k, const struct gp_record *symbol)
{
	struct words o;
	memcpy(&o, &symbol->kind, sizeof o);
	pair differs = (k.shape ^ o.shape) | (k.low ^ o.low) | (k.high ^ o.high);
	return (differs[0] | differs[1]) == 0;
}

/* Finds or adds the symbol of these words. */
static uint32_t symbol_find(struct gp_column_writer *w, struct gp_column_state *state,
			    struct words k, bool *is_new)
{
	uint64_t hash = k.shape[0] * 0x9e3779b97f4a7c15u ^ k.shape[1] * 0xc2b2ae3d27d4eb4fu ^
			k.low[0] * 0x165667b19e3779f9u ^ k.low[1] * 0xd6e8feb86659fd93u ^
			k.high[0] * 0xa0761d6478bd642fu ^ k.high[1] * 0xe7037ed1a0b428dbu;
	uint32_t at = (uint32_t)((hash ^ hash >> 29) * 0x9e3779b97f4a7c15u >> 50);
	for (; w->symbol_slot[at]; at = (at + 1) % GP_DICTIONARY_SLOTS) {
		uint32_t symbol = w->symbol_slot[at] - 1u;
		if (is_symbol(k, &state->symbol[symbol])) {
			*is_new = false;
			return symbol;
		}
	}
	*is_new = true;
	w->symbol_slot[at] = (uint16_t)(w->symbols + 1);
	w->slot_of_symbol[w->symbols] = (uint16_t)at;
	memcpy(&state->symbol[w->symbols].kind, &k, sizeof k);
	return w->symbols++;
}

/* A record that does not follow the two before it as last time. */
static __attribute__((noinline)) uint32_t put_unforeseen(struct gp_column_writer *w,
							 struct gp_column_state *state,
							 const struct gp_kind_coding *kind,
							 struct words k, unsigned char **out)
{
	bool is_new;
	uint32_t symbol = symbol_find(w, state, k, &is_new);
	*out = put_token(*out, is_new ? GP_TOKEN_NEW : GP_TOKEN_INDEX + symbol);
	if (is_new)
		put_symbol(w, state, kind, &state->symbol[symbol]);
	return symbol;
}

HOT void put_symbol_token(struct gp_column_writer *w, struct gp_column_state *state,
			  struct cursor *c, const struct gp_kind_coding *kind, struct words k)
{
	uint16_t *successor = &state->successor[gp_successor_cell(c->last, c->before)];
	uint32_t symbol = *successor - 1u;
	if (*successor && is_symbol(k, &state->symbol[symbol])) {
		*c->symbol++ = GP_TOKEN_PREDICTED;
	} else {
		unsigned char *out = c->symbol;
		symbol = put_unforeseen(w, state, kind, k, &out);
		c->symbol = out;
		*successor = (uint16_t)(symbol + 1);
	}
	c->before = c->last;
	c->last = symbol;
}

static __attribute__((noinline)) unsigned char *put_total_off(unsigned char *out, uint64_t off)
{
	return gp_bytes_put(out, off);
}

HOT void put_totals(struct gp_column_state *state, struct cursor *c,
		    const struct gp_kind_coding *kind, const struct gp_record *r)
{
	uint64_t *last = state->totals[r->device], bytes = gp_total_bytes(kind, r);
	for (unsigned place = 0; place < kind->totals; place++) {
		uint64_t total = r->v[kind->total_field[place]];
		uint64_t off = total - last[place] - bytes * kind->total_sign[place];
		last[place] = total;
		if (off == 0)
			*c->total++ = 0;
		else
			c->total = put_total_off(c->total, off);
	}
}

HOT void put_time(struct gp_column_writer *w, struct cursor *c, uint64_t ticks)
{
	uint64_t delta = (ticks >> GP_TIME_SHIFT) - c->time;
	uint64_t narrow = delta < GP_TIME_WIDE ? delta : GP_TIME_WIDE;
	w->time_low[c->records] = (unsigned char)narrow;
	w->time_high[c->records] = (unsigned char)(narrow >> 8);
	if (narrow == GP_TIME_WIDE)
		c->time_wide = gp_varint_put(c->time_wide, gp_zigzag(delta));
	c->time += delta;
}

HOT void put_record(struct gp_column_writer *w, struct gp_column_state *state, struct cursor *c,
		    const struct gp_record *r)
{
	const struct gp_kind_coding *kind = &w->kinds[r->kind < GP_KINDS ? r->kind : GP_KINDS];
	const struct words k = words_of(r, kind->kept);
	uint64_t order = r->order;
	c->lowest = order < c->lowest ? order : c->lowest;
	c->highest = order > c->highest ? order : c->highest;
	put_time(w, c, r->time);
	c->order = gp_varint_put(c->order, gp_zigzag(order - c->next_order));
	c->next_order = order + kind->takes_order;
	if (kind->totals)
		put_totals(state, c, kind, r);
	put_symbol_token(w, state, c, kind, k);
	c->records++;
}

static void cursor_end(struct gp_column_writer *w, const struct cursor *c)
{
	w->end[GP_STREAM_TIME_LOW] = w->time_low + c->records;
	w->end[GP_STREAM_TIME_HIGH] = w->time_high + c->records;
	w->end[GP_STREAM_TIME_WIDE] = c->time_wide;
	w->end[GP_STREAM_ORDER] = c->order;
	w->end[GP_STREAM_SYMBOL] = c->symbol;
	w->end[GP_STREAM_TOTAL] = c->total;
}

static void put_head(struct gp_column_writer *w, struct gp_piece pieces[1 + GP_STREAMS])
{
	unsigned char *first[GP_STREAMS];
	streams_of(w, first);
	w->head_bytes[0] = GP_TIME_SHIFT;
	gp_fixed_put(w->head_bytes + 1, w->listed, 2);
	for (unsigned i = 0; i < GP_STREAMS; i++) {
		pieces[1 + i] = (struct gp_piece){ first[i], (size_t)(w->end[i] - first[i]) };
		w->head = gp_varint_put(w->head, pieces[1 + i].n);
	}
	pieces[0] = (struct gp_piece){ w->head_bytes, (size_t)(w->head - w->head_bytes) };
}

enum gp_status gp_columns_write(struct gp_column_writer *w, struct gp_column_state *state,
				struct gp_block_header *header, const struct gp_record *ring,
				uint64_t ring_slots, uint64_t first, uint64_t slots,
				struct gp_piece pieces[1 + GP_STREAMS])
{
	struct cursor c = { .time_wide = w->time_wide,
			    .order = w->order,
			    .symbol = w->symbol,
			    .total = w->total,
			    .lowest = UINT64_MAX,
			    .last = RECORDS,
			    .before = RECORDS };
	column_write_begin(w);
	gp_column_state_init(state);
	for (uint64_t at = 0; at < slots;) {
		const struct gp_record *r = &ring[(first + at++) & (ring_slots - 1)];
		unsigned extra = r->extra;
		if (extra > slots - at)
			return GP_E_ARGUMENT;
		put_record(w, state, &c, r);
		for (; extra > 0; extra--) {
			memcpy(w->end[GP_STREAM_TEXT], &ring[(first + at++) & (ring_slots - 1)],
			       64);
			w->end[GP_STREAM_TEXT] += 64;
		}
	}
	cursor_end(w, &c);
	put_head(w, pieces);
	header->records = c.records;
	header->first_order = c.records ? c.lowest : header->first_order;
	header->last_order = c.records ? c.highest : header->last_order;
	header->raw_bytes = 0;
	for (unsigned i = 0; i <= GP_STREAMS; i++)
		header->raw_bytes += (uint32_t)pieces[i].n;
	return GP_OK;
}
