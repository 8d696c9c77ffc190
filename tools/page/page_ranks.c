/*
 * Several recordings side by side: their starts on one clock, figures that the commands print for
 * each, and the outliers among them (docs/PAGE.md, "Ranks"; docs/ANALYSIS.md, section 22).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../check/json_read.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../report/outlier.h"
#include "../report/rank_clock.h"
#include "../report/report.h"
#include "../report/table.h"
#include "page.h"

enum figure { ALLOCATED, RESERVED, DRIVER, UNUSED, STEP, SPAN, KERNELS, OOMS, FIGURES };

/* The command has a column of this title for several recordings. */
static const struct {
	const char *title, *unit, *command, *text;
	bool is_compared; /* its outlier is a finding */
} figures[FIGURES] = {
	[ALLOCATED] = { "allocated peak", "bytes", "timeline", "The allocated peak", true },
	[RESERVED] = { "reserved peak", "bytes", "timeline", "The reserved peak", true },
	[DRIVER] = { "driver peak", "bytes", "timeline", "The driver peak", true },
	[UNUSED] = { "unused", "bytes", "frag", "Unused reserved memory", true },
	[STEP] = { "a step", "ns", "timeline", "The median time of a step", true },
	[SPAN] = { "span", "ns", "info", "The length of the recording", true },
	[KERNELS] = { "NCCL kernels", "ns", "collectives", "The time of NCCL's kernels", true },
	[OOMS] = { "OOMs", "count", "timeline", NULL, false },
};

struct gp_page_rank_row {
	size_t rank;	/* index */
	int64_t device; /* -1: none */
	double value[FIGURES];
};

struct gp_page_rank {
	const char *path;
	size_t first; /* of its rows; it has the figures of the process */
	struct gp_rank_start start;
	struct gp_text state;
	uint64_t duration_ns, kept_from_ns;
	struct gp_steps steps;
	int64_t number;	      /* in the largest communicator; -1: unknown */
	int64_t first_oom_ns; /* INT64_MAX: none */
};

/* ---- figures of a recording ---- */

typedef void rank_look(struct gp_page_ranks *ranks, const struct gp_json_value *document);

static struct gp_page_rank *rank_newest(const struct gp_page_ranks *ranks)
{
	return &ranks->rank[ranks->ranks - 1];
}

/* A whole number of an object; NAN: it has none, or one beyond all amounts. */
static double number_of(const struct gp_json_value *object, const char *key)
{
	const struct gp_json_value *found =
		object ? gp_json_value_find(object, key, GP_JSON_NUMBER) : NULL;
	return found && found->is_whole && found->whole <= GP_NS_MOST ? (double)found->whole : NAN;
}

/* The row of the newest recording for a device, which is added; NULL: out of memory. */
static struct gp_page_rank_row *rank_row_get(struct gp_page_ranks *ranks, int64_t device)
{
	for (size_t k = ranks->rows; k-- > 0 && ranks->row[k].rank == ranks->ranks - 1;)
		if (ranks->row[k].device == device)
			return &ranks->row[k];
	struct gp_page_rank_row *row = realloc(ranks->row, (ranks->rows + 1) * sizeof *row);
	if (!row)
		return NULL;
	ranks->row = row;
	row += ranks->rows++;
	*row = (struct gp_page_rank_row){ .rank = ranks->ranks - 1, .device = device };
	for (size_t f = 0; f < FIGURES; f++)
		row->value[f] = NAN;
	return row;
}

/* The row of an object with a device; NULL: it has none. */
static struct gp_page_rank_row *rank_row_of(struct gp_page_ranks *ranks,
					    const struct gp_json_value *object)
{
	const double device = number_of(object, "device");
	return device < GP_DEVICES ? rank_row_get(ranks, (int64_t)device) : NULL;
}

