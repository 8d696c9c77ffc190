/*
 * Who held memory at one moment. The first replay finds the moment of each curve of each device, as
 * a number of events; the second stops there and adds up the live set by stack. What the curve says
 * and no live allocation explains becomes a use of its own that says why: the uses always add up.
 */
#include <stdlib.h>
#include <string.h>

#include "../read/recording.h"
#include "use_table.h"

#define TRIES_MAX 16u
#define CUDA_ERROR_OUT_OF_MEMORY 2u
#define NO_EVENT UINT64_MAX
#define RECENT 256u    /* allocations that may be filled after the moment */
#define SETTLING 1000u /* events until then */

static const char without_stack[] = "no stack was recorded";
static const char before_start[] = "from before the recording began, or while it stood still";
static const char perhaps_gone[] = "some of it may be gone: events are missing";
static const char lost[] = "what made it was lost";
static const char unaccounted[] = "no event accounts for it";

/* ---- the moments ---- */

struct top_of_curve {
	uint64_t bytes;
	uint64_t event; /* events applied by then */
	int64_t at_ns;
};

struct search {
	struct gp_recording *recording;
	struct gp_module_epochs epochs;
	enum gp_moment moment;
	int64_t until_ns;
	struct top_of_curve peak[GP_DEVICES][GP_CURVES];
	/* the first of each device: told by the framework, and refused by the driver */
	struct first_oom {
		uint64_t event; /* NO_EVENT: none */
		int64_t at_ns;
	} oom[GP_DEVICES], refused[GP_DEVICES];
	uint64_t last; /* event: the last one not later than until_ns */
	uint64_t moved_peak[GP_DEVICES][GP_CURVES]; /* since the start, at the end of the replay */
	int64_t moved_peak_ns[GP_DEVICES][GP_CURVES];
};

static void see_device(struct search *s, unsigned device, int64_t at_ns)
{
	const struct gp_live_device *d = gp_live_device(s->recording->live, device);
	for (unsigned c = 0; c < GP_CURVES; c++) {
		struct top_of_curve *peak = &s->peak[device][c];
		if (d->curve[c].now_bytes > peak->bytes)
			*peak = (struct top_of_curve){ d->curve[c].now_bytes, s->recording->seen,
						       at_ns };
	}
}

static void see_all(struct search *s, int64_t at_ns)
{
	for (unsigned device = 0; device < GP_DEVICES; device++)
		see_device(s, device, at_ns);
	gp_live_take_moved(s->recording->live);
}

static void note_oom(struct search *s, const struct gp_record *r, int64_t at_ns)
{
	bool is_refused = r->kind == GP_ALLOC_FAILED && r->code == CUDA_ERROR_OUT_OF_MEMORY;
	if ((r->kind != GP_OOM && !is_refused) || r->device >= GP_DEVICES)
		return;
	struct first_oom *first = is_refused ? &s->refused[r->device] : &s->oom[r->device];
	if (first->event == NO_EVENT)
		*first = (struct first_oom){ s->recording->seen, at_ns };
}

static void see_event(struct search *s, const struct gp_record *r, int64_t at_ns)
{
	uint64_t moved = gp_live_take_moved(s->recording->live);
	for (; moved != 0; moved &= moved - 1)
		see_device(s, (unsigned)__builtin_ctzll(moved), at_ns);
	note_oom(s, r, at_ns);
	if (at_ns <= s->until_ns)
		s->last = s->recording->seen;
}

static void keep_peaks(struct search *s)
{
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_live_device *d = gp_live_device(s->recording->live, device);
		for (unsigned c = 0; c < GP_CURVES; c++) {
			s->moved_peak[device][c] = d->curve[c].peak_bytes;
			s->moved_peak_ns[device][c] =
				gp_tick_ns(&s->recording->tick, d->curve[c].peak_time);
		}
	}
}

static enum gp_status find_moments(struct search *s, int64_t kept_from_ns)
{
	struct gp_recording *r = s->recording;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		s->oom[device].event = s->refused[device].event = NO_EVENT;
	enum gp_status status = gp_recording_rewind(r);
	const struct gp_live *live = r->live;
	if (status == GP_OK)
		see_all(s, kept_from_ns);
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_step(r, &thread, &status);
		if (record == NULL)
			break;
		int64_t at_ns = gp_tick_ns(&r->tick, record->time);
		if (r->live != live) /* a checkpoint put it right after damage */
			see_all(s, at_ns);
		live = r->live;
		see_event(s, record, at_ns);
	}
	keep_peaks(s);
	return status == GP_END ? GP_OK : status;
}

