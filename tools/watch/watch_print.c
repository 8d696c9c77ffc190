/*
 * The state as text: the job, a line for each curve, and who holds the memory of one device. Lines
 * are cut to the width; on narrow terminals columns are left out, figures first that others show.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/line_fit.h"
#include "../io/message.h"
#include "../io/style.h"
#include "../io/terminal_width.h"
#include "../report/use_print.h"
#include "../timeline/plot.h"
#include "watch_view.h"

enum {
	PEAK_LEAST = 44,    /* columns from which peaks are shown */
	HISTORY_LEAST = 60, /* and the history */
	HISTORY_COLUMNS = 60,
	GROWTH_LEAST = 40,
	COUNT_LEAST = 60,
};

struct canvas {
	FILE *out;
	unsigned columns, rows, used; /* rows: 0 unlimited */
	bool is_screen;
};

/* `role`: GP_ROLES for none. Lines behind the last row are dropped. */
static __attribute__((format(printf, 3, 4))) void canvas_line(struct canvas *c, enum gp_role role,
							      const char *format, ...)
{
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (c->rows && c->used >= c->rows)
		return;
	/* no newline behind the last row of a screen: it would scroll */
	if (c->is_screen && c->used > 0)
		fputs("\r\n", c->out);
	const size_t bytes = gp_display_fit(text, strlen(text), c->columns);
	fprintf(c->out, "%s%.*s%s%s", role < GP_ROLES ? gp_on(role) : "", (int)bytes, text,
		role < GP_ROLES ? gp_off() : "", c->is_screen ? "\033[K" : "\n");
	c->used++;
}

static unsigned canvas_left(const struct canvas *c)
{
	return !c->rows ? UINT32_MAX : c->rows > c->used ? c->rows - c->used : 0;
}

/* A recorded text, masked and cut in its middle. */
static void cut_text(const char *text, size_t columns, char *out, size_t room)
{
	char *masked = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&masked, &bytes);
	if (memory) {
		gp_mask(memory, text, strlen(text));
		fclose(memory);
	}
	gp_name_cut(masked ? masked : "", columns, gp_cut_mark(), out, room);
	free(masked);
}

/* ---- the job ---- */

static void print_job(const struct gp_watch_view *v, struct canvas *c)
{
	char command[1024];
	char head[128];
	snprintf(head, sizeof head, "%u %s", v->info->pid,
		 v->is_paused	     ? "(paused) " :
		 v->info->is_running ? "" :
				       "(ended) ");
	const size_t used = strlen(head);
	cut_text(v->info->command, c->columns > used ? c->columns - used : 1, command,
		 sizeof command);
	canvas_line(c, GP_ROLES, "%s%s", head, command);
	/* the end of a job that runs is not missing */
	struct gp_info info = *v->info;
	info.is_sealed |= info.is_running;
	info.is_running = false;
	canvas_line(c, info.is_damaged || gp_has_losses(&info) ? GP_ROLE_BAD : GP_ROLES, "%s",
		    gp_headline_of(&info).s);
	const double events = gp_watch_events(v), steps = gp_watch_steps(v->watch);
	canvas_line(c, GP_ROLES, "%s%s%s%s%s",
		    events < 0 ? "" : gp_count_text((uint64_t)(events + 0.5)).s,
		    events < 0 ? "" : " events/s", steps < 0 ? "" : ", ",
		    steps < 0 ? "" : gp_rate_text(steps, 3).s, steps < 0 ? "" : " steps/s");
}

/* ---- curves ---- */

static void print_host(const struct gp_watch_view *v, struct canvas *c)
{
	struct gp_curves curves;
	if (gp_watch_host(v->watch, &curves) &&
	    curves.peak_bytes[GP_HOST_PINNED] >= GP_PINNED_LEAST)
		canvas_line(c, GP_ROLES, "host pinned %s, peak %s",
			    gp_bytes_text(curves.now_bytes[GP_HOST_PINNED]).s,
			    gp_bytes_text(curves.peak_bytes[GP_HOST_PINNED]).s);
}

static void history_text(const struct gp_watch_view *v, unsigned device, unsigned curve,
			 unsigned columns, char *out, size_t room)
{
	const uint64_t kept = v->intervals < GP_WATCH_INTERVALS ? v->intervals : GP_WATCH_INTERVALS;
	const uint64_t shown = kept < columns ? kept : columns;
	uint64_t most = 1;
	size_t used = 0;
	for (uint64_t k = v->intervals - shown; k < v->intervals; k++) {
		const uint64_t bytes = v->moment[k % GP_WATCH_INTERVALS].bytes[device][curve];
		most = bytes > most ? bytes : most;
	}
	*out = '\0';
	for (uint64_t k = v->intervals - shown; k < v->intervals && used + 4 < room; k++) {
		const uint64_t bytes = v->moment[k % GP_WATCH_INTERVALS].bytes[device][curve];
		used += (size_t)snprintf(
			out + used, room - used, "%s",
			gp_plot_height(!gp_is_utf8(), (double)bytes / (double)most));
	}
}

