/* Extends equal keys of different groups by the frames in which their stacks differ. */
#ifndef GP_DISAMBIGUATE_KEYS_H
#define GP_DISAMBIGUATE_KEYS_H

#include "group_key.h"

struct gp_keyed {
	char **key;    /* a text from malloc, replaced by a longer one */
	size_t number; /* argument of `read`; also the order of equal keys */
};
/* Reads the stack of a group; false: it is unknown. */
typedef bool gp_keyed_read(void *context, size_t number, struct gp_read_stack *out);

/* Sorts `keyed`. False: no memory. */
bool gp_keys_distinguish(struct gp_keyed *keyed, size_t count, gp_keyed_read *read, void *context);

#endif
