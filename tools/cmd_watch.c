/*
 * `gpuprof watch`: the memory of a running job, again each second. It reads the recording while the
 * job writes it, and sends nothing to the job.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "input/flags.h"
#include "input/no_events.h"
#include "input/started_job.h"
#include "io/amount.h"
#include "io/keys.h"
#include "io/message.h"
#include "io/monotonic.h"
#include "io/terminal_width.h"
#include "watch/watch_view.h"

#define INTERVAL_LEAST_NS 100000000
#define INTERVAL_MOST_NS 3600000000000

struct watch_job {
	unsigned pid; /* 0: any */
	size_t count;
	struct gp_process process; /* the first one found */
};

static void job_see(void *context, const struct gp_process *process)
{
	struct watch_job *j = context;
	if (!process->is_alive || (j->pid && process->pid != j->pid))
		return;
	if (j->count++ == 0)
		j->process = *process;
}

static void job_print(void *context, const struct gp_process *process)
{
	(void)context;
	if (process->is_alive)
		gp_hint("gpuprof watch %u: '%s'", process->pid, process->output);
}

/* The recording to watch: the word, or that of a process. NULL: the error is printed. */
static const char *job_find(const struct gp_command *command, struct watch_job *job,
			    const char *word, int *exit_status)
{
	const bool is_number = word && word[strspn(word, "0123456789")] == '\0';
	*exit_status = GP_EXIT_FOUND;
	if (word && !is_number)
		return word;
	if (word && !gp_process_read(command, word, &job->pid)) {
		*exit_status = GP_EXIT_USAGE;
		return NULL;
	}
	if (job->pid)
		job->pid = gp_started_job(job->pid);
	gp_process_visit(job_see, job);
	if (job->count == 1 || (job->count && job->pid))
		return job->process.output;
	if (job->pid) {
		gp_no_events_print("watch", "watch", job->pid);
	} else if (job->count) {
		gp_error("%s record: choose one", gp_plural(job->count, "job").s);
		gp_process_visit(job_print, NULL);
	} else {
		gp_error("no job of this user records");
		gp_hint("'gpuprof run -- COMMAND' starts one");
	}
	return NULL;
}

struct watch_loop {
	struct gp_watch_view view;
	uint64_t count; /* intervals; 0: until the job ends */
	int64_t interval_ns;
	int process; /* descriptor of the job; -1: unknown, or it ended */
	bool is_screen;
	/* of the keys that write: the last file, and the message if it fails */
	bool is_writing;
	char file[64], failed[1024];
};

/* One frame is one write, so that a terminal does not show parts of it. */
static enum gp_status watch_draw(struct watch_loop *w)
{
	char *text = NULL;
	size_t bytes = 0;
	unsigned columns = 0, rows = 0;
	FILE *out = w->is_screen ? open_memstream(&text, &bytes) : stdout;
	if (!out)
		return GP_E_MEMORY;
	if (w->is_screen && !gp_terminal_size(STDOUT_FILENO, &columns, &rows))
		columns = rows = 0;
	columns = columns ? columns : w->is_screen ? 80 : gp_columns(0, stdout);
	enum gp_status status =
		gp_watch_print(&w->view, out, columns, w->is_screen ? (rows ? rows : 24) : 0);
	if (w->is_screen) {
		fclose(out);
		fwrite(text, 1, bytes, stdout);
		free(text);
	}
	return status;
}

static enum gp_status watch_show(struct watch_loop *w)
{
	enum gp_status status =
		w->view.is_json ? gp_watch_write_json(&w->view, stdout) : watch_draw(w);
	fflush(stdout);
	return status;
}

/* ---- keys ---- */

/* Starts `gpuprof COMMAND -o FILE -- WORD`, FILE a new one. `shown`: the word for a shell. */
static void watch_write(struct watch_loop *w, const char *command, const char *extension,
			const char *word, const char *shown)
{
	struct gp_watch_view *v = &w->view;
	char *const words[] = {
		"gpuprof", (char *)command, "-o", w->file, "--", (char *)word, NULL
	};
	if (w->is_writing) {
		snprintf(v->message, sizeof v->message, "still writing %s", w->file);
		return;
	}
	unsigned number = 0;
	do
		snprintf(w->file, sizeof w->file, "gpuprof-%s-%u-%u.%s", command, v->info->pid,
			 ++number, extension);
	while (access(w->file, F_OK) == 0);
	w->is_writing = gp_keys_start(words);
	snprintf(v->message, sizeof v->message, w->is_writing ? "writing %s" : "cannot write %s",
		 w->file);
	snprintf(w->failed, sizeof w->failed, "no %s: 'gpuprof %s %s' prints why", command, command,
		 shown);
}

