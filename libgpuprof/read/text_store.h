/*
 * Texts of definitions, each kept once: a number of 32 bits stands for a text, which stays where it
 * is until the store is released. A text costs its bytes and nine at most.
 */
#ifndef GP_TEXT_STORE_H
#define GP_TEXT_STORE_H

#include <stddef.h>
#include <stdint.h>

struct gp_text_store {
	char **piece;
	size_t pieces, piece_room, used; /* used: of the newest piece */
	uint32_t *head;			 /* newest text of each hash */
	size_t heads, texts;
};

/* All zeros is an empty store. */
void gp_text_store_release(struct gp_text_store *store);
/* Number of the text, up to its first NUL; at most 32 KiB of it count. 0: no memory. */
uint32_t gp_text_store_add(struct gp_text_store *store, const char *text, size_t bytes);
/* NULL for number 0. */
const char *gp_text_store_get(const struct gp_text_store *store, uint32_t number);

#endif
