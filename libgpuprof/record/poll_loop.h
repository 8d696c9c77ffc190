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

#endif
