/* What was asked, what was missing and why, in lines for a person and as keys for a program. */
#include "oom_answer.h"

#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "frag_report.h"
#include "message.h"
#include "style.h"

const char *const gp_oom_cost_names[GP_OOM_COSTS] = {
	[GP_OOM_COST_SETTING] = "setting",
	[GP_OOM_COST_ENVIRONMENT] = "environment",
	[GP_OOM_COST_CONFIGURATION] = "configuration",
	[GP_OOM_COST_CODE] = "code",
};

static const char *const short_causes[GP_VERDICTS] = {
	[GP_VERDICT_UNKNOWN] = "not known",
	[GP_VERDICT_STREAM] = "stream or pool",
	[GP_VERDICT_FRAGMENTATION] = "fragmentation",
	[GP_VERDICT_CACHE] = "PyTorch's cache",
	[GP_VERDICT_LIMIT] = "limit",
	[GP_VERDICT_OTHER] = "another process",
	[GP_VERDICT_OUTSIDE] = "outside PyTorch",
	[GP_VERDICT_CAPACITY] = "capacity",
};
#define CAUSE_KEPT "driver reserve"

const char *gp_oom_answer_cause(const struct gp_oom_answer *answer)
{
	return answer->is_kept ? CAUSE_KEPT : short_causes[answer->verdict];
}

const char *gp_oom_answer_brief(const struct gp_oom_answer *answer)
{
	return answer->advices ? answer->advice[0].brief : "-";
}

/* ---- what was missing ---- */

static uint64_t above(uint64_t more, uint64_t less)
{
	if (more == GP_BYTES_UNKNOWN || less == GP_BYTES_UNKNOWN)
		return GP_BYTES_UNKNOWN;
	return more > less ? more - less : 0;
}

#define SAY(...) snprintf(a->missing, sizeof a->missing, __VA_ARGS__)

static void say_missing(const struct gp_oom_case *c, struct gp_oom_answer *a)
{
	const struct gp_oom_facts *f = &c->facts;
	uint64_t place = c->frag.largest_released_bytes;
	a->missing_bytes = GP_BYTES_UNKNOWN;
	switch (a->verdict) {
	case GP_VERDICT_STREAM:
	case GP_VERDICT_FRAGMENTATION:
		place = place == GP_BYTES_UNKNOWN ? f->largest_bytes : place;
		a->missing_bytes = above(f->bytes, place);
		SAY("%s: the largest single place%s has %s", gp_bytes_text(a->missing_bytes).s,
		    a->verdict == GP_VERDICT_STREAM ? " for its stream and pool" : "",
		    gp_bytes_text(place).s);
		return;
	case GP_VERDICT_CACHE:
		a->missing_bytes = above(f->driver_bytes, f->free_bytes);
		SAY("%s: the driver has %s free", gp_bytes_text(a->missing_bytes).s,
		    gp_bytes_text(f->free_bytes).s);
		return;
	case GP_VERDICT_LIMIT:
	case GP_VERDICT_OTHER:
	case GP_VERDICT_OUTSIDE:
	case GP_VERDICT_CAPACITY:
		a->missing_bytes = c->finding.missing_bytes;
		break;
	case GP_VERDICT_UNKNOWN:
	case GP_VERDICTS:
		break;
	}
	if (a->is_kept) {
		SAY("up to %s, which the driver may keep of what it counts as free",
		    gp_bytes_text(GP_KEPT_BY_DRIVER).s);
		return;
	}
	/* nothing of a limit that was not recorded */
	if (a->missing_bytes == GP_BYTES_UNKNOWN || !a->missing_bytes) {
		a->missing_bytes = GP_BYTES_UNKNOWN;
		SAY("not known");
		return;
	}
	SAY("%s%s", gp_bytes_text(a->missing_bytes).s,
	    a->is_framework ? ", even with an empty cache" : "");
}
#undef SAY

/* ---- why ---- */

#define SAY(...) snprintf(a->cause, sizeof a->cause, __VA_ARGS__)

