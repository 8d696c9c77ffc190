/*
 * Bytes of each role, at given moments and over time. One replay adds up the blocks of each device
 * by role. Time is cut into buckets; each keeps the sums of its highest moment, so the peak is
 * among them.
 */
#include <stdlib.h>
#include <string.h>

#include "../kept.h"
#include "../memory/memory_view.h"
#include "role_bands.h"
#include "role_modules.h"
#include "role_rules.h"
#include "roles.h"

struct line {
	struct gp_role_sums now; /* the sums; its moment is unused */
	struct gp_role_top top[GP_MEMORY_ROLES], work, unmapped;
	struct gp_role_sums *bucket;
	uint64_t highest; /* of the bucket */
	size_t used;	  /* buckets that are begun */
};

struct banding {
	struct gp_recording *recording;
	struct gp_roles *roles;
	int64_t from_ns, to_ns; /* as requested */
	int64_t start_ns, span_ns, now_ns;
	size_t buckets;
	size_t changes; /* the place in gp_roles_changed */
	struct gp_moved moved;
	const struct gp_live *live;  /* whose sums are in `line` */
	bool is_block, is_seen;	     /* the event under way: of a block, and in the span */
	struct gp_live_entry before; /* at its address, before it */
	struct line line[GP_DEVICES];
	struct gp_role_timeline *out;
	struct gp_role_modules *modules; /* of the device modules_of, at one moment */
	unsigned modules_of;
	bool is_out_of_memory;
};

/* ---- sums ---- */

static void top_raise(struct gp_role_top *top, uint64_t bytes, int64_t at_ns)
{
	if (bytes <= top->bytes)
		return;
	top->bytes = bytes;
	top->at_ns = at_ns;
}

static void tops_raise(struct line *l, int64_t at_ns)
{
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
		top_raise(&l->top[role], l->now.bytes[role], at_ns);
	top_raise(&l->work, l->now.bytes[GP_HOLDS_ACTIVATIONS] + l->now.bytes[GP_HOLDS_TEMPORARIES],
		  at_ns);
}

static void tops_see(const struct banding *b, struct line *l, unsigned role,
		     const struct gp_live_entry *e)
{
	struct gp_role_top *top = &l->top[role];
	if (b->now_ns >= b->start_ns)
		tops_raise(l, b->now_ns);
	if (e->bytes <= top->block_bytes)
		return;
	top->block_bytes = e->bytes;
	top->stack = e->stack;
	top->stack_at_ns = gp_tick_ns(&b->recording->tick, e->time);
}

static void line_add(struct banding *b, const struct gp_live_entry *e, enum gp_roles_when when,
		     bool is_end)
{
	if (e->space != GP_SPACE_BLOCK || (e->flags & GP_LIVE_PENDING) != 0 ||
	    e->device >= GP_DEVICES)
		return;
	struct gp_role_sums *now = &b->line[e->device].now;
	const unsigned role = gp_role_rule(gp_roles_rule(b->roles, e, when))->role;
	now->bytes[role] += is_end ? 0 - e->bytes : e->bytes;
	now->count[role] += is_end ? UINT64_MAX : 1;
	if (!is_end)
		tops_see(b, &b->line[e->device], role, e);
}

static void add_live(void *context, const struct gp_live_entry *e)
{
	line_add(context, e, GP_ROLES_NOW, false);
}

/* The entry's stack has the module. Workspaces are of libraries. */
static void add_maker(void *context, const struct gp_live_entry *e)
{
	struct banding *b = context;
	if (e->space != GP_SPACE_BLOCK || (e->flags & GP_LIVE_PENDING) != 0 ||
	    e->device != b->modules_of)
		return;
	const unsigned role = gp_role_rule(gp_roles_rule(b->roles, e, GP_ROLES_NOW))->role;
	if (role != GP_HOLDS_WORKSPACE)
		gp_role_modules_add(b->modules, role, e->stack, e->bytes);
}

static void walk(struct banding *b, void (*see)(void *, const struct gp_live_entry *))
{
	gp_live_walk_begin(b->recording->live, see, b);
	while (!gp_live_walk_more(b->recording->live, 65536))
		;
}

