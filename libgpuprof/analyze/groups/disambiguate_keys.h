/* Keys of groups of stacks that would be the same are told apart by the frames that differ. */
#ifndef GP_DISAMBIGUATE_KEYS_H
#define GP_DISAMBIGUATE_KEYS_H

#include "group_key.h"

struct gp_keyed {
	char **key;    /* a text of malloc, replaced by a longer one */
	size_t number; /* for `read`; also their order where keys are the same */
};
/* The stack of a group; false: it is not known. */
typedef bool gp_keyed_read(void *context, size_t number, struct gp_read_stack *out);

/* Sorts `keyed`. False: no memory. */
bool gp_keys_tell_apart(struct gp_keyed *keyed, size_t count, gp_keyed_read *read, void *context);

#endif