/* ---- the live set at a moment ---- */

struct reservation {
	uint64_t address, bytes, mapped, told;
	struct gp_use like; /* for what was mapped in it unseen */
	uint8_t device;
};

struct collection {
	struct gp_recording *recording;
	uint64_t gap; /* what is older may be gone */
	struct gp_holders *holders;
	struct gp_use_table table, stale;
	uint64_t sum, stale_sum;
	struct reservation *reservation; /* segments of the framework, by address */
	size_t reservations;
	uint64_t *mapped; /* orders of physical memory that is mapped in them, sorted */
	size_t mappeds, room;
	bool is_out_of_memory;
};

static struct reservation *reservation_of(const struct collection *c, uint64_t address)
{
	size_t low = 0, high = c->reservations;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (c->reservation[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	struct reservation *r = low > 0 ? &c->reservation[low - 1] : NULL;
	return r != NULL && address - r->address < r->bytes ? r : NULL;
}

static int compare_addresses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static bool is_mapped(const struct collection *c, uint64_t order)
{
	return c->mappeds > 0 &&
	       bsearch(&order, c->mapped, c->mappeds, sizeof order, compare_addresses) != NULL;
}

static void *grow(struct collection *c, void *array, size_t used, size_t size)
{
	if ((used & (used - 1)) != 0)
		return array;
	void *grown = realloc(array, (used ? used * 2 : 1) * size);
	c->is_out_of_memory |= grown == NULL;
	return grown;
}

static struct gp_use like_of(const struct collection *c, const struct gp_live_entry *e)
{
	return (struct gp_use){ .stack = e->stack,
				.at_ns = gp_tick_ns(&c->recording->tick, e->time),
				.without = e->stack ? NULL : without_stack,
				.space = e->space };
}

static void list_reservation(void *context, const struct gp_live_entry *e)
{
	struct collection *c = context;
	if (e->space != GP_SPACE_RESERVATION || (e->flags & GP_LIVE_SEGMENT) == 0 ||
	    c->is_out_of_memory)
		return;
	struct reservation *grown = grow(c, c->reservation, c->reservations, sizeof *grown);
	if (grown == NULL)
		return;
	c->reservation = grown;
	c->reservation[c->reservations++] = (struct reservation){ .address = e->address,
								  .bytes = e->bytes,
								  .mapped = e->stream,
								  .like = like_of(c, e),
								  .device = e->device };
}

static void list_mapped(void *context, const struct gp_live_entry *e)
{
	struct collection *c = context;
	if (e->space != GP_SPACE_MAPPED || c->is_out_of_memory ||
	    reservation_of(c, e->address) == NULL)
		return;
	uint64_t *grown = grow(c, c->mapped, c->mappeds, sizeof *grown);
	if (grown == NULL)
		return;
	c->mapped = grown;
	c->mapped[c->mappeds++] = e->stream;
}

static void add(struct collection *c, const struct gp_use *like, uint64_t bytes, uint64_t order)
{
	bool is_stale = order < c->gap;
	struct gp_use *use = gp_use_table_get(is_stale ? &c->stale : &c->table, like);
	if (use == NULL) {
		c->is_out_of_memory = true;
		return;
	}
	use->bytes += bytes;
	use->count++;
	*(is_stale ? &c->stale_sum : &c->sum) += bytes;
}

/* What of an entry is in the curve that is asked for. */
static void collect(void *context, const struct gp_live_entry *e)
{
	struct collection *c = context;
	struct gp_use like = like_of(c, e);
	bool is_segment = (e->flags & GP_LIVE_SEGMENT) != 0,
	     is_own = e->device == c->holders->device;
	struct reservation *in = NULL;
	switch (c->holders->of) {
	case GP_CURVE_ALLOCATED:
		if (is_own && e->space == GP_SPACE_BLOCK)
			add(c, &like, e->bytes, e->order);
		break;
	case GP_CURVE_DRIVER:
		like.is_segment =
			is_segment || (e->space == GP_SPACE_PHYSICAL && is_mapped(c, e->order));
		if (is_own && gp_live_is_driver(e))
			add(c, &like, e->bytes, e->order);
		break;
	case GP_CURVE_RESERVED:
		like.is_segment = true;
		if (is_own && is_segment && e->space != GP_SPACE_RESERVATION)
			add(c, &like, e->bytes, e->order);
		in = e->space == GP_SPACE_MAPPED ? reservation_of(c, e->address) : NULL;
		if (in == NULL || in->device != c->holders->device)
			break;
		in->told += e->bytes;
		add(c, &like, e->bytes, e->order);
		break;
	case GP_CURVES:
		break;
	}
}

static void walk(struct collection *c, gp_live_visit *visit)
{
	gp_live_walk_begin(c->recording->live, visit, c);
	while (!gp_live_walk_more(c->recording->live, 65536))
		;
}

/* Moves what may be gone to what is there, when all of it can be. */
static void admit_stale(struct collection *c)
{
	for (size_t k = 0; k < c->stale.uses; k++) {
		const struct gp_use *from = &c->stale.use[k];
		struct gp_use *to = gp_use_table_get(&c->table, from);
		if (to == NULL) {
			c->is_out_of_memory = true;
			return;
		}
		to->bytes += from->bytes;
		to->count += from->count;
	}
	c->sum += c->stale_sum;
}

static void explain(struct collection *c, const char *without, uint64_t bytes)
{
	struct gp_use like = { .without = without, .at_ns = c->holders->at_ns };
	struct gp_use *use = gp_use_table_get(&c->table, &like);
	c->is_out_of_memory |= use == NULL;
	if (use != NULL)
		use->bytes += bytes; /* of how many nobody knows */
	c->sum += bytes;
	c->holders->uncertain_bytes += bytes;
}

static const char *why_missing(const struct gp_info *info)
{
	if (info->has_gap || info->has_framework_late)
		return before_start;
	return info->lost_memory > 0 || info->is_damaged || info->has_hole ? lost : unaccounted;
}

/* The uses add up to what the curve says, or to what is certainly there. */
static void balance(struct collection *c)
{
	struct gp_holders *h = c->holders;
	bool is_all_there = c->sum + c->stale_sum <= h->live_bytes;
	if (is_all_there)
		admit_stale(c);
	if (c->sum < h->live_bytes)
		explain(c, is_all_there ? why_missing(&c->recording->info) : perhaps_gone,
			h->live_bytes - c->sum);
	h->live_bytes = c->sum;
}

/* Into `out`, which is the caller's also on failure. */
static enum gp_status take(struct search *s, struct gp_holders *h, struct gp_use_table *out)
{
	struct collection c = { .recording = s->recording,
				.holders = h,
				.table.epochs = &s->epochs,
				.stale.epochs = &s->epochs,
				.gap = gp_live_count(s->recording->live, GP_COUNT_GAP_ORDER) };
	if (h->of != GP_CURVE_ALLOCATED) {
		walk(&c, list_reservation);
		if (c.reservations > 1)
			qsort(c.reservation, c.reservations, sizeof *c.reservation,
			      compare_addresses);
		if (c.reservations > 0 && h->of == GP_CURVE_DRIVER)
			walk(&c, list_mapped);
		if (c.mappeds > 1)
			qsort(c.mapped, c.mappeds, sizeof *c.mapped, compare_addresses);
	}
	if (!c.is_out_of_memory)
		walk(&c, collect);
	if (!c.is_out_of_memory)
		balance(&c);
	*out = c.table;
	gp_use_table_release(&c.stale);
	free(c.reservation);
	free(c.mapped);
	return c.is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

/* ---- the second replay ---- */

/*
 * A driver's peak is the moment of an allocation, and what the framework will put into it is only
 * seen afterwards: the next events tell whether it is one of its segments.
 */
struct pending {
	struct gp_record alloc;
	size_t holders;	 /* whose; SIZE_MAX: it is settled */
	uint64_t mapped; /* PHYSICAL: where; 0: not yet */
};

struct taking {
	struct search *search;
	struct gp_peak *out;
	size_t left;
	uint64_t due[GP_DEVICES * GP_CURVES];
	struct gp_use_table table[GP_DEVICES * GP_CURVES];
	struct gp_record recent[RECENT]; /* the last ALLOC events, a ring */
	uint64_t recents;
	struct pending *pending;
	size_t pendings;
	uint64_t settle_until; /* events */
};

/* Memory that is there, and in which the framework has nothing yet. */
static bool is_open(const struct gp_live *live, const struct gp_record *alloc)
{
	const struct gp_live_entry *e = gp_live_find(live, alloc->space, alloc->alloc.address);
	return e != NULL && e->order == alloc->order && (e->flags & GP_LIVE_SEGMENT) == 0 &&
	       (e->space != GP_SPACE_PHYSICAL || e->stream == 0) && gp_live_is_driver(e);
}

static enum gp_status list_pending(struct taking *t, size_t holders)
{
	const struct gp_recording *r = t->search->recording;
	struct pending *grown = realloc(t->pending, (t->pendings + RECENT) * sizeof *grown);
	if (grown == NULL)
		return GP_E_MEMORY;
	t->pending = grown;
	for (size_t k = 0; k < RECENT && k < t->recents; k++) {
		const struct gp_record *alloc = &t->recent[k];
		if (alloc->device == t->out->holder[holders].device && is_open(r->live, alloc))
			t->pending[t->pendings++] =
				(struct pending){ .alloc = *alloc, .holders = holders };
	}
	t->settle_until = r->seen + SETTLING;
	return GP_OK;
}

/* Those whose moment is now. */
static enum gp_status take_due(struct taking *t)
{
	const struct gp_recording *r = t->search->recording;
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < t->out->holders && status == GP_OK; k++) {
		struct gp_holders *h = &t->out->holder[k];
		if (t->due[k] != r->seen)
			continue;
		const struct gp_live_device *d = gp_live_device(r->live, h->device);
		h->live_bytes = d->curve[h->of].now_bytes;
		status = take(t->search, h, &t->table[k]);
		t->left--;
		if (status == GP_OK && h->of == GP_CURVE_DRIVER)
			status = list_pending(t, k);
	}
	return status;
}

/* What the entry lies in, if that is a segment by now. */
static bool is_segment_now(const struct gp_live *live, struct pending *p,
			   const struct gp_record *last)
{
	const struct gp_record *a = &p->alloc;
	const struct gp_live_entry *e;
	if (a->space == GP_SPACE_PHYSICAL) {
		if (last->kind == GP_MAP && last->map.handle == a->alloc.address && !p->mapped)
			p->mapped = last->map.address;
		e = p->mapped ? gp_live_find(live, GP_SPACE_RESERVATION, p->mapped) : NULL;
	} else {
		e = gp_live_find(live, a->space, a->alloc.address);
		e = e != NULL && e->order == a->order ? e : NULL;
	}
	return e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0;
}

static enum gp_status make_segment(struct gp_use_table *table, const struct gp_record *alloc,
				   int64_t at_ns)
{
	struct gp_use like = { .stack = alloc->stack,
			       .at_ns = at_ns,
			       .without = alloc->stack ? NULL : without_stack,
			       .space = alloc->space };
	struct gp_use *from = gp_use_table_get(table, &like);
	if (from == NULL)
		return GP_E_MEMORY;
	if (from->count == 0 || from->bytes < alloc->alloc.bytes)
		return GP_OK; /* it was told as one that may be gone */
	from->bytes -= alloc->alloc.bytes;
	from->count--;
	like.is_segment = true;
	struct gp_use *to = gp_use_table_get(table, &like);
	if (to == NULL)
		return GP_E_MEMORY;
	to->bytes += alloc->alloc.bytes;
	to->count++;
	return GP_OK;
}

static enum gp_status settle(struct taking *t, const struct gp_record *last)
{
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < t->pendings && status == GP_OK; k++) {
		struct pending *p = &t->pending[k];
		if (p->holders == SIZE_MAX || !is_segment_now(t->search->recording->live, p, last))
			continue;
		status = make_segment(&t->table[p->holders], &p->alloc,
				      gp_tick_ns(&t->search->recording->tick, p->alloc.time));
		p->holders = SIZE_MAX;
	}
	if (t->search->recording->seen >= t->settle_until)
		t->pendings = 0;
	return status;
}

static enum gp_status replay_to(struct taking *t)
{
	struct gp_recording *r = t->search->recording;
	enum gp_status status = gp_recording_rewind(r);
	if (status == GP_OK)
		status = take_due(t);
	while (status == GP_OK && t->left + t->pendings > 0) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_step(r, &thread, &status);
		if (record == NULL)
			break;
		if (record->kind == GP_ALLOC)
			t->recent[t->recents++ % RECENT] = *record;
		bool is_telling = record->kind == GP_MAP || record->kind == GP_BLOCK_ALLOC;
		if (t->pendings > 0 && (is_telling || r->seen >= t->settle_until))
			status = settle(t, record);
		if (status == GP_OK)
			status = take_due(t);
	}
	return status == GP_END ? GP_OK : status;
}