/* The limit, not the device, decides how much more PyTorch may reserve. */
static bool is_limit_tighter(const struct gp_oom_case *c)
{
	const struct gp_oom_facts *f = &c->facts;
	return f->is_limit_told && f->limit_bytes != GP_BYTES_UNKNOWN &&
	       above(f->limit_bytes, f->reserved_bytes) < f->free_bytes;
}

static void say_tied(const struct gp_oom_case *c, struct gp_oom_answer *a)
{
	char limited[160] = "";
	if (is_limit_tighter(c))
		snprintf(limited, sizeof limited, "; the %s limit leaves %s",
			 gp_bytes_text(c->facts.limit_bytes).s,
			 gp_bytes_text(above(c->facts.limit_bytes, c->facts.reserved_bytes)).s);
	const uint64_t *cause = c->frag.cause_bytes;
	const char *where = "for other streams or in private pools";
	if (c->facts.has_arena && !cause[GP_CAUSE_PRIVATE] && cause[GP_CAUSE_STREAM])
		where = "for other streams";
	else if (c->facts.has_arena && cause[GP_CAUSE_PRIVATE] && !cause[GP_CAUSE_STREAM])
		where = "in private pools (CUDA graphs, MemPool)";
	if (c->facts.elsewhere_bytes)
		SAY("stream or pool: %s are cached %s%s", gp_bytes_text(c->facts.elsewhere_bytes).s,
		    where, limited);
	else
		SAY("stream or pool: the cache has a place for %s, %s%s",
		    gp_bytes_text(c->facts.largest_any_bytes).s, where, limited);
}

static void say_limited(const struct gp_oom_facts *f, struct gp_oom_answer *a)
{
	char had[96] = "";
	if (f->free_bytes != GP_BYTES_UNKNOWN)
		snprintf(had, sizeof had, "; the device has %s free",
			 gp_bytes_text(f->free_bytes).s);
	if (f->is_limit_told)
		SAY("limit: set_per_process_memory_fraction allows %s%s",
		    gp_bytes_text(f->limit_bytes).s, had);
	else
		SAY("limit: PyTorch stopped at %s by a limit that was not recorded%s",
		    gp_bytes_text(f->reserved_bytes).s, had);
}

static void say_full(const struct gp_oom_case *c, struct gp_oom_answer *a)
{
	const struct gp_oom_facts *f = &c->facts;
	if (a->is_framework)
		SAY("capacity: PyTorch uses %s of the %s that it can have",
		    gp_bytes_text(f->allocated_bytes).s,
		    gp_bytes_text(f->allocated_bytes + c->finding.usable_bytes).s);
	else
		SAY("capacity: %s requested, the driver has %s free",
		    gp_bytes_text(f->driver_bytes).s, gp_bytes_text(f->free_bytes).s);
}

static void say_pieces(const struct gp_oom_case *c, struct gp_oom_answer *a)
{
	const struct gp_oom_finding *v = &c->finding;
	const char *doubt = c->facts.has_arena ? "" : " or for other streams";
	char room[160] = "";
	if (is_limit_tighter(c))
		snprintf(room, sizeof room, "; the %s limit leaves %s",
			 gp_bytes_text(c->facts.limit_bytes).s, gp_bytes_text(v->room_bytes).s);
	else if (v->room_bytes != GP_BYTES_UNKNOWN)
		snprintf(room, sizeof room, "; the device has %s free",
			 gp_bytes_text(v->room_bytes).s);
	SAY("fragmentation: %s are cached in pieces%s%s", gp_bytes_text(v->cached_bytes).s, doubt,
	    room);
}

