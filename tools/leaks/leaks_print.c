/*
 * Leaks for a person: first rate, start and place, then the evidence.
 */
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../io/style.h"
#include "../report/report.h"
#include "../report/stack_print.h"
#include "../report/use_print.h"
#include "leaks_report.h"

#define USER_FRAMES 3u
#define LABEL_MAX 1024u

/* ---- places ---- */

static void print_label(FILE *out, const struct gp_frame *frame)
{
	char label[LABEL_MAX];
	gp_frame_label(frame, NULL, label, sizeof label);
	gp_name_print(out, label);
}

static bool has_frames(const struct gp_leak_view *view)
{
	return view->has_stack && view->stack.frames > 0;
}

/* The user's frame; SIZE_MAX: none. */
static size_t first_frame(const struct gp_leak_view *view)
{
	return view->names.user < view->stack.frames ? view->names.user : SIZE_MAX;
}

static const char *leaks_print_name_of(const struct gp_leak_view *view)
{
	const struct gp_names *n = &view->names;
	return n->node[0] ? n->node : n->operator[0] ? n->operator: n->library;
}

bool gp_leak_place(const struct gp_leak_view *view, char out[GP_LEAK_PLACE_MAX])
{
	if (!has_frames(view))
		return false;
	const size_t first = first_frame(view);
	if (first == SIZE_MAX && leaks_print_name_of(view)[0])
		snprintf(out, GP_LEAK_PLACE_MAX, "%s", leaks_print_name_of(view));
	else
		gp_frame_label(&view->frame[first != SIZE_MAX ? first : 0], NULL, out,
			       GP_LEAK_PLACE_MAX);
	return true;
}

/* Its place, or "no stack was recorded". */
static void print_where(FILE *out, const struct gp_leak *leak, const struct gp_leak_view *view)
{
	char place[GP_LEAK_PLACE_MAX];
	if (gp_leak_place(view, place))
		gp_name_print(out, place);
	else
		fputs("no stack was recorded", out);
	if (leak->size && !view->has_stack)
		fprintf(out, "; allocations of %s", gp_bytes_text(leak->size).s);
	if (leak->by == GP_LEAK_BY_LINE)
		fprintf(out, ", spread over %s", gp_plural(leak->stacks, "stack").s);
}

/* The callers, innermost first. */
static void print_callers(const struct gp_leaks_report *r, const struct gp_leak_view *view)
{
	const size_t first = first_frame(view);
	size_t shown = first != SIZE_MAX;
	for (size_t k = first != SIZE_MAX ? first + 1 : 0;
	     k < view->stack.frames && shown < USER_FRAMES; k++) {
		if (!r->is_native && !view->frame[k].is_user)
			continue;
		fprintf(r->out, "        ");
		print_label(r->out, &view->frame[k]);
		fputc('\n', r->out);
		shown++;
	}
}

static bool is_same_function(const struct gp_frame *a, const struct gp_frame *b)
{
	return a->function && b->function && strcmp(a->function, b->function) == 0 && a->file &&
	       b->file && strcmp(a->file, b->file) == 0;
}

/*
 * The frame in which the stacks of a sum differ: the caller of the common function. *turns: how
 * often the function recurses.
 */
static size_t part_frame(const struct gp_leak_view *view, size_t *turns)
{
	const size_t user = view->names.user != SIZE_MAX ? view->names.user : 0;
	*turns = 1;
	for (size_t k = user + 1; k < view->stack.frames; k++) {
		bool is_turn = is_same_function(&view->frame[k], &view->frame[user]);
		if (view->frame[k].is_user && !is_turn)
			return k;
		*turns += is_turn;
	}
	return user;
}

static void print_parts(const struct gp_leaks_report *r, const struct gp_leak *leak)
{
	struct gp_leak_view view;
	size_t turns;
	fprintf(r->out, "    most by way of:\n");
	for (size_t k = 0; k < leak->parts; k++) {
		gp_leak_look_up(r, leak->part[k].stack, leak->part[k].at_ns, &view);
		if (!has_frames(&view))
			continue;
		fprintf(r->out, "        ");
		print_label(r->out, &view.frame[part_frame(&view, &turns)]);
		if (turns > 1)
			fprintf(r->out, ", %zu turns deep", turns);
		fprintf(r->out, ": %s of %s\n", gp_count_text(leak->part[k].births).s,
			gp_count_text(leak->births).s);
	}
}

/* ---- one leak ---- */

static void print_head(const struct gp_leaks_report *r, const struct gp_leak *leak,
		       const struct gp_leak_view *view)
{
	const char *unit = gp_leak_unit(r);
	const int64_t bytes = gp_rate_bytes(leak->bytes_per_step);
	if (bytes > 0)
		fprintf(r->out, "  %s a %s", gp_bytes_text((uint64_t)bytes).s, unit);
	else
		fprintf(r->out, "  %s a %s", gp_leak_number(leak).s, unit);
	fprintf(r->out, " since %s %zu at %s: ", unit, leak->since_step,
		gp_ns_text(leak->since_ns).s);
	print_where(r->out, leak, view);
	fputc('\n', r->out);
}

