/* Opens and closes the scope, and records both. */
#include "scope.h"

#include "../recorder.h"

/*
 * The result of the last change, in memory that a child inherits: gp_local is wiped there. It is
 * written beside the exchange of the word, not with it. Racing threads may see the other's moment,
 * which is equally valid.
 */
static struct {
	_Atomic uint32_t is_begun; /* this process or an ancestor has begun */
	_Atomic uint32_t level;	   /* enum gp_level; OFF: no events are recorded */
	_Atomic uint32_t is_inside;
	_Atomic uint32_t is_delay_over;
	_Atomic uint32_t by;	    /* enum gp_scope_by: how it was opened */
	_Atomic uint64_t opened_ns; /* MONOTONIC_RAW */
	_Atomic uint64_t ranges;    /* number of ranges that have opened it */
	/*
	 * Number of the open span if the end of its range closes it; 0: none. Set after the
	 * word was exchanged, and cleared before any close exchanges it. So no thread finds the
	 * number of an old span with the word of the next one.
	 */
	_Atomic uint64_t span;
} scope;

static uint32_t level_inside(void)
{
	return gp_settings.has_launches ? GP_LEVEL_ALL : GP_LEVEL_MEMORY;
}

static bool is_delay_over(uint64_t now)
{
	return now >= gp_settings.job_ns && now - gp_settings.job_ns >= gp_settings.scope.delay_ns;
}

/* ---- changes ---- */

/* False: no change was needed, or recording is off. Else the number of the change. */
static bool change(bool to_open, uint32_t level, uint32_t *number)
{
	uint32_t word = atomic_load(&gp_local->word), next;
	do {
		if (word == 0 || gp_word_level(word) <= GP_LEVEL_OFF ||
		    gp_word_is_outside(word) != to_open)
			return false;
		next = gp_word_next(word, level, !to_open);
		/*
		 * partner: the relaxed load in gp_enter; a thread may record a few events more or
		 * less in the old way, which is harmless
		 */
	} while (!atomic_compare_exchange_weak(&gp_local->word, &word, next));
	atomic_store(&gp_control->level, level);
	atomic_store(&scope.level, level);
	atomic_store(&scope.is_inside, to_open);
	*number = gp_word_changes(next);
	return true;
}

/* State that no ancestor process has decided. */
static void decide(void)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	bool is_over = is_delay_over(gp_now_ns());
	bool is_inside = (rule->from == GP_SCOPE_ALL && is_over) ||
			 (rule->from == GP_SCOPE_STEPS && rule->first_step == 1);
	if (atomic_exchange(&scope.is_begun, 1))
		return;
	atomic_store(&scope.is_delay_over, is_over);
	atomic_store(&scope.is_inside, is_inside);
	atomic_store(&scope.opened_ns, gp_now_ns());
	atomic_store(&scope.by, rule->delay_ns		     ? GP_SCOPE_BY_DELAY :
				rule->from == GP_SCOPE_STEPS ? GP_SCOPE_BY_STEP :
							       GP_SCOPE_BY_START);
	atomic_store(&scope.ranges, is_inside && rule->from == GP_SCOPE_STEPS);
	atomic_store(&scope.level, !gp_settings.is_started ? (uint32_t)GP_LEVEL_OFF :
				   is_inside		   ? level_inside() :
							     (uint32_t)GP_LEVEL_MEMORY);
}

/* The initial state, before the recorder runs in this process. False: it runs. */
static bool change_before(bool to_open, bool *is_done)
{
	if (atomic_load(&gp_local->word) != 0)
		return false;
	decide();
	uint32_t is_inside = !to_open;
	*is_done = gp_settings.is_started &&
		   atomic_compare_exchange_strong(&scope.is_inside, &is_inside, to_open);
	if (*is_done)
		atomic_store(&scope.level, to_open ? level_inside() : (uint32_t)GP_LEVEL_MEMORY);
	return true;
}

static bool open_with(enum gp_scope_by by, uint32_t level, uint32_t *number)
{
	if (atomic_load(&scope.is_inside))
		return false;
	atomic_store(&scope.opened_ns, gp_now_ns());
	if (!change(true, level, number))
		return false;
	atomic_store(&scope.by, by);
	return true;
}

/* ---- the last span ---- */

bool gp_recorder_is_requested(void)
{
	return gp_recorder_is_initialised && gp_settings.is_on && !gp_scope_is_over();
}

/* Commands end spans, never the recording: the user may begin again. */
static bool is_last(void)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	return rule->then == GP_SCOPE_STOP &&
	       (rule->from == GP_SCOPE_ALL ? atomic_load(&scope.is_delay_over) != 0 :
					     atomic_load(&scope.ranges) >= rule->times);
}

/*
 * From here on no event is recorded. A thread that sees the level frees memory without a record.
 * The driver may return that memory to another thread that records it. Such events have order
 * numbers taken after this point, and are left out.
 */
