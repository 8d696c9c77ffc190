/*
 * Inside or outside of what the user selected for capture. Outside, memory events go on without
 * stacks and launches are left out, so that what is live is known whenever capturing begins. What
 * ranges say comes on the job's threads, the clock and `gpuprof ctl` on the drain thread; both
 * change gp_local->word, whose exchange decides who was first. A forked child goes on as its parent
 * was. Where the rule requires it the recording ends with the last span: then nothing is recorded
 * any more, and children record nothing at all.
 */
#ifndef GP_SCOPE_H
#define GP_SCOPE_H

#include "../process/settings.h"
#include "../record.h"

struct gp_recorder;

/* Is that what opens and closes it? */
GP_HOT bool gp_scope_follows(enum gp_scope_from from)
{
	return gp_unlikely(gp_scope_follow == from);
}

/*
 * What was selected begins, or ends. Inside, or before the first event of the process; slow half.
 * Opened: the number of the span, from 1 on, children count on. 0, or false: it does not count.
 */
GP_COLD uint64_t gp_scope_open(enum gp_scope_by by);
#define GP_SCOPE_ANY 0u /* span: whichever is open and was opened so */
GP_COLD bool gp_scope_close(enum gp_scope_by by, uint64_t span);

/* No event is recorded from here on; the drain thread finishes, where it records. Any thread. */
GP_COLD void gp_scope_end(enum gp_scope_by by);
/* Has it been called in this process, or in one that it was forked from? */
static inline bool gp_scope_is_over(void)
{
	return atomic_load(&gp_scope_ended_by) != 0;
}
/* Is this process to be recorded? */
GP_COLD bool gp_recorder_is_wanted(void);

/* ---- the drain thread's ---- */

/* What gp_local->word begins with in this process. */
uint32_t gp_scope_begin(struct gp_recorder *recorder);
/* Records that, once it can be written. */
void gp_scope_tell(struct gp_recorder *recorder);
/* Before it finishes: what is over records what ended it. */
void gp_scope_tell_end(struct gp_recorder *recorder);
/* Once a turn: orders of `gpuprof ctl`, and the clock. */
void gp_scope_tend(struct gp_recorder *recorder);
/* How long the thread may sleep, at most `most_ns`. */
uint64_t gp_scope_sleep_ns(uint64_t most_ns);

#endif