static const struct gp_json_value *list_of(const struct gp_json_value *document, const char *key)
{
	static const struct gp_json_value none = { .type = GP_JSON_LIST };
	const struct gp_json_value *found = gp_json_value_find(document, key, GP_JSON_LIST);
	return found ? found : &none;
}

static void peaks_look(struct gp_page_ranks *ranks, const struct gp_json_value *info)
{
	const struct gp_json_value *peaks = list_of(info, "peaks");
	static const struct {
		const char *of;
		enum figure figure;
	} curves[] = { { "allocated", ALLOCATED }, { "reserved", RESERVED }, { "driver", DRIVER } };
	for (size_t k = 0; k < peaks->children; k++) {
		struct gp_page_rank_row *row = rank_row_of(ranks, &peaks->child[k]);
		const struct gp_json_value *of =
			gp_json_value_find(&peaks->child[k], "of", GP_JSON_TEXT);
		for (size_t c = 0; row && of && c < sizeof curves / sizeof *curves; c++)
			if (strcmp(of->text, curves[c].of) == 0)
				row->value[curves[c].figure] =
					number_of(&peaks->child[k], "peak_bytes");
	}
}

static void unused_look(struct gp_page_ranks *ranks, const struct gp_json_value *frag)
{
	const struct gp_json_value *devices = list_of(frag, "devices");
	for (size_t k = 0; k < devices->children; k++) {
		struct gp_page_rank_row *row = rank_row_of(ranks, &devices->child[k]);
		if (row && number_of(&devices->child[k], "reserved_bytes") > 0)
			row->value[UNUSED] = number_of(&devices->child[k], "unused_bytes");
	}
}

static void ooms_look(struct gp_page_ranks *ranks, const struct gp_json_value *document)
{
	const struct gp_json_value *ooms = list_of(document, "ooms");
	for (size_t k = 0; k < ooms->children; k++) {
		const double at_ns = number_of(&ooms->child[k], "at_ns");
		struct gp_page_rank_row *row = rank_row_of(ranks, &ooms->child[k]);
		struct gp_page_rank *rank = rank_newest(ranks);
		if (!row)
			continue;
		row->value[OOMS] = isnan(row->value[OOMS]) ? 1 : row->value[OOMS] + 1;
		if (at_ns < (double)rank->first_oom_ns)
			rank->first_oom_ns = (int64_t)at_ns;
	}
}

static void collectives_look(struct gp_page_ranks *ranks, const struct gp_json_value *document)
{
	const struct gp_json_value *kernels =
		gp_json_value_find(document, "kernels", GP_JSON_OBJECT);
	const struct gp_json_value *list = list_of(document, "communicators");
	double most = 0;
	if (number_of(kernels, "count") > 0)
		ranks->row[rank_newest(ranks)->first].value[KERNELS] =
			number_of(kernels, "total_ns");
	for (size_t k = 0; k < list->children; k++) {
		const double of = number_of(&list->child[k], "ranks");
		const double rank = number_of(&list->child[k], "rank");
		if (of > most && rank < of) {
			most = of;
			rank_newest(ranks)->number = (int64_t)rank;
		}
	}
}

/* A document that is missing leaves its figures unknown. */
static void document_look(struct gp_page_ranks *ranks, const struct gp_page_documents *documents,
			  const char *name, rank_look *look)
{
	char why[GP_JSON_WHY_MAX];
	struct gp_json_value value = { 0 };
	size_t bytes = 0;
	char *text = gp_page_documents_text(documents, name, &bytes);
	if (text && gp_json_value_read(text, bytes, &value, why))
		look(ranks, &value);
	gp_json_value_free(&value);
	free(text);
}

