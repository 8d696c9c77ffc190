/* `gpuprof oom` for a program; gpuprof-oom(1) documents the keys. */
#include <string.h>

#include "../frag/frag_report.h"
#include "../report/number_line.h"
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

/* ---- one OOM ---- */

static void write_state(struct gp_json *json, const struct gp_oom_case *c)
{
	const struct gp_oom_facts *f = &c->facts;
	gp_json_object(json, "state");
	gp_known_write(json, "total_bytes",
		       c->frag.device->total_bytes ? c->frag.device->total_bytes :
						     GP_BYTES_UNKNOWN);
	gp_known_write(json, "free_bytes", f->free_bytes);
	/* null if the limit was not recorded; without a limit, the size of the device */
	gp_known_write(json, "limit_bytes",
		       f->is_limit_reported ? c->frag.device->limit_bytes : GP_BYTES_UNKNOWN);
	gp_json_number(json, "reserved_bytes", f->reserved_bytes);
	gp_json_number(json, "allocated_bytes", f->allocated_bytes);
	gp_json_number(json, "releasable_bytes", f->releasable_bytes);
	gp_json_number(json, "largest_request_bytes", f->largest_bytes);
	gp_known_write(json, "largest_after_release_bytes", c->frag.largest_released_bytes);
	gp_frag_causes_write(json, &c->frag);
	gp_owners_write(json, &c->frag, &c->owners);
	gp_json_text(json, "not_known", c->memory.caveat);
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

static void write_helps(struct gp_json *json, const struct gp_oom_case *c)
{
	gp_json_array(json, "helps");
	for (size_t k = 0; k < c->helps; k++) {
		const struct gp_oom_help *h = &c->help[k];
		gp_json_object(json, NULL);
		gp_json_text(json, "help", gp_help_names[h->help]);
		if (h->is_enough && h->is_bound)
			gp_json_null(json, "enough");
		else
			gp_json_bool(json, "enough", h->is_enough);
		gp_json_number(json, "bytes", h->bytes);
		gp_json_number(json, "count", h->count);
		gp_json_text(json, "text", gp_oom_help_text(h).s);
		gp_json_end(json);
	}
	gp_json_end(json);
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
		status = gp_oom_requester_show(r, json, o);
		write_verdict(json, o, c);
		write_state(json, c);
		write_helps(json, c);
		gp_frag_set_write(json, "free_neighbours", &c->memory, &c->frag.fit.in_place);
		gp_frag_set_write(json, "free_segments", &c->memory, &c->frag.fit.by_emptying);
		gp_frag_pins_write(json, &c->frag, r->top, false);
		status = status ? status : gp_oom_uses_show(r, json, k, c);
	} else {
		gp_json_null(json, "verdict");
	}
	gp_json_end(json);
	return status;
}
