/*
 * A loop of queries that one thread makes until the GPU is ready: one WAIT for all of it. The hook
 * of the queries opens it and keeps it up to date; it ends with their answer, or before the
 * thread's next event, which enters the slow half for that.
 */
#ifndef GP_POLL_LOOP_H
#define GP_POLL_LOOP_H

#include "record.h"

/* Ends the loop and records it, if it lasted. `code`: the driver's last answer. Inside. */
GP_COLD void gp_poll_close(uint16_t code);

/*
 * For an event of `time`, which is reserved and found that the thread's head was `head` before: the
 * time that it may have. A loop that ended here leaves `time`; definitions are later.
 */
GP_COLD uint64_t gp_poll_time(uint64_t head, uint64_t time);

#endif
