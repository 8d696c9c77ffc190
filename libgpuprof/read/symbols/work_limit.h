/*
 * A limit for long work. Loops over symbols and debug information test it now and then and stop
 * once it is reached. It stays reached until it is set again.
 */
#ifndef GP_WORK_LIMIT_H
#define GP_WORK_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct gp_work_limit {
	bool (*is_over)(void *context); /* NULL: never */
	void *context;
	unsigned calls;
	bool was_over;
};

/* True: end the work. */
static inline bool gp_work_is_over(struct gp_work_limit *limit)
{
	if (!limit->was_over && limit->is_over != NULL)
		limit->was_over = limit->is_over(limit->context);
	return limit->was_over;
}

/* For tight loops: tests the limit on every 1,024th call. */
static inline bool gp_work_is_over_now_and_then(struct gp_work_limit *limit)
{
	return ++limit->calls % 1024 == 0 ? gp_work_is_over(limit) : limit->was_over;
}

#endif
