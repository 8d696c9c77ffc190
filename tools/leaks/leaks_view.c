/*
 * A leak and the filters: its stack and library, whether it passes, and the sums.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../report/again.h"
#include "../report/report.h"
#include "../report/use_print.h"
#include "leaks_report.h"

void gp_leak_look_up(const struct gp_leaks_report *r, uint32_t stack, int64_t at_ns,
		     struct gp_leak_view *out)
{
	out->names = (struct gp_names){ .user = SIZE_MAX, .caller = SIZE_MAX };
	out->has_stack = stack && gp_recording_stack(r->recording, stack, at_ns, GP_STACK_SYMBOLS,
						     &out->stack, out->frame, GP_FRAMES_MAX);
	if (out->has_stack)
		gp_recording_names(r->recording, out->frame, out->stack.frames, &out->names);
}

bool gp_leak_is_selected(const struct gp_leaks_report *r, const struct gp_leak *leak,
			 const struct gp_leak_view *view)
{
	if (r->device >= 0 && leak->device != (unsigned)r->device)
		return false;
	return !r->library || strcasecmp(view->names.library, r->library) == 0;
}

bool gp_leak_is_pinned(const struct gp_leak *leak)
{
	return leak->space == GP_SPACE_HOST || leak->space == GP_SPACE_HOST_REGISTER;
}

struct gp_text gp_leak_number(const struct gp_leak *leak)
{
	struct gp_text text;
	const struct gp_text rate = gp_rate_text(leak->count_per_step, 3);
	const char *number = leak->is_replaced ? "larger" : rate.s;
	snprintf(text.s, sizeof text.s, "%.18s %.26s%s", number, gp_leak_kind(leak),
		 strcmp(number, "1") == 0 ? "" : "s");
	return text;
}

const char *gp_leak_unit(const struct gp_leaks_report *r)
{
	return r->leaks.window_ns ? "window" : "step";
}

/* ---- sums ---- */

static void leaks_view_add(const struct gp_leaks_report *r, const struct gp_leak *leak,
			   struct gp_leak_total *out)
{
	struct gp_leak_view view;
	gp_leak_look_up(r, leak->stack, leak->at_ns, &view);
	if (!gp_leak_is_selected(r, leak, &view))
		return;
	out->leaks++;
	out->certain += gp_leak_is_certain(&r->leaks, leak);
	if (leak->is_object) {
		out->pinned_per_step += fmax(leak->bytes_per_step, 0);
		return;
	}
	out->bytes_per_step += leak->bytes_per_step;
	if (leak->device < GP_DEVICES)
		out->of_device[leak->device] += leak->bytes_per_step;
}

struct gp_leak_total gp_leak_total_of(const struct gp_leaks_report *r)
{
	const struct gp_leaks *all = &r->leaks;
	struct gp_leak_total total = { 0 };
	for (size_t k = 0; k < all->fillings; k++)
		leaks_view_add(r, &all->filling[k], &total);
	const size_t fillings = total.leaks;
	total.certain = fillings;
	if (!r->has_fillings)
		total = (struct gp_leak_total){ 0 };
	bool has_filling[GP_DEVICES];
	for (size_t k = 0; k < GP_DEVICES; k++)
		has_filling[k] = total.of_device[k] > 0;
	total.fillings = fillings;
	for (size_t k = 0; k < all->leaks; k++)
		leaks_view_add(r, &all->leak[k], &total);
	for (size_t k = 0; k < GP_DEVICES; k++) {
		/* a leak that slows down does not continue at this rate */
		bool is_known = total.of_device[k] > 0 && !has_filling[k] &&
				all->free_bytes[k] != UINT64_MAX;
		total.steps_until_full[k] =
			is_known ? (double)all->free_bytes[k] / total.of_device[k] : -1;
	}
	return total;
}

/* ---- caveats when no leak was found ---- */

/*
 * Whether captures cover only a part of the time between the samples. Outside of captures, memory
 * has no stack. Launches, which show the steps, are missing there.
 */
static bool is_captured_in_part(const struct gp_leaks_report *r)
{
	const struct gp_info *info = r->info;
	for (size_t k = 0; k < info->captureds; k++)
		if (info->captured[k].from_ns <= r->leaks.first_ns &&
		    r->leaks.last_ns <= info->captured[k].to_ns)
			return false;
	return info->is_captured_in_part && info->captures > 0;
}