bool gp_page_ranks_add(struct gp_page_ranks *ranks, const char *path,
		       struct gp_recording *recording, const struct gp_info *info,
		       const struct gp_page_documents *documents)
{
	struct gp_page_rank *rank = realloc(ranks->rank, (ranks->ranks + 1) * sizeof *rank);
	if (!rank)
		return false;
	ranks->rank = rank;
	rank += ranks->ranks++;
	*rank = (struct gp_page_rank){
		.path = path,
		.first = ranks->rows,
		.start = gp_rank_start_of(info),
		.state = gp_report_table_state_of(info),
		.duration_ns = info->duration_ns < GP_NS_MOST ? info->duration_ns : GP_NS_MOST,
		.kept_from_ns = info->kept_from_ns,
		.number = -1,
		.first_oom_ns = INT64_MAX,
	};
	if (gp_steps_find(recording, &rank->steps) != GP_OK)
		gp_steps_free(&rank->steps);
	document_look(ranks, documents, "info", peaks_look);
	if (ranks->rows == rank->first && !rank_row_get(ranks, -1))
		return false;
	document_look(ranks, documents, "frag", unused_look);
	for (size_t k = rank->first; k < ranks->rows; k++)
		ranks->row[k].value[OOMS] = gp_has_all_ooms(info) ? 0 : NAN;
	document_look(ranks, documents, "oom", ooms_look);
	document_look(ranks, documents, "collectives", collectives_look);
	struct gp_page_rank_row *row = &ranks->row[rank->first];
	row->value[SPAN] = (double)rank->duration_ns;
	if (rank->steps.steps && rank->steps.p50_ns >= 0)
		row->value[STEP] = (double)rank->steps.p50_ns;
	return true;
}

/* ---- the common time ---- */

static bool has_one_clock(const struct gp_page_ranks *ranks)
{
	for (size_t k = 1; k < ranks->ranks; k++)
		if (!gp_rank_is_one_clock(&ranks->rank->start, &ranks->rank[k].start))
			return false;
	return true;
}

/* Starts, in ns after the first of them. */
static void starts_find(const struct gp_page_ranks *ranks, bool is_one_clock, int64_t *start_ns)
{
	int64_t least = 0;
	for (size_t k = 0; k < ranks->ranks; k++) {
		start_ns[k] =
			gp_rank_apart_ns(&ranks->rank->start, &ranks->rank[k].start, is_one_clock);
		least = start_ns[k] < least ? start_ns[k] : least;
	}
	for (size_t k = 0; k < ranks->ranks; k++)
		start_ns[k] -= least;
}

/* Does some recording run at each moment, from the first start to the last end? */
static bool is_without_gap(const struct gp_page_ranks *ranks, const int64_t *start_ns)
{
	int64_t until_ns = 0;
	size_t reached = 0;
	for (size_t before = SIZE_MAX; reached != before;) {
		before = reached;
		reached = 0;
		for (size_t k = 0; k < ranks->ranks; k++) {
			const int64_t end_ns = start_ns[k] + (int64_t)ranks->rank[k].duration_ns;
			if (start_ns[k] > until_ns)
				continue;
			reached++;
			until_ns = end_ns > until_ns ? end_ns : until_ns;
		}
	}
	return reached == ranks->ranks;
}

/*
 * Index of the first step that all recordings have after their warm-ups; SIZE_MAX: none. Steps that
 * were found otherwise, or after the start was overwritten, have other numbers.
 */
static size_t common_step(const struct gp_page_ranks *ranks)
{
	size_t step = 0;
	for (size_t k = 0; k < ranks->ranks; k++) {
		const struct gp_page_rank *rank = &ranks->rank[k];
		if (rank->steps.source != ranks->rank->steps.source || rank->kept_from_ns > 0)
			return SIZE_MAX;
		step = rank->steps.warmup > step ? rank->steps.warmup : step;
	}
	for (size_t k = 0; k < ranks->ranks; k++)
		if (step >= ranks->rank[k].steps.steps)
			return SIZE_MAX;
	return step;
}

