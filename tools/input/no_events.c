/*
 * Finds out why a process does not record: from its rings if it ended, else from the kernel.
 */
#include "no_events.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../io/message.h"
#include "gpuprof.h"

static const char lists[] = "'gpuprof ctl' lists the processes that record";

struct ended {
	unsigned pid;
	bool is_found;
	struct gp_process process;
};

static void find_ended(void *context, const struct gp_process *process)
{
	struct ended *e = context;
	if (process->pid != e->pid || process->is_alive)
		return;
	e->process = *process;
	e->is_found = true;
}

static void print_stranger(const char *verb, const char *command, unsigned pid,
			   const struct gp_not_recording *s)
{
	const struct passwd *user = getpwuid(s->uid);
	char name[64];
	snprintf(name, sizeof name, "%u", s->uid);
	gp_error("cannot %s process '%u': it is user '%s's", verb, pid,
		 user ? user->pw_name : name);
	if (s->ring_path[0])
		gp_hint("its rings are in '%s'; run as that user: 'sudo -u %s%s gpuprof %s %u'",
			s->ring_path, user ? "" : "#", user ? user->pw_name : name, command, pid);
	else
		gp_hint("no rings of it were found: it does not record, or they are elsewhere");
}

static void print_elsewhere(const char *verb, const char *command, unsigned pid,
			    const struct gp_not_recording *s)
{
	const char *end = strrchr(s->ring_path, '/');
	const int bytes = end && end > s->ring_path ? (int)(end - s->ring_path) : 1;
	gp_error("cannot %s process '%u': its rings are not in '/dev/shm'", verb, pid);
	gp_hint("'GPUPROF_RING_DIR=%.*s gpuprof %s %u' finds them", bytes, s->ring_path, command,
		pid);
}

void gp_no_events_print(const char *verb, const char *command, unsigned pid)
{
	struct gp_not_recording s = gp_process_not_recording(pid);
	struct ended ended = { .pid = pid };
	gp_process_visit(find_ended, &ended);
	switch (s.why) {
	case GP_SILENT_NONE:
		gp_error("cannot %s process '%u': %s", verb, pid,
			 ended.is_found ? "it ended" : "no such process");
		if (ended.is_found)
			gp_hint("'gpuprof info %s' and other commands adopt its rings",
				ended.process.output);
		else
			gp_hint("%s", lists);
		break;
	case GP_SILENT_STRANGER:
		print_stranger(verb, command, pid, &s);
		break;
	case GP_SILENT_ELSEWHERE:
		print_elsewhere(verb, command, pid, &s);
		break;
	case GP_SILENT_ENDED:
		gp_error("cannot %s process '%u': its recording has ended", verb, pid);
		gp_hint("it ended with the last requested span and does not resume");
		break;
	case GP_SILENT_EARLY:
		gp_error("cannot %s process '%u': it does not record, or not yet", verb, pid);
		gp_hint("a recording begins with the first event on a GPU");
		break;
	case GP_SILENT_APART:
		gp_error("cannot %s process '%u': it was started without the recorder", verb, pid);
		gp_hint("'gpuprof run -- COMMAND' records what it starts; %s", lists);
		break;
	case GP_SILENT_UNKNOWN:
		gp_error("cannot %s process '%u': it does not record", verb, pid);
		gp_hint("%s", lists);
		break;
	}
}