/* The sums of the live state. */
static void bands_load(struct banding *b)
{
	while (gp_roles_changed(b->roles, &b->changes) != NULL)
		;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		memset(&b->line[device].now, 0, sizeof b->line[device].now);
	walk(b, add_live);
}

/* ---- buckets ---- */

/* The sums, with memory of the curve that no block accounts for as unknown. */
static struct gp_role_sums band_now(const struct banding *b, unsigned device, uint64_t *total)
{
	const struct gp_live_device *d = gp_live_device(b->recording->live, device);
	struct gp_role_sums band = b->line[device].now;
	uint64_t sum = 0;
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
		sum += band.bytes[role];
	*total = d->curve[GP_CURVE_ALLOCATED].now_bytes;
	if (*total > sum)
		band.bytes[GP_HOLDS_UNKNOWN] += *total - sum;
	return band;
}

static int64_t bucket_ns(const struct banding *b, size_t bucket)
{
	return b->start_ns +
	       (int64_t)((unsigned __int128)(uint64_t)b->span_ns * bucket / b->buckets);
}

/* Begins the buckets up to `until` with the sums of now. */
static void line_reach(struct banding *b, unsigned device, size_t until)
{
	struct line *l = &b->line[device];
	uint64_t total;
	if (l->used > until)
		return;
	const struct gp_role_sums band = band_now(b, device, &total);
	while (l->used <= until) {
		l->bucket[l->used] = band;
		l->bucket[l->used].at_ns = bucket_ns(b, l->used);
		l->used++;
	}
	l->highest = total;
}

static size_t band_bucket(const struct banding *b, int64_t at_ns)
{
	if (at_ns <= b->start_ns)
		return 0;
	const uint64_t passed = (uint64_t)(at_ns - b->start_ns);
	const uint64_t which =
		(uint64_t)((unsigned __int128)passed * b->buckets / (uint64_t)b->span_ns);
	return which < b->buckets ? (size_t)which : b->buckets - 1;
}

/* The device's memory changes at that moment: the buckets before it are complete. */
static void see_before(struct banding *b, unsigned device, int64_t at_ns)
{
	struct line *l = &b->line[device];
	if (l->bucket == NULL) {
		tops_raise(l, b->start_ns); /* what was live when the span began */
		l->bucket = calloc(b->buckets, sizeof *l->bucket);
		b->is_out_of_memory |= l->bucket == NULL;
	}
	if (l->bucket != NULL)
		line_reach(b, device, band_bucket(b, at_ns));
}

static void see_after(struct banding *b, unsigned device, int64_t at_ns)
{
	struct line *l = &b->line[device];
	uint64_t total;
	const struct gp_role_sums band = band_now(b, device, &total);
	if (l->bucket == NULL || total <= l->highest)
		return;
	l->highest = total;
	l->bucket[l->used - 1] = band;
	l->bucket[l->used - 1].at_ns = at_ns;
}

/* ---- the replay ---- */

static bool is_of_blocks(const struct gp_record *r)
{
	return r->kind == GP_BLOCK_ALLOC || r->kind == GP_BLOCK_FREE ||
	       r->kind == GP_BLOCK_EXISTING;
}

static void unmapped_see(struct banding *b)
{
	uint64_t moved = gp_moved_take(&b->moved);
	for (; moved != 0; moved &= moved - 1) {
		const unsigned device = (unsigned)__builtin_ctzll(moved);
		top_raise(&b->line[device].unmapped,
			  gp_live_device(b->recording->live, device)->unmapped_bytes, b->now_ns);
	}
}

static enum gp_status bands_begin(void *context)
{
	struct banding *b = context;
	b->live = b->recording->live;
	bands_load(b);
	return GP_OK;
}

static const struct gp_live_entry *block_at(const struct banding *b, const struct gp_record *r)
{
	/* the address is in the same place in all events of blocks */
	return gp_live_find(b->recording->live, GP_SPACE_BLOCK, r->block_alloc.address);
}

