/*
 * The request, the holders of memory at an OOM, and what grew before it: as text or JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../report/report.h"
#include "oom_report.h"

static uint64_t growth_of(const struct gp_use *use)
{
	return use->bytes > use->live_bytes ? use->bytes - use->live_bytes : 0;
}

static int compare_growth(const void *left, const void *right)
{
	const struct gp_group *a = left, *b = right;
	uint64_t x = growth_of(&a->use), y = growth_of(&b->use);
	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(a->key, b->key);
}

static void print_grown(FILE *out, const struct gp_use *use, uint64_t whole)
{
	(void)whole;
	fprintf(out, "%10s %10s  ", gp_bytes_text(growth_of(use)).s, gp_bytes_text(use->bytes).s);
}

static void write_sums(struct gp_json *json, const struct gp_use *use)
{
	gp_json_number(json, "bytes", use->bytes);
	gp_json_number(json, "count", use->count);
	gp_json_number(json, "before_bytes", use->live_bytes);
	gp_json_signed(json, "grown_bytes", (int64_t)(use->bytes - use->live_bytes));
}

static void write_request(struct gp_json *json, const struct gp_use *use)
{
	gp_json_number(json, "bytes", use->bytes);
}

static const struct gp_use_shape request = { " requested   share    count", gp_use_held_print,
					     write_request };
static const struct gp_use_shape held = { "      live   share    count", gp_use_held_print,
					  write_sums };
static const struct gp_use_shape grown = { "      grew       live", print_grown, write_sums };

/* Writes the groups as text, or as keys of the open object. */
static void show(const struct gp_oom_report *r, struct gp_json *json,
		 const struct gp_groups *groups, const struct gp_use_style *style,
		 const struct gp_use_shape *shape, uint64_t whole)
{
	if (json)
		gp_use_groups_write(json, r->recording, groups, style, shape);
	else
		gp_use_groups_print(r->out, r->recording, groups, style, shape, whole);
}

enum gp_status gp_oom_requester_show(const struct gp_oom_report *r, struct gp_json *json,
				     const struct gp_oom *o)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	const struct gp_use use = { .stack = o->stack,
				    .at_ns = o->at_ns,
				    .without = o->stack ? NULL : "no stack was recorded",
				    .bytes = o->bytes };
	const struct gp_use_style style = { .top = json ? 0 : 1, .device = -1 };
	struct gp_groups groups;
	if (!o->stack && !json)
		return GP_OK;
	enum gp_status status = gp_groups_build(r->recording, &use, 1, &how, &groups);
	if (status)
		return status;
	if (json)
		gp_json_object(json, "requester");
	show(r, json, &groups, &style, &request, o->bytes);
	if (json)
		gp_json_end(json);
	gp_groups_free(&groups);
	return GP_OK;
}

static void print_since(const struct gp_oom_report *r, size_t k, int64_t from_ns, bool has_grown)
{
	fprintf(r->out, "  %s since %s", has_grown ? "Growth" : "No growth",
		from_ns > 0 ? gp_ns_text(from_ns).s : "start");
	if (r->row[k].step)
		fprintf(r->out, " (step %zu began)", r->row[k].step);
	else if (r->steps.steps)
		fputs(" (no step had begun)", r->out);
	fputs(has_grown ? ":\n" : "\n", r->out);
}

static void write_since(const struct gp_oom_report *r, struct gp_json *json, size_t k,
			int64_t from_ns)
{
	gp_json_object(json, "grew");
	gp_json_signed(json, "from_ns", from_ns > 0 ? from_ns : 0);
	gp_json_number_if(json, "step", r->row[k].step, r->row[k].step);
}

enum gp_status gp_oom_uses_show(const struct gp_oom_report *r, struct gp_json *json, size_t k,
				const struct gp_oom_case *c)
{
	/* without stacks only the kind of memory is known */
	const struct gp_grouping how = { .by = r->info->has_stacks ? GP_BY_STACK : GP_BY_KIND };
	struct gp_use_style style = { .top = r->top, .device = -1 };
	struct gp_groups groups;
	uint64_t live = 0;
	enum gp_status status = gp_groups_build(r->recording, c->use, c->uses, &how, &groups);
	if (status)
		return status;
	const size_t all = groups.groups;
	for (size_t i = 0; i < c->uses; i++)
		live += c->use[i].bytes;
	if (json) {
		gp_json_object(json, "holders");
	} else {
		style.by = r->info->has_stacks ? NULL : "kind";
		style.grouping = how;
		while (groups.groups && !groups.group[groups.groups - 1].use.bytes)
			groups.groups--;
	}
	show(r, json, &groups, &style, &held, live);
	groups.groups = 0;
	if (all > 1)
		qsort(groups.group, all, sizeof *groups.group, compare_growth);
	while (groups.groups < all && growth_of(&groups.group[groups.groups].use))
		groups.groups++;
	if (json)
		gp_json_end(json);
	if (json)
		write_since(r, json, k, c->from_ns);
	else
		print_since(r, k, c->from_ns, groups.groups > 0);
	show(r, json, &groups, &style, &grown, 0);
	if (json)
		gp_json_end(json);
	groups.groups = all;
	gp_groups_free(&groups);
	return GP_OK;
}