/* "GPU 0, cuBLAS, 3 driver allocations, together 1.00 GiB, live at the last step, 0.5 a step" */
static void print_what(const struct gp_leaks_report *r, const struct gp_leak *leak,
		       const struct gp_leak_view *view)
{
	FILE *out = r->out;
	const char *name = leaks_print_name_of(view);
	const bool has_place = has_frames(view) && first_frame(view) != SIZE_MAX;
	fputs("    ", out);
	if (name != view->names.library && has_place) {
		gp_name_print(out, name);
		fputs("; ", out);
	}
	if (leak->device != GP_DEVICE_UNKNOWN && !gp_leak_is_pinned(leak))
		fprintf(out, "GPU %u, ", leak->device);
	if (leak->owner[0] && leak->space != GP_SPACE_BLOCK) {
		gp_name_print(out, leak->owner);
		fputs(", ", out);
	}
	fprintf(out, "%s", gp_plural(leak->live_count, gp_leak_kind(leak)).s);
	if (leak->live_bytes)
		fprintf(out, leak->live_count == 1 ? " of %s" : ", together %s,",
			gp_bytes_text(leak->live_bytes).s);
	if (leak->is_replaced)
		fprintf(out, " live at the last %s; each replaces the allocation by a larger one\n",
			gp_leak_unit(r));
	else
		fprintf(out, " live at the last %s, %s a %s\n", gp_leak_unit(r),
			gp_rate_text(leak->count_per_step, 3).s, gp_leak_unit(r));
}

static void print_range(FILE *out, const struct gp_range_path *range)
{
	char text[LABEL_MAX];
	gp_range_path_text(range, text, sizeof text);
	fputs("    range: ", out);
	gp_name_print(out, text);
	fputc('\n', out);
}

static void print_chance(FILE *out, const struct gp_leak *leak)
{
	fputs("    evidence: ", out);
	if (leak->is_replaced)
		fputs("never smaller than at the sample before", out);
	else
		fprintf(out, "%zu of %zu intervals between samples left some behind",
			leak->born_spans, leak->spans);
	/* smaller values make no difference */
	if (leak->p_value < 1e-9)
		fputs(" (chance: p < 1e-9)\n", out);
	else
		fprintf(out, " (chance: p = %.1g)\n", leak->p_value);
}

void gp_leak_print(const struct gp_leaks_report *r, const struct gp_leak *leak,
		   const struct gp_leak_view *view)
{
	print_head(r, leak, view);
	if (leak->by == GP_LEAK_BY_STACK && view->has_stack)
		print_callers(r, view);
	print_what(r, leak, view);
	if (leak->by == GP_LEAK_BY_LINE && has_frames(view))
		print_parts(r, leak);
	if (leak->expected_count > 0)
		fprintf(r->out,
			"    will reach about %s if it keeps slowing down: its rate is %.0f%% "
			"of the first rate\n",
			gp_count_text((uint64_t)leak->expected_count).s, 100 * leak->pace);
	if (leak->range)
		print_range(r->out, leak->range);
	if (r->by && !leak->is_object) {
		const struct gp_role_rule *rule = gp_leak_rule(r, leak);
		fprintf(r->out, "    role: %s. %s\n", gp_role_keys[rule->role], rule->why);
	}
	print_chance(r->out, leak);
	if (leak->may_be_activations)
		fputs("    or activations of one forward pass: no backward pass was seen since it "
		      "began\n",
		      r->out);
}

/* ---- lists of leaks ---- */

enum part { MEMORY, PINNED, OBJECTS, FILLING };

static enum part part_of(const struct gp_leak *leak)
{
	return !leak->is_object ? MEMORY : gp_leak_is_pinned(leak) ? PINNED : OBJECTS;
}

static void print_title(const struct gp_leaks_report *r, enum part part)
{
	switch (part) {
	case MEMORY:
		fputs("Leaking memory:", r->out);
		break;
	case PINNED:
		fputs("Leaking pinned host memory:", r->out);
		break;
	case OBJECTS:
		fputs("Leaking CUDA objects (no call destroyed them):", r->out);
		break;
	case FILLING:
		fputs("Slows down like a cache that still fills; a leak beside a cache looks alike",
		      r->out);
		if (!r->has_fillings)
			fputs(" (--filling counts these as leaks)", r->out);
		fputc(':', r->out);
		break;
	}
	fputc('\n', r->out);
}

/* Returns how many of them have a stack, so that a line is named. */
static size_t print_part(const struct gp_leaks_report *r, enum part part)
{
	const struct gp_leaks *all = &r->leaks;
	const struct gp_leak *leak = part == FILLING ? all->filling : all->leak;
	const size_t leaks = part == FILLING ? all->fillings : all->leaks;
	size_t shown = 0, left = 0, named = 0;
	for (size_t k = 0; k < leaks; k++) {
		struct gp_leak_view view;
		if (part != FILLING && part_of(&leak[k]) != part)
			continue;
		gp_leak_look_up(r, leak[k].stack, leak[k].at_ns, &view);
		if (!gp_leak_is_selected(r, &leak[k], &view))
			continue;
		if (!shown)
			print_title(r, part);
		if (r->top && shown >= r->top) {
			left++;
			continue;
		}
		gp_leak_print(r, &leak[k], &view);
		shown++;
		named += has_frames(&view);
	}
	if (left)
		fprintf(r->out, "  %s more; --top 0 shows all\n", gp_count_text(left).s);
	return named;
}

