/*
 * Whether the job is inside or outside of the captured spans that the user selected. Outside,
 * memory events are recorded without stacks and launches are left out. The live set is therefore
 * known whenever capturing begins. Ranges change the state on the job's threads, the clock and
 * `gpuprof ctl` on the drain thread. Both change gp_local->word, whose exchange decides which was
 * first. A forked child continues in its parent's state. If the rule requires it, the recording
 * ends with the last span: then no more events are recorded, and children record none at all.
 */
#ifndef GP_SCOPE_H
#define GP_SCOPE_H

#include "../process/settings.h"
#include "../record.h"

struct gp_recorder;

/* True if the rule opens and closes the scope by that. */
GP_HOT bool gp_scope_follows(enum gp_scope_from from)
{
	return gp_unlikely(gp_scope_follow == from);
}

/*
 * A selected span begins, or ends. Call inside, or before the first event of the process; slow
 * half. Opened: the number of the span, from 1 on, continued in children. 0, or false: it does not
 * count.
 */
GP_COLD uint64_t gp_scope_open(enum gp_scope_by by);
#define GP_SCOPE_ANY 0u /* span: any that is open and was opened in this way */
GP_COLD bool gp_scope_close(enum gp_scope_by by, uint64_t span);

/*
 * Ends the recording: no more events are recorded; the drain thread finishes, if it records. Any
 * thread.
 */
GP_COLD void gp_scope_end(enum gp_scope_by by);
/* True if it was called in this process or in an ancestor. */
static inline bool gp_scope_is_over(void)
{
	return atomic_load(&gp_scope_ended_by) != 0;
}
/* True if this process must be recorded. */
GP_COLD bool gp_recorder_is_requested(void);

/* ---- the drain thread's ---- */

/* The initial gp_local->word in this process. */
uint32_t gp_scope_begin(struct gp_recorder *recorder);
/* Records the initial state, once it can be written. */
void gp_scope_write(struct gp_recorder *recorder);
/* Call before it finishes: records how the recording ended, if it has. */
void gp_scope_write_end(struct gp_recorder *recorder);
/* Once a turn: handles commands of `gpuprof ctl`, and the clock. */
void gp_scope_tend(struct gp_recorder *recorder);
/* How long the thread may sleep, at most `most_ns`. */
uint64_t gp_scope_sleep_ns(uint64_t most_ns);

#endif
