/*
 * The opcodes of pickle protocol 2. A container is memorised when it begins, so that it may be
 * referenced before it ends. Numbers count from 1.
 */
#include "pickle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"
#include "gpuprof.h"

enum opcode {
	PROTO = 0x80,
	STOP = '.',
	MARK = '(',
	EMPTY_DICT = '}',
	SETITEMS = 'u',
	EMPTY_LIST = ']',
	APPENDS = 'e',
	TUPLE2 = 0x86,
	BININT1 = 'K',
	BININT2 = 'M',
	BININT = 'J',
	LONG1 = 0x8a,
	BINFLOAT = 'G',
	BINUNICODE = 'X',
	NEWTRUE = 0x88,
	NEWFALSE = 0x89,
	BINPUT = 'q',
	LONG_BINPUT = 'r',
	BINGET = 'h',
	LONG_BINGET = 'j',
};

#define TOKEN_MAX 16u /* bytes of an opcode and its number */

static void pickle_flush(struct gp_pickle *p)
{
	fwrite(p->buffer, 1, p->used, p->out);
	p->flushed += p->used;
	p->used = 0;
}

static inline void pickle_put(struct gp_pickle *p, unsigned opcode)
{
	if (__builtin_expect(p->used + TOKEN_MAX > sizeof p->buffer, 0))
		pickle_flush(p);
	p->buffer[p->used++] = (unsigned char)opcode;
}

/* Little-endian, after its opcode. */
static inline void put_number(struct gp_pickle *p, uint64_t number, unsigned bytes)
{
	for (unsigned k = 0; k < bytes; k++)
		p->buffer[p->used++] = (unsigned char)(number >> 8 * k);
}

static void pickle_put_bytes(struct gp_pickle *p, const char *bytes, size_t n)
{
	if (p->used + n > sizeof p->buffer)
		pickle_flush(p);
	if (n > sizeof p->buffer) {
		fwrite(bytes, 1, n, p->out);
		p->flushed += n;
		return;
	}
	memcpy(p->buffer + p->used, bytes, n);
	p->used += n;
}

/* ---- written values: open addressing, at most half full ---- */

static struct gp_pickle_row *pickle_row_place(const struct gp_pickle_rows *rows, uint64_t key,
					      uint64_t more, const char *text)
{
	for (size_t at = (size_t)gp_hash_pair(key, more);; at++) {
		struct gp_pickle_row *row = &rows->row[at & (rows->places - 1)];
		if (!row->is_there || (row->key == key && row->more == more &&
				       (!text || strcmp(row->text, text) == 0)))
			return row;
	}
}

static bool pickle_rows_grow(struct gp_pickle_rows *rows)
{
	struct gp_pickle_rows grown = { .places = rows->places ? rows->places * 2 : 256,
					.count = rows->count };
	grown.row = calloc(grown.places, sizeof *grown.row);
	if (!grown.row)
		return false;
	for (size_t k = 0; k < rows->places; k++) {
		const struct gp_pickle_row *old = &rows->row[k];
		if (old->is_there)
			*pickle_row_place(&grown, old->key, old->more, old->text) = *old;
	}
	free(rows->row);
	*rows = grown;
	return true;
}

struct gp_pickle_row *gp_pickle_row_get(struct gp_pickle_rows *rows, uint64_t key, uint64_t more,
					const char *text)
{
	if (rows->count * 2 >= rows->places && !pickle_rows_grow(rows))
		return NULL;
	struct gp_pickle_row *row = pickle_row_place(rows, key, more, text);
	if (row->is_there)
		return row;
	char *kept = text ? strdup(text) : NULL;
	if (text && !kept)
		return NULL;
	*row = (struct gp_pickle_row){ key, more, kept, 0, true };
	rows->count++;
	return row;
}

void gp_pickle_rows_release(struct gp_pickle_rows *rows)
{
	for (size_t k = 0; k < rows->places; k++)
		free(rows->row[k].text);
	free(rows->row);
	*rows = (struct gp_pickle_rows){ 0 };
}

/* ---- the pickle ---- */

void gp_pickle_init(struct gp_pickle *p, FILE *out)
{
	p->words = (struct gp_pickle_rows){ 0 };
	p->is_out_of_memory = false;
	p->out = out;
	p->flushed = p->memos = p->depth = 0;
	p->used = 0;
	p->level[0] = (struct gp_pickle_level){ 0 };
	pickle_put(p, PROTO);
	put_number(p, 2, 1);
}

void gp_pickle_finish(struct gp_pickle *p)
{
	assert(p->depth == 0);
	pickle_put(p, STOP);
	pickle_flush(p);
}

void gp_pickle_release(struct gp_pickle *p)
{
	gp_pickle_rows_release(&p->words);
}

/* ---- containers ---- */

/* Called before an item of a list and a key of a dict. */
static inline void begin_item(struct gp_pickle *p)
{
	if (p->depth && p->level[p->depth].items == 0)
		pickle_put(p, MARK);
}

static inline void begin_value(struct gp_pickle *p)
{
	if (!p->level[p->depth].is_dict)
		begin_item(p);
}

static inline void end_batch(struct gp_pickle *p)
{
	struct gp_pickle_level *level = &p->level[p->depth];
	if (level->items)
		pickle_put(p, level->is_dict ? SETITEMS : APPENDS);
	level->items = 0;
}

static inline void end_value(struct gp_pickle *p)
{
	struct gp_pickle_level *level = &p->level[p->depth];
	level->has_key = false;
	if (p->depth && ++level->items == GP_PICKLE_BATCH)
		end_batch(p);
}

