/* What is done at a quiet moment (quiet_moment.h), never while a capture is under way. */
#include "quiet_moment.h"

#include <errno.h>

#include "capture.h"
#include "device_memory.h"
#include "hook_trace.h"
#include "torch_ranges.h"
#include "trace_join.h"

_Atomic uint32_t gp_due GP_HOT_DATA;

/* True for one of those who see it at once. */
static bool take(enum gp_due what)
{
	return atomic_load(&gp_due) & (uint32_t)what &&
	       atomic_fetch_and(&gp_due, ~(uint32_t)what) & (uint32_t)what;
}

void gp_quiet_moment_slow(void)
{
	int kept = errno;
	if (!gp_is_capturing()) {
		if (take(GP_DUE_RANGES))
			gp_torch_ranges_attach();
		if (take(GP_DUE_ATTACH))
			gp_trace_attach();
		if (take(GP_DUE_JOIN))
			gp_join_try();
		if (atomic_load(&gp_due) & GP_DUE_MEMORY)
			gp_device_memory_ask();
	}
	errno = kept;
}

void gp_quiet_call_slow(void)
{
	if (!gp_enter())
		return;
	gp_quiet_moment_slow();
	gp_leave();
}
