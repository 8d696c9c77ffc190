/*
 * `gpuprof ctl`: lists the recorded processes of this user, and stops and starts recording through
 * the control page. A stopped process still records all events that change memory, so its figures
 * stay exact.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "input/flags.h"
#include "input/no_events.h"
#include "input/started_job.h"
#include "io/amount.h"
#include "io/json.h"
#include "io/message.h"
#include "io/screen.h"
#include "io/sink.h"

/* The levels of the control page. */
enum { LEVEL_OFF = 1, LEVEL_MEMORY = 2, LEVEL_ALL = 3 };

/* The drain thread looks at the control page at least once a second. */
#define PATIENCE_NS 10000000000
#define LOOK_NS 5000000

struct listing {
	struct gp_process *process;
	size_t count, room;
	unsigned pid; /* 0: all */
	bool is_short_of_memory;
};

static void ctl_add(void *context, const struct gp_process *process)
{
	struct listing *l = context;
	if (l->pid && process->pid != l->pid)
		return;
	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		struct gp_process *grown = realloc(l->process, room * sizeof *grown);
		if (!grown) {
			l->is_short_of_memory = true;
			return;
		}
		l->process = grown;
		l->room = room;
	}
	l->process[l->count++] = *process;
}

/* Running processes come before dead ones that left rings. */
static int by_life(const void *a, const void *b)
{
	const struct gp_process *x = a, *y = b;
	if (x->is_alive != y->is_alive)
		return y->is_alive - x->is_alive;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->ring_path, y->ring_path);
}

static bool ctl_list(struct listing *l)
{
	l->count = 0;
	enum gp_status status = gp_process_visit(ctl_add, l);
	if (status == GP_OK && !l->is_short_of_memory) {
		if (l->count)
			qsort(l->process, l->count, sizeof *l->process, by_life);
		return true;
	}
	gp_error("cannot list processes: %s", gp_status_text(status ? status : GP_E_MEMORY));
	return false;
}

static const char *level_text(unsigned level)
{
	switch (level) {
	case LEVEL_OFF:
		return "off";
	case LEVEL_MEMORY:
		return "memory";
	case LEVEL_ALL:
		return "all";
	default:
		return "unknown";
	}
}

static const char *state_text(const struct gp_process *p)
{
	if (!p->is_alive)
		return "ended";
	return p->level == LEVEL_ALL	? "records all" :
	       p->level == LEVEL_MEMORY ? "records memory" :
					  "off";
}

static void ctl_print_row(FILE *out, const struct gp_process *p)
{
	fprintf(out, "%8u  %-22s  %10s  %14s  ", p->pid, state_text(p),
		gp_count_text(p->lost_memory + p->lost_launch + p->lost_other).s,
		gp_count_text(p->next_order).s);
	gp_name_print(out, p->output);
	fputc('\n', out);
}

static void print_person(FILE *out, const struct listing *l, bool is_all)
{
	const struct gp_process *first = l->process;
	size_t alive = 0;
	while (alive < l->count && first[alive].is_alive)
		alive++;
	size_t shown = is_all || l->pid ? l->count : alive;
	if (shown)
		fprintf(out, "%8s  %-22s  %10s  %14s  %s\n", "pid", "state", "lost",
			"memory events", "recording");
	else
		fputs("no process records\n", out);
	for (size_t k = 0; k < shown; k++)
		ctl_print_row(out, &first[k]);
	if (shown < l->count)
		fprintf(out, "%s left rings: --all lists them\n",
			gp_plural(l->count - shown, "ended job").s);
	if (alive && first->level == LEVEL_ALL)
		fprintf(out, "next: gpuprof snapshot %u\n", first->pid);
	else if (alive)
		fprintf(out, "next: gpuprof ctl %u start\n", first->pid);
	else if (shown)
		fputs("next: gpuprof info RECORDING adopts the rings of an ended process\n", out);
	else
		fputs("next: gpuprof run -- COMMAND\n", out);
}

