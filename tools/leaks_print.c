/* Leaks for a person: how fast, since when and where first, then how sure that is. */
#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "leaks_report.h"
#include "message.h"
#include "report.h"
#include "stack_print.h"
#include "use_print.h"

#define USER_FRAMES 3u
#define LABEL_MAX 1024u
#define STEPS_TOLD 1e6	      /* more say nothing */
#define UNTIL_MOST 31557600e9 /* a year: nobody waits for it */

/* ---- places ---- */

static void print_masked(FILE *out, const char *text)
{
	gp_mask(out, text, strlen(text));
}

static void print_label(FILE *out, const struct gp_frame *frame)
{
	char label[LABEL_MAX];
	gp_frame_label(frame, NULL, label, sizeof label);
	print_masked(out, label);
}

static bool has_frames(const struct gp_leak_view *view)
{
	return view->has_stack && view->stack.frames > 0;
}

/* The frame that a person looks at first; SIZE_MAX: none, the names tell more. */
static size_t first_frame(const struct gp_leak *leak, const struct gp_leak_view *view)
{
	size_t k = view->names.user;
	if (leak->by == GP_LEAK_BY_FRAME)
		for (k = 0; k < view->stack.frames && !view->frame[k].is_python; k++)
			;
	return k < view->stack.frames ? k : SIZE_MAX;
}

static const char *name_of(const struct gp_leak_view *view)
{
	const struct gp_names *n = &view->names;
	return n->node[0] ? n->node : n->operator[0] ? n->operator: n->library;
}

/* "loss_list (train.py:87)", "aten::cat", "no stack was recorded" */
static void print_where(FILE *out, const struct gp_leak *leak, const struct gp_leak_view *view)
{
	const size_t first = has_frames(view) ? first_frame(leak, view) : SIZE_MAX;
	if (!has_frames(view))
		fputs("no stack was recorded", out);
	else if (leak->by >= GP_LEAK_BY_OWNER)
		fputs("no line in common", out);
	else if (first != SIZE_MAX)
		print_label(out, &view->frame[first]);
	else if (name_of(view)[0])
		print_masked(out, name_of(view));
	else
		print_label(out, &view->frame[0]);
	if (leak->size && !view->has_stack && leak->by == GP_LEAK_BY_STACK)
		fprintf(out, "; allocations of %s", gp_bytes_text(leak->size).s);
	if (leak->by != GP_LEAK_BY_STACK)
		fprintf(out, ", spread over %s",
			gp_plural(leak->stacks, has_frames(view) ? "stack" : "size").s);
}

