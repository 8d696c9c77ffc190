/* `gpuprof check` for a program; gpuprof-check(1) documents the keys. */
#include <stdlib.h>

#include "../report/report.h"
#include "check_report.h"

#define GROUPS_SHOWN 20u

static const char *const states[] = {
	[GP_CHECK_KEPT] = "kept",
	[GP_CHECK_EXCEEDED] = "exceeded",
	[GP_CHECK_NOT_JUDGED] = "not judged",
};

static void write_amount(struct gp_json *json, const char *key, bool is_there,
			 const struct gp_check_amount *amount)
{
	if (!is_there)
		gp_json_null(json, key);
	else if (amount->is_share)
		gp_json_real(json, key, (double)amount->number / 1e6);
	else
		gp_json_number(json, key, amount->number);
}

static void write_finding(struct gp_json *json, const struct gp_check_finding *f)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "check", f->check);
	gp_json_number_if(json, "device", f->has_device, f->device);
	gp_json_text(json, "state", states[f->state]);
	write_amount(json, "value", f->has_value, &f->value);
	write_amount(json, "limit", f->limit.is_given || f->has_value, &f->limit);
	gp_json_signed_if(json, "at_ns", f->at_ns >= 0, f->at_ns);
	gp_json_text(json, "text", f->text[0] ? f->text : NULL);
	gp_json_text(json, "why", f->why[0] ? f->why : NULL);
	gp_json_end(json);
}

/* ---- culprits ---- */

static void write_holders(struct gp_json *json, const struct gp_check *c, unsigned device)
{
	const struct gp_use_style style = { .grouping.by = GP_BY_STACK, .top = GROUPS_SHOWN };
	gp_json_array(json, "holders");
	for (unsigned of = 0; of < GP_CURVES; of++) {
		struct gp_groups groups;
		uint64_t whole;
		if (!gp_check_shows_holders(c, device, (enum gp_curve)of) ||
		    !gp_check_groups(c, device, (enum gp_curve)of, false, &groups, &whole))
			continue;
		gp_json_object(json, NULL);
		gp_json_text(json, "of", gp_curve_keys[of]);
		gp_json_number(json, "live_bytes", whole);
		gp_use_groups_write(json, c->recording, &groups, &style, &gp_use_held_shape);
		gp_json_end(json);
		gp_groups_free(&groups);
	}
	gp_json_end(json);
}

static void write_pin(struct gp_json *json, const struct gp_check_pins *p, size_t number)
{
	const struct gp_frag_pin *pin = &p->frag.pin[number];
	const struct gp_memory_block *b = &p->r.memory.block[pin->block];
	char site[GP_SITE_MAX];
	gp_frag_site(&p->r, b->stack, b->at_ns, site);
	gp_json_object(json, NULL);
	gp_json_text(json, "key", site);
	gp_json_number(json, "bytes", b->bytes);
	gp_json_number(json, "hostage_bytes", pin->hostage_bytes);
	gp_json_end(json);
}

static void write_pins(struct gp_json *json, const struct gp_check *c, unsigned device)
{
	struct gp_check_pins p = { 0 };
	bool is_there =
		gp_check_shows(c, device, GP_CULPRITS_PINS) && gp_check_pins_build(c, device, &p);
	gp_json_number_if(json, "unused_bytes", is_there, p.frag.unused_bytes);
	gp_json_object(json, "causes");
	for (unsigned k = 0; is_there && k < GP_CAUSES; k++)
		gp_json_number(json, gp_cause_names[k], p.frag.cause_bytes[k]);
	gp_json_end(json);
	gp_json_array(json, "pins");
	for (size_t k = 0; is_there && k < p.frag.pins && k < GROUPS_SHOWN; k++)
		write_pin(json, &p, k);
	gp_json_end(json);
	if (is_there)
		gp_check_pins_free(&p);
}