static void watch_snapshot(struct watch_loop *w)
{
	char pid[16];
	snprintf(pid, sizeof pid, "%u", w->view.info->pid);
	watch_write(w, "snapshot", "txt", pid, pid);
}

static void watch_child(struct watch_loop *w)
{
	struct gp_watch_view *v = &w->view;
	int status;
	if (!gp_keys_child(&status))
		return;
	w->is_writing = false;
	/* a page of a damaged recording is written, too */
	if (status >= 0 && access(w->file, F_OK) == 0)
		snprintf(v->message, sizeof v->message, "wrote %s", w->file);
	else
		snprintf(v->message, sizeof v->message, "%s", w->failed);
}

static void watch_next_device(struct gp_watch_view *v)
{
	const size_t index = gp_watch_view_device(v);
	if (index != SIZE_MAX)
		v->device = v->info->device[(index + 1) % v->info->devices].device;
}

static enum gp_status watch_mark(struct gp_watch_view *v)
{
	v->mark_ns = (int64_t)v->info->duration_ns;
	v->rows_due_ns = 0;
	v->roles.is_marked = false;
	v->roles.due_ns = 0;
	return gp_watch_mark(v->watch);
}

/* False: quit. */
static bool watch_obey(struct watch_loop *w, int key, enum gp_status *status)
{
	struct gp_watch_view *v = &w->view;
	if (key != GP_KEY_DRAW && key != GP_KEY_CHILD)
		v->message[0] = '\0';
	switch (key) {
	case 'q':
	case GP_KEY_END:
		return false;
	case '\t':
	case 'b':
		v->by = (v->by + 1) % GP_WATCH_BYS;
		break;
	case GP_KEY_BACK:
		v->by = (v->by + GP_WATCH_BYS - 1) % GP_WATCH_BYS;
		break;
	case 's':
		v->sort = (v->sort + 1) % GP_WATCH_SORTS;
		break;
	case 'd':
		watch_next_device(v);
		break;
	case 'm':
		*status = watch_mark(v);
		break;
	case 'p':
		v->is_paused = !v->is_paused;
		break;
	case 'S':
		watch_snapshot(w);
		break;
	case 'r':
		watch_write(w, "report", "html", v->path, v->word);
		break;
	case '?':
		v->has_help = !v->has_help;
		break;
	case GP_KEY_CHILD:
		watch_child(w);
		break;
	default:
		break;
	}
	return *status == GP_OK;
}

/* Until the next interval. False: quit. */
static bool watch_wait(struct watch_loop *w, int64_t until_ns, enum gp_status *status)
{
	struct pollfd ends = { .fd = w->process, .events = POLLIN };
	bool goes_on = true;
	if (!w->is_screen) {
		const int64_t left_ns = until_ns - gp_monotonic_ns();
		if (left_ns > 0 && poll(&ends, 1, (int)(left_ns / 1000000) + 1) > 0)
			w->process = -1;
		return true;
	}
	while (goes_on && (w->view.is_paused || gp_monotonic_ns() < until_ns)) {
		const int key = gp_keys_wait(w->view.is_paused ? INT64_MAX : until_ns,
					     w->view.is_paused ? -1 : w->process);
		if (key == GP_KEY_NONE)
			break;
		goes_on = watch_obey(w, key, status);
		if (goes_on)
			*status = watch_show(w);
		goes_on &= *status == GP_OK;
	}
	/* once: its descriptor stays ready */
	if (poll(&ends, 1, 0) > 0)
		w->process = -1;
	return goes_on;
}

static int watch_follow(struct watch_loop *w)
{
	struct gp_watch_view *v = &w->view;
	int exit_status;
	enum gp_status status = GP_OK;
	int64_t next_ns = gp_monotonic_ns();
	for (uint64_t k = 0; gp_watch_view_refresh(v, &exit_status); k++) {
		const bool is_last = !v->info->is_running || k + 1 == w->count;
		if (!w->is_screen || !is_last)
			status = watch_show(w);
		if (k == 0 && v->info->is_running)
			w->process = (int)syscall(SYS_pidfd_open, v->info->pid, 0);
		/* a slow terminal must not make intervals follow each other without a pause */
		next_ns += w->interval_ns;
		if (next_ns < gp_monotonic_ns())
			next_ns = gp_monotonic_ns() + w->interval_ns;
		if (is_last || status || ferror(stdout) || !watch_wait(w, next_ns, &status))
			break;
		if (!w->is_screen && !v->is_json)
			putchar('\n');
	}
	return status ? gp_report_failed("read", v->path, status) : exit_status;
}

