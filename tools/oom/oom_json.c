/* `gpuprof oom` for a program; gpuprof-oom(1) documents the keys. */
#include <string.h>

#include "../frag/frag_report.h"
#include "../report/report.h"
#include "oom_answer.h"
#include "oom_report.h"

void gp_oom_head_write(struct gp_json *json, const struct gp_oom_report *r)
{
	gp_json_object(json, NULL);
	gp_use_head_write(json, r->path, r->info);
	gp_json_text(json, "alloc_conf", r->info->alloc_conf);
	gp_json_text(json, "not_known", *r->settings.not_known ? r->settings.not_known : NULL);
	gp_json_text(json, "no_steps", r->steps.why);
	gp_json_number(json, "failed_cuda_calls", r->ooms.failed_calls);
	gp_json_number(json, "retries", r->ooms.retries);
	gp_json_array(json, "ooms");
}

/* ---- one ---- */

static void write_state(struct gp_json *json, const struct gp_oom_case *c)
{
	const struct gp_oom_facts *f = &c->facts;
	gp_json_object(json, "state");
	gp_known_write(json, "total_bytes",
		       c->frag.device->total_bytes ? c->frag.device->total_bytes :
						     GP_BYTES_UNKNOWN);
	gp_known_write(json, "free_bytes", f->free_bytes);
	/* the device's own: no limit; not the one of which nobody told */
	gp_known_write(json, "limit_bytes",
		       f->is_limit_told ? c->frag.device->limit_bytes : GP_BYTES_UNKNOWN);
	gp_json_number(json, "reserved_bytes", f->reserved_bytes);
	gp_json_number(json, "allocated_bytes", f->allocated_bytes);
	gp_json_number(json, "releasable_bytes", f->releasable_bytes);
	gp_json_number(json, "largest_request_bytes", f->largest_bytes);
	gp_known_write(json, "largest_after_release_bytes", c->frag.largest_released_bytes);
	gp_json_object(json, "causes");
	for (unsigned k = 0; k < GP_CAUSES; k++)
		gp_json_number(json, gp_cause_names[k], c->frag.cause_bytes[k]);
	gp_json_end(json);
	gp_json_object(json, "owners");
	for (size_t k = 0; k < c->owners.owners; k++)
		gp_json_number(json, c->owners.owner[k].name, c->owners.owner[k].bytes);
	uint64_t used = c->frag.driver_used_bytes;
	gp_json_signed_if(json, "unattributed", used != GP_BYTES_UNKNOWN,
			  (int64_t)(used - c->owners.known_bytes));
	gp_json_end(json);
	gp_json_text(json, "not_known", c->memory.doubt);
	gp_json_end(json);
}

static void write_verdict(struct gp_json *json, const struct gp_oom *o, const struct gp_oom_case *c)
{
	char reason[GP_REASON_MAX];
	gp_oom_reason(o, c, reason);
	gp_json_object(json, "verdict");
	gp_json_text(json, "name", gp_verdict_names[c->finding.verdict]);
	gp_json_text(json, "why", reason);
	gp_json_number(json, "cached_bytes", c->finding.cached_bytes);
	gp_known_write(json, "room_bytes", c->finding.room_bytes);
	gp_known_write(json, "usable_bytes", c->finding.usable_bytes);
	gp_known_write(json, "missing_bytes", c->finding.missing_bytes);
	gp_json_number(json, "elsewhere_bytes", c->facts.elsewhere_bytes);
	gp_known_write(json, "other_grown_bytes", c->facts.other_grown_bytes);
	gp_known_write(json, "outside_grown_bytes", c->facts.outside_grown_bytes);
	gp_json_end(json);
}

