/* Kinds by owner (cupti_kinds.h). */
#include "cupti_kinds.h"

#include <stdatomic.h>

#include "cupti_clock.h"
#include "cupti_process.h"

#define KINDS 256u /* CUPTI 13.0 has 60 */
/* operations that were launched before the job disabled their kind end within this time */
#define LINGER_MS 10000u
/* operations that the job's own kinds bring after our window: queues of launches are shorter */
#define QUEUE_NS 1000000000u
#define DEFERRED 64u

static struct {
	_Atomic bool is_job, is_ours;
	_Atomic uint32_t contexts;   /* for which the job has enabled it */
	_Atomic uint64_t left_at_ms; /* when the job disabled it; 0: its records are all out */
	_Atomic uint64_t left_as;    /* number of that disable */
	_Atomic uint64_t enabled_at; /* CUPTI's time */
} kinds[KINDS];

/* our last windows, in CUPTI's time. Buffers come within seconds, so this is the past of one. */
#define WINDOWS 256u
static struct {
	_Atomic uint64_t opened_at, closed_at; /* closed_at 0: open */
} windows[WINDOWS];
static _Atomic uint32_t windows_opened;
static _Atomic bool is_open;
static const uint32_t own_kinds[] = { GP_CUPTI_CONCURRENT_KERNEL, GP_CUPTI_MEMCPY, GP_CUPTI_MEMCPY2,
				      GP_CUPTI_MEMSET };
#define OWN_KINDS (sizeof own_kinds / sizeof *own_kinds)

/* contexts that the job has disabled while we need the kind */
static struct {
	void *_Atomic context;
	_Atomic uint32_t kind;
} deferred[DEFERRED];

/* enable and disable calls of CUPTI, one after the other */
static _Atomic uint32_t turn;

/* ---- the job ---- */

static _Atomic uint64_t disables;

static bool kind_is_job(uint32_t kind)
{
	return atomic_load(&kinds[kind].is_job) || atomic_load(&kinds[kind].contexts) != 0;
}

/* CUPTI refuses one kind of kernel records while it collects the other. */
static bool kind_displaces_ours(uint32_t kind)
{
	return kind == GP_CUPTI_KERNEL && atomic_load(&kinds[GP_CUPTI_CONCURRENT_KERNEL].is_ours) &&
	       !kind_is_job(GP_CUPTI_CONCURRENT_KERNEL);
}

static bool kind_lingers(uint32_t kind)
{
	const uint64_t left_at = atomic_load(&kinds[kind].left_at_ms);
	return left_at && gp_cupti_now_ms() - left_at < LINGER_MS;
}

/* Whether CUPTI collects the kind for us. */
static bool kind_is_kept(uint32_t kind)
{
	return atomic_load(&kinds[kind].is_ours) &&
	       (kind != GP_CUPTI_CONCURRENT_KERNEL || !kind_is_job(GP_CUPTI_KERNEL));
}

static void kind_begin(const struct gp_cupti *cupti, uint32_t kind)
{
	if (!kind_is_job(kind) && !kind_lingers(kind))
		atomic_store(&kinds[kind].enabled_at, gp_cupti_clock(cupti));
}

/*
 * Before the job's mark goes: another thread that copies records meanwhile must find one of both.
 */
static void kind_leave(uint32_t kind)
{
	atomic_store(&kinds[kind].left_as, atomic_fetch_add(&disables, 1) + 1);
	atomic_store(&kinds[kind].left_at_ms, gp_cupti_now_ms());
}

uint32_t gp_cupti_kind_enable(const struct gp_cupti *cupti, uint32_t kind, bool has_dump)
{
	uint32_t (*enable)(uint32_t) =
		has_dump ? cupti->cuptiActivityEnableAndDump : cupti->cuptiActivityEnable;
	if (kind >= KINDS)
		return enable(kind);
	const bool has_turn = gp_cupti_turn_enter(&turn), is_displaced = kind_displaces_ours(kind);
	if (is_displaced)
		cupti->cuptiActivityDisable(GP_CUPTI_CONCURRENT_KERNEL);
	kind_begin(cupti, kind);
	const bool was = atomic_exchange(&kinds[kind].is_job, true);
	const uint32_t result = enable(kind);
	if (result != GP_CUPTI_SUCCESS) {
		atomic_store(&kinds[kind].is_job, was);
		if (is_displaced)
			cupti->cuptiActivityEnable(GP_CUPTI_CONCURRENT_KERNEL);
	}
	gp_cupti_turn_leave(&turn, has_turn);
	return result;
}