/* ---- the lines around them ---- */

static void print_begin(const struct gp_leaks_report *r)
{
	FILE *out = r->out;
	const struct gp_leaks *all = &r->leaks;
	gp_headline_print(out, r->info);
	if (r->info->kept_from_ns)
		fprintf(out, "looked at from %s on: what came before is overwritten\n",
			gp_ns_text((int64_t)r->info->kept_from_ns).s);
	if (!all->window_ns) {
		fprintf(out, "%s by %s%s", gp_plural(all->steps.steps, "step").s,
			gp_step_source_names[all->steps.source],
			all->steps.source == GP_STEPS_REPETITION ? " (inferred)" : "");
		if (all->steps.warmup)
			fprintf(out, ", %s of them warm-up", gp_count_text(all->steps.warmup).s);
		fprintf(out, "; %zu samples at their begins\n", all->samples);
		return;
	}
	if (all->steps.steps)
		fprintf(out, "Only %s after warm-up; ", gp_plural(all->usable_steps, "step").s);
	else
		fprintf(out, "No steps found (%s); ", all->steps.why);
	if (all->samples)
		fprintf(out, "compared %zu time windows of %s instead.\n", all->samples,
			gp_ns_text(all->window_ns).s);
	else
		fputs("the time is too short to compare windows.\n", out);
}

/* The `next:` line has the command that records them. */
static void print_no_stacks(const struct gp_leaks_report *r)
{
	const bool is_nothing = r->info->is_captured_in_part && r->info->captures == 0;
	fprintf(r->out, "No stacks were recorded%s, so no line is named.\n",
		is_nothing ? " (nothing was captured)" : "");
}

/* The step that begins at that sample, from 1; 0: none. */
static size_t step_at(const struct gp_leaks *all, int64_t at_ns)
{
	for (size_t k = 0; k < all->steps.steps; k++)
		if (all->steps.step[k].begin_ns == at_ns)
			return k + 1;
	return 0;
}

/*
 * The difference between the first sample and the last shows memory that leaks. Objects are in this
 * report only. Without a verdict no command follows; print_hint shows what helps.
 */
static void leaks_print_next(const struct gp_leaks_report *r, const struct gp_leak_total *total,
			     enum gp_leak_verdict verdict)
{
	const size_t from = step_at(&r->leaks, r->leaks.first_ns),
		     to = step_at(&r->leaks, r->leaks.last_ns);
	const bool has_memory = total->bytes_per_step > 0 || total->pinned_per_step > 0;
	char next[80] = "peak";
	if (total->leaks && !has_memory)
		strcpy(next, r->is_native ? "" : "leaks --native");
	if (has_memory && !r->leaks.window_ns && from && to > from)
		snprintf(next, sizeof next, "diff --from step:%zu --to step:%zu", from, to);
	gp_use_next_print(r->out, r->recording, r->info, verdict == GP_LEAK_UNKNOWN ? NULL : next,
			  r->path);
}

static void print_hint(const struct gp_leaks_report *r)
{
	char text[GP_LEAK_CAVEAT_MAX];
	const char *hint = gp_leak_caveat_hint(r, text);
	if (hint)
		fprintf(r->out, "hint: %s\n", hint);
}

void gp_leaks_print(const struct gp_leaks_report *r)
{
	const struct gp_leaks *all = &r->leaks;
	const struct gp_leak_total total = gp_leak_total_of(r);
	const struct gp_leak_answer answer = gp_leak_answer_of(r, &total);
	const char *on = gp_leak_is_suspected(&answer)	? gp_on(GP_ROLE_BAD) :
			 answer.verdict == GP_LEAK_NONE ? gp_on(GP_ROLE_GOOD) :
							  "";
	fprintf(r->out, "%s%s%s\n", on, answer.s, *on ? gp_off() : "");
	if (answer.verdict == GP_LEAK_UNKNOWN)
		print_hint(r);
	print_begin(r);
	if (all->is_cut)
		fputs("There are more stacks than were examined.\n", r->out);
	if (total.leaks && !r->info->has_stacks)
		print_no_stacks(r);
	gp_leak_roles_print(r);
	size_t named = print_part(r, MEMORY) + print_part(r, PINNED) + print_part(r, OBJECTS);
	if (named)
		fputs("Each named line allocates. The reference that keeps the memory alive (list, "
		      "hook, graph) was not recorded.\n",
		      r->out);
	print_part(r, FILLING);
	gp_unnamed_print(r->out, r->recording);
	leaks_print_next(r, &total, answer.verdict);
}
