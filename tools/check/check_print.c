/*
 * `gpuprof check` for a person: one line a condition, below them the culprits.
 */
#include <stdlib.h>
#include <string.h>

#include "../frag/frag_report.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../io/style.h"
#include "../report/report.h"
#include "../report/stack_print.h"
#include "check_report.h"

#define CULPRITS 5u

static void print_key(const struct gp_check *c, FILE *out)
{
	const char *gpu = c->info->devices ? c->info->device[0].name : NULL;
	const char *const text[] = { gpu, c->info->driver, c->info->pytorch };
	const char *const name[] = { "GPU", "CUDA API", "PyTorch" };
	for (size_t k = 0; k < 3; k++) {
		const char *value = text[k] ? text[k] : "unknown";
		fprintf(out, "%s%s ", k ? ", " : "", name[k]);
		gp_mask(out, value, strlen(value));
	}
	fputc('\n', out);
}

/* ---- culprits ---- */

static void print_holders(const struct gp_check *c, unsigned device, enum gp_curve of, FILE *out)
{
	struct gp_groups groups;
	uint64_t whole;
	const struct gp_use_style style = { .top = CULPRITS,
					    .all_text = "'gpuprof peak --top 0'",
					    .grouping.by = GP_BY_STACK };
	const struct gp_holders *h = gp_check_holders(&c->peak, device, of);
	if (!h || !gp_check_groups(c, device, of, of == GP_CURVE_DRIVER, &groups, &whole))
		return;
	fprintf(out, "%s at %s:\n", gp_curve_keys[of],
		h->is_overwritten ? "the highest kept moment" : "the peak");
	gp_use_groups_print(out, c->recording, &groups, &style, &gp_use_held_shape, whole);
	gp_groups_free(&groups);
}

static void print_pins(const struct gp_check *c, unsigned device, FILE *out)
{
	struct gp_check_pins p;
	if (!gp_check_pins_build(c, device, &p))
		return;
	p.r.out = out;
	p.r.top = CULPRITS;
	p.r.all_text = "'gpuprof frag --at peak:reserved --top 0'";
	fprintf(out, "unused at the reserved peak: %s of %s reserved (%.1f%%):\n",
		gp_bytes_text(p.frag.unused_bytes).s, gp_bytes_text(p.frag.reserved_bytes).s,
		100.0 * (double)p.frag.unused_bytes / (double)p.frag.reserved_bytes);
	gp_frag_causes_print(&p.r, &p.frag);
	gp_frag_pins_print(&p.r, &p.frag);
	gp_check_pins_free(&p);
}

static void print_more(size_t count, FILE *out)
{
	if (count > CULPRITS)
		fprintf(out, "and %s\n", gp_plural(count - CULPRITS, "more group").s);
}

static void print_grown(const struct gp_check *c, unsigned device, FILE *out)
{
	size_t count;
	struct gp_check_grown *grown = gp_check_grown_list(c, device, &count);
	if (!grown)
		return;
	if (!count)
		fputs("no known stack has more than in the baseline\n", out);
	else
		fprintf(out, "     grown        now   baseline  stack\n");
	for (size_t k = 0; k < count && k < CULPRITS; k++) {
		uint64_t more = grown[k].bytes - grown[k].before_bytes;
		char before[16];
		snprintf(before, sizeof before, "%s%.12s", grown[k].is_at_most ? "<=" : "",
			 gp_bytes_text(grown[k].before_bytes).s);
		fprintf(out, "%10s %10s %10s  ", gp_bytes_text(more).s,
			gp_bytes_text(grown[k].bytes).s, before);
		gp_name_print(out, grown[k].key);
		fputc('\n', out);
	}
	print_more(count, out);
	gp_check_grown_free(grown, count);
}

/* Growth without suspects, or with too few to explain it: the stacks that hold more. */
static void print_steps(const struct gp_check *c, const struct gp_growth_device *g, FILE *out)
{
	struct gp_diff diff;
	if (!gp_check_steps_build(c, g, &diff))
		return;
	if (diff.changed)
		fprintf(out, "      more  step %-5zu step %-5zu  stack, GPU %u\n", c->growth.first,
			c->growth.steps, g->device);
	for (size_t k = 0; k < diff.changed && k < CULPRITS; k++) {
		const struct gp_diff_group *group = &diff.group[k];
		fprintf(out, "%10s %10s %10s  ", gp_bytes_text(group->greatest).s,
			gp_bytes_text(group->part[0].bytes).s,
			gp_bytes_text(group->part[1].bytes).s);
		gp_name_print(out, group->key);
		fputc('\n', out);
	}
	print_more(diff.changed, out);
	gp_diff_free(&diff);
}

/* Too few steps to judge the sum can still be enough to judge single stacks. */
static void print_no_leak(const struct gp_leaks_report *r, FILE *out)
{
	char text[GP_LEAK_CAVEAT_MAX];
	if (!r->leaks.leaks && !r->leaks.fillings && !gp_leak_caveat(r, text))
		fprintf(out,
			"'gpuprof leaks' needs %zu steps and finds no leak; only growth before "
			"step %s of %s was detectable\n",
			r->leaks.samples_least, gp_count_text(r->leaks.detectable_to_step + 1).s,
			gp_count_text(r->leaks.steps.steps).s);
}