/* A watch reads the stacks, but not the events before its checkpoint, which may be an OOM's. */
static void watch_print_next(const struct gp_watch_view *v)
{
	int exit_status;
	struct gp_info info = *v->info;
	struct gp_recording *whole = gp_report_open_unread(v->path, &exit_status);
	info.has_stacks |= info.stacks > 0;
	if (whole)
		gp_next_print(stdout, gp_next_of(whole, &info, NULL), v->path);
	gp_recording_close(whole);
}

static void watch_end(struct watch_loop *w)
{
	struct gp_watch_view *v = &w->view;
	const bool has_ended = !v->info->is_running;
	v->is_paused = v->has_help = false;
	if (has_ended && w->is_screen) {
		w->is_screen = false;
		watch_draw(w);
	}
	if (v->info->is_sealed)
		printf("the job %u ended\n", v->info->pid);
	else if (has_ended)
		printf("the job %u ended, or its rings are not shared: the end is missing\n",
		       v->info->pid);
	watch_print_next(v);
}

static int watch_run(const struct gp_command *command, int argc, char **argv)
{
	struct watch_loop w = { .view = { .device = -1, .top = 10 }, .process = -1 };
	struct gp_watch_view *v = &w.view;
	const char *by = "line", *sort = "bytes", *interval = "1";
	const struct gp_flag flags[] = {
		{ "interval", 0, GP_FLAG_TEXT, "SECONDS", &interval,
		  "time between two refreshes, 0.1 to 3600; default 1" },
		{ "count", 0, GP_FLAG_NUMBER, "1..N", &w.count, "end after N intervals" },
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=line|module|operator|library|node|kind|role", &by,
		  "group memory by this; default line" },
		{ "sort", 0, GP_FLAG_CHOICE, "WHAT=bytes|growth|count", &sort,
		  "order of the groups; default bytes" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &v->device, "groups of this device" },
		{ "top", 0, GP_FLAG_NUMBER, "0..N", &v->top,
		  "at most N groups without a terminal; default 10, 0 is all" },
		{ "steps", 0, GP_FLAG_TEXT, "NAME", &gp_report_step_name,
		  "ranges of this name, with any number, are the steps" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &v->is_json,
		  "for a program, a line for each interval: docs/JSON.md lists the keys" },
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	int words = gp_flags_parse(command, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words > 1)
		return gp_usage(command, "more than one job given");
	if (words && strcmp(argv[0], "-") == 0)
		return gp_usage(command, "'watch' takes a process or a file, and '-' is stdin");
	if (!gp_duration_parse(interval, &w.interval_ns) || w.interval_ns < INTERVAL_LEAST_NS ||
	    w.interval_ns > INTERVAL_MOST_NS) {
		gp_flags_wrong_value("interval", interval, "time from 0.1s to 1h",
				     "a time is 500ms or 2s; a plain number is seconds");
		return GP_EXIT_USAGE;
	}
	while (strcmp(by, gp_watch_bys[v->by].word) != 0)
		v->by++;
	while (strcmp(sort, gp_watch_sorts[v->sort]) != 0)
		v->sort++;
	int exit_status;
	struct watch_job job = { 0 };
	const char *path = job_find(command, &job, words ? argv[0] : NULL, &exit_status);
	if (path && gp_watch_view_open(v, path, &exit_status)) {
		gp_report_colour(STDOUT_FILENO);
		w.is_screen = !v->is_json && gp_keys_open();
		exit_status = watch_follow(&w);
		gp_keys_close();
		if (!v->is_json && exit_status == GP_EXIT_OK)
			watch_end(&w);
	}
	gp_watch_view_close(v);
	return exit_status;
}

const struct gp_command gp_command_watch = {
	.name = "watch",
	.synopsis = "watch [--by WHAT] [--interval SECONDS] [--count N] [--json] [options] "
		    "[PID|FILE]",
	.text = "show the memory of a running job, again each second",
	.run = watch_run,
};
