/*
 * The answer of `gpuprof phases`: the phase of each device's peak, the memory of each phase then,
 * and the lines of code with most of it. The peak is that of `gpuprof peak`.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/use_print.h"
#include "phases_report.h"

#define PARTS_SHOWN 3u
#define LABEL_MAX 1024u

/* ---- memory held by each phase ---- */

/* A use, and its position among those of its device. */
struct place {
	const struct gp_range_path *phase;
	size_t at;
};

static const struct gp_range_path *phase_of(const struct gp_use *use)
{
	return use->range ? gp_range_path_phase(gp_range_path_shown(use->range, NULL)) : NULL;
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->phase != b->phase)
		return (uintptr_t)a->phase < (uintptr_t)b->phase ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* Most bytes first, then by position of their largest uses. */
static int compare_parts(const void *left, const void *right)
{
	const struct gp_phase_part *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static enum gp_status parts_build(const struct gp_holders *h, struct gp_phases_peak *out)
{
	struct place *place = calloc(h->uses + 1, sizeof *place);
	out->use = calloc(h->uses + 1, sizeof *out->use);
	out->part = calloc(h->uses + 1, sizeof *out->part);
	if (!place || !out->use || !out->part) {
		free(place);
		return GP_E_MEMORY;
	}
	for (size_t k = 0; k < h->uses; k++)
		place[k] = (struct place){ phase_of(&h->use[k]), k };
	qsort(place, h->uses, sizeof *place, compare_places);
	for (size_t k = 0; k < h->uses; k++) {
		struct gp_phase_part *part = out->parts ? &out->part[out->parts - 1] : NULL;
		if (!part || part->phase != place[k].phase) {
			part = &out->part[out->parts++];
			*part = (struct gp_phase_part){ .phase = place[k].phase,
							.use = &out->use[k],
							.first = place[k].at };
		}
		out->use[k] = h->use[place[k].at];
		part->bytes += out->use[k].bytes;
		part->uses++;
	}
	qsort(out->part, out->parts, sizeof *out->part, compare_parts);
	free(place);
	return GP_OK;
}

enum gp_status gp_phases_peaks_build(struct gp_phases_report *r)
{
	enum gp_status status = GP_OK;
	r->at_peak = calloc(r->peak.holders + 1, sizeof *r->at_peak);
	if (!r->at_peak)
		return GP_E_MEMORY;
	for (size_t k = 0; k < r->peak.holders && status == GP_OK; k++) {
		const struct gp_holders *h = &r->peak.holder[k];
		if (!gp_phases_selects(r, h))
			continue;
		r->at_peak[r->peaks].holders = h;
		status = parts_build(h, &r->at_peak[r->peaks++]);
	}
	return status;
}

void gp_phases_peaks_free(struct gp_phases_report *r)
{
	for (size_t k = 0; k < r->peaks; k++) {
		free(r->at_peak[k].use);
		free(r->at_peak[k].part);
	}
	free(r->at_peak);
	r->at_peak = NULL;
	r->peaks = 0;
}

/* The groups of `gpuprof peak --by line` of that part. */
static enum gp_status lines_build(const struct gp_phases_report *r,
				  const struct gp_phase_part *part, struct gp_groups *out)
{
	const struct gp_grouping by_line = { .by = GP_BY_LINE };
	*out = (struct gp_groups){ 0 };
	if (!r->info->has_stacks)
		return GP_OK;
	return gp_groups_build(r->recording, part->use, part->uses, &by_line, out);
}

/* ---- for a person ---- */

static void print_sum(const struct gp_phases_report *r, const struct gp_holders *h, uint64_t bytes)
{
	fprintf(r->out, "%10s %6.1f%%  ", gp_bytes_text(bytes).s,
		h->live_bytes ? 100.0 * (double)bytes / (double)h->live_bytes : 0.0);
}

static enum gp_status print_part(const struct gp_phases_report *r, const struct gp_holders *h,
				 const struct gp_phase_part *part)
{
	char text[LABEL_MAX] = "(not known)";
	struct gp_groups lines;
	enum gp_status status = lines_build(r, part, &lines);
	if (status)
		return status;
	print_sum(r, h, part->bytes);
	if (part->phase)
		gp_range_path_text(part->phase, text, sizeof text);
	gp_name_print(r->out, text);
	fputs(lines.groups ? ": " : "", r->out);
	gp_use_lines_list(r->out, &lines, h->live_bytes);
	fputc('\n', r->out);
	gp_groups_free(&lines);
	return GP_OK;
}

static bool phases_peak_is_shown(const struct gp_phases_peak *p, size_t at)
{
	return at < PARTS_SHOWN || p->part[at].phase == gp_use_phase_of(p->holders);
}

static enum gp_status print_parts(const struct gp_phases_report *r, const struct gp_phases_peak *p)
{
	enum gp_status status = GP_OK;
	uint64_t rest = 0;
	size_t left = 0;
	for (size_t k = 0; k < p->parts; k++)
		left += !phases_peak_is_shown(p, k);
	/* a last single row is shown instead of "1 more" */
	const bool shows_all = left <= 1 || !r->top;
	for (size_t k = 0; k < p->parts && status == GP_OK; k++) {
		if (shows_all || phases_peak_is_shown(p, k))
			status = print_part(r, p->holders, &p->part[k]);
		else
			rest += p->part[k].bytes;
	}
	if (!shows_all) {
		print_sum(r, p->holders, rest);
		fprintf(r->out, "%s; --top 0 shows all\n", gp_plural(left, "more phase").s);
	}
	return status;
}

static enum gp_status print_peak(const struct gp_phases_report *r, const struct gp_phases_peak *p)
{
	gp_use_moment_print(r->out, r->info, p->holders, GP_AT_PEAK, p->holders->live_bytes);
	if (gp_phases_by(r->info) == GP_PHASES_BY_NOTHING)
		return GP_OK;
	fprintf(r->out, "%10s %7s  phase%s\n", "held", "share",
		r->info->has_stacks ? ": the lines that hold most of it" : "");
	return print_parts(r, p);
}

enum gp_status gp_phases_peaks_print(const struct gp_phases_report *r)
{
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < r->peaks && status == GP_OK; k++)
		status = print_peak(r, &r->at_peak[k]);
	return status;
}