const char *gp_leak_caveat(const struct gp_leaks_report *r, char text[GP_LEAK_CAVEAT_MAX])
{
	const struct gp_leaks *all = &r->leaks;
	const char *caveat = gp_span_caveat_of(r->info);
	if (caveat)
		return caveat;
	if (is_captured_in_part(r))
		return "launches and stacks were captured for a part of the time only";
	if (all->is_cut)
		return "there are more stacks than were looked at";
	if (all->has_verdict)
		return NULL;
	if (all->activations)
		return "the steps found are parts of one forward pass, whose activations grow";
	if (all->may_replace)
		return "what has no stack goes away as fast as new memory comes in its place";
	if (all->steps.steps == 0)
		return "no steps were found";
	snprintf(text, GP_LEAK_CAVEAT_MAX, "%s after warm-up, %zu needed for %s",
		 gp_plural(all->usable_steps, "step").s, all->samples_least,
		 gp_plural(all->stacks, "stack").s);
	return text;
}

bool gp_leak_judges_half(const struct gp_leaks_report *r)
{
	const struct gp_leaks *all = &r->leaks;
	size_t before = 0, within = 0;
	for (size_t k = 0; k < all->steps.steps; k++) {
		before += all->steps.step[k].begin_ns < all->from_ns;
		within += all->steps.step[k].begin_ns >= all->from_ns &&
			  all->steps.step[k].begin_ns <= all->to_ns;
	}
	return all->detectable_to_step > before && (all->detectable_to_step - before) * 2 >= within;
}

const char *gp_leak_caveat_hint(const struct gp_leaks_report *r, char text[GP_LEAK_CAVEAT_MAX])
{
	const struct gp_leaks *all = &r->leaks;
	if (gp_span_caveat_of(r->info)) {
		snprintf(text, GP_LEAK_CAVEAT_MAX,
			 "'gpuprof info %.200s' lists the parts that are there", r->path);
		return text;
	}
	if (is_captured_in_part(r))
		return "'gpuprof leaks --from A --to B' within what 'gpuprof info' lists as "
		       "captured";
	if (all->is_cut || all->has_verdict)
		return NULL;
	if (all->may_replace)
		return "'gpuprof run --outside-capture=stacks' also records stacks outside of "
		       "captures";
	if (all->activations || all->steps.steps == 0)
		return "put a range 'step' around each iteration (NVTX, record_function)";
	snprintf(text, GP_LEAK_CAVEAT_MAX, "record at least %s more, or choose a longer span",
		 gp_plural(all->samples_least - all->usable_steps, "step").s);
	return text;
}

/* ---- the requested library ---- */

/* All stacks seen, and all allocations, including memory that was freed before each sample. */
static struct gp_use *list_uses(const struct gp_leaks *all, const struct gp_top *top, size_t *uses)
{
	size_t n = all->seens, used = 0;
	for (size_t k = 0; k < top->curves; k++)
		n += top->curve[k].uses;
	struct gp_use *use = calloc(n + 1, sizeof *use);
	for (size_t k = 0; use && k < all->seens; k++)
		use[used++] = (struct gp_use){
			.stack = all->seen[k].stack,
			.at_ns = all->seen[k].at_ns,
			.without = all->seen[k].stack ? NULL : "no stack was recorded",
			.space = all->seen[k].space,
		};
	for (size_t k = 0; use && k < top->curves; k++)
		for (size_t i = 0; i < top->curve[k].uses; i++)
			use[used++] = top->curve[k].use[i];
	*uses = used;
	return use;
}

static void print_none(const struct gp_leaks_report *r, const char *libraries)
{
	char again[GP_AGAIN_OPTIONS];
	gp_error("no memory of library '%s' in '%s'", r->library, r->path);
	gp_use_library_hint(libraries,
			    gp_again_run(r->info, gp_again_lacks(r->info, GP_LACK_STACKS), again));
}

bool gp_leak_has_library(const struct gp_leaks_report *r, enum gp_status *status)
{
	struct gp_top top;
	struct gp_groups groups;
	size_t uses;
	const struct gp_grouping how = { .by = GP_BY_LIBRARY, .library = r->library };
	struct gp_leak_total total = gp_leak_total_of(r);
	*status = GP_OK;
	if (!r->library || total.leaks || total.fillings)
		return true;
	*status = gp_top_build(r->recording, INT64_MIN, INT64_MAX, 0, &top);
	if (*status)
		return false;
	struct gp_use *use = list_uses(&r->leaks, &top, &uses);
	*status = use ? gp_groups_build(r->recording, use, uses, &how, &groups) : GP_E_MEMORY;
	free(use);
	gp_top_free(&top);
	if (*status)
		return false;
	bool is_there = groups.matched > 0;
	if (!is_there)
		print_none(r, groups.libraries);
	gp_groups_free(&groups);
	return is_there;
}
