/*
 * Memory that each phase holds at the peak. Adds up the uses of `gpuprof peak --by range` by the
 * row of their phase.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "phases_report.h"

/* A row, as sorted for the search. */
struct place {
	size_t parent, at; /* rows; SIZE_MAX: no parent */
	const struct gp_phase *phase;
};

struct held {
	const struct gp_phases *phases;
	uint64_t *bytes;
	size_t *parent; /* by row */
	struct place *place;
};

static int text_compare(const char *a, const char *b)
{
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int place_compare(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->phase->style != b->phase->style)
		return a->phase->style < b->phase->style ? -1 : 1;
	if (a->phase->source != b->phase->source)
		return a->phase->source < b->phase->source ? -1 : 1;
	int order = text_compare(a->phase->domain, b->phase->domain);
	return order ? order : text_compare(a->phase->name, b->phase->name);
}

static size_t child_find(const struct held *h, size_t parent, const struct gp_phase *like)
{
	const struct place key = { .parent = parent, .phase = like };
	const struct place *found =
		bsearch(&key, h->place, h->phases->phases, sizeof key, place_compare);
	return found ? found->at : SIZE_MAX;
}

/* "step 12" as "step #", which stands for all numbered steps. */
static void fold_name(const char *name, char out[GP_RANGE_NAME_MAX])
{
	size_t n = 0;
	while (*name && n + 1 < GP_RANGE_NAME_MAX) {
		if (!isdigit((unsigned char)*name)) {
			out[n++] = *name++;
			continue;
		}
		out[n++] = '#';
		name += strspn(name, "0123456789");
	}
	out[n] = '\0';
}

static enum gp_phase_style style_of(enum gp_range_known known)
{
	return known == GP_RANGE_IN	   ? GP_PHASE_NESTED :
	       known == GP_RANGE_AMBIGUOUS ? GP_PHASE_AMBIGUOUS :
	       known == GP_RANGE_BEYOND	   ? GP_PHASE_REST :
					     GP_PHASE_OUTSIDE;
}

/* The row of that range, else of the innermost range around it with a row; SIZE_MAX: none. */
static size_t row_find(const struct held *h, const struct gp_range_path *path)
{
	char folded[GP_RANGE_NAME_MAX];
	if (!path || path->known == GP_RANGE_UNRECORDED)
		return SIZE_MAX;
	const size_t up = row_find(h, path->up);
	struct gp_phase like = { .style = style_of(path->known),
				 .source = path->source,
				 .domain = path->domain,
				 .name = path->name };
	size_t at = child_find(h, up, &like);
	if (at == SIZE_MAX && path->name) {
		fold_name(path->name, folded);
		like.name = folded;
		at = child_find(h, up, &like);
	}
	return at != SIZE_MAX ? at : up;
}

static bool rows_list(struct held *h)
{
	const size_t rows = h->phases->phases;
	h->parent = calloc(rows + 1, sizeof *h->parent);
	h->place = calloc(rows + 1, sizeof *h->place);
	for (size_t k = 0; k < rows && h->parent && h->place; k++) {
		const unsigned depth = h->phases->phase[k].depth;
		size_t up = k > 0 ? k - 1 : SIZE_MAX;
		while (up != SIZE_MAX && h->phases->phase[up].depth >= depth)
			up = h->parent[up];
		h->parent[k] = up;
		h->place[k] = (struct place){ up, k, &h->phases->phase[k] };
	}
	if (!h->parent || !h->place)
		return false;
	qsort(h->place, rows, sizeof *h->place, place_compare);
	return true;
}

/* Two rows read the same if names are missing. */
static bool has_twins(const struct held *h)
{
	for (size_t k = 1; k < h->phases->phases; k++)
		if (place_compare(&h->place[k - 1], &h->place[k]) == 0)
			return true;
	return false;
}

