/*
 * Pieces of 64 KiB. A number is a piece and a place in it. The first byte of the first piece is
 * unused, so no number is 0.
 */
#include "text_store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define PIECE_BITS 16u
#define PIECE_BYTES (1u << PIECE_BITS)
#define PIECES_MAX (1u << (32 - PIECE_BITS))
#define TEXT_MOST (PIECE_BYTES / 2)

void gp_text_store_release(struct gp_text_store *s)
{
	for (size_t k = 0; k < s->pieces; k++)
		free(s->piece[k]);
	free(s->piece);
	gp_row_index_release(&s->index);
	*s = (struct gp_text_store){ 0 };
}

const char *gp_text_store_get(const struct gp_text_store *s, uint32_t number)
{
	return number != 0 ? s->piece[number >> PIECE_BITS] + (number & (PIECE_BYTES - 1)) : NULL;
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

static size_t store_bytes(const char *text, size_t bytes)
{
	return strnlen(text, bytes < TEXT_MOST ? bytes : TEXT_MOST);
}

/* Compares the first `bytes` bytes of `text`. */
static uint32_t store_find(const struct gp_text_store *s, const char *text, size_t bytes,
			   uint32_t hash)
{
	for (uint32_t step = 0, number;
	     (number = gp_row_index_next(&s->index, hash, &step)) != 0;) {
		const char *known = gp_text_store_get(s, number);
		if (strncmp(known, text, bytes) == 0 && known[bytes] == '\0')
			return number;
	}
	return 0;
}

uint32_t gp_text_store_find(const struct gp_text_store *s, const char *text, size_t bytes)
{
	bytes = store_bytes(text, bytes);
	return store_find(s, text, bytes, (uint32_t)gp_hash_bytes(text, bytes));
}

uint32_t gp_text_store_add(struct gp_text_store *s, const char *text, size_t bytes)
{
	bytes = store_bytes(text, bytes);
	const uint32_t hash = (uint32_t)gp_hash_bytes(text, bytes);
	const uint32_t known = store_find(s, text, bytes, hash);
	if (known != 0 || !gp_row_index_reserve(&s->index, 1) ||
	    ((s->pieces == 0 || PIECE_BYTES - s->used <= bytes) && !store_add_piece(s)))
		return known;
	const uint32_t number = (uint32_t)((s->pieces - 1) << PIECE_BITS | s->used);
	char *at = s->piece[s->pieces - 1] + s->used;
	memcpy(at, text, bytes);
	at[bytes] = '\0';
	s->used += bytes + 1;
	gp_row_index_add(&s->index, hash, number);
	return number;
}

const char *gp_text_store_keep(struct gp_text_store *s, const char *text)
{
	const uint32_t number = text != NULL ? gp_text_store_add(s, text, SIZE_MAX) : 0;
	s->refused += text != NULL && number == 0;
	return gp_text_store_get(s, number);
}
