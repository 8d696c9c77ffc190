/*
 * Texts of definitions, each stored once. A number of 32 bits stands for a text, which stays at its
 * address until the store is released. A text costs its bytes and 33 at most.
 */
#ifndef GP_TEXT_STORE_H
#define GP_TEXT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "row_table.h"

struct gp_text_store {
	char **piece;
	size_t pieces, used; /* used: in the newest piece */
	struct gp_row_index index;
	size_t most_bytes; /* bound of all texts; the caller may set it at first; 0: 4 GiB */
	size_t refused;	   /* texts that gp_text_store_keep could not store */
};

/* All zeros is an empty store. */
void gp_text_store_release(struct gp_text_store *store);
/* The number of the text, which ends at its first NUL or after 32 KiB. 0: out of memory. */
uint32_t gp_text_store_add(struct gp_text_store *store, const char *text, size_t bytes);
/* As gp_text_store_add without adding; 0: not in the store. */
uint32_t gp_text_store_find(const struct gp_text_store *store, const char *text, size_t bytes);
/* The stored copy of `text`; NULL for NULL, or when memory or the bound is used up. */
const char *gp_text_store_keep(struct gp_text_store *store, const char *text);
/* NULL for number 0. */
const char *gp_text_store_get(const struct gp_text_store *store, uint32_t number);

#endif
