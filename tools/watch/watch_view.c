/*
 * Follows one recording. When its job ends, opens the recording again, since the end may come from
 * the rings.
 */
#include "watch_view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../command.h"
#include "../io/message.h"
#include "../io/monotonic.h"

#define RATE_INTERVALS 5u

const char *const gp_watch_sorts[GP_WATCH_SORTS] = { "bytes", "growth", "count" };
const struct gp_watch_by gp_watch_bys[GP_WATCH_BYS] = {
	{ "line", GP_BY_LINE },	      { "module", GP_BY_MODULE }, { "operator", GP_BY_OPERATOR },
	{ "library", GP_BY_LIBRARY }, { "node", GP_BY_NODE },	  { "kind", GP_BY_KIND },
	{ "role", GP_BY_ROLE },
};

/* NULL: memory is out. Free it. */
static char *view_word(const char *path)
{
	char *word = NULL;
	size_t bytes;
	FILE *memory = open_memstream(&word, &bytes);
	if (!memory)
		return NULL;
	gp_path_print(memory, path);
	return fclose(memory) == 0 ? word : NULL;
}

bool gp_watch_view_open(struct gp_watch_view *v, const char *path, int *exit_status)
{
	v->path = path;
	v->recording = gp_report_open_unread(path, exit_status);
	if (!v->recording)
		return false;
	gp_steps_name(v->recording, gp_report_step_name);
	v->word = view_word(path);
	enum gp_status status = v->word ? gp_watch_open(v->recording, &v->watch) : GP_E_MEMORY;
	if (status)
		*exit_status = gp_report_failed("watch", path, status);
	return !status;
}

void gp_watch_view_close(struct gp_watch_view *v)
{
	gp_watch_roles_end(v);
	gp_watch_rows_free(&v->rows);
	gp_watch_close(v->watch);
	gp_recording_close(v->recording);
	free(v->word);
}

static enum gp_status view_read(struct gp_watch_view *v)
{
	enum gp_status status = gp_watch_refresh(v->watch);
	return status ? status : gp_recording_info(v->recording, &v->info);
}

/* The job ended: its rings may have events that the file gets only now. */
static enum gp_status view_read_end(struct gp_watch_view *v, int *exit_status)
{
	struct gp_recording *before = v->recording;
	v->recording = gp_report_open_unread(v->path, exit_status);
	if (!v->recording) {
		v->recording = before;
		return GP_E_OPEN;
	}
	gp_steps_name(v->recording, gp_report_step_name);
	gp_watch_continue(v->watch, v->recording);
	enum gp_status status = view_read(v);
	gp_recording_close(before);
	return status;
}

bool gp_watch_view_refresh(struct gp_watch_view *v, int *exit_status)
{
	*exit_status = GP_EXIT_OK;
	enum gp_status status = view_read(v);
	if (!status && v->intervals && !v->info->is_running)
		status = view_read_end(v, exit_status);
	if (status && *exit_status == GP_EXIT_OK)
		*exit_status = gp_report_failed("read", v->path, status);
	if (status)
		return false;
	if (v->info->is_anothers) {
		gp_error("cannot watch '%s': its job belongs to another user", v->path);
		*exit_status = GP_EXIT_FOUND;
		return false;
	}
	if (!v->intervals)
		v->mark_ns = (int64_t)v->info->duration_ns;
	struct gp_watch_moment *now = &v->moment[v->intervals++ % GP_WATCH_INTERVALS];
	*now = (struct gp_watch_moment){ .clock_ns = gp_monotonic_ns(),
					 .events = gp_events_of(v->info) };
	gp_watch_roles_tend(v);
	for (size_t k = 0; k < v->info->devices; k++) {
		struct gp_curves curves;
		gp_recording_curves(v->recording, v->info->device[k].device, &curves);
		memcpy(now->bytes[v->info->device[k].device], curves.now_bytes,
		       sizeof curves.now_bytes);
	}
	return true;
}

