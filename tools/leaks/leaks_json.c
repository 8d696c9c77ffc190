/* Leaks for a program: see gpuprof-leaks(1) for the keys. */
#include "../io/amount.h"
#include "../report/report.h"
#include "../report/stack_print.h"
#include "../report/use_print.h"
#include "leaks_report.h"

#define STEPS_MOST 1e15 /* steps; more means never */

/* null: below 0, or so large that it means never. */
static void write_amount(struct gp_json *json, const char *key, double amount, double most)
{
	const bool is_known = amount >= 0 && amount < most;
	gp_json_number_if(json, key, is_known, is_known ? (uint64_t)amount : 0);
}

static void write_stack(const struct gp_leaks_report *r, uint32_t stack, int64_t at_ns)
{
	gp_stack_write(r->json, r->recording, stack, at_ns,
		       r->is_native ? GP_STACK_SYMBOLS : GP_STACK_FOLDED);
}

static void write_examples(struct gp_json *json, const struct gp_leak *leak)
{
	gp_json_array(json, "examples");
	for (size_t k = 0; k < leak->examples; k++) {
		gp_json_object(json, NULL);
		gp_json_hex(json, "address", leak->example[k].address);
		gp_json_number(json, "bytes", leak->example[k].bytes);
		gp_json_signed(json, "at_ns", leak->example[k].at_ns);
		gp_json_end(json);
	}
	gp_json_end(json);
}

/* Writes the stacks of a sum. A leak of one stack has no parts. */
static void write_parts(const struct gp_leaks_report *r, const struct gp_leak *leak)
{
	gp_json_array(r->json, "parts");
	for (size_t k = 0; k < leak->parts && leak->by != GP_LEAK_BY_STACK; k++) {
		gp_json_object(r->json, NULL);
		gp_json_number(r->json, "kept_count", leak->part[k].births);
		write_stack(r, leak->part[k].stack, leak->part[k].at_ns);
		gp_json_end(r->json);
	}
	gp_json_end(r->json);
}

void gp_leak_write(const struct gp_leaks_report *r, const struct gp_leak *leak,
		   const struct gp_leak_view *view)
{
	struct gp_json *json = r->json;
	gp_json_object(json, NULL);
	gp_json_text(json, "kind",
		     leak->space == GP_SPACE_RESOURCE && leak->of < GP_RESOURCES ?
			     gp_resource_names[leak->of] :
		     leak->space < GP_SPACES ? gp_space_names[leak->space] :
					       NULL);
	gp_json_number_if(json, "device",
			  !(leak->device == GP_DEVICE_UNKNOWN || gp_leak_is_pinned(leak)),
			  leak->device);
	gp_json_text(json, "by", gp_leak_by_names[leak->by]);
	gp_json_number(json, "stacks", leak->stacks);
	gp_json_text(json, "owner", leak->owner[0] ? leak->owner : NULL);
	gp_json_signed(json, "bytes_per_step", gp_rate_bytes(leak->bytes_per_step));
	gp_json_real(json, "count_per_step", leak->count_per_step);
	gp_json_number(json, "since_step", leak->since_step);
	gp_json_signed(json, "since_ns", leak->since_ns);
	gp_json_real(json, "p_value", leak->p_value);
	gp_json_number(json, "live_bytes", leak->live_bytes);
	gp_json_number(json, "live_count", leak->live_count);
	gp_json_number(json, "kept_count", leak->births);
	gp_json_number(json, "spans", leak->spans);
	gp_json_number(json, "kept_spans", leak->born_spans);
	gp_json_bool(json, "replaced", leak->is_replaced);
	gp_json_bool(json, "may_be_activations", leak->may_be_activations);
	if (leak->expected_count > 0) {
		gp_json_real(json, "pace", leak->pace);
		write_amount(json, "expected_count", leak->expected_count, STEPS_MOST);
	} else {
		gp_json_null(json, "pace");
		gp_json_null(json, "expected_count");
	}
	write_amount(json, "steps_until_full", leak->steps_until_full, STEPS_MOST);
	write_amount(json, "ns_until_full", leak->ns_until_full, (double)INT64_MAX / 2);
	char place[GP_LEAK_PLACE_MAX];
	gp_json_text(json, "place", gp_leak_place(view, place) ? place : NULL);
	gp_json_text(json, "operator", view->names.operator[0] ? view->names.operator : NULL);
	gp_json_text(json, "node", view->names.node[0] ? view->names.node : NULL);
	gp_json_text(json, "library", view->names.library[0] ? view->names.library : NULL);
	gp_use_ranges_write(json, leak->range);
	if (r->by && !leak->is_object) {
		const struct gp_role_rule *rule = gp_leak_rule(r, leak);
		gp_json_text(json, "role", gp_role_keys[rule->role]);
		gp_json_text(json, "rule", rule->name);
	}
	write_examples(json, leak);
	write_parts(r, leak);
	write_stack(r, leak->stack, leak->at_ns);
	gp_json_end(json);
}