static void time_write(const struct gp_page_ranks *ranks, const int64_t *start_ns,
		       bool is_one_clock, struct gp_json *json)
{
	const size_t step = common_step(ranks);
	const char *why = !is_one_clock ? "The recordings are of several hosts or boots: "
					  "their clocks may differ." :
			  is_without_gap(ranks, start_ns) ?
					  NULL :
					  "At some time none of the recordings ran.";
	gp_json_bool(json, "is_one_clock", is_one_clock);
	gp_json_text(json, "align", !why ? "clock" : step != SIZE_MAX ? "step" : "start");
	gp_json_text(json, "why", why);
	gp_json_number_if(json, "step", step != SIZE_MAX, step + 1);
	gp_json_array(json, "recordings");
	for (size_t k = 0; k < ranks->ranks; k++) {
		const struct gp_page_rank *rank = &ranks->rank[k];
		gp_json_object(json, NULL);
		gp_json_signed_if(json, "rank", rank->number >= 0, rank->number);
		gp_json_text(json, "state", rank->state.s[0] ? rank->state.s : NULL);
		gp_json_signed(json, "start_ns", start_ns[k]);
		gp_json_signed_if(json, "step_ns", step != SIZE_MAX,
				  step != SIZE_MAX ? rank->steps.step[step].begin_ns : 0);
		gp_json_end(json);
	}
	gp_json_end(json);
}

/* ---- findings ---- */

static struct gp_text amount_text(enum figure f, double value)
{
	return strcmp(figures[f].unit, "ns") == 0 ? gp_ns_text((int64_t)value) :
						    gp_bytes_text((uint64_t)value);
}

static void finding_write(struct gp_json *json, size_t row, const char *figure, const char *text)
{
	gp_json_object(json, NULL);
	gp_json_number(json, "row", row);
	gp_json_text(json, "figure", figure);
	gp_json_text(json, "text", text);
	gp_json_end(json);
}

/* "The driver peak, 764 MiB, is 9% above the usual 700 MiB." */
static void outlier_write(const struct gp_page_ranks *ranks, enum figure f,
			  const struct gp_outlier *outlier, struct gp_json *json)
{
	const double far = ranks->row[outlier->far].value[f];
	const double usual = ranks->row[outlier->usual].value[f];
	const char *side = outlier->is_higher ? "above" : "below";
	char share[32] = "", text[256];
	if (usual > 0 && far < 2 * usual)
		snprintf(share, sizeof share, "%.0f%% %s ", 100 * fabs(far - usual) / usual, side);
	else if (usual > 0)
		snprintf(share, sizeof share, "%.*f times ", far < 10 * usual, far / usual);
	else
		snprintf(share, sizeof share, "%s ", side);
	/* a kernel of NCCL runs while it waits for other ranks */
	const bool is_late = f == KERNELS && !outlier->is_higher;
	snprintf(text, sizeof text, "%s, %s, is %sthe usual %s.%s", figures[f].text,
		 amount_text(f, far).s, share, amount_text(f, usual).s,
		 is_late ? " The other ranks may wait for this one." : "");
	finding_write(json, outlier->far, figures[f].title, text);
}

/* The recording that ran out of memory first. Other hosts have another time of day. */
static void first_oom_write(const struct gp_page_ranks *ranks, const int64_t *start_ns,
			    bool is_one_clock, struct gp_json *json)
{
	size_t first = SIZE_MAX, with_oom = 0;
	int64_t first_ns = INT64_MAX;
	for (size_t k = 0; k < ranks->ranks; k++)
		with_oom += ranks->rank[k].first_oom_ns != INT64_MAX;
	for (size_t r = 0; r < ranks->rows; r++) {
		const struct gp_page_rank *rank = &ranks->rank[ranks->row[r].rank];
		if (rank->first_oom_ns == INT64_MAX || !(ranks->row[r].value[OOMS] > 0) ||
		    start_ns[ranks->row[r].rank] + rank->first_oom_ns >= first_ns)
			continue;
		first = r;
		first_ns = start_ns[ranks->row[r].rank] + rank->first_oom_ns;
	}
	if (first != SIZE_MAX)
		finding_write(json, first, figures[OOMS].title,
			      with_oom < 2 ? "It ran out of memory." :
			      is_one_clock ? "It ran out of memory first." :
					     "It ran out of memory first, by the time of day of "
					     "the hosts.");
}