static void print_curve(const struct gp_watch_view *v, struct canvas *c, unsigned device,
			unsigned curve, const struct gp_curves *curves)
{
	static const enum gp_role roles[GP_CURVES] = { [GP_CURVE_DRIVER] = GP_ROLE_DRIVER,
						       [GP_CURVE_RESERVED] = GP_ROLE_RESERVED,
						       [GP_CURVE_ALLOCATED] = GP_ROLE_ALLOCATED };
	char peak[64] = "", history[HISTORY_COLUMNS * 4 + 8] = "";
	/* "allocated  12.3 GiB": 20 columns */
	if (c->columns >= PEAK_LEAST)
		snprintf(peak, sizeof peak, "  peak %10s",
			 gp_bytes_text(curves->peak_bytes[curve]).s);
	if (c->columns >= HISTORY_LEAST && device < GP_DEVICES) {
		const unsigned left = c->columns - 40;
		history_text(v, device, curve, left < HISTORY_COLUMNS ? left : HISTORY_COLUMNS,
			     history, sizeof history);
	}
	canvas_line(c, roles[curve], "%-9s %10s%s  %s", gp_curve_keys[curve],
		    gp_bytes_text(curves->now_bytes[curve]).s, peak, history);
}

static void print_device(const struct gp_watch_view *v, struct canvas *c, size_t index,
			 bool is_short)
{
	const struct gp_info_device *d = &v->info->device[index];
	struct gp_curves curves;
	char name[64];
	gp_recording_curves(v->recording, d->device, &curves);
	cut_text(d->name ? d->name : "", 40, name, sizeof name);
	if (is_short) {
		canvas_line(c, GP_ROLES, "GPU %u %10s  reserved %s  driver %s", d->device,
			    gp_bytes_text(curves.now_bytes[GP_CURVE_ALLOCATED]).s,
			    gp_bytes_text(curves.now_bytes[GP_CURVE_RESERVED]).s,
			    gp_bytes_text(curves.now_bytes[GP_CURVE_DRIVER]).s);
		return;
	}
	canvas_line(c, GP_ROLES, "GPU %u %s%s%s", d->device, name, d->total_bytes ? ", " : "",
		    d->total_bytes ? gp_bytes_text(d->total_bytes).s : "");
	for (unsigned curve = GP_CURVES; curve-- > 0;)
		if (curves.peak_bytes[curve] > 0)
			print_curve(v, c, d->device, curve, &curves);
}

/* All devices in at most half of the screen: with their curves, else in a line each. */
static void print_devices(const struct gp_watch_view *v, struct canvas *c)
{
	const size_t devices = v->info->devices, shown = gp_watch_view_device(v);
	const unsigned room = c->rows ? (c->rows - c->used) / 2 : UINT32_MAX;
	const bool is_short = devices * (1 + GP_CURVES) > room;
	for (size_t k = 0; k < devices; k++) {
		const bool is_shown = k == shown;
		if (!is_short || is_shown || devices + 1 + GP_CURVES <= room)
			print_device(v, c, k, is_short && !is_shown);
	}
}

/* ---- holders ---- */

static struct gp_text growth_text(int64_t bytes)
{
	struct gp_text text = { "0 B" };
	if (bytes != 0)
		snprintf(text.s, sizeof text.s, "%c%.40s", bytes < 0 ? '-' : '+',
			 gp_bytes_text(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes).s);
	return text;
}

static void print_row(const struct gp_watch_view *v, struct canvas *c,
		      const struct gp_watch_row *row)
{
	char figures[160], key[1024];
	const struct gp_text bytes = gp_bytes_text(row->bytes), count = gp_count_text(row->count),
			     growth = growth_text(gp_watch_growth(row));
	if (c->columns >= COUNT_LEAST)
		snprintf(figures, sizeof figures, "%10s %11s %9s  ", bytes.s, growth.s, count.s);
	else if (c->columns >= GROWTH_LEAST)
		snprintf(figures, sizeof figures, "%10s %11s  ", bytes.s, growth.s);
	else
		snprintf(figures, sizeof figures, "%10s ",
			 v->sort == GP_WATCH_GROWTH ? growth.s :
			 v->sort == GP_WATCH_COUNT  ? count.s :
						      bytes.s);
	const size_t used = strlen(figures), left = c->columns > used ? c->columns - used : 1;
	cut_text(row->key, left - (left > 2 ? 2 * row->is_rest : 0), key, sizeof key);
	canvas_line(c, GP_ROLES, "%s%s%s%s", figures, row->is_rest ? "(" : "", key,
		    row->is_rest ? ")" : "");
}

