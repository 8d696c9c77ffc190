/*
 * The end of a loop of queries: its WAIT, with the moment of the last answer. It stands before the
 * event that ended it.
 */
#include "poll_loop.h"

void gp_poll_close(uint16_t code)
{
	struct gp_poll *p = &gp_thread.poll;
	const bool is_recorded = p->is_long && gp_thread.level == GP_LEVEL_ALL;
	p->queries = 0;
	p->is_long = false;
	if (!is_recorded)
		return;
	struct gp_record *r = gp_reserve_at(GP_WAIT, p->last);
	if (!r)
		return;
	r->stack = p->stack;
	r->device = p->device;
	r->code = code;
	r->aux = gp_call_pack((enum gp_call)p->kind, 0, p->last - p->began);
	r->wait.handle = p->handle;
	gp_commit(r);
}