static void holders_add(struct held *h, const struct gp_holders *holders)
{
	for (size_t k = 0; k < holders->uses; k++) {
		size_t at = row_find(h, holders->use[k].range);
		for (; at != SIZE_MAX; at = h->parent[at])
			h->bytes[at] += holders->use[k].bytes;
	}
}

/* The ranges of `peak` cover the whole recording, with the default attribution. */
static bool is_as_peak(const struct gp_phases_options *requested)
{
	return requested->from_ns == INT64_MIN && requested->to_ns == INT64_MAX &&
	       !requested->is_own_thread && !requested->is_recorded_only &&
	       !requested->is_by_frames;
}

bool gp_phases_selects(const struct gp_phases_report *r, const struct gp_holders *h)
{
	return h->of == r->phases.of &&
	       (r->requested.device == GP_DEVICE_UNKNOWN || r->requested.device == h->device);
}

static enum gp_status rows_hold(struct gp_phases_report *r)
{
	struct held h = { .phases = &r->phases };
	h.bytes = r->held = calloc(r->phases.phases + 1, sizeof *h.bytes);
	const bool is_fine = h.bytes && rows_list(&h);
	for (size_t k = 0; k < r->peak.holders && is_fine; k++)
		if (gp_phases_selects(r, &r->peak.holder[k]))
			holders_add(&h, &r->peak.holder[k]);
	if (is_fine && has_twins(&h)) {
		free(r->held);
		r->held = NULL;
	}
	free(h.parent);
	free(h.place);
	return is_fine ? GP_OK : GP_E_MEMORY;
}

enum gp_status gp_phases_hold(struct gp_phases_report *r)
{
	if (!is_as_peak(&r->requested))
		return GP_OK;
	enum gp_status status =
		gp_peak_build_with(r->recording, GP_AT_PEAK, 0, GP_WITH_RANGES, &r->peak);
	if (!status)
		status = rows_hold(r);
	if (!status)
		status = gp_phases_peaks_build(r);
	return status;
}

/* ---- time of the GPU ---- */

/* The row of that range itself; SIZE_MAX: it has none. */
static size_t gpu_row_of(const struct held *h, const struct gp_range_path *path)
{
	unsigned depth = 0;
	const size_t at = row_find(h, path);
	for (const struct gp_range_path *up = path->up; up; up = up->up)
		depth++;
	return at != SIZE_MAX && h->phases->phase[at].depth == depth ? at : SIZE_MAX;
}

static void gpu_add(struct gp_gpu_sum *to, const struct gp_gpu_sum *from)
{
	to->operations += from->operations;
	to->envelope_ns += from->envelope_ns;
	to->busy_ns += from->busy_ns;
	to->sum_ns += from->sum_ns;
}

enum gp_status gp_phases_project(struct gp_phases_report *r)
{
	struct held h = { .phases = &r->phases };
	if (!r->has_gpu)
		return GP_OK;
	enum gp_status status =
		gp_gpu_ranges_build(r->recording, r->requested.from_ns, r->requested.to_ns,
				    r->requested.device, &r->gpu);
	if (status || !r->gpu.gpu.has_operations)
		return status;
	r->gpu_sum = calloc(r->phases.phases + 1, sizeof *r->gpu_sum);
	if (!r->gpu_sum || !rows_list(&h))
		status = GP_E_MEMORY;
	for (size_t k = 0; k < r->gpu.ranges && !status; k++) {
		const size_t at = gpu_row_of(&h, r->gpu.range[k].path);
		if (at != SIZE_MAX)
			gpu_add(&r->gpu_sum[at], &r->gpu.range[k].sum);
	}
	free(h.parent);
	free(h.place);
	return status;
}

void gp_phases_hold_free(struct gp_phases_report *r)
{
	free(r->gpu_sum);
	r->gpu_sum = NULL;
	gp_gpu_ranges_free(&r->gpu);
	gp_phases_peaks_free(r);
	gp_peak_free(&r->peak);
	free(r->held);
	r->held = NULL;
}
