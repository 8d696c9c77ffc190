/*
 * Pieces of 64 KiB, in which a text lies behind the number of the next one of its chain. A number
 * is a piece and a place in it; the first byte of the first piece is left out, so none is 0.
 */
#include "text_store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../format/seeded_hash.h"
#include "array.h"

#define PIECE_BITS 16u
#define PIECE_BYTES (1u << PIECE_BITS)
#define PIECES_MAX (1u << (32 - PIECE_BITS))
#define TEXT_MOST (PIECE_BYTES / 2)
#define TEXTS_A_HEAD 2u

void gp_text_store_release(struct gp_text_store *s)
{
	for (size_t k = 0; k < s->pieces; k++)
		free(s->piece[k]);
	free(s->piece);
	free(s->head);
	*s = (struct gp_text_store){ 0 };
}

static char *store_at(const struct gp_text_store *s, uint32_t number)
{
	return s->piece[number >> PIECE_BITS] + (number & (PIECE_BYTES - 1));
}

static uint32_t store_next(const struct gp_text_store *s, uint32_t number)
{
	uint32_t next;
	memcpy(&next, store_at(s, number), sizeof next);
	return next;
}

const char *gp_text_store_get(const struct gp_text_store *s, uint32_t number)
{
	return number != 0 ? store_at(s, number) + sizeof number : NULL;
}

static uint32_t *store_head(const struct gp_text_store *s, const char *text, size_t bytes)
{
	return &s->head[gp_hash_bytes(text, bytes) & (s->heads - 1)];
}

/* Twice the heads; each text goes to its new chain. */
static bool store_grow(struct gp_text_store *s)
{
	if (s->texts < TEXTS_A_HEAD * s->heads)
		return true;
	uint32_t *old = s->head;
	const size_t olds = s->heads, heads = olds != 0 ? olds * 2 : 128;
	uint32_t *head = calloc(heads, sizeof *head);
	if (head == NULL)
		return false;
	s->head = head;
	s->heads = heads;
	for (size_t k = 0; k < olds; k++) {
		for (uint32_t number = old[k], next; number != 0; number = next) {
			const char *text = gp_text_store_get(s, number);
			next = store_next(s, number);
			uint32_t *newest = store_head(s, text, strlen(text));
			memcpy(store_at(s, number), newest, sizeof *newest);
			*newest = number;
		}
	}
	free(old);
	return true;
}

static bool store_add_piece(struct gp_text_store *s)
{
	if (s->pieces == (s->most_bytes != 0 ? s->most_bytes / PIECE_BYTES : PIECES_MAX))
		return false;
	char *bytes = malloc(PIECE_BYTES);
	char **piece = bytes != NULL ? gp_array_append(&s->piece, &s->pieces, sizeof *piece) : NULL;
	if (piece == NULL) {
		free(bytes);
		return false;
	}
	*piece = bytes;
	s->used = s->pieces == 1 ? 1 : 0;
	return true;
}

/* `bytes` of it count. */
static uint32_t store_find(const struct gp_text_store *s, const char *text, size_t bytes)
{
	if (s->heads == 0)
		return 0;
	for (uint32_t number = *store_head(s, text, bytes); number != 0;
	     number = store_next(s, number)) {
		const char *known = gp_text_store_get(s, number);
		if (strncmp(known, text, bytes) == 0 && known[bytes] == '\0')
			return number;
	}
	return 0;
}

static size_t store_bytes(const char *text, size_t bytes)
{
	return strnlen(text, bytes < TEXT_MOST ? bytes : TEXT_MOST);
}

uint32_t gp_text_store_find(const struct gp_text_store *s, const char *text, size_t bytes)
{
	return store_find(s, text, store_bytes(text, bytes));
}

uint32_t gp_text_store_add(struct gp_text_store *s, const char *text, size_t bytes)
{
	bytes = store_bytes(text, bytes);
	const uint32_t known = store_find(s, text, bytes);
	if (known != 0 || !store_grow(s))
		return known;
	uint32_t *head = store_head(s, text, bytes);
	const size_t taken = sizeof *head + bytes + 1;
	if ((s->pieces == 0 || PIECE_BYTES - s->used < taken) && !store_add_piece(s))
		return 0;
	const uint32_t number = (uint32_t)((s->pieces - 1) << PIECE_BITS | s->used);
	char *at = store_at(s, number);
	memcpy(at, head, sizeof *head);
	memcpy(at + sizeof *head, text, bytes);
	at[taken - 1] = '\0';
	s->used += taken;
	s->texts++;
	return *head = number;
}

const char *gp_text_store_keep(struct gp_text_store *s, const char *text)
{
	const uint32_t number = text != NULL ? gp_text_store_add(s, text, SIZE_MAX) : 0;
	s->refused += text != NULL && number == 0;
	return gp_text_store_get(s, number);
}
