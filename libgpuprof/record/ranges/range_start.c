/*
 * Ranges outside of stacks, and marks. Open ones are kept in a table, for recordings that begin
 * later and for the captured spans that they opened. A place is claimed by the range's number, and
 * free when that is 0.
 */
#include "../../state/open_ranges.h"
#include "range_own.h"
#include "scope_range.h"

#define TRIES 8u    /* places for a number */
#define STRIDE 997u /* distance between them */
#define UNFILLED (UINT64_C(1) << 63)
#define WAIT_TURNS 1000u
#define NO_THREAD 0x7fffffffu /* of numbers if a thread has no memory of its own */

/* A reader keeps as many at once. */
static struct {
	_Atomic uint64_t number; /* 0: free; with UNFILLED the other fields are not set yet */
	_Atomic uint64_t time;
	_Atomic uint32_t name, domain, source;
	_Atomic uint32_t span; /* number of the captured span that it opened; 0: none */
} started[GP_RANGES_STARTED];
static _Atomic uint32_t unkept;
static _Atomic uint32_t has_any;

static uint32_t range_start_place_of(uint64_t number, unsigned try)
{
	return (uint32_t)((number ^ number >> 32) + try * STRIDE) % GP_RANGES_STARTED;
}

/* False: there was no place for it. */
static bool range_start_keep(uint64_t number, const struct gp_range *range, uint32_t name,
			     uint64_t span)
{
	if (!atomic_load_explicit(&has_any, memory_order_relaxed))
		atomic_store_explicit(&has_any, 1, memory_order_relaxed);
	for (unsigned k = 0; k < TRIES; k++) {
		const uint32_t at = range_start_place_of(number, k);
		uint64_t none = 0;
		/*
		 * partner: the loads in gp_range_starts_write: from here on, recorded events are of
		 * a range that they see
		 */
		if (!atomic_compare_exchange_strong(&started[at].number, &none, number | UNFILLED))
			continue;
		atomic_store_explicit(&started[at].time, gp_clock_now(), memory_order_relaxed);
		atomic_store_explicit(&started[at].name, name, memory_order_relaxed);
		atomic_store_explicit(&started[at].domain, range->domain, memory_order_relaxed);
		atomic_store_explicit(&started[at].source, range->source, memory_order_relaxed);
		atomic_store_explicit(&started[at].span, (uint32_t)span, memory_order_relaxed);
		/* partner: the acquire load in filled */
		atomic_store_explicit(&started[at].number, number, memory_order_release);
		return true;
	}
	atomic_fetch_add_explicit(&unkept, 1, memory_order_relaxed);
	return false;
}

/* Its data; zeros if it was not kept, or has ended. */
struct kept {
	uint32_t name, span;
};

static struct kept range_start_forget(uint64_t number)
{
	for (unsigned k = 0; k < TRIES; k++) {
		uint64_t is = number;
		const uint32_t at = range_start_place_of(number, k);
		if (atomic_load_explicit(&started[at].number, memory_order_acquire) != number)
			continue;
		const struct kept kept = {
			atomic_load_explicit(&started[at].name, memory_order_relaxed),
			atomic_load_explicit(&started[at].span, memory_order_relaxed)
		};
		if (atomic_compare_exchange_strong(&started[at].number, &is, 0))
			return kept;
	}
	return (struct kept){ 0, 0 };
}

/* RANGE_START, or MARK. */
GP_HOT void record(enum gp_kind kind, const struct gp_range *range, uint32_t name, uint64_t number)
{
	if (!gp_range_enter())
		return;
	gp_range_need_written(name, range);
	gp_range_record_begin(kind, range, name, number, gp_clock_now(), 0);
	gp_leave();
}

static GP_COLD void lose(enum gp_kind kind)
{
	if (!gp_range_enter())
		return;
	gp_count_lost(kind);
	gp_leave();
}