static void write_helps(struct gp_json *json, const struct gp_oom_report *r, const struct gp_oom *o,
			const struct gp_oom_case *c)
{
	char text[GP_REASON_MAX];
	gp_json_array(json, "helps");
	for (size_t k = 0; k < c->helps; k++) {
		const struct gp_oom_help *h = &c->help[k];
		gp_oom_help_text(r, o, c, h, text);
		gp_json_object(json, NULL);
		gp_json_text(json, "help", gp_help_names[h->help]);
		if (h->is_enough && h->is_bound)
			gp_json_null(json, "enough");
		else
			gp_json_bool(json, "enough", h->is_enough);
		gp_json_number(json, "bytes", h->bytes);
		gp_json_number(json, "count", h->count);
		gp_json_text(json, "text", text);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_set(struct gp_json *json, const char *key, const struct gp_oom_case *c,
		      const struct gp_block_set *set)
{
	gp_json_array(json, key);
	for (size_t k = 0; set->is_found && k < set->blocks; k++)
		gp_json_hex(json, NULL, c->memory.block[set->block[k]].address);
	gp_json_end(json);
}

static void write_pins(struct gp_json *json, const struct gp_oom_report *r,
		       const struct gp_oom_case *c)
{
	gp_json_array(json, "pins");
	for (size_t k = 0; k < c->frag.pins && (!r->top || k < r->top); k++) {
		const struct gp_frag_pin *p = &c->frag.pin[k];
		const struct gp_memory_block *b = &c->memory.block[p->block];
		gp_json_object(json, NULL);
		gp_json_hex(json, "segment", c->memory.segment[p->segment].address);
		gp_json_hex(json, "address", b->address);
		gp_json_number(json, "bytes", b->bytes);
		gp_json_number(json, "hostage_bytes", p->hostage_bytes);
		gp_json_signed(json, "age_ns", c->memory.at_ns - b->at_ns);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_sums(struct gp_json *json, const struct gp_use *use)
{
	gp_json_number(json, "bytes", use->bytes);
	gp_json_number(json, "count", use->count);
	gp_json_number(json, "before_bytes", use->live_bytes);
	gp_json_signed(json, "grown_bytes", (int64_t)(use->bytes - use->live_bytes));
}

static const struct gp_use_shape shape = { "", NULL, write_sums };

static void write_request(struct gp_json *json, const struct gp_use *use)
{
	gp_json_number(json, "bytes", use->bytes);
}

static const struct gp_use_shape request = { "", NULL, write_request };

static enum gp_status write_uses(struct gp_json *json, const struct gp_oom_report *r, size_t k,
				 const struct gp_oom_case *c)
{
	const struct gp_grouping how = { .by = r->info->has_stacks ? GP_BY_STACK : GP_BY_KIND };
	struct gp_use_style style = { .top = r->top, .device = -1, .is_json = true };
	struct gp_groups groups;
	size_t grew, all;
	enum gp_status status = gp_groups_build(r->recording, c->use, c->uses, &how, &groups);
	if (status)
		return status;
	gp_json_object(json, "holders");
	gp_use_groups_write(json, r->recording, &groups, &style, &shape);
	gp_json_end(json);
	all = groups.groups;
	gp_oom_by_growth(&groups, &grew);
	groups.groups = grew;
	gp_json_object(json, "grew");
	gp_json_signed(json, "from_ns", c->from_ns > 0 ? c->from_ns : 0);
	gp_json_number_if(json, "step", r->row[k].step, r->row[k].step);
	gp_use_groups_write(json, r->recording, &groups, &style, &shape);
	gp_json_end(json);
	groups.groups = all;
	gp_groups_free(&groups);
	return GP_OK;
}

static enum gp_status write_asker(struct gp_json *json, const struct gp_oom_report *r,
				  const struct gp_oom *o)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	const struct gp_use use = { .stack = o->stack,
				    .at_ns = o->at_ns,
				    .without = o->stack ? NULL : "no stack was recorded",
				    .bytes = o->bytes,
				    .count = 1 };
	struct gp_use_style style = { .device = -1, .is_json = true };
	struct gp_groups groups;
	enum gp_status status = gp_groups_build(r->recording, &use, 1, &how, &groups);
	if (status)
		return status;
	gp_json_object(json, "asker");
	gp_use_groups_write(json, r->recording, &groups, &style, &request);
	gp_json_end(json);
	gp_groups_free(&groups);
	return GP_OK;
}

enum gp_status gp_oom_case_write(struct gp_json *json, const struct gp_oom_report *r, size_t k,
				 const struct gp_oom_case *c)
{
	const struct gp_oom *o = &r->ooms.oom[k];
	enum gp_status status = GP_OK;
	gp_json_object(json, NULL);
	gp_json_number(json, "number", k + 1);
	gp_json_number(json, "like", o->like + 1);
	gp_json_signed(json, "at_ns", o->at_ns);
	gp_json_number(json, "order", o->order);
	gp_json_number(json, "device", o->device);
	gp_json_bool(json, "framework", o->is_framework);
	gp_json_number(json, "bytes", o->bytes);
	gp_json_number(json, "refusals", o->refusals);
	gp_json_number(json, "driver_bytes", o->driver_bytes);
	gp_arena_write(json, &o->arena);
	gp_json_number(json, "allocated_bytes", o->allocated_bytes);
	gp_json_number(json, "reserved_bytes", o->reserved_bytes);
	gp_known_write(json, "free_bytes", o->free_bytes);
	if (c) {
		gp_oom_answer_write(json, r->row[k].answer);
		status = write_asker(json, r, o);
		write_verdict(json, o, c);
		write_state(json, c);
		write_helps(json, r, o, c);
		write_set(json, "free_neighbours", c, &c->frag.fit.in_place);
		write_set(json, "free_segments", c, &c->frag.fit.by_emptying);
		write_pins(json, r, c);
		status = status ? status : write_uses(json, r, k, c);
	} else {
		gp_json_null(json, "verdict");
	}
	gp_json_end(json);
	return status;
}
