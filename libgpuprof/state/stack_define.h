/*
 * From entries of the shared table of stacks to the definitions that a recording holds: what a
 * stack id needs, parents first, each once a segment. Both who writes while the job lives and who
 * adopts what it left use it. No I/O, no threads; entries may come from a dead process: nothing in
 * them is trusted.
 */
#ifndef GP_STACK_DEFINE_H
#define GP_STACK_DEFINE_H

#include <stdbool.h>

#include "../format/event.h"
#include "../format/stack_entry.h"

struct gp_stack_define {
	/* NULL: no such entry. An entry's id is higher than that of each it refers to. */
	const struct gp_stack_entry *(*entry)(void *context, uint32_t id);
	/* A DEFINE record with its text in the slots behind it. */
	void (*visit)(void *context, const struct gp_record *slots);
	void *context;
	/* a bit an id: defined in this segment. ids_most bits, the caller's, zeroed at its start */
	unsigned char *is_told;
	uint32_t ids_most;
};

/* Visits whatever `stack` needs and was not defined yet. */
void gp_stack_define(const struct gp_stack_define *define, uint32_t stack);

#endif