double gp_watch_events(const struct gp_watch_view *v)
{
	const uint64_t kept = v->intervals < RATE_INTERVALS ? v->intervals : RATE_INTERVALS;
	if (kept < 2)
		return -1;
	const struct gp_watch_moment *first =
		&v->moment[(v->intervals - kept) % GP_WATCH_INTERVALS];
	const struct gp_watch_moment *last = &v->moment[(v->intervals - 1) % GP_WATCH_INTERVALS];
	const double took_s = (double)(last->clock_ns - first->clock_ns) / 1e9;
	return took_s > 0 ? (double)(last->events - first->events) / took_s : -1;
}

/* ---- rows ---- */

static int compare_keys(const struct gp_watch_row *a, const struct gp_watch_row *b)
{
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->key, b->key);
}

static int by_bytes(const void *a, const void *b)
{
	return compare_keys(a, b);
}

static int by_growth(const void *a, const void *b)
{
	const int64_t x = gp_watch_growth(a), y = gp_watch_growth(b);
	return x != y ? (x < y ? 1 : -1) : compare_keys(a, b);
}

static int by_count(const void *a, const void *b)
{
	const uint64_t x = ((const struct gp_watch_row *)a)->count,
		       y = ((const struct gp_watch_row *)b)->count;
	return x != y ? (x < y ? 1 : -1) : compare_keys(a, b);
}

static void rows_sort(const struct gp_watch_view *v, struct gp_watch_rows *rows)
{
	static int (*const orders[GP_WATCH_SORTS])(
		const void *, const void *) = { by_bytes, by_growth, by_count };
	if (rows->rows > 1)
		qsort(rows->row, rows->rows, sizeof *rows->row, orders[v->sort]);
}

enum gp_status gp_watch_view_rows(const struct gp_watch_view *v, unsigned device,
				  struct gp_watch_rows *out)
{
	const enum gp_by by = gp_watch_bys[v->by].by;
	enum gp_status status = by == GP_BY_ROLE ? gp_watch_roles_rows(v, device, out) :
						   gp_watch_rows_build(v->watch, device, by, out);
	size_t kept = 0;
	for (size_t k = 0; k < out->rows; k++)
		if (out->row[k].bytes || out->row[k].marked_bytes)
			out->row[kept++] = out->row[k];
	out->rows = kept;
	rows_sort(v, out);
	return status;
}

int64_t gp_watch_view_mark_ns(const struct gp_watch_view *v)
{
	const bool is_role = gp_watch_bys[v->by].by == GP_BY_ROLE && v->roles.marks > 0;
	return is_role ? v->roles.mark[0].at_ns : v->mark_ns;
}

size_t gp_watch_view_device(const struct gp_watch_view *v)
{
	for (size_t k = 0; k < v->info->devices; k++)
		if (v->device < 0 || v->info->device[k].device == v->device)
			return k;
	return SIZE_MAX;
}

static int64_t view_cpu_ns(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

enum gp_status gp_watch_view_keep(struct gp_watch_view *v)
{
	const size_t index = gp_watch_view_device(v);
	if (index == SIZE_MAX)
		return GP_OK;
	const unsigned device = v->info->device[index].device;
	const bool is_same = v->rows.row && v->rows_by == v->by && v->rows_device == device;
	if (is_same && gp_monotonic_ns() < v->rows_due_ns) {
		rows_sort(v, &v->rows);
		return GP_OK;
	}
	const int64_t begin_ns = view_cpu_ns();
	gp_watch_rows_free(&v->rows);
	enum gp_status status = gp_watch_view_rows(v, device, &v->rows);
	v->rows_by = v->by;
	v->rows_device = device;
	/* names are looked up once, so the first time does not count */
	v->rows_due_ns = is_same ? gp_monotonic_ns() + 100 * (view_cpu_ns() - begin_ns) : 0;
	return status;
}
