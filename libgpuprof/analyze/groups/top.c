/*
 * The allocations in an interval, by stack: how many, how many bytes, how long they lived, how many
 * remain. One replay: allocations are counted when they occur. A free is counted before it is
 * applied, while its entry is still there.
 */
#include <stdlib.h>
#include <string.h>

#include "../roles/roles.h"
#include "../settle.h"
#include "lifetimes.h"
#include "live_uses.h"

#define FREES_KEPT 256u /* frees to remember: the driver may still refuse them */

struct past_free {
	uint64_t order; /* 1 + order of the FREE; 0: none */
	unsigned account;
	struct gp_use like;
	unsigned bucket;
	bool is_short;
};

/* Accounts of each device: blocks, then driver memory. */
#define OF_BLOCKS 0u
#define OF_DRIVER 1u
#define OFS 2u
#define HOST (GP_DEVICES * OFS) /* the account behind those of the devices */
#define ACCOUNTS (HOST + 1u)

struct counting {
	struct gp_recording *recording;
	struct gp_module_epochs epochs;
	int64_t from_ns, to_ns, short_ns;
	bool is_whole; /* the interval begins at the start */
	uint64_t cut;  /* only the first checkpoint has allocations with lower orders */
	bool is_out_of_memory;
	unsigned with;		   /* enum gp_with */
	struct gp_roles *roles;	   /* NULL: not requested */
	struct gp_row_table pages; /* of roles: physical memory that is, or was, mapped */
	struct gp_top *out;
	struct gp_use_table table[ACCOUNTS];
	struct past_free past[FREES_KEPT];
};

struct page {
	uint64_t order;	  /* of its allocation; used as the key */
	uint64_t address; /* of its last mapping */
};

static struct gp_use *use_of(struct counting *c, unsigned account, const struct gp_use *like)
{
	struct gp_use *use = gp_use_table_get(&c->table[account], like);
	c->is_out_of_memory |= use == NULL;
	return use;
}

static bool find_account(const struct gp_live_entry *e, unsigned *out)
{
	bool is_block = e->space == GP_SPACE_BLOCK;
	*out = HOST;
	if (gp_live_is_pinned(e))
		return true;
	if (is_block && (e->flags & GP_LIVE_PENDING) != 0)
		return false; /* it was freed, and counted then */
	*out = e->device * OFS + (is_block ? OF_BLOCKS : OF_DRIVER);
	return e->device < GP_DEVICES && (is_block || gp_live_is_driver(e));
}

static void count_alloc(struct counting *c, const struct gp_record *r, int64_t at_ns)
{
	bool is_block = r->kind == GP_BLOCK_ALLOC;
	if (!is_block && r->kind != GP_ALLOC)
		return;
	struct gp_live_entry e = gp_roles_entry(r);
	e.flags = is_block ? 0 : (uint16_t)(r->aux & ~GP_LIVE_FLAGS);
	unsigned account;
	if (!find_account(&e, &account))
		return;
	struct gp_use like = gp_use_like(c->recording, r->stack, e.space, at_ns);
	like.range = gp_range_of_order(c->out->ranges, r->order);
	like.rule = gp_roles_rule(c->roles, &e, GP_ROLES_MADE);
	struct gp_use *use = use_of(c, account, &like);
	if (use == NULL)
		return;
	use->bytes += e.bytes;
	use->count++;
}

static void see_mapped(void *context, const struct gp_live_entry *e)
{
	struct counting *c = context;
	if (e == NULL || e->space != GP_SPACE_MAPPED || e->stream == UINT64_MAX)
		return;
	struct page *page = gp_row_get_key(&c->pages, sizeof *page, e->stream);
	c->is_out_of_memory |= page == NULL;
	if (page != NULL)
		page->address = e->address;
}

static bool has_segments(const struct counting *c)
{
	return (c->with & (GP_WITH_ROLES | GP_WITH_SEGMENTS)) != 0;
}

/* Of a page the reservation decides in which it is mapped, or was last. */
static bool is_segment(const struct counting *c, const struct gp_live_entry *e)
{
	if (e->space == GP_SPACE_PHYSICAL) {
		const struct page *page = gp_row_of_key(&c->pages, sizeof *page, e->order);
		e = page == NULL ?
			    NULL :
			    gp_live_find(c->recording->live, GP_SPACE_RESERVATION, page->address);
	}
	return e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0;
}

/*
 * Only later events show that an allocation is a segment of the framework, or a page of one: its
 * use is then another one.
 */
