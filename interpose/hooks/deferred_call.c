/*
 * Runs the actions of deferred_call.h at a quiet moment, never during a capture.
 */
#include "deferred_call.h"

#include <errno.h>

#include "capture.h"

_Atomic uint32_t gp_due GP_HOT_DATA;
const struct gp_deferred_action *gp_deferred_actions;
void (*gp_launch_ended)(CUresult result);

/* If several threads see a due action at once, only one of them gets true. */
static bool deferred_call_take(const struct gp_deferred_action *action)
{
	const uint32_t what = action->what;
	if ((atomic_load(&gp_due) & what) == 0)
		return false;
	return action->ends_itself || (atomic_fetch_and(&gp_due, ~what) & what) != 0;
}

void gp_deferred_moment_slow(CUresult result)
{
	int kept = errno;
	if (gp_launch_ended)
		gp_launch_ended(result);
	if (result == CUDA_SUCCESS && !gp_is_capturing())
		for (const struct gp_deferred_action *a = gp_deferred_actions; a && a->act; a++)
			if (deferred_call_take(a))
				a->act();
	errno = kept;
}

void gp_deferred_call_slow(void)
{
	if (!gp_enter())
		return;
	gp_deferred_moment_slow(CUDA_SUCCESS);
	gp_leave();
}
