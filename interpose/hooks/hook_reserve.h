/* Records of driver calls that have a duration. */
#ifndef GP_HOOK_RESERVE_H
#define GP_HOOK_RESERVE_H

#include "../../libgpuprof/record/poll_loop.h"
#include "../../libgpuprof/record/stacks/stack_take.h"

/* A record with a stack, of the call that returned at `ended`; NULL: lost, and counted. */
GP_HOT struct gp_record *gp_reserve_ended(enum gp_kind kind, uint64_t ended)
{
	const uint64_t head = gp_thread.head;
	const uint32_t caller = gp_stack_of_alloc();
	struct gp_record *r = gp_reserve_at(kind, ended);
	if (gp_unlikely(!r))
		return NULL;
	if (gp_unlikely(gp_thread.head != head)) /* definitions of the stack came in between */
		r->time = gp_poll_time(head, ended);
	r->stack = caller;
	return r;
}

#endif
