/*
 * Strings kept once each, at addresses that hold until the store is released; what they may take
 * together is bounded.
 */
#ifndef GP_NAME_STORE_H
#define GP_NAME_STORE_H

#include <stddef.h>
#include <stdint.h>

struct gp_name_store {
	char **slot; /* open addressing, a power of two */
	size_t slots, names;
	struct gp_name_chunk *chunk;
	size_t used_bytes, most_bytes;
	size_t refused; /* strings that found no room */
};

void gp_name_store_init(struct gp_name_store *store, size_t most_bytes);
void gp_name_store_release(struct gp_name_store *store);
/* The kept copy of `name`; NULL for NULL and where memory or the bound is used up. */
const char *gp_name_store_add(struct gp_name_store *store, const char *name);

#endif