static void watch_print_rows(const struct gp_watch_view *v, struct canvas *c)
{
	const size_t index = gp_watch_view_device(v);
	const struct gp_watch_rows *rows = &v->rows;
	const int64_t now_ns = (int64_t)v->info->duration_ns;
	if (index == SIZE_MAX && v->device >= 0)
		canvas_line(c, GP_ROLE_HINT, "no memory of GPU %lld so far", (long long)v->device);
	if (index == SIZE_MAX || !rows->row)
		return;
	char age[64] = "";
	if (rows->at_ns >= 0 && now_ns - rows->at_ns > 1500000000)
		snprintf(age, sizeof age, ", %s ago", gp_ns_text(now_ns - rows->at_ns).s);
	canvas_line(c, GP_ROLES, "%s", "");
	if (c->columns < COUNT_LEAST)
		canvas_line(c, GP_ROLE_HINT, "by %s, sort %s", gp_watch_bys[v->by].word,
			    gp_watch_sorts[v->sort]);
	else
		canvas_line(c, GP_ROLE_HINT, "%s on GPU %u by %s%s; sort: %s; mark: %s ago",
			    gp_curve_keys[rows->of], v->info->device[index].device,
			    gp_watch_bys[v->by].word, age, gp_watch_sorts[v->sort],
			    gp_ns_text(now_ns - gp_watch_view_mark_ns(v)).s);
	if (rows->at_ns < 0) {
		canvas_line(c, GP_ROLES,
			    v->roles.is_too_large ?
				    "too many events: gpuprof peak --at end --by role %s" :
				    "reading %s",
			    v->word);
		return;
	}
	if (!rows->rows) {
		canvas_line(c, GP_ROLES, "no memory is live");
		return;
	}
	if (c->columns >= COUNT_LEAST)
		canvas_line(c, GP_ROLES, "%10s %11s %9s  %s", "bytes", "growth", "count",
			    gp_watch_bys[v->by].word);
	else if (c->columns >= GROWTH_LEAST)
		canvas_line(c, GP_ROLES, "%10s %11s  %s", "bytes", "growth",
			    gp_watch_bys[v->by].word);
	const unsigned left = canvas_left(c) - (c->is_screen && canvas_left(c) > 0);
	const uint64_t most = c->is_screen ? left : v->top ? v->top : UINT64_MAX;
	for (size_t k = 0; k < rows->rows && k < most; k++)
		print_row(v, c, &rows->row[k]);
	if (!c->is_screen && rows->rows > most)
		canvas_line(c, GP_ROLES, "%s more: --top 0", gp_count_text(rows->rows - most).s);
}

static void print_help(struct canvas *c)
{
	static const char *const lines[] = {
		"Tab, b     next grouping: line, module, operator, library, node, kind, role",
		"Shift-Tab  previous grouping",
		"s          sort by bytes, growth, count",
		"d          next device",
		"m          set the mark: growth counts from now on",
		"p          pause, and go on",
		"S          write gpuprof snapshot of this moment to a file",
		"r          write gpuprof report, a page, to a file",
		"q          quit; the job goes on",
		"?          this list",
		"",
		"steps/s: updates of parameters by PyTorch's optimizers",
		"growth: since the mark, which is set at the start; within a step",
		"memory also rises and falls",
	};
	for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
		canvas_line(c, GP_ROLES, "%s", lines[k]);
}

static void print_keys(const struct gp_watch_view *v, struct canvas *c)
{
	while (c->used + 1 < c->rows)
		canvas_line(c, GP_ROLES, "%s", "");
	canvas_line(c, GP_ROLE_HINT, "%s",
		    v->message[0]   ? v->message :
		    c->columns < 40 ? "q quit  ? help" :
				      "q quit  ? help  b by  s sort  d device  m mark  p pause  "
				      "S snapshot  r report");
}

enum gp_status gp_watch_print(struct gp_watch_view *v, FILE *out, unsigned columns, unsigned rows)
{
	struct canvas c = { .out = out, .columns = columns, .rows = rows, .is_screen = rows > 0 };
	enum gp_status status = gp_watch_view_keep(v);
	if (status)
		return status;
	if (c.is_screen)
		fputs("\033[H", out);
	print_job(v, &c);
	if (v->has_help) {
		canvas_line(&c, GP_ROLES, "%s", "");
		print_help(&c);
	} else {
		print_host(v, &c);
		print_devices(v, &c);
		watch_print_rows(v, &c);
	}
	if (c.is_screen) {
		print_keys(v, &c);
		fputs("\033[J", out);
	}
	return GP_OK;
}