uint32_t gp_cupti_kind_disable(const struct gp_cupti *cupti, uint32_t kind)
{
	uint32_t result = GP_CUPTI_SUCCESS;
	if (kind >= KINDS)
		return cupti->cuptiActivityDisable(kind);
	const bool has_turn = gp_cupti_turn_enter(&turn), was = kind_is_job(kind);
	if (was)
		kind_leave(kind);
	atomic_store(&kinds[kind].is_job, false);
	if (!kind_is_kept(kind))
		result = cupti->cuptiActivityDisable(kind);
	if (was && kind_displaces_ours(kind))
		cupti->cuptiActivityEnable(GP_CUPTI_CONCURRENT_KERNEL);
	gp_cupti_turn_leave(&turn, has_turn);
	return result;
}

uint32_t gp_cupti_kind_enable_context(const struct gp_cupti *cupti, void *context, uint32_t kind)
{
	if (kind >= KINDS)
		return cupti->cuptiActivityEnableContext(context, kind);
	const bool has_turn = gp_cupti_turn_enter(&turn);
	kind_begin(cupti, kind);
	atomic_fetch_add(&kinds[kind].contexts, 1);
	const uint32_t result = cupti->cuptiActivityEnableContext(context, kind);
	if (result != GP_CUPTI_SUCCESS)
		atomic_fetch_sub(&kinds[kind].contexts, 1);
	gp_cupti_turn_leave(&turn, has_turn);
	return result;
}

/* Its disable would end our records of that context, so it comes with ours. */
static bool kind_defer(void *context, uint32_t kind)
{
	for (unsigned k = 0; k < DEFERRED; k++) {
		void *none = NULL;
		if (!atomic_compare_exchange_strong(&deferred[k].context, &none, context))
			continue;
		atomic_store(&deferred[k].kind, kind);
		return true;
	}
	return false;
}

uint32_t gp_cupti_kind_disable_context(const struct gp_cupti *cupti, void *context, uint32_t kind)
{
	uint32_t result = GP_CUPTI_SUCCESS;
	if (kind >= KINDS)
		return cupti->cuptiActivityDisableContext(context, kind);
	const bool has_turn = gp_cupti_turn_enter(&turn);
	if (atomic_load(&kinds[kind].contexts)) {
		kind_leave(kind);
		atomic_fetch_sub(&kinds[kind].contexts, 1);
	}
	if (!atomic_load(&kinds[kind].is_ours) || !context || !kind_defer(context, kind))
		result = cupti->cuptiActivityDisableContext(context, kind);
	gp_cupti_turn_leave(&turn, has_turn);
	return result;
}

bool gp_cupti_job_collects(void)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (kind_is_job(kind))
			return true;
	return false;
}

bool gp_cupti_job_awaits(void)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (kind_is_job(kind) || kind_lingers(kind))
			return true;
	return false;
}

bool gp_cupti_is_for_job(uint32_t kind, uint64_t ended_ns)
{
	if (kind >= KINDS)
		return true;
	if (ended_ns && ended_ns < atomic_load(&kinds[kind].enabled_at))
		return false;
	return kind_is_job(kind) || kind_lingers(kind);
}

uint64_t gp_cupti_kinds_disabled(void)
{
	return atomic_load(&disables);
}

void gp_cupti_kinds_flushed(uint64_t disabled)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (!kind_is_job(kind) && atomic_load(&kinds[kind].left_as) <= disabled)
			atomic_store(&kinds[kind].left_at_ms, 0);
}