static void say_cause(const struct gp_oom *o, const struct gp_oom_case *c, struct gp_oom_answer *a)
{
	const struct gp_oom_facts *f = &c->facts;
	switch (a->verdict) {
	case GP_VERDICT_STREAM:
		say_tied(c, a);
		return;
	case GP_VERDICT_FRAGMENTATION:
		say_pieces(c, a);
		return;
	case GP_VERDICT_CACHE:
		SAY("PyTorch's cache: %s are unused in its free segments",
		    gp_bytes_text(f->releasable_bytes).s);
		return;
	case GP_VERDICT_LIMIT:
		say_limited(f, a);
		return;
	case GP_VERDICT_OTHER:
		SAY("another process: other processes took %s since this job's peak at %s",
		    gp_bytes_text(f->other_grown_bytes).s, gp_ns_text(o->before_at_ns).s);
		return;
	case GP_VERDICT_OUTSIDE:
		SAY("outside PyTorch: this job took %s more there since PyTorch's peak at %s",
		    gp_bytes_text(f->outside_grown_bytes).s, gp_ns_text(o->before_at_ns).s);
		return;
	case GP_VERDICT_CAPACITY:
		say_full(c, a);
		return;
	case GP_VERDICT_UNKNOWN:
	case GP_VERDICTS:
		break;
	}
	if (a->is_kept)
		SAY(CAUSE_KEPT ": it counted just enough as free, but keeps some MiB of that");
	else
		SAY("not known: %s", c->finding.not_known);
}
#undef SAY

enum gp_status gp_oom_answer_build(const struct gp_oom_report *r, size_t k,
				   const struct gp_oom_case *c, struct gp_oom_answer *out)
{
	const struct gp_oom *o = &r->ooms.oom[k];
	*out = (struct gp_oom_answer){
		.is_framework = o->is_framework,
		.asked_bytes = o->bytes,
		.verdict = c->finding.verdict,
		.is_kept = c->finding.is_kept,
	};
	snprintf(out->where, sizeof out->where, "GPU %u, at %s", o->device, gp_ns_text(o->at_ns).s);
	if (!gp_oom_who(r->recording, o->stack, o->at_ns, out->asker))
		out->asker[0] = '\0';
	gp_again_why(r->info, gp_again_lacks(r->info, GP_LACK_STACKS), out->no_asker);
	say_missing(c, out);
	say_cause(o, c, out);
	return gp_oom_advise(r, o, c, out);
}

/* ---- for a person ---- */

static void print_line(FILE *out, const char *title, const char *text)
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
		gp_bytes_text(a->asked_bytes).s, a->asked_bytes,
		a->is_framework ? "PyTorch" : "the driver", a->where);
	char unknown[GP_AGAIN_WHY + 16];
	snprintf(unknown, sizeof unknown, "not known: %s",
		 *a->no_asker ? a->no_asker : "no line was recorded");
	print_line(out, "by", *a->asker ? a->asker : unknown);
	print_line(out, "missing", a->missing);
	fprintf(out, "%-9s %s", "cause", gp_on(GP_ROLE_BAD));
	gp_mask(out, a->cause, strlen(a->cause));
	fprintf(out, "%s\n", gp_off());
	if (*a->leak)
		print_line(out, "leak", a->leak);
	size_t shown = GP_OOM_ADVICE_SHOWN - (*a->leak != '\0');
	for (size_t k = 0; k < a->advices && k < shown; k++) {
		fprintf(out, "%-9s %zu. %s: ", k ? "" : "try", k + 1,
			gp_oom_cost_names[a->advice[k].cost]);
		gp_mask(out, a->advice[k].text, strlen(a->advice[k].text));
		fputc('\n', out);
	}
	if (!a->advices)
		print_line(out, "try",
			   "the recording supports no advice; --details has its figures");
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
	gp_json_text(json, "who", *v->who ? v->who : NULL);
	gp_json_text(json, "setting", *v->setting ? v->setting : NULL);
	gp_json_text(json, "text", v->text);
	gp_json_end(json);
}

void gp_oom_answer_write(struct gp_json *json, const struct gp_oom_answer *a)
{
	gp_json_object(json, "answer");
	gp_json_number(json, "requested", a->asked_bytes);
	gp_json_text(json, "asker", *a->asker ? a->asker : NULL);
	gp_known_write(json, "missing", a->missing_bytes);
	gp_json_text(json, "cause", a->cause);
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