enum part { MEMORY, OBJECTS, FILLING };

static void write_list(const struct gp_leaks_report *r, const char *key, const struct gp_leak *leak,
		       size_t leaks, enum part part)
{
	uint64_t shown = 0;
	gp_json_array(r->json, key);
	for (size_t k = 0; k < leaks; k++) {
		struct gp_leak_view view;
		if (part != FILLING && leak[k].is_object != (part == OBJECTS))
			continue;
		gp_leak_look_up(r, leak[k].stack, leak[k].at_ns, &view);
		if (gp_leak_is_selected(r, &leak[k], &view) && (!r->top || shown++ < r->top))
			gp_leak_write(r, &leak[k], &view);
	}
	gp_json_end(r->json);
}

static void write_full(const struct gp_leaks_report *r)
{
	const struct gp_leak_total total = gp_leak_total_of(r);
	gp_json_array(r->json, "full");
	for (unsigned k = 0; k < GP_DEVICES; k++) {
		const double steps = total.steps_until_full[k], ns = steps * r->leaks.step_ns;
		if (total.of_device[k] <= 0)
			continue;
		gp_json_object(r->json, NULL);
		gp_json_number(r->json, "device", k);
		gp_json_signed(r->json, "bytes_per_step", gp_rate_bytes(total.of_device[k]));
		write_amount(r->json, "steps_until_full", steps, STEPS_MOST);
		write_amount(r->json, "ns_until_full", ns, (double)INT64_MAX / 2);
		gp_json_end(r->json);
	}
	gp_json_end(r->json);
}

/* Leaves out the reserved curve. Pinned memory has no device, so --device excludes it. */
static void write_holders(const struct gp_leaks_report *r, const struct gp_holders *h)
{
	uint64_t count = 0;
	if (!h || (r->device >= 0 && h->device != (unsigned)r->device) ||
	    h->of == GP_CURVE_RESERVED || !h->live_bytes)
		return;
	for (size_t i = 0; i < h->uses; i++)
		count += h->use[i].count;
	gp_json_object(r->json, NULL);
	gp_use_device_write(r->json, h->device);
	gp_json_text(r->json, "of", gp_curve_keys[h->of]);
	gp_json_number(r->json, "bytes", h->live_bytes);
	gp_json_number(r->json, "count", count);
	gp_json_end(r->json);
}

/* Memory that is live at the end of the recording. Most of it is not a leak. */
static enum gp_status write_live(const struct gp_leaks_report *r)
{
	struct gp_peak peak = { 0 };
	enum gp_status status =
		gp_peak_build(r->recording, GP_AT_TIME, (int64_t)r->info->duration_ns, &peak);
	gp_json_array(r->json, "live");
	for (size_t k = 0; !status && k < peak.holders; k++)
		write_holders(r, &peak.holder[k]);
	if (!status)
		write_holders(r, peak.host);
	gp_json_end(r->json);
	gp_peak_free(&peak);
	return status;
}

void gp_leak_answer_write(struct gp_json *json, const struct gp_leak_answer *answer)
{
	gp_json_object(json, "leaks");
	gp_json_text(json, "verdict", gp_leak_verdict_names[answer->verdict]);
	gp_json_text(json, "answer", answer->s);
	gp_json_end(json);
}

enum gp_status gp_leaks_write(const struct gp_leaks_report *r)
{
	const struct gp_leaks *all = &r->leaks;
	struct gp_json *json = r->json;
	char text[GP_LEAK_CAVEAT_MAX];
	const char *caveat = gp_leak_caveat(r, text);
	const struct gp_leak_total total = gp_leak_total_of(r);
	const struct gp_leak_answer answer = gp_leak_answer_of(r, &total);
	gp_json_object(json, NULL);
	gp_use_head_write(json, r->path, r->info);
	gp_json_text(json, "verdict", gp_leak_verdict_names[answer.verdict]);
	gp_json_text(json, "answer", answer.s);
	gp_json_signed(json, "from_ns", all->from_ns);
	gp_json_signed(json, "to_ns", all->to_ns);
	gp_report_steps_begin(json, &all->steps);
	gp_json_end(json);
	gp_json_signed_if(json, "window_ns", all->window_ns, all->window_ns);
	gp_json_number(json, "samples", all->samples);
	gp_json_number(json, "stacks", all->stacks);
	gp_json_number(json, "tests", all->tests);
	gp_json_bool(json, "stacks_cut", all->is_cut);
	gp_json_bool(json, "has_verdict", !caveat);
	gp_json_text(json, "no_verdict", caveat);
	gp_json_number_if(json, "detectable_to_step", !caveat, all->detectable_to_step);
	gp_leak_roles_write(r);
	write_list(r, "suspects", all->leak, all->leaks, MEMORY);
	write_list(r, "objects", all->leak, all->leaks, OBJECTS);
	write_list(r, "filling", all->filling, all->fillings, FILLING);
	write_full(r);
	enum gp_status status = write_live(r);
	gp_json_end(json);
	return status;
}
