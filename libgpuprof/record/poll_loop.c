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
	p->closed = gp_thread.head;
}

uint64_t gp_poll_time(uint64_t head, uint64_t time)
{
	const uint64_t now = gp_thread.head;
	return now == head + 1 && now == gp_thread.poll.closed ? time : gp_clock_now();
}
