/*
 * `gpuprof snapshot`: shows the memory of a running job. Its recorder writes its state, and `frag`
 * reports on it. The job is not stopped.
 */
#include <stdio.h>
#include <stdlib.h>

#include "frag/frag_options.h"
#include "input/no_events.h"
#include "input/started_job.h"
#include "io/message.h"

#define WAIT_LEAST_NS 1000000000
#define WAIT_MOST_NS 3600000000000
enum { LEVEL_OFF = 1 }; /* the level of the control page */

static void print_ended(unsigned pid, const char *recording)
{
	gp_error("cannot query process '%u': it ended", pid);
	gp_hint("'gpuprof info %s' and other commands adopt its rings", recording);
}

static int print_failed(unsigned pid, int64_t wait_ns, enum gp_status status,
			const struct gp_process *process)
{
	if (status == GP_E_OPEN) {
		gp_no_events_print("query", "snapshot", pid);
	} else if (status == GP_E_TRUNCATED) {
		print_ended(pid, process->output);
	} else if (status == GP_E_BUSY) {
		gp_error("cannot query process '%u': no answer in %g s", pid,
			 (double)wait_ns / 1e9);
		gp_hint("it may be stopped, traced, or recorded by an older gpuprof");
	} else {
		gp_error("cannot query process '%u': %s", pid, gp_status_text(status));
		return gp_exit_of(status);
	}
	return GP_EXIT_FOUND;
}

static void find_recording(void *context, const struct gp_process *process)
{
	struct gp_process *sought = context;
	if (process->pid == sought->pid && process->is_alive)
		*sought = *process;
}

/* Rejects an output file that is the job's own recording. */
static int output_check(const struct gp_reading *r, unsigned pid)
{
	struct gp_process process = { .pid = pid };
	char *const recording = process.output;
	gp_process_visit(find_recording, &process);
	return gp_sink_check(r->output, r->is_forced, &recording, 1);
}

static bool wait_read(const char *text, int64_t *wait_ns)
{
	if (gp_duration_parse(text, wait_ns) && *wait_ns >= WAIT_LEAST_NS &&
	    *wait_ns <= WAIT_MOST_NS)
		return true;
	return gp_flags_wrong_value("wait", text, "time from 1s to 1h",
				    "a time is 10s or 2min; a plain number is seconds");
}

static int snapshot_run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_frag_command f = { .r.command = command, .has_holders = true };
	const char *wait = "10";
	int64_t wait_ns;
	struct gp_flag flags[GP_READING_FLAGS], own[1 + GP_FRAG_FLAGS] = {
		{ "wait", 0, GP_FLAG_TEXT, "SECONDS", &wait,
		  "wait at most this long for the job, 1 to 3600; default 10" },
	};
	gp_frag_flags(&f, &own[1]);
	gp_reading_flags(&f.r, own, flags);
	gp_screen_options.has_no_pager = true; /* the job runs on: do not wait */
	int words = gp_flags_parse(command, flags, argc, argv, false);
	unsigned pid;
	if (words < 0)
		return gp_flags_exit(words);
	if (words != 1)
		return gp_usage(command,
				words ? "more than one process given" : "no process given");
	/* check the options before marking the job and waiting for it */
	if (!gp_process_read(command, argv[0], &pid) || !wait_read(wait, &wait_ns) ||
	    gp_reading_check(&f.r, 1))
		return GP_EXIT_USAGE;
	pid = gp_started_job(pid);
	int exit_status = output_check(&f.r, pid);
	if (exit_status)
		return exit_status;
	struct gp_process process;
	uint64_t order = 0;
	enum gp_status status =
		gp_process_snapshot(pid, (unsigned)(wait_ns / 1000000), &process, &order);
	if (status)
		return print_failed(pid, wait_ns, status, &process);
	if (process.level == LEVEL_OFF) {
		gp_error("process '%u' is not recorded now: current events are missing", pid);
		gp_hint("'gpuprof ctl %u start' records", pid);
	}
	char at[32], *const recording = process.output;
	snprintf(at, sizeof at, "order:%llu", (unsigned long long)order);
	f.at = at;
	return gp_reading_show(&f.r, 1, &recording);
}

const struct gp_command gp_command_snapshot = {
	.name = "snapshot",
	.synopsis = "snapshot [--wait SECONDS] [--fit SIZE] [--json|--summary|--map] [options] PID",
	.text = "show the memory of a running job, without stopping it",
	.run = snapshot_run,
	.options = GP_FRAG_OPTIONS,
	.json_levels = 5,
	.top = GP_FRAG_PINS,
	.check = gp_frag_check,
	.one = gp_frag_one,
};