static enum gp_status bands_before(void *context, uint32_t thread, const struct gp_record *r)
{
	struct banding *b = context;
	(void)thread;
	if (b->recording->live != b->live) /* a checkpoint corrected the state */
		bands_begin(b);
	b->now_ns = gp_tick_ns(&b->recording->tick, r->time);
	/* the last buckets show the memory at the end of the span, not what follows */
	if (gp_has_moment(r->kind) && b->now_ns > b->to_ns)
		return GP_END;
	b->is_block = is_of_blocks(r);
	b->is_seen = b->is_block && b->now_ns >= b->from_ns && b->now_ns <= b->to_ns &&
		     r->device < GP_DEVICES;
	if (b->is_seen)
		see_before(b, r->device, b->now_ns);
	if (b->is_block) {
		const struct gp_live_entry *e = block_at(b, r);
		b->before = e != NULL ? *e : (struct gp_live_entry){ 0 };
	}
	return b->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

/* Moves the sums by what an event of a block changed at its address. */
static enum gp_status bands_after(void *context, uint32_t thread, const struct gp_record *r)
{
	struct banding *b = context;
	const struct gp_live_entry *e;
	(void)thread;
	if (b->is_block) {
		line_add(b, &b->before, GP_ROLES_NOW, true);
		e = block_at(b, r);
		if (e != NULL)
			line_add(b, e, GP_ROLES_NOW, false);
	}
	while ((e = gp_roles_changed(b->roles, &b->changes)) != NULL) {
		line_add(b, e, GP_ROLES_MADE, true);
		line_add(b, e, GP_ROLES_NOW, false);
	}
	if (b->is_seen)
		see_after(b, r->device, b->now_ns);
	if (b->now_ns >= b->start_ns)
		unmapped_see(b);
	return b->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

static enum gp_status bands_end(void *context)
{
	struct banding *b = context;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		if (b->line[device].bucket != NULL ||
		    gp_live_device(b->recording->live, device)->curve[GP_CURVE_ALLOCATED].now_bytes)
			see_before(b, device, b->to_ns);
	return b->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

/* The largest block of activations or temporaries. */
static void work_name(struct gp_role_bands *d)
{
	const struct gp_role_top *a = &d->top[GP_HOLDS_ACTIVATIONS],
				 *t = &d->top[GP_HOLDS_TEMPORARIES];
	const struct gp_role_top *largest = a->block_bytes >= t->block_bytes ? a : t;
	d->work.block_bytes = largest->block_bytes;
	d->work.stack = largest->stack;
	d->work.stack_at_ns = largest->stack_at_ns;
}

static enum gp_status bands_list(struct banding *b)
{
	struct gp_role_timeline *out = b->out;
	out->device = calloc(GP_DEVICES, sizeof *out->device);
	if (out->device == NULL)
		return GP_E_MEMORY;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		if (b->line[device].bucket == NULL)
			continue;
		struct line *l = &b->line[device];
		struct gp_role_bands *to = &out->device[out->devices++];
		*to = (struct gp_role_bands){
			.device = device,
			.work = l->work,
			.unmapped = l->unmapped,
			.bands = l->used,
			.band = l->bucket,
		};
		memcpy(to->top, l->top, sizeof to->top);
		work_name(to);
		l->bucket = NULL;
	}
	return GP_OK;
}

static enum gp_status bands_prepare(void *context, const struct gp_info *info)
{
	struct banding *b = context;
	const int64_t kept = (int64_t)info->kept_from_ns, last = (int64_t)info->duration_ns;
	const int64_t end = b->to_ns < last ? b->to_ns : last;
	b->start_ns = b->from_ns > kept ? b->from_ns : kept;
	b->now_ns = kept;
	b->changes = 0;
	b->span_ns = end > b->start_ns ? end - b->start_ns + 1 : 1;
	return gp_roles_find(b->recording, &b->roles);
}

static enum gp_status bands_answer(void *context, const struct gp_info *info)
{
	struct banding *b = context;
	(void)info;
	enum gp_status status = gp_roles_status(b->roles);
	return status == GP_OK ? bands_list(b) : status;
}

static void bands_settle(void *context)
{
	struct banding *b = context;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		free(b->line[device].bucket);
	memset(b->line, 0, sizeof b->line);
}

static void bands_forget(void *context)
{
	gp_role_timeline_free(((struct banding *)context)->out);
}

enum gp_status gp_role_sums_build(struct gp_recording *recording, const struct gp_role_moment *at,
				  size_t moments, struct gp_role_makers *out)
{
	const struct gp_info *info;
	struct gp_memory reached = { 0 };
	struct gp_memory_view view = { .recording = recording, .out = &reached };
	struct banding *b = calloc(1, sizeof *b);
	if (b == NULL)
		return GP_E_MEMORY;
	b->recording = recording;
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK)
		status = gp_roles_find(recording, &b->roles);
	for (size_t k = 0; k < moments && status == GP_OK; k++) {
		status = gp_memory_reach(&view, &at[k].moment);
		if (status != GP_OK)
			break;
		struct gp_role_modules modules = { .recording = recording };
		bands_load(b);
		if (at[k].device < GP_DEVICES)
			out[k].sums = b->line[at[k].device].now;
		out[k].sums.at_ns = reached.at_ns;
		b->modules = &modules;
		b->modules_of = at[k].device;
		walk(b, add_maker);
		status = gp_role_modules_list(&modules, &out[k]);
		if (status != GP_OK)
			break;
		status = gp_roles_status(b->roles);
	}
	free(b);
	const enum gp_status rewound = gp_recording_unseek(recording);
	return status != GP_OK ? status : rewound;
}

static enum gp_status bands_analysis(struct gp_recording *recording, size_t points, int64_t from_ns,
				     int64_t to_ns, struct gp_role_timeline *out,
				     struct gp_analysis *analysis)
{
	*out = (struct gp_role_timeline){ 0 };
	*analysis = (struct gp_analysis){ 0 };
	if (from_ns > to_ns || points == 0)
		return GP_E_ARGUMENT;
	struct banding *b = calloc(1, sizeof *b);
	if (b == NULL)
		return GP_E_MEMORY;
	const bool is_whole = from_ns <= 0 && to_ns == INT64_MAX;
	b->recording = recording;
	b->buckets = points;
	b->out = out;
	/* the first event may be slightly older than the start's clock triple */
	b->from_ns = is_whole ? INT64_MIN / 4 : from_ns;
	b->to_ns = is_whole ? INT64_MAX / 4 : to_ns;
	*analysis = (struct gp_analysis){ .context = b,
					  .observer = { bands_begin, bands_before, bands_after,
							bands_end },
					  .prepare = bands_prepare,
					  .answer = bands_answer,
					  .settle = bands_settle,
					  .forget = bands_forget,
					  .moved = &b->moved };
	return GP_OK;
}

enum gp_status gp_role_timeline_analysis(struct gp_recording *recording, size_t points,
					 struct gp_role_timeline *out, struct gp_analysis *analysis)
{
	return bands_analysis(recording, points, 0, INT64_MAX, out, analysis);
}

enum gp_status gp_role_timeline_build(struct gp_recording *recording, size_t points,
				      int64_t from_ns, int64_t to_ns, struct gp_role_timeline *out)
{
	const bool is_whole = from_ns <= 0 && to_ns == INT64_MAX;
	struct gp_role_timeline *kept =
		is_whole ? gp_kept_take(recording, GP_KEPT_BANDS, points) : NULL;
	struct gp_analysis analysis = { 0 };
	enum gp_status status = GP_OK;
	if (kept != NULL)
		*out = *kept;
	else
		status = bands_analysis(recording, points, from_ns, to_ns, out, &analysis);
	if (kept == NULL && status == GP_OK)
		status = gp_analyse(recording, &analysis, 1);
	free(analysis.context);
	free(kept);
	return status;
}

void gp_role_timeline_free(struct gp_role_timeline *timeline)
{
	for (size_t k = 0; k < timeline->devices; k++)
		free(timeline->device[k].band);
	free(timeline->device);
	*timeline = (struct gp_role_timeline){ 0 };
}