static void figures_write(const struct gp_page_ranks *ranks, const int64_t *start_ns,
			  bool is_one_clock, struct gp_json *json)
{
	double *value = malloc(ranks->rows * sizeof *value);
	struct gp_outlier found[FIGURES];
	gp_json_array(json, "figures");
	for (enum figure f = 0; value && f < FIGURES; f++) {
		for (size_t r = 0; r < ranks->rows; r++)
			value[r] = ranks->row[r].value[f];
		found[f] = gp_outlier_find(value, ranks->rows);
		const bool is_found = figures[f].is_compared && found[f].far != SIZE_MAX;
		gp_json_object(json, NULL);
		gp_json_text(json, "figure", figures[f].title);
		gp_json_text(json, "unit", figures[f].unit);
		gp_json_text(json, "command", figures[f].command);
		gp_json_array(json, "values");
		for (size_t r = 0; r < ranks->rows; r++)
			gp_json_number_if(json, NULL, !isnan(value[r]),
					  isnan(value[r]) ? 0 : (uint64_t)value[r]);
		gp_json_end(json);
		gp_json_number_if(json, "outlier", is_found, found[f].far);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_array(json, "findings");
	first_oom_write(ranks, start_ns, is_one_clock, json);
	for (enum figure f = 0; value && f < FIGURES; f++)
		if (figures[f].is_compared && found[f].far != SIZE_MAX)
			outlier_write(ranks, f, &found[f], json);
	gp_json_end(json);
	free(value);
}

/* ---- the page ---- */

static void rows_write(const struct gp_page_ranks *ranks, struct gp_json *json)
{
	gp_json_array(json, "rows");
	for (size_t r = 0; r < ranks->rows; r++) {
		gp_json_object(json, NULL);
		gp_json_number(json, "recording", ranks->row[r].rank);
		gp_json_signed_if(json, "device", ranks->row[r].device >= 0, ranks->row[r].device);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void commands_write(const struct gp_page_ranks *ranks, struct gp_json *json)
{
	static const char *const names[] = { "timeline", "info", "frag", "collectives" };
	gp_json_object(json, "commands");
	for (size_t c = 0; c < sizeof names / sizeof *names; c++) {
		char *text = NULL;
		size_t bytes = 0;
		FILE *out = open_memstream(&text, &bytes);
		if (out) {
			fprintf(out, "gpuprof %s", names[c]);
			for (size_t k = 0; k < ranks->ranks; k++) {
				fputc(' ', out);
				gp_path_print(out, ranks->rank[k].path);
			}
			bytes = fclose(out) == 0 ? bytes : 0;
		}
		gp_json_bytes(json, names[c], text ? text : "", bytes);
		free(text);
	}
	gp_json_end(json);
}

void gp_page_ranks_write(const struct gp_page_ranks *ranks, struct gp_json *json)
{
	int64_t *start_ns = ranks->ranks < 2 ? NULL : malloc(ranks->ranks * sizeof *start_ns);
	if (!start_ns) {
		gp_json_null(json, "ranks");
		return;
	}
	const bool is_one_clock = has_one_clock(ranks);
	starts_find(ranks, is_one_clock, start_ns);
	gp_json_object(json, "ranks");
	time_write(ranks, start_ns, is_one_clock, json);
	rows_write(ranks, json);
	figures_write(ranks, start_ns, is_one_clock, json);
	commands_write(ranks, json);
	gp_json_end(json);
	free(start_ns);
}

void gp_page_ranks_release(struct gp_page_ranks *ranks)
{
	for (size_t k = 0; k < ranks->ranks; k++)
		gp_steps_free(&ranks->rank[k].steps);
	free(ranks->rank);
	free(ranks->row);
	*ranks = (struct gp_page_ranks){ 0 };
}