static uint64_t range_start_number_of(struct gp_range_thread *own)
{
	static _Atomic uint32_t others;
	return own ? (uint64_t)own->number << 32 | ++own->starts :
		     (uint64_t)NO_THREAD << 32 | (atomic_fetch_add(&others, 1) + 1u);
}

GP_HOT_TEXT uint64_t gp_range_start(const struct gp_range *range)
{
	struct gp_range_thread *own = gp_range_own();
	const uint64_t number = range_start_number_of(own);
	if (gp_unlikely(!own)) {
		lose(GP_RANGE_START);
		return number;
	}
	const uint64_t span =
		gp_unlikely(gp_scope_heeds_ranges()) ? gp_scope_range_begins(range) : 0;
	const uint32_t name = gp_range_name_get(own, range);
	if (gp_unlikely(!range_start_keep(number, range, name, span)) && span != 0)
		gp_scope_range_ended(0, span); /* its end will not be found */
	record(GP_RANGE_START, range, name, number);
	return number;
}

GP_HOT_TEXT void gp_range_mark(const struct gp_range *range)
{
	if (atomic_load_explicit(&gp_local->word, memory_order_relaxed) == 0)
		return;
	struct gp_range_thread *own = gp_range_own();
	if (gp_likely(own != NULL))
		record(GP_MARK, range, gp_range_name_get(own, range), 0);
	else
		lose(GP_MARK);
}

static void record_end(enum gp_range_source source, uint64_t number)
{
	gp_put((struct gp_record){ .kind = GP_RANGE_END,
				   .device = GP_DEVICE_UNKNOWN,
				   .range_end.source = source,
				   .range_end.range = number });
}

GP_HOT_TEXT void gp_range_end(enum gp_range_source source, uint64_t number)
{
	const struct kept ended = range_start_forget(number);
	if (gp_range_enter()) {
		record_end(source, number);
		gp_leave();
	}
	if (gp_unlikely(gp_scope_heeds_ranges()))
		gp_scope_range_ended(ended.name, ended.span);
}

/* ---- recorded again ---- */

/* 0: free. Waits a moment for one that is just being filled. */
static uint64_t filled(uint32_t at)
{
	uint64_t number = atomic_load(&started[at].number);
	for (unsigned k = 0; number & UNFILLED && k < WAIT_TURNS; k++)
		number = atomic_load(&started[at].number);
	return number & UNFILLED ? 0 : number;
}

static void range_start_write(uint64_t number, uint32_t name, uint32_t source, uint32_t domain,
			      uint64_t since)
{
	gp_put((struct gp_record){
		.kind = GP_RANGE_STARTED,
		.device = GP_DEVICE_UNKNOWN,
		.aux = name,
		.range_started = {
			.source = source, .domain = domain, .range = number, .since = since } });
}

static void write_one(uint32_t at, uint64_t number)
{
	const uint32_t name = atomic_load_explicit(&started[at].name, memory_order_relaxed);
	const uint32_t source = atomic_load_explicit(&started[at].source, memory_order_relaxed);
	const uint32_t domain = atomic_load_explicit(&started[at].domain, memory_order_relaxed);
	const uint64_t since = atomic_load_explicit(&started[at].time, memory_order_relaxed);
	if (atomic_load(&started[at].number) != number)
		return;
	gp_range_need_written(name, &(struct gp_range){ .name = name });
	range_start_write(number, name, source, domain, since);
	if (atomic_load(&started[at].number) != number) /* its end may have been recorded before */
		record_end((enum gp_range_source)source, number);
}

void gp_range_starts_write(bool goes_on)
{
	const uint64_t from = gp_clock_now();
	/* most jobs start none: the table is not touched */
	const uint32_t places = atomic_load(&has_any) ? GP_RANGES_STARTED : 0;
	for (uint32_t at = 0; at < places; at++) {
		const uint64_t number = filled(at);
		if (number != 0)
			write_one(at, number);
	}
	if (goes_on && places != 0 && atomic_load_explicit(&unkept, memory_order_relaxed) == 0)
		range_start_write(0, 0, 0, 0, from);
}