static void settle_segment(struct counting *c, const struct gp_live_entry *e, unsigned account,
			   struct gp_use *like)
{
	if (!has_segments(c) || !is_segment(c, e))
		return;
	const struct gp_use before = *like;
	like->rule = gp_roles_rule(c->roles, e, GP_ROLES_SEGMENT);
	like->is_segment = (c->with & GP_WITH_SEGMENTS) != 0;
	if ((like->rule == before.rule && !like->is_segment) || e->order < c->cut ||
	    use_of(c, account, like) == NULL)
		return;
	struct gp_use *from = use_of(c, account, &before); /* it may move the other one */
	struct gp_use *to = use_of(c, account, like);
	if (from == NULL || to == NULL || from->bytes < e->bytes || from->count == 0)
		return;
	from->bytes -= e->bytes;
	from->count--;
	to->bytes += e->bytes;
	to->count++;
}

static struct gp_lifetimes *lives_of(struct counting *c, struct gp_use *use)
{
	if (use->lives == NULL)
		use->lives = calloc(1, sizeof *use->lives);
	c->is_out_of_memory |= use->lives == NULL;
	return (struct gp_lifetimes *)use->lives; /* not const: we own it until it is returned */
}

/* Call it before the event is applied. */
static void count_free(struct counting *c, const struct gp_record *r, int64_t at_ns)
{
	const struct gp_live_entry *e = gp_live_ended_by(c->recording->live, r);
	unsigned account;
	if (e == NULL || !find_account(e, &account))
		return;
	int64_t born_ns = gp_tick_ns(&c->recording->tick, e->time);
	/* times of a damaged recording may be any number */
	int64_t lived_ns = (int64_t)((uint64_t)at_ns - (uint64_t)born_ns);
	/* frees count only if the allocation was counted */
	if (e->order < c->cut || (!c->is_whole && born_ns < c->from_ns))
		return;
	struct past_free *past = &c->past[r->order % FREES_KEPT];
	*past = (struct past_free){ .order = r->order + 1,
				    .account = account,
				    .like = gp_use_like(c->recording, e->stack, e->space, born_ns),
				    .bucket = gp_lifetime_bucket(lived_ns),
				    .is_short = lived_ns <= c->short_ns };
	past->like.range = gp_range_of_order(c->out->ranges, e->order);
	past->like.rule = gp_roles_rule(c->roles, e, GP_ROLES_MADE);
	settle_segment(c, e, account, &past->like);
	struct gp_use *use = use_of(c, account, &past->like);
	struct gp_lifetimes *lives = use != NULL ? lives_of(c, use) : NULL;
	if (lives == NULL)
		return;
	use->freed++;
	use->short_lived += past->is_short;
	lives->count[past->bucket]++;
}

/* The driver refused the free: subtract it. */
static void undo_free(struct counting *c, const struct gp_record *r)
{
	if (r->kind != GP_FREE_FAILED)
		return;
	struct past_free *past = &c->past[r->free_failed.undoes % FREES_KEPT];
	if (past->order != r->free_failed.undoes + 1)
		return;
	past->order = 0;
	struct gp_use *use = use_of(c, past->account, &past->like);
	struct gp_lifetimes *lives = use != NULL ? lives_of(c, use) : NULL;
	if (lives == NULL)
		return;
	use->freed--;
	use->short_lived -= past->is_short;
	lives->count[past->bucket]--;
}

static void count_live(void *context, const struct gp_live_entry *e)
{
	struct counting *c = context;
	int64_t born_ns = gp_tick_ns(&c->recording->tick, e->time);
	unsigned account;
	if (!find_account(e, &account) || (!c->is_whole && born_ns < c->from_ns))
		return;
	struct gp_use like = gp_use_like(c->recording, e->stack, e->space, born_ns);
	like.range = gp_range_of_order(c->out->ranges, e->order);
	like.rule = gp_roles_rule(c->roles, e, GP_ROLES_MADE);
	settle_segment(c, e, account, &like);
	struct gp_use *use = use_of(c, account, &like);
	if (use == NULL)
		return;
	use->live_bytes += e->bytes;
	use->live_count++;
}

static void visit_all_live(struct counting *c, gp_live_visit *visit)
{
	gp_live_walk_begin(c->recording->live, visit, c);
	while (!gp_live_walk_more(c->recording->live, 65536))
		;
}

static enum gp_status top_replay(struct counting *c)
{
	struct gp_recording *r = c->recording;
	const struct gp_index *x = &r->index;
	enum gp_status status = gp_recording_rewind(r);
	const bool has_ranges = (c->with & GP_WITH_RANGES) != 0;
	bool is_over = false;
	if (status == GP_OK && has_ranges)
		status = gp_range_paths_derive(r, &c->out->ranges);
	c->cut = x->segments > 0 && x->segment[r->first].has_begin ? x->segment[r->first].cut : 0;
	if (status == GP_OK && has_segments(c))
		visit_all_live(c, see_mapped);
	while (status == GP_OK && !c->is_out_of_memory) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		int64_t at_ns = gp_tick_ns(&r->tick, record->time);
		if (gp_has_moment(record->kind) && at_ns > c->to_ns) {
			is_over = true;
			visit_all_live(c, count_live);
			break;
		}
		const bool is_inside = c->is_whole || at_ns >= c->from_ns;
		if (is_inside)
			count_free(c, record, at_ns);
		status = gp_recording_apply(r, record);
		if (has_segments(c) && record->kind == GP_MAP)
			see_mapped(c, gp_live_find(r->live, GP_SPACE_MAPPED, record->map.address));
		if (has_ranges)
			gp_range_paths_see(c->out->ranges, thread, record);
		if (is_inside) {
			count_alloc(c, record, at_ns);
			undo_free(c, record);
		}
	}
	if (status == GP_END && !is_over)
		visit_all_live(c, count_live);
	if (c->is_out_of_memory)
		return GP_E_MEMORY;
	if ((status == GP_END || status == GP_OK) && has_ranges)
		status = gp_range_paths_fold(&c->out->ranges, 1);
	return status == GP_END ? GP_OK : status;
}

