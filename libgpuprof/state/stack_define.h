/*
 * Converts entries of the shared table of stacks to definitions in a recording. A stack id needs
 * its entries with parents first, each once per segment. Used by the writer in the living job and
 * by the adoption of a dead one. No I/O, no threads. Entries may come from a dead process, so they
 * are not trusted.
 */
#ifndef GP_STACK_DEFINE_H
#define GP_STACK_DEFINE_H

#include <stdbool.h>

#include "../format/event.h"
#include "../format/stack_entry.h"

struct gp_stack_define {
	/* NULL: no such entry. An entry's id is higher than the ids that it refers to. */
	const struct gp_stack_entry *(*entry)(void *context, uint32_t id);
	/* A DEFINE record, followed by its text in extra slots. */
	void (*visit)(void *context, const struct gp_record *slots);
	void *context;
	/*
	 * one bit per id: defined in this segment. The caller provides ids_most bits, zeroed at its
	 * start.
	 */
	unsigned char *is_defined;
	uint32_t ids_most;
};

/* Visits all entries that `stack` needs and that are not defined yet. */
void gp_stack_define(const struct gp_stack_define *define, uint32_t stack);

#endif