/* Prints suspects in the words of `gpuprof leaks`. */
static void print_suspects(const struct gp_check *c, FILE *out)
{
	size_t shown = 0;
	bool is_slow = false;
	const struct gp_leak *leak;
	struct gp_leaks_report r = gp_check_leaks_report(c);
	r.out = out;
	for (size_t next = 0; (leak = gp_check_next_suspect(c, &next));) {
		const bool slows_first = next > c->leaks.leaks && !is_slow;
		struct gp_leak_view view;
		if (++shown > CULPRITS)
			continue;
		is_slow |= slows_first;
		if (slows_first)
			fputs("what slows down, as a cache that fills up:\n", out);
		else if (shown == 1)
			fprintf(out, "what grows%s:\n",
				!gp_leak_is_certain(&c->leaks, leak) ?
					" so far; a cache that still fills looks so, too" :
					"");
		gp_leak_look_up(&r, leak->stack, leak->at_ns, &view);
		gp_leak_print(&r, leak, &view);
	}
	if (shown > CULPRITS)
		fprintf(out, "  and %s; 'gpuprof leaks --top 0' shows all\n",
			gp_plural(shown - CULPRITS, "more suspect").s);
	if (!shown && gp_check_has_few_steps(c))
		print_no_leak(&r, out);
}

static void print_culprits(const struct gp_check *c, unsigned device, FILE *out)
{
	for (unsigned of = GP_CURVE_DRIVER; of < GP_CURVES; of++)
		if (gp_check_shows_holders(c, device, (enum gp_curve)of))
			print_holders(c, device, (enum gp_curve)of, out);
	if (gp_check_shows(c, device, GP_CULPRITS_PINS))
		print_pins(c, device, out);
	if (gp_check_shows(c, device, GP_CULPRITS_GROWN))
		print_grown(c, device, out);
}

static void print_finding(const struct gp_check_finding *f, FILE *out)
{
	static const struct {
		const char *text;
		enum gp_role role;
	} states[] = {
		[GP_CHECK_KEPT] = { "pass", GP_ROLE_GOOD },
		[GP_CHECK_EXCEEDED] = { "FAIL", GP_ROLE_BAD },
		[GP_CHECK_NOT_JUDGED] = { "NOT JUDGED", GP_ROLE_MARK },
	};
	fprintf(out, "%s%-10s%s  ", gp_on(states[f->state].role), states[f->state].text, gp_off());
	if (f->has_device)
		fprintf(out, "GPU %u: ", f->device);
	if (f->text[0])
		fputs(f->text, out);
	else
		fprintf(out, "%s", f->check);
	const char *colon = f->state == GP_CHECK_NOT_JUDGED ? ": " : "; ";
	fprintf(out, "%s%s\n", f->why[0] ? colon : "", f->why);
}

/* The values that an update writes. */
static void print_taken(const struct gp_check *c, FILE *out)
{
	for (size_t k = 0; k < c->figures.devices; k++) {
		const struct gp_figures *f = &c->figures.device[k];
		fprintf(out, "baseline    GPU %u: %s allocated, %s reserved, %s driver memory\n",
			f->device, gp_bytes_text(f->bytes[GP_CURVE_ALLOCATED]).s,
			gp_bytes_text(f->bytes[GP_CURVE_RESERVED]).s,
			gp_bytes_text(f->bytes[GP_CURVE_DRIVER]).s);
	}
}

/* The command that shows most of the culprits. */
static void write_next(const struct gp_check *c, char out[64])
{
	const struct gp_check_finding *of[GP_CULPRITS_STEPS + 1] = { NULL };
	for (size_t k = 0; k < c->findings; k++)
		if (c->finding[k].state != GP_CHECK_KEPT)
			of[c->finding[k].culprits] = &c->finding[k];
	const char *next = "peak --tree";
	if (of[GP_CULPRITS_STEPS])
		next = NULL;
	else if (of[GP_CULPRITS_PINS])
		next = "frag --at peak:reserved";
	else if (of[GP_CULPRITS_NONE] && !of[GP_CULPRITS_HOLDERS] && !of[GP_CULPRITS_GROWN])
		next = "leaks"; /* a suspect */
	if (next)
		snprintf(out, 64, "%s", next);
	else
		snprintf(out, 64, "diff --from step:%zu --to step:%zu", c->growth.first,
			 c->growth.steps);
}

/* Whether the finding is exceeded and has culprits. */
static bool has_culprits(const struct gp_check *c)
{
	for (size_t k = 0; k < c->findings; k++)
		if (c->finding[k].state == GP_CHECK_EXCEEDED ||
		    c->finding[k].culprits == GP_CULPRITS_STEPS)
			return true;
	return false;
}

static void check_print_next(const struct gp_check *c, FILE *out)
{
	char next[64];
	size_t first = 0;
	const bool has_suspect = gp_check_next_suspect(c, &first) != NULL;
	if (has_culprits(c)) {
		write_next(c, next);
		gp_use_next_print(out, c->recording, c->info, next, c->path);
	} else if (c->growth.why || has_suspect) {
		const bool has_looked = c->growth.steps || c->leaks.steps.why;
		const char *next_of_steps = has_suspect ? "leaks" :
					    has_looked	? "info --steps" :
							  "info";
		gp_next_print(out, gp_next_of(c->recording, c->info, next_of_steps), c->path);
	}
}

void gp_check_print(const struct gp_check *c, FILE *out)
{
	gp_headline_print(out, c->info);
	print_key(c, out);
	for (size_t k = 0; k < c->findings; k++)
		print_finding(&c->finding[k], out);
	for (size_t k = 0; k < c->figures.devices; k++)
		print_culprits(c, c->figures.device[k].device, out);
	print_suspects(c, out);
	for (size_t k = 0; k < c->growth.devices; k++)
		if (gp_check_shows(c, c->growth.device[k].device, GP_CULPRITS_STEPS) &&
		    gp_check_suspected(c, &c->growth.device[k], false) * 2 <
			    c->growth.device[k].bytes_per_step)
			print_steps(c, &c->growth.device[k], out);
	if (c->is_update)
		print_taken(c, out);
	gp_unnamed_print(out, c->recording);
	check_print_next(c, out);
}
