/* What is done at a quiet moment (quiet_moment.h), never while a capture is under way. */
#include "quiet_moment.h"

#include <errno.h>

#include "capture.h"

_Atomic uint32_t gp_due GP_HOT_DATA;
const struct gp_quiet_action *gp_quiet_actions;

/* True for one of those who see it at once. */
static bool take(const struct gp_quiet_action *action)
{
	const uint32_t what = action->what;
	if ((atomic_load(&gp_due) & what) == 0)
		return false;
	return action->ends_itself || (atomic_fetch_and(&gp_due, ~what) & what) != 0;
}

void gp_quiet_moment_slow(void)
{
	int kept = errno;
	if (!gp_is_capturing())
		for (const struct gp_quiet_action *a = gp_quiet_actions; a && a->act; a++)
			if (take(a))
				a->act();
	errno = kept;
}

void gp_quiet_call_slow(void)
{
	if (!gp_enter())
		return;
	gp_quiet_moment_slow();
	gp_leave();
}