static uint32_t memorise(struct gp_pickle *p)
{
	uint32_t memo = ++p->memos;
	pickle_put(p, memo < 256 ? BINPUT : LONG_BINPUT);
	put_number(p, memo, memo < 256 ? 1 : 4);
	return memo;
}

static inline void put_again(struct gp_pickle *p, uint32_t memo)
{
	pickle_put(p, memo < 256 ? BINGET : LONG_BINGET);
	put_number(p, memo, memo < 256 ? 1 : 4);
}

static inline void pickle_enter(struct gp_pickle *p, bool is_dict)
{
	p->depth++;
	assert(p->depth < GP_PICKLE_DEPTH);
	p->level[p->depth] = (struct gp_pickle_level){ .is_dict = is_dict };
}

void gp_pickle_dict(struct gp_pickle *p, uint32_t *memo)
{
	begin_value(p);
	pickle_put(p, EMPTY_DICT);
	if (memo)
		*memo = memorise(p);
	pickle_enter(p, true);
}

void gp_pickle_list(struct gp_pickle *p, uint32_t *memo)
{
	begin_value(p);
	pickle_put(p, EMPTY_LIST);
	if (memo)
		*memo = memorise(p);
	pickle_enter(p, false);
}

void gp_pickle_resume(struct gp_pickle *p, uint32_t list)
{
	begin_value(p);
	put_again(p, list);
	pickle_enter(p, false);
}

void gp_pickle_end(struct gp_pickle *p)
{
	assert(p->depth > 0);
	end_batch(p);
	p->depth--;
	end_value(p);
}

void gp_pickle_again(struct gp_pickle *p, uint32_t memo)
{
	begin_value(p);
	put_again(p, memo);
	end_value(p);
}

/* ---- texts ---- */

static const char replacement[] = "\xef\xbf\xbd";

/* Whether a well-formed UTF-8 sequence begins here, of *n bytes. Other bytes are replaced. */
static bool is_kept(const char *text, size_t bytes, size_t *n)
{
	uint32_t code;
	*n = gp_code_point(text, bytes, &code);
	if (*n)
		return true;
	*n = 1;
	return false;
}

static void pickle_put_text(struct gp_pickle *p, const char *text)
{
	size_t bytes = strlen(text), all = 0, n;
	for (size_t at = 0; at < bytes; at += n)
		all += is_kept(text + at, bytes - at, &n) ? n : sizeof replacement - 1;
	all = all < UINT32_MAX ? all : 0;
	pickle_put(p, BINUNICODE);
	put_number(p, all, 4);
	for (size_t at = 0; all && at < bytes; at += n) {
		if (is_kept(text + at, bytes - at, &n))
			pickle_put_bytes(p, text + at, n);
		else
			pickle_put_bytes(p, replacement, sizeof replacement - 1);
	}
}

void gp_pickle_text(struct gp_pickle *p, const char *text)
{
	begin_value(p);
	pickle_put_text(p, text);
	end_value(p);
}

/* A dict's key begins an item and does not end it. All other words are values. */
void gp_pickle_word_of(struct gp_pickle *p, struct gp_pickle_rows *words, const char *text)
{
	struct gp_pickle_row *word = gp_pickle_row_get(words, gp_hash_text(text), 0, text);
	struct gp_pickle_level *level = &p->level[p->depth];
	bool is_key = level->is_dict && !level->has_key;
	p->is_out_of_memory |= !word;
	if (is_key)
		begin_item(p);
	else
		begin_value(p);
	if (word && word->memo) {
		put_again(p, word->memo);
	} else {
		pickle_put_text(p, text);
		if (word)
			word->memo = memorise(p);
	}
	level->has_key = is_key;
	if (!is_key)
		end_value(p);
}

void gp_pickle_word(struct gp_pickle *p, const char *text)
{
	gp_pickle_word_of(p, &p->words, text);
}

/* ---- numbers ---- */

static inline void put_signed(struct gp_pickle *p, int64_t number)
{
	if (number >= 0 && number < 1 << 8) {
		pickle_put(p, BININT1);
		put_number(p, (uint64_t)number, 1);
	} else if (number >= 0 && number < 1 << 16) {
		pickle_put(p, BININT2);
		put_number(p, (uint64_t)number, 2);
	} else if (number >= INT32_MIN && number <= INT32_MAX) {
		pickle_put(p, BININT);
		put_number(p, (uint64_t)number, 4);
	} else {
		pickle_put(p, LONG1);
		put_number(p, 8, 1);
		put_number(p, (uint64_t)number, 8);
	}
}

static inline int64_t bounded(uint64_t number)
{
	return number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

void gp_pickle_signed(struct gp_pickle *p, int64_t number)
{
	begin_value(p);
	put_signed(p, number);
	end_value(p);
}

void gp_pickle_number(struct gp_pickle *p, uint64_t number)
{
	gp_pickle_signed(p, bounded(number));
}

void gp_pickle_real(struct gp_pickle *p, double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	begin_value(p);
	pickle_put(p, BINFLOAT);
	put_number(p, __builtin_bswap64(bits), 8);
	end_value(p);
}

void gp_pickle_bool(struct gp_pickle *p, bool is_true)
{
	begin_value(p);
	pickle_put(p, is_true ? NEWTRUE : NEWFALSE);
	end_value(p);
}

void gp_pickle_pair(struct gp_pickle *p, uint64_t first, uint64_t second)
{
	begin_value(p);
	put_signed(p, bounded(first));
	put_signed(p, bounded(second));
	pickle_put(p, TUPLE2);
	end_value(p);
}