static void write_grown(struct gp_json *json, const struct gp_check *c, unsigned device)
{
	size_t count = 0;
	struct gp_check_grown *grown = gp_check_shows(c, device, GP_CULPRITS_GROWN) ?
					       gp_check_grown_list(c, device, &count) :
					       NULL;
	gp_json_array(json, "grown");
	for (size_t k = 0; k < count; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "key", grown[k].key);
		gp_json_number(json, "bytes", grown[k].bytes);
		gp_json_number_if(json, "before_bytes", !grown[k].is_at_most,
				  grown[k].before_bytes);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_check_grown_free(grown, count);
}

static void write_steps(struct gp_json *json, const struct gp_check *c,
			const struct gp_growth_device *g)
{
	struct gp_diff diff;
	if (!gp_check_shows(c, g->device, GP_CULPRITS_STEPS) || !gp_check_steps_build(c, g, &diff))
		return;
	for (size_t k = 0; k < diff.changed && k < GROUPS_SHOWN; k++) {
		gp_json_object(json, NULL);
		gp_json_number(json, "device", g->device);
		gp_json_text(json, "key", diff.group[k].key);
		gp_json_number(json, "bytes", diff.group[k].part[1].bytes);
		gp_json_number(json, "before_bytes", diff.group[k].part[0].bytes);
		gp_json_end(json);
	}
	gp_diff_free(&diff);
}

/* Writes null where steps were not looked for. */
static void write_counts(struct gp_json *json, const struct gp_check *c)
{
	const struct gp_steps *steps = &c->leaks.steps;
	if (!c->leaks.samples && !steps->why && !steps->steps) {
		gp_json_null(json, "steps");
		return;
	}
	gp_report_steps_begin(json, steps);
	gp_json_number(json, "after_warmup", c->growth.warm);
	gp_json_number(json, "needed", GP_GROWTH_STEPS_LEAST);
	gp_json_end(json);
}

static void write_suspects(struct gp_json *json, const struct gp_check *c)
{
	size_t shown = 0;
	const struct gp_leak *leak;
	struct gp_leaks_report r = gp_check_leaks_report(c);
	r.json = json;
	gp_json_array(json, "suspects");
	for (size_t next = 0; (leak = gp_check_next_suspect(c, &next)) && shown < GROUPS_SHOWN;) {
		struct gp_leak_view view;
		gp_leak_look_up(&r, leak->stack, leak->at_ns, &view);
		gp_leak_write(&r, leak, &view);
		shown++;
	}
	gp_json_end(json);
}

static void write_culprits(struct gp_json *json, const struct gp_check *c, unsigned device)
{
	gp_json_object(json, NULL);
	gp_json_number(json, "device", device);
	write_holders(json, c, device);
	write_pins(json, c, device);
	write_grown(json, c, device);
	gp_json_end(json);
}

static bool is_blamed(const struct gp_check *c, unsigned device)
{
	return gp_check_shows(c, device, GP_CULPRITS_HOLDERS) ||
	       gp_check_shows(c, device, GP_CULPRITS_PINS) ||
	       gp_check_shows(c, device, GP_CULPRITS_GROWN);
}

void gp_check_write(const struct gp_check *c, struct gp_json *json)
{
	gp_json_object(json, NULL);
	gp_use_head_write(json, c->path, c->info);
	gp_json_text(json, "gpu", c->info->devices ? c->info->device[0].name : NULL);
	gp_json_text(json, "driver", c->info->driver);
	gp_json_text(json, "pytorch", c->info->pytorch);
	gp_json_text(json, "state", states[gp_check_state_of(c)]);
	write_counts(json, c);
	gp_json_array(json, "checks");
	for (size_t k = 0; k < c->findings; k++)
		write_finding(json, &c->finding[k]);
	gp_json_end(json);
	gp_json_array(json, "culprits");
	for (size_t k = 0; k < c->figures.devices; k++)
		if (is_blamed(c, c->figures.device[k].device))
			write_culprits(json, c, c->figures.device[k].device);
	gp_json_end(json);
	gp_json_array(json, "growth");
	for (size_t k = 0; k < c->growth.devices; k++)
		write_steps(json, c, &c->growth.device[k]);
	gp_json_end(json);
	write_suspects(json, c);
	gp_json_end(json);
}