/* Who called it, from the inside outwards. */
static void print_callers(const struct gp_leaks_report *r, const struct gp_leak *leak,
			  const struct gp_leak_view *view)
{
	const size_t first = first_frame(leak, view);
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
 * What the stacks of a sum have not in common: the user's frame, or the one that called the common
 * function, after so many turns of it.
 */
static size_t part_frame(const struct gp_leak *leak, const struct gp_leak_view *view, size_t *turns)
{
	const size_t user = view->names.user != SIZE_MAX ? view->names.user : 0;
	size_t k = user;
	*turns = 1;
	if (leak->by != GP_LEAK_BY_LINE)
		return user;
	for (k = user + 1; k < view->stack.frames; k++) {
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
		print_label(r->out, &view.frame[part_frame(leak, &view, &turns)]);
		if (turns > 1)
			fprintf(r->out, ", %zu turns deep", turns);
		fprintf(r->out, ": %s of %s\n", gp_count_text(leak->part[k].births).s,
			gp_count_text(leak->births).s);
	}
}

/* ---- one ---- */

static const char *unit_of(const struct gp_leaks_report *r)
{
	return r->leaks.window_ns ? "window" : "step";
}

static void print_head(const struct gp_leaks_report *r, const struct gp_leak *leak,
		       const struct gp_leak_view *view)
{
	const char *unit = unit_of(r);
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

/* "GPU 0, cuBLAS, 3 driver allocations of 1.00 GiB live, 0.5 a step" */
static void print_what(const struct gp_leaks_report *r, const struct gp_leak *leak,
		       const struct gp_leak_view *view)
{
	FILE *out = r->out;
	const char *name = name_of(view);
	const bool has_place = has_frames(view) && first_frame(leak, view) != SIZE_MAX;
	fputs("    ", out);
	if (name != view->names.library && has_place && leak->by <= GP_LEAK_BY_LINE) {
		print_masked(out, name);
		fputs("; ", out);
	}
	if (!leak->is_object || leak->device != GP_DEVICE_UNKNOWN)
		fprintf(out, "GPU %u, ", leak->device);
	if (leak->owner[0] && leak->space != GP_SPACE_BLOCK) {
		print_masked(out, leak->owner);
		fputs(", ", out);
	}
	fprintf(out, "%s", gp_plural(leak->live_count, gp_leak_kind(leak)).s);
	if (leak->live_bytes)
		fprintf(out, " of %s", gp_bytes_text(leak->live_bytes).s);
	if (leak->is_replaced)
		fprintf(out, " live, as many as before and larger each %s\n", unit_of(r));
	else
		fprintf(out, " live, %s a %s\n", gp_rate_text(leak->count_per_step, 3).s,
			unit_of(r));
}

static void print_range(FILE *out, const struct gp_range_path *range)
{
	char text[LABEL_MAX];
	gp_range_path_text(range, text, sizeof text);
	fputs("    range: ", out);
	print_masked(out, text);
	fputc('\n', out);
}

static void print_example(const struct gp_leaks_report *r, const struct gp_leak *leak)
{
	fputs("    newest:", r->out);
	for (size_t k = 0; k < leak->examples; k++)
		fprintf(r->out, "%s %#llx (%s, at %s)", k ? "," : "",
			(unsigned long long)leak->example[k].address,
			gp_bytes_text(leak->example[k].bytes).s,
			gp_ns_text(leak->example[k].at_ns).s);
	fputc('\n', r->out);
}

static void print_chance(FILE *out, const struct gp_leak *leak)
{
	fputs("    ", out);
	if (!leak->is_replaced)
		fprintf(out, "some is left of %zu of %zu spans between samples; ", leak->born_spans,
			leak->spans);
	/* less says nothing to a person */
	if (leak->p_value < 1e-9)
		fputs("by chance: < 1e-9\n", out);
	else
		fprintf(out, "by chance: %.1g\n", leak->p_value);
}

void gp_leak_print(const struct gp_leaks_report *r, const struct gp_leak *leak,
		   const struct gp_leak_view *view)
{
	print_head(r, leak, view);
	if (leak->by == GP_LEAK_BY_STACK && view->has_stack)
		print_callers(r, leak, view);
	print_what(r, leak, view);
	if (leak->by != GP_LEAK_BY_STACK && has_frames(view))
		print_parts(r, leak);
	if (leak->expected_count > 0)
		fprintf(r->out,
			"    about %s in the end, should it go on to slow down: its pace is %.0f%% "
			"of the first\n",
			gp_count_text((uint64_t)leak->expected_count).s, 100 * leak->pace);
	if (leak->range)
		print_range(r->out, leak->range);
	print_chance(r->out, leak);
	if (leak->examples && leak->live_bytes)
		print_example(r, leak);
}

/* ---- lists of them ---- */

/* "3.20 KiB a step on GPU 0, which is full in 11.7 h at this rate (84,000 steps)" */
static void print_total(const struct gp_leaks_report *r, const struct gp_leak_total *total)
{
	const char *unit = unit_of(r), *separator = ": ";
	for (unsigned k = 0; k < GP_DEVICES; k++) {
		const double steps = total->steps_until_full[k], ns = steps * r->leaks.step_ns;
		if (total->of_device[k] <= 0)
			continue;
		fprintf(r->out, "%s%s a %s on GPU %u", separator,
			gp_bytes_text((uint64_t)gp_rate_bytes(total->of_device[k])).s, unit, k);
		separator = "; ";
		const bool is_soon = steps >= 0 && ns < UNTIL_MOST;
		if (is_soon)
			fprintf(r->out, ", full in %s at this rate", gp_about_text(ns).s);
		if (is_soon && !r->leaks.window_ns && steps < STEPS_TOLD)
			fprintf(r->out, " (%s)", gp_plural((uint64_t)steps, unit).s);
	}
}

enum part { MEMORY, OBJECTS, FILLING };

static void print_title(const struct gp_leaks_report *r, const struct gp_leak_total *total,
			enum part part)
{
	switch (part) {
	case MEMORY:
		fputs("memory that leaks", r->out);
		print_total(r, total);
		break;
	case OBJECTS:
		fputs("objects of the driver that grow", r->out);
		break;
	case FILLING:
		fputs("slows down, as a cache that fills up; a leak beside one may look like that, "
		      "too",
		      r->out);
		if (!r->has_fillings)
			fputs(" (--filling counts these as leaks)", r->out);
		break;
	}
	fputc('\n', r->out);
}

static void print_part(const struct gp_leaks_report *r, const struct gp_leak_total *total,
		       enum part part)
{
	const struct gp_leaks *all = &r->leaks;
	const struct gp_leak *leak = part == FILLING ? all->filling : all->leak;
	const size_t leaks = part == FILLING ? all->fillings : all->leaks;
	size_t shown = 0, left = 0;
	for (size_t k = 0; k < leaks; k++) {
		struct gp_leak_view view;
		if (part != FILLING && leak[k].is_object != (part == OBJECTS))
			continue;
		gp_leak_look_up(r, leak[k].stack, leak[k].at_ns, &view);
		if (!gp_leak_is_wanted(r, &leak[k], &view))
			continue;
		if (!shown)
			print_title(r, total, part);
		if (r->top && shown >= r->top) {
			left++;
			continue;
		}
		gp_leak_print(r, &leak[k], &view);
		shown++;
	}
	if (left)
		fprintf(r->out, "  %s more; --top 0 shows all\n", gp_count_text(left).s);
}

/* ---- around them ---- */

static void print_begin(const struct gp_leaks_report *r)
{
	FILE *out = r->out;
	const struct gp_leaks *all = &r->leaks;
	fprintf(out, "%s\n", gp_headline_of(r->info).s);
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
	if (all->usable_steps < all->steps.steps)
		fprintf(out, "too few steps (%s of %s in the span and behind the warm-up): ",
			gp_count_text(all->usable_steps).s, gp_count_text(all->steps.steps).s);
	else if (all->steps.steps)
		fprintf(out, "too few steps (%s): ", gp_count_text(all->steps.steps).s);
	else
		fprintf(out, "no steps (%s): ", all->steps.why);
	if (all->samples)
		fprintf(out, "%zu windows of %s instead\n", all->samples,
			gp_ns_text(all->window_ns).s);
	else
		fputs("and too short a time for windows\n", out);
}

static void print_no_stacks(const struct gp_leaks_report *r)
{
	const bool is_nothing = r->info->is_captured_in_part && r->info->captures == 0;
	fprintf(r->out,
		"no stacks were recorded%s, so no line is named; this run names them: gpuprof run "
		"%s -- ",
		is_nothing ? ", for nothing was captured" : "", gp_stack_options(r->info));
	gp_command_print(r->out, r->info->command ? r->info->command : "COMMAND");
	fputc('\n', r->out);
}

/* Elsewhere something may grow. */
static const char *asked_text(const struct gp_leaks_report *r, char text[GP_LEAK_DOUBT_MAX])
{
	int used = 0;
	text[0] = '\0';
	if (r->library)
		used = snprintf(text, GP_LEAK_DOUBT_MAX, " of library '%.64s'", r->library);
	if (r->device >= 0)
		snprintf(text + used, GP_LEAK_DOUBT_MAX - (size_t)used, " on GPU %" PRId64,
			 r->device);
	return text;
}

static void print_nothing(const struct gp_leaks_report *r, const struct gp_leak_total *total)
{
	char text[GP_LEAK_DOUBT_MAX], asked[GP_LEAK_DOUBT_MAX];
	const char *doubt = gp_leak_doubt(r, text);
	if (doubt)
		fprintf(r->out, "cannot tell whether anything grows: %s\n", doubt);
	else
		fprintf(r->out, "nothing%s grows%s that began by step %s of %s: %s looked at\n",
			asked_text(r, asked), total->fillings ? " at a steady pace" : "",
			gp_count_text(r->leaks.told_to_step).s,
			gp_count_text(r->leaks.steps.steps).s,
			gp_plural(r->leaks.stacks, "stack").s);
}

static void print_live(const struct gp_leaks_report *r, const struct gp_holders *h, uint64_t count)
{
	const char *what = h->of == GP_CURVE_ALLOCATED ? "framework block" :
			   h->of == GP_CURVE_PINNED    ? "pinned allocation" :
							 "driver allocation";
	char where[24] = "host";
	if (h->device != GP_DEVICE_UNKNOWN)
		snprintf(where, sizeof where, "GPU %u", h->device);
	fprintf(r->out, "live at the end: %s, %s in %s\n", where, gp_bytes_text(h->live_bytes).s,
		gp_plural(count, what).s);
}

enum gp_status gp_leaks_print(const struct gp_leaks_report *r)
{
	const struct gp_leaks *all = &r->leaks;
	const struct gp_leak_total total = gp_leak_total_of(r);
	print_begin(r);
	if (r->info->uncertains || r->info->lost_memory || r->info->has_hole)
		fputs("events are missing: what grows may have been given back unseen\n", r->out);
	if (all->is_cut)
		fputs("there are more stacks than were looked at\n", r->out);
	if (total.leaks && !r->info->has_stacks)
		print_no_stacks(r);
	if (!total.leaks)
		print_nothing(r, &total);
	print_part(r, &total, MEMORY);
	print_part(r, &total, OBJECTS);
	print_part(r, &total, FILLING);
	enum gp_status status = gp_leak_visit_live(r, print_live);
	gp_unnamed_print(r->out, r->recording);
	gp_use_next_print(r->out, r->info, "top --sort live", r->path);
	return status;
}