static bool is_asked(const struct search *s, unsigned device, unsigned curve,
		     struct gp_holders *out, uint64_t *due)
{
	const struct top_of_curve *peak = &s->peak[device][curve];
	const struct first_oom *oom;
	*out = (struct gp_holders){ .device = device,
				    .of = (enum gp_curve)curve,
				    .peak_bytes = s->moved_peak[device][curve],
				    .peak_at_ns = s->moved_peak_ns[device][curve] };
	if (out->peak_bytes == 0 && peak->bytes == 0)
		return false;
	switch (s->moment) {
	case GP_AT_PEAK:
		*due = peak->event;
		out->at_ns = peak->at_ns;
		out->is_overwritten = out->peak_bytes > peak->bytes;
		return true;
	case GP_AT_OOM:
		/* a framework that is refused may free what it caches, and go on */
		oom = s->oom[device].event != NO_EVENT ? &s->oom[device] : &s->refused[device];
		*due = oom->event;
		out->at_ns = oom->at_ns;
		return *due != NO_EVENT;
	case GP_AT_TIME:
		*due = s->last;
		out->at_ns = s->until_ns;
		return true;
	}
	return false;
}

/* Rows that were moved to another one are empty. */
static void hand_over(struct gp_use_table *table, struct gp_holders *out)
{
	gp_use_table_sort(table);
	while (table->uses > 0 && table->use[table->uses - 1].count == 0 &&
	       table->use[table->uses - 1].bytes == 0)
		table->uses--;
	out->use = table->use;
	out->uses = table->uses;
}