void gp_cupti_kinds_forget_job(const struct gp_cupti *cupti)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (kind_is_job(kind)) {
			atomic_store(&kinds[kind].contexts, 0);
			gp_cupti_kind_disable(cupti, kind);
		}
}

/* ---- ours ---- */

uint32_t gp_cupti_kinds_open(const struct gp_cupti *cupti, bool is_trial)
{
	uint32_t result = GP_CUPTI_SUCCESS;
	const bool has_turn = gp_cupti_turn_enter(&turn);
	for (unsigned k = 0; k < OWN_KINDS && result == GP_CUPTI_SUCCESS; k++) {
		const bool is_kernels = own_kinds[k] == GP_CUPTI_CONCURRENT_KERNEL;
		atomic_store(&kinds[own_kinds[k]].is_ours, true);
		if (is_kernels && kind_is_job(GP_CUPTI_KERNEL))
			continue; /* the job's records of the other kind are ours, too */
		const uint32_t enabled = cupti->cuptiActivityEnable(own_kinds[k]);
		if (enabled != GP_CUPTI_SUCCESS)
			atomic_store(&kinds[own_kinds[k]].is_ours, false);
		if (is_kernels)
			result = enabled;
	}
	if (result == GP_CUPTI_SUCCESS && !is_trial) {
		const uint32_t number = atomic_load(&windows_opened);
		atomic_store(&windows[number % WINDOWS].closed_at, 0);
		atomic_store(&windows[number % WINDOWS].opened_at, gp_cupti_clock(cupti));
		atomic_store(&windows_opened, number + 1);
		atomic_store(&is_open, true);
	}
	gp_cupti_turn_leave(&turn, has_turn);
	return result;
}

static void kinds_disable_deferred(const struct gp_cupti *cupti)
{
	for (unsigned k = 0; k < DEFERRED; k++) {
		void *context = atomic_load(&deferred[k].context);
		if (context && cupti->cuptiActivityDisableContext)
			cupti->cuptiActivityDisableContext(context, atomic_load(&deferred[k].kind));
		atomic_store(&deferred[k].context, NULL);
	}
}

void gp_cupti_kinds_close(const struct gp_cupti *cupti)
{
	const bool has_turn = gp_cupti_turn_enter(&turn);
	for (unsigned k = 0; k < OWN_KINDS; k++) {
		const uint32_t kind = own_kinds[k];
		if (!atomic_exchange(&kinds[kind].is_ours, false) || kind_is_job(kind))
			continue;
		if (kind != GP_CUPTI_CONCURRENT_KERNEL || !kind_is_job(GP_CUPTI_KERNEL))
			cupti->cuptiActivityDisable(kind);
	}
	if (atomic_exchange(&is_open, false)) {
		const uint32_t number = atomic_load(&windows_opened) - 1;
		atomic_store(&windows[number % WINDOWS].closed_at, gp_cupti_clock(cupti));
		kinds_disable_deferred(cupti);
	}
	gp_cupti_turn_leave(&turn, has_turn);
}

static bool kinds_are_shared(void)
{
	for (unsigned k = 0; k < OWN_KINDS; k++)
		if (kind_is_job(own_kinds[k]) || kind_lingers(own_kinds[k]))
			return true;
	return kind_is_job(GP_CUPTI_KERNEL) || kind_lingers(GP_CUPTI_KERNEL);
}

bool gp_cupti_is_for_us(uint64_t began_ns, uint64_t ended_ns)
{
	const uint32_t number = atomic_load(&windows_opened);
	if (ended_ns == 0)
		return atomic_load(&is_open) || (number != 0 && !kinds_are_shared());
	for (uint32_t k = 1; k <= number && k <= WINDOWS; k++) {
		const uint32_t place = (number - k) % WINDOWS;
		const uint64_t closed_at = atomic_load(&windows[place].closed_at);
		if (ended_ns >= atomic_load(&windows[place].opened_at))
			/* without the job, CUPTI has no record of a launch after the window */
			return closed_at == 0 || began_ns <= closed_at + QUEUE_NS ||
			       !kinds_are_shared();
	}
	return false;
}
