/*
 * Texts of definitions, each kept once: a number of 32 bits stands for a text, which stays where it
 * is until the store is released. A text costs its bytes and 33 at most.
 */
#ifndef GP_TEXT_STORE_H
#define GP_TEXT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "row_table.h"

struct gp_text_store {
	char **piece;
	size_t pieces, used; /* used: of the newest piece */
	struct gp_row_index index;
	size_t most_bytes; /* the caller may set it at first: for texts; 0: 4 GiB */
	size_t refused;	   /* texts that found no room in gp_text_store_keep */
};

/* All zeros is an empty store. */
void gp_text_store_release(struct gp_text_store *store);
/* Number of the text, up to its first NUL; at most 32 KiB of it count. 0: no memory. */
uint32_t gp_text_store_add(struct gp_text_store *store, const char *text, size_t bytes);
/* The same, 0 where it is not in the store. */
uint32_t gp_text_store_find(const struct gp_text_store *store, const char *text, size_t bytes);
/* The kept copy of `text`; NULL for NULL and where memory or the bound is used up. */
const char *gp_text_store_keep(struct gp_text_store *store, const char *text);
/* NULL for number 0. */
const char *gp_text_store_get(const struct gp_text_store *store, uint32_t number);

#endif
