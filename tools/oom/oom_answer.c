/*
 * The request, what was missing and why, in lines for a person and as keys for a program.
 */
#include "oom_answer.h"

#include <inttypes.h>
#include <string.h>

#include "../frag/frag_report.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../io/style.h"

const char *const gp_oom_cost_names[GP_OOM_COSTS] = {
	[GP_OOM_COST_SETTING] = "setting",
	[GP_OOM_COST_ENVIRONMENT] = "environment",
	[GP_OOM_COST_CONFIGURATION] = "configuration",
	[GP_OOM_COST_CODE] = "code",
};

const char *gp_oom_answer_brief(const struct gp_oom_answer *answer)
{
	return answer->advices ? answer->advice[0].brief : "-";
}

enum gp_status gp_oom_answer_build(const struct gp_oom_report *r, size_t k,
				   const struct gp_oom_case *c, struct gp_oom_answer *out)
{
	const struct gp_oom *o = &r->ooms.oom[k];
	*out = (struct gp_oom_answer){
		.is_framework = o->is_framework,
		.requested_bytes = o->bytes,
		.missing_bytes = c->finding.missing_bytes,
		.verdict = c->finding.verdict,
	};
	const bool has_stream = out->verdict == GP_VERDICT_STREAM && o->arena.is_known;
	snprintf(out->where, sizeof out->where, "GPU %u%s%s, at %s", o->device,
		 has_stream ? ", " : "", has_stream ? gp_oom_stream_text(o->arena.stream).s : "",
		 gp_ns_text(o->at_ns).s);
	if (!gp_oom_site(r->recording, o->stack, o->at_ns, out->requester))
		out->requester[0] = '\0';
	gp_oom_site_callers(r->recording, o->stack, o->at_ns, out->by);
	gp_again_why(r->info, gp_again_lacks(r->info, GP_LACK_STACKS), out->no_requester);
	gp_oom_missing_text(c, out->missing);
	gp_oom_cause_text(o, c, out->cause);
	out->roles = r->row[k].roles;
	if (out->roles)
		gp_roles_text(&out->roles->sums, out->roles->module, out->holds);
	return gp_oom_advise(r, o, c, out);
}

/* ---- for a person ---- */

static void oom_answer_print_line(FILE *out, const char *title, const char *text)
{
	fprintf(out, "%-9s ", title);
	gp_mask(out, text, strlen(text));
	fputc('\n', out);
}

static void print_no_helps(FILE *out, const struct gp_oom_answer *a)
{
	fputs("no help   ", out);
	for (size_t k = 0; k < a->no_helps; k++)
		fprintf(out, "%s%s", k ? "; " : "", a->no_help[k].text);
	fputc('\n', out);
}

void gp_oom_answer_print(FILE *out, const struct gp_oom_answer *a)
{
	fprintf(out, "%-9s %s (%" PRIu64 " bytes) from %s, %s\n", "requested",
		gp_bytes_text(a->requested_bytes).s, a->requested_bytes,
		a->is_framework ? "PyTorch" : "the driver", a->where);
	char unknown[GP_AGAIN_WHY + 16];
	snprintf(unknown, sizeof unknown, "not known: %s",
		 *a->no_requester ? a->no_requester : "no line was recorded");
	oom_answer_print_line(out, "by", *a->by ? a->by : unknown);
	oom_answer_print_line(out, "missing", a->missing);
	fprintf(out, "%-9s %s", "cause", gp_on(GP_ROLE_BAD));
	gp_mask(out, a->cause, strlen(a->cause));
	fprintf(out, "%s\n", gp_off());
	if (*a->holds)
		oom_answer_print_line(out, "holds", a->holds);
	if (*a->leak)
		oom_answer_print_line(out, "leak", a->leak);
	if (*a->batch)
		oom_answer_print_line(out, "batch", a->batch);
	size_t shown = GP_OOM_ADVICE_SHOWN - (*a->leak != '\0');
	for (size_t k = 0; k < a->advices && k < shown; k++) {
		fprintf(out, "%-9s %zu. %s: ", k ? "" : "try", k + 1,
			gp_oom_cost_names[a->advice[k].cost]);
		gp_mask(out, a->advice[k].text, strlen(a->advice[k].text));
		fputc('\n', out);
	}
	if (!a->advices)
		oom_answer_print_line(
			out, "try", "the recording supports no advice; --details has its figures");
	if (a->no_helps)
		print_no_helps(out, a);
}

/* ---- for a program ---- */

static void write_advice(struct gp_json *json, const struct gp_oom_advice *v)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "change", v->change);
	gp_json_text(json, "cost", gp_oom_cost_names[v->cost]);
	gp_json_bool(json, "sure", v->is_sure);
	gp_known_write(json, "bytes", v->bytes);
	gp_json_text(json, "site", *v->site ? v->site : NULL);
	gp_json_text(json, "setting", *v->setting ? v->setting : NULL);
	gp_json_text(json, "text", v->text);
	gp_json_end(json);
}

void gp_oom_answer_write(struct gp_json *json, const struct gp_oom_answer *a)
{
	gp_json_object(json, "answer");
	gp_json_number(json, "requested", a->requested_bytes);
	gp_json_text(json, "requester", *a->requester ? a->requester : NULL);
	gp_known_write(json, "missing", a->missing_bytes);
	gp_json_text(json, "cause", a->cause);
	gp_oom_roles_write(json, a->roles);
	gp_json_text(json, "batch", *a->batch ? a->batch : NULL);
	gp_json_text(json, "leak", *a->leak ? a->leak : NULL);
	gp_json_array(json, "advice");
	for (size_t k = 0; k < a->advices; k++)
		write_advice(json, &a->advice[k]);
	gp_json_end(json);
	gp_json_array(json, "no_help");
	for (size_t k = 0; k < a->no_helps; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "change", a->no_help[k].change);
		gp_json_text(json, "text", a->no_help[k].text);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}