static void stop_recording(void)
{
	uint32_t word = atomic_load(&gp_local->word);
	/* partner: the load in is_left_out */
	atomic_store(&gp_recorder.ends_before, atomic_load(&gp_control->next_order));
	while (!atomic_compare_exchange_weak(&gp_local->word, &word,
					     gp_word_next(word, GP_LEVEL_OFF, true)))
		;
	atomic_store(&scope.level, (uint32_t)GP_LEVEL_OFF);
	atomic_store(&gp_control->level, GP_LEVEL_OFF);
}

void gp_scope_end(enum gp_scope_by by)
{
	atomic_store(&gp_scope_ended_by, by);
	if (atomic_load(&gp_local->word) == 0)
		return;
	stop_recording();
	atomic_store(&gp_recorder.is_ending, 1);
	gp_futex_wake(&gp_recorder.wake);
}

/* Closes a span, and records that. */
static void end_if_last(enum gp_scope_by by)
{
	if (is_last())
		gp_scope_end(by);
}

/* ---- ranges of the job ---- */

static void record_change(bool is_open, enum gp_scope_by by, uint32_t number, uint64_t time)
{
	struct gp_record *r = gp_reserve_at(GP_SCOPE, time);
	if (!r)
		return;
	r->device = GP_DEVICE_UNKNOWN;
	r->aux = is_open;
	r->scope.number = number;
	r->scope.by = by;
	r->scope.since = is_open ? r->time : 0;
	gp_commit_memory(r);
}

/* One more that a range opened: returns its number. */
static uint64_t begin_span(void)
{
	const uint64_t span = atomic_fetch_add(&scope.ranges, 1) + 1;
	atomic_store(&scope.span, span);
	return span;
}

uint64_t gp_scope_open(enum gp_scope_by by)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	uint32_t number;
	bool is_done;
	/* before the change, so that events recorded because of it come later */
	uint64_t time = gp_clock_now();
	if (rule->times && atomic_load(&scope.ranges) >= rule->times)
		return 0;
	if (change_before(true, &is_done)) {
		if (!is_done)
			return 0;
		atomic_store(&scope.by, by);
		atomic_store(&scope.opened_ns, gp_now_ns());
		return begin_span();
	}
	if (!open_with(by, level_inside(), &number))
		return 0;
	const uint64_t span = begin_span();
	record_change(true, by, number, time);
	return span;
}

static bool take_span(uint64_t span)
{
	if (span != GP_SCOPE_ANY)
		return atomic_compare_exchange_strong(&scope.span, &span, 0);
	atomic_store(&scope.span, 0);
	return true;
}

bool gp_scope_close(enum gp_scope_by by, uint64_t span)
{
	uint32_t number;
	bool is_done;
	if (gp_settings.scope.then == GP_SCOPE_NONE || atomic_load(&scope.by) != by ||
	    !take_span(span))
		return false;
	if (change_before(false, &is_done)) {
		/* no event of it was seen: it does not count */
		if (is_done)
			atomic_fetch_sub(&scope.ranges, 1);
		return is_done;
	}
	if (!change(false, GP_LEVEL_MEMORY, &number))
		return false;
	record_change(false, by, number, gp_clock_now());
	/* the drain thread records it, too; but the job may be killed before its next turn */
	if (is_last())
		gp_define_fact(GP_FACT_ENDED, by, NULL);
	end_if_last(by);
	return true;
}

/* ---- the clock and commands ---- */

static void scope_write(struct gp_recorder *r, bool is_open, enum gp_scope_by by, uint32_t number,
			uint64_t since)
{
	struct gp_record record = { .kind = GP_SCOPE, .device = GP_DEVICE_UNKNOWN, .aux = is_open };
	record.scope.number = number;
	record.scope.by = by;
	/* for a close without a recorded open: when it was opened */
	record.scope.since = is_open || !r->is_scope_written ? since : 0;
	gp_drain_write(r, &record, NULL);
	r->is_scope_written = true;
}

static void open_now(struct gp_recorder *r, enum gp_scope_by by, uint32_t level)
{
	uint32_t number;
	uint64_t time = gp_clock_now();
	if (open_with(by, level, &number))
		scope_write(r, true, by, number, time);
}

static bool close_now(struct gp_recorder *r, enum gp_scope_by by)
{
	uint32_t number;
	atomic_store(&scope.span, 0);
	if (!change(false, GP_LEVEL_MEMORY, &number))
		return false;
	scope_write(r, false, by, number, r->scope_since);
	return true;
}

void gp_scope_write_end(struct gp_recorder *r)
{
	if (!gp_scope_is_over())
		return;
	gp_drain_write_fact(r, GP_FACT_ENDED, atomic_load(&gp_scope_ended_by), NULL);
	gp_log(false, "the recording ends before the job:", r->writer.path);
}