static void ctl_write_program(const struct listing *l)
{
	struct gp_json json;
	gp_json_init(&json, stdout, 2);
	gp_json_array(&json, NULL);
	for (size_t k = 0; k < l->count; k++) {
		const struct gp_process *p = &l->process[k];
		gp_json_object(&json, NULL);
		gp_json_number(&json, "pid", p->pid);
		gp_json_bool(&json, "alive", p->is_alive);
		gp_json_text(&json, "level", level_text(p->level));
		gp_json_text(&json, "requested_level",
			     level_text(p->requested_level ? p->requested_level : p->level));
		gp_json_text(&json, "recording", p->output);
		gp_json_text(&json, "ring", p->ring_path);
		gp_json_number(&json, "ring_bytes", p->bytes);
		gp_json_number(&json, "threads", p->rings);
		gp_json_number(&json, "memory_events", p->next_order);
		gp_json_number(&json, "written_events", p->drained);
		gp_json_object(&json, "lost");
		gp_json_number(&json, "memory", p->lost_memory);
		gp_json_number(&json, "launch", p->lost_launch);
		gp_json_number(&json, "other", p->lost_other);
		gp_json_end(&json);
		gp_json_end(&json);
	}
	gp_json_end(&json);
}

static bool is_obeyed(const struct listing *l, unsigned level)
{
	for (size_t k = 0; k < l->count; k++)
		if (l->process[k].is_alive && l->process[k].requested_level != 0 &&
		    l->process[k].level != level)
			return false;
	return true;
}

/* The drain thread acts at its next turn and sends no reply, so poll the control page. */
static int set_level(struct listing *l, const char *verb, unsigned level)
{
	enum gp_status status = gp_process_set_level(l->pid, level);
	if (status == GP_E_OPEN) {
		gp_no_events_print(verb, "ctl", l->pid);
		return GP_EXIT_FOUND;
	}
	if (status) {
		gp_error("cannot %s process '%u': %s", verb, l->pid, gp_status_text(status));
		return gp_exit_of(status);
	}
	for (int64_t waited_ns = 0; waited_ns < PATIENCE_NS; waited_ns += LOOK_NS) {
		if (!ctl_list(l))
			return GP_EXIT_INTERNAL;
		if (is_obeyed(l, level))
			return GP_EXIT_OK;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	gp_error("cannot query process '%u': no answer in 10 s", l->pid);
	gp_hint("if it is stopped or traced, it continues with the new state");
	return GP_EXIT_FOUND;
}

static int ctl_answer(struct listing *l, bool is_json, bool is_all)
{
	struct gp_sink sink;
	if (!ctl_list(l))
		return GP_EXIT_INTERNAL;
	if (l->pid && l->count == 0) {
		gp_no_events_print("query", "ctl", l->pid);
		return GP_EXIT_FOUND;
	}
	if (is_json) {
		ctl_write_program(l);
		return GP_EXIT_OK;
	}
	gp_sink_open(&sink, NULL, false, true, NULL, 0);
	print_person(sink.out, l, is_all);
	return gp_sink_close(&sink, GP_EXIT_OK);
}

static int ctl_run(const struct gp_command *command, int argc, char **argv)
{
	struct listing l = { 0 };
	bool is_json = false, is_all = false;
	const struct gp_flag flags[] = {
		{ "all", 0, GP_FLAG_SWITCH, NULL, &is_all,
		  "also each process that ended and whose rings are not adopted" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &is_json,
		  "for a program: docs/JSON.md lists the keys" },
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	int words = gp_flags_parse(command, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words > 2)
		return gp_usage(command, "too many words: '%s'", argv[2]);
	if (words && !gp_process_read(command, argv[0], &l.pid))
		return GP_EXIT_USAGE;
	const char *verb = words == 2 ? argv[1] : "status";
	static const char *const verbs[] = { "start", "stop", "status" };
	bool is_start = strcmp(verb, "start") == 0, is_stop = strcmp(verb, "stop") == 0;
	if (!is_start && !is_stop && strcmp(verb, "status") != 0) {
		const char *near = gp_nearest(verb, verbs, sizeof verbs / sizeof *verbs);
		gp_error("unknown action '%s' of 'ctl'", verb);
		gp_hint(near ? "did you mean '%s'?" : "actions are start, stop and status", near);
		return GP_EXIT_USAGE;
	}
	if (words)
		l.pid = gp_started_job(l.pid);
	int exit_status = GP_EXIT_OK;
	if (is_start || is_stop)
		exit_status = set_level(&l, verb, is_start ? LEVEL_ALL : LEVEL_MEMORY);
	if (exit_status == GP_EXIT_OK)
		exit_status = ctl_answer(&l, is_json, is_all);
	free(l.process);
	return exit_status;
}

const struct gp_command gp_command_ctl = {
	.name = "ctl",
	.synopsis = "ctl [--json] [options] [PID [start|stop|status]]",
	.text = "list recording processes; stop and start one",
	.run = ctl_run,
};
