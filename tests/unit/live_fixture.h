/* The state of one recording for a unit test, and events in the order in which it puts them. */
#ifndef LIVE_FIXTURE_H
#define LIVE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "state/live.h"

static struct gp_live *live;
static uint64_t order;

static inline int set_up(void **state)
{
	(void)state;
	order = 0;
	live = gp_live_open();
	return live == NULL;
}

static inline int tear_down(void **state)
{
	(void)state;
	gp_live_close(live);
	return 0;
}

static inline void put(struct gp_record r)
{
	r.time = r.order = ++order;
	assert_int_equal(gp_live_apply(live, &r), GP_OK);
}

static inline void alloc(unsigned space, uint64_t address, uint64_t bytes)
{
	put((struct gp_record){ .kind = GP_ALLOC,
				.space = (uint8_t)space,
				.alloc = { .address = address, .bytes = bytes } });
}

#endif