/* A change from or to level off: events meanwhile are unknown. */
static void switch_recording(struct gp_recorder *r, uint32_t word, uint32_t level)
{
	const bool was_off = gp_word_level(word) == GP_LEVEL_OFF, is_off = level == GP_LEVEL_OFF;
	const bool was_outside = gp_word_is_outside(word),
		   is_outside = is_off ? was_outside : level == GP_LEVEL_MEMORY;
	const uint32_t next = gp_word_next(word, level, is_outside);
	atomic_store(&scope.span, 0);
	if (was_off)
		gp_drain_write(r, &(struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_STOPPED },
			       NULL);
	r->scope_since = gp_clock_now();
	if (!is_off && (is_outside != was_outside || (is_outside && !r->is_scope_written)))
		scope_write(r, !is_outside, GP_SCOPE_BY_ORDER, gp_word_changes(next),
			    is_outside ? 0 : r->scope_since);
	if (!is_outside) {
		atomic_store(&scope.opened_ns, gp_now_ns());
		atomic_store(&scope.by, GP_SCOPE_BY_ORDER);
	}
	/* a thread of the job may have ended the recording meanwhile: then that is final */
	if (!atomic_compare_exchange_strong(&gp_local->word, &word, next))
		return;
	uint32_t written = GP_STARTS_WRITTEN;
	if (is_off)
		atomic_compare_exchange_strong(&gp_local->starts_written, &written,
					       GP_STARTS_STOPPED);
	atomic_store(&scope.is_inside, !is_outside);
	atomic_store(&scope.level, level);
	atomic_store(&gp_control->level, level);
}

static void obey_order(struct gp_recorder *r, uint32_t requested)
{
	uint32_t word = atomic_load(&gp_local->word), level = gp_word_level(word);
	if (requested < GP_LEVEL_OFF || requested > GP_LEVEL_ALL)
		return;
	if (requested == GP_LEVEL_OFF || level == GP_LEVEL_OFF) {
		if (requested != level)
			switch_recording(r, word, requested);
	} else if (requested == GP_LEVEL_MEMORY) {
		close_now(r, GP_SCOPE_BY_ORDER);
	} else if (!atomic_load(&scope.is_inside)) {
		open_now(r, GP_SCOPE_BY_ORDER, GP_LEVEL_ALL);
	} else if (level != GP_LEVEL_ALL) { /* launches were left out all the time */
		if (atomic_compare_exchange_strong(&gp_local->word, &word,
						   gp_word_next(word, GP_LEVEL_ALL, false)))
			atomic_store(&gp_control->level, GP_LEVEL_ALL);
	}
}

static void obey(struct gp_recorder *r)
{
	/* partner: the store in gp_process_set_level, of another process */
	uint32_t requested = atomic_load(&gp_control->requested_level);
	if (requested == 0)
		return;
	obey_order(r, requested);
	/* done, unless a newer one has come */
	atomic_compare_exchange_strong(&gp_control->requested_level, &requested, 0);
}

void gp_scope_tend(struct gp_recorder *r)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	if (atomic_load(&r->is_ending)) /* then no span begins again, and no last span ends */
		return;
	obey(r);
	if (rule->delay_ns && !atomic_load(&scope.is_delay_over) && is_delay_over(gp_now_ns())) {
		atomic_store(&scope.is_delay_over, 1);
		open_now(r, GP_SCOPE_BY_DELAY, level_inside());
	}
	if (rule->duration_ns && atomic_load(&scope.is_inside) &&
	    gp_now_ns() - atomic_load(&scope.opened_ns) >= rule->duration_ns &&
	    close_now(r, GP_SCOPE_BY_DURATION))
		end_if_last(GP_SCOPE_BY_DURATION);
}

uint64_t gp_scope_sleep_ns(uint64_t most_ns)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	uint64_t due, now;
	if (rule->delay_ns && !atomic_load(&scope.is_delay_over))
		due = gp_settings.job_ns + rule->delay_ns;
	else if (rule->duration_ns && atomic_load(&scope.is_inside))
		due = atomic_load(&scope.opened_ns) + rule->duration_ns;
	else
		return most_ns;
	now = gp_now_ns();
	return due <= now ? 1 : due - now < most_ns ? due - now : most_ns;
}

/* ---- a process begins ---- */

uint32_t gp_scope_begin(struct gp_recorder *r)
{
	decide();
	uint32_t level = atomic_load(&scope.level);
	r->scope_since = r->start.ticks;
	return gp_word_next(0, level, level != GP_LEVEL_OFF && !atomic_load(&scope.is_inside));
}

void gp_scope_write(struct gp_recorder *r)
{
	const char *words = gp_settings.scope_words;
	bool is_inside = !gp_word_is_outside(r->first_word);
	if (*words) {
		gp_drain_write_fact(r, GP_FACT_SCOPE, 0, words);
		gp_log(false, "captures:", words);
	}
	if (gp_word_level(r->first_word) == GP_LEVEL_OFF || (is_inside && !*words))
		return;
	r->is_scope_written = true;
	scope_write(r, is_inside,
		    is_inside ? (enum gp_scope_by)atomic_load(&scope.by) : GP_SCOPE_BY_START,
		    gp_word_changes(r->first_word), r->scope_since);
}