static void top_fill(struct gp_top_curve *out, struct gp_use_table *table)
{
	out->use = gp_use_table_take(table, &out->uses);
	for (size_t k = 0; k < out->uses; k++) {
		const struct gp_use *u = &out->use[k];
		out->bytes += u->bytes;
		out->count += u->count;
		out->live_bytes += u->live_bytes;
		out->live_count += u->live_count;
		out->freed += u->freed;
		out->short_lived += u->short_lived;
	}
}

static enum gp_status top_answer(struct counting *c)
{
	struct gp_top *out = c->out;
	out->curve = calloc(ACCOUNTS, sizeof *out->curve);
	if (out->curve == NULL)
		return GP_E_MEMORY;
	for (unsigned k = 0; k < ACCOUNTS; k++) {
		if (c->table[k].rows.rows == 0)
			continue;
		struct gp_top_curve *curve = &out->curve[out->curves];
		if (k == HOST)
			out->host = curve;
		else
			out->curves++;
		*curve = (struct gp_top_curve){ .device = k == HOST ? GP_DEVICE_UNKNOWN : k / OFS,
						.of = k == HOST		   ? GP_CURVE_PINNED :
						      k % OFS == OF_BLOCKS ? GP_CURVE_ALLOCATED :
									     GP_CURVE_DRIVER };
		top_fill(curve, &c->table[k]);
	}
	return GP_OK;
}

static void release(struct counting *c)
{
	gp_module_epochs_release(&c->epochs);
	for (unsigned k = 0; k < ACCOUNTS; k++) {
		struct gp_use_table *table = &c->table[k];
		const struct gp_use *use = table->rows.row;
		for (size_t i = 0; i < table->rows.rows; i++)
			free((void *)use[i].lives);
		gp_use_table_release(table);
	}
	gp_row_table_release(&c->pages);
	c->roles = NULL;
	memset(c->past, 0, sizeof c->past);
}

static enum gp_status top_attempt(void *context, const struct gp_info *info)
{
	struct counting *c = context;
	(void)info;
	enum gp_status status = gp_module_epochs_build(c->recording, &c->epochs);
	if (status == GP_OK && (c->with & GP_WITH_ROLES) != 0)
		status = gp_roles_find(c->recording, &c->roles);
	if (status == GP_OK)
		status = top_replay(c);
	if (status == GP_OK)
		status = gp_roles_status(c->roles);
	if (status == GP_OK)
		status = top_answer(c);
	release(c);
	return status;
}

static void top_forget(void *context)
{
	gp_top_free(((struct counting *)context)->out);
}

enum gp_status gp_top_build_with(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				 int64_t short_ns, unsigned with, struct gp_top *out)
{
	*out = (struct gp_top){ 0 };
	struct counting *c = calloc(1, sizeof *c);
	if (c == NULL)
		return GP_E_MEMORY;
	*c = (struct counting){ .recording = recording,
				.from_ns = from_ns,
				.to_ns = to_ns,
				.short_ns = short_ns,
				.is_whole = from_ns == INT64_MIN,
				.with = with,
				.out = out };
	for (unsigned k = 0; k < ACCOUNTS; k++)
		c->table[k].epochs = &c->epochs;
	enum gp_status status = gp_retry_if_overwritten(recording, top_attempt, top_forget, c);
	free(c);
	if (status != GP_OK)
		gp_top_free(out);
	return status;
}

enum gp_status gp_top_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			    int64_t short_ns, struct gp_top *out)
{
	return gp_top_build_with(recording, from_ns, to_ns, short_ns, 0, out);
}

void gp_top_free(struct gp_top *top)
{
	for (size_t k = 0; k < top->curves + (top->host != NULL); k++) {
		for (size_t i = 0; i < top->curve[k].uses; i++)
			free((void *)top->curve[k].use[i].lives);
		free(top->curve[k].use);
	}
	free(top->curve);
	gp_range_paths_close(top->ranges);
	*top = (struct gp_top){ 0 };
}