static enum gp_status answer(struct search *s, struct gp_peak *out)
{
	struct taking *t = calloc(1, sizeof *t);
	out->holder = calloc(GP_DEVICES * GP_CURVES, sizeof *out->holder);
	if (t == NULL || out->holder == NULL) {
		free(t);
		return GP_E_MEMORY;
	}
	t->search = s;
	t->out = out;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		for (unsigned curve = GP_CURVES; curve-- > 0;)
			if (is_asked(s, device, curve, &out->holder[out->holders],
				     &t->due[out->holders]))
				out->holders++;
	t->left = out->holders;
	enum gp_status status = replay_to(t);
	for (size_t k = 0; k < out->holders; k++)
		hand_over(&t->table[k], &out->holder[k]);
	free(t->pending);
	free(t);
	return status;
}

enum gp_status gp_peak_build(struct gp_recording *recording, enum gp_moment moment, int64_t at_ns,
			     struct gp_peak *out)
{
	*out = (struct gp_peak){ 0 };
	struct search *s = malloc(sizeof *s);
	if (s == NULL)
		return GP_E_MEMORY;
	enum gp_status status = GP_OK;
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		const struct gp_info *info;
		status = gp_recording_info(recording, &info);
		if (status != GP_OK)
			break;
		unsigned overtakes = recording->overtakes;
		*s = (struct search){ .recording = recording, .moment = moment };
		int64_t end_ns = (int64_t)info->duration_ns;
		s->until_ns = at_ns < end_ns ? at_ns : end_ns;
		status = gp_module_epochs_build(recording, &s->epochs);
		if (status == GP_OK)
			status = find_moments(s, (int64_t)info->kept_from_ns);
		if (status == GP_OK)
			status = answer(s, out);
		gp_module_epochs_release(&s->epochs);
		if (status != GP_OK || recording->overtakes == overtakes)
			break;
		/* the owner of a ring wrote over what was to be shown: what is kept now */
		gp_peak_free(out);
	}
	free(s);
	if (status != GP_OK)
		gp_peak_free(out);
	return status;
}

void gp_peak_free(struct gp_peak *peak)
{
	for (size_t k = 0; k < peak->holders; k++)
		free(peak->holder[k].use);
	free(peak->holder);
	*peak = (struct gp_peak){ 0 };
}