bool gp_phases_peaks_brief(const struct gp_phases_report *r, char out[GP_PHASES_BRIEF])
{
	const struct gp_phases_peak *most = NULL;
	char at[GP_PHASES_BRIEF / 3], first[GP_PHASES_BRIEF / 3] = "(not known)";
	for (size_t k = 0; k < r->peaks; k++)
		if (!most || r->at_peak[k].holders->live_bytes > most->holders->live_bytes)
			most = &r->at_peak[k];
	const struct gp_range_path *phase = most ? gp_use_phase_of(most->holders) : NULL;
	if (!phase || gp_phases_by(r->info) == GP_PHASES_BY_NOTHING)
		return false;
	const struct gp_phase_part *part = &most->part[0];
	gp_range_path_text(phase, at, sizeof at);
	if (part->phase)
		gp_range_path_text(part->phase, first, sizeof first);
	const bool is_outside = phase->known == GP_RANGE_OUTSIDE, is_same = part->phase == phase;
	snprintf(out, GP_PHASES_BRIEF, "peak %s%s%s%s holds %s (%.1f%%)", is_outside ? "" : "in ",
		 is_outside ? "outside of any range" : at, is_same ? ", which" : "; ",
		 is_same ? "" : first, gp_bytes_text(part->bytes).s,
		 100.0 * (double)part->bytes / (double)most->holders->live_bytes);
	return true;
}

/* ---- for a program ---- */

static enum gp_status write_part(const struct gp_phases_report *r, const struct gp_phase_part *part)
{
	struct gp_groups lines;
	enum gp_status status = lines_build(r, part, &lines);
	if (status)
		return status;
	gp_json_object(r->json, NULL);
	gp_use_phase_write(r->json, part->phase);
	gp_json_number(r->json, "bytes", part->bytes);
	gp_json_array(r->json, "lines");
	for (size_t k = 0; k < lines.groups; k++) {
		gp_json_object(r->json, NULL);
		gp_json_text(r->json, "key", lines.group[k].key);
		gp_json_number(r->json, "bytes", lines.group[k].use.bytes);
		gp_json_end(r->json);
	}
	gp_json_end(r->json);
	gp_json_end(r->json);
	gp_groups_free(&lines);
	return GP_OK;
}

static enum gp_status write_peak(const struct gp_phases_report *r, const struct gp_phases_peak *p)
{
	const struct gp_holders *h = p->holders;
	enum gp_status status = GP_OK;
	gp_json_object(r->json, NULL);
	gp_use_device_write(r->json, h->device);
	gp_json_text(r->json, "of", gp_curve_keys[h->of]);
	gp_json_signed(r->json, "at_ns", h->at_ns);
	gp_json_number(r->json, "live_bytes", h->live_bytes);
	gp_use_phase_write(r->json, gp_use_phase_of(h));
	gp_json_array(r->json, "phases");
	for (size_t k = 0; k < p->parts && status == GP_OK; k++)
		status = write_part(r, &p->part[k]);
	gp_json_end(r->json);
	gp_json_end(r->json);
	return status;
}

enum gp_status gp_phases_peaks_write(const struct gp_phases_report *r)
{
	enum gp_status status = GP_OK;
	if (!r->at_peak) {
		gp_json_null(r->json, "peaks");
		return GP_OK;
	}
	gp_json_array(r->json, "peaks");
	for (size_t k = 0; k < r->peaks && status == GP_OK; k++)
		status = write_peak(r, &r->at_peak[k]);
	gp_json_end(r->json);
	return status;
}
