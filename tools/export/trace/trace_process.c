/* Names of processes and threads, as viewers show them. */
#include "trace_process.h"

#include <string.h>

bool gp_trace_rank(const struct gp_export *e, struct gp_job_rank *out)
{
	if (!e->rank)
		return gp_job_rank_find(e->recording, e->info, out);
	*out = *e->rank;
	return true;
}

static const char *process_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

void gp_trace_process_name(const struct gp_export *e, unsigned node, char *out, size_t room)
{
	struct gp_job_rank rank;
	char program[128];
	if (gp_trace_rank(e, &rank)) {
		snprintf(out, room, "node_%u_rank_%u", node, rank.rank);
		return;
	}
	const char *command = e->info->command ? e->info->command : "job";
	snprintf(program, sizeof program, "%.*s", (int)strcspn(command, " "), command);
	if (e->recordings > 1)
		snprintf(out, room, "%s (%s)", process_last_part(program),
			 process_last_part(e->recording_path));
	else
		snprintf(out, room, "%s", process_last_part(program));
}

void gp_trace_thread_name(struct gp_recording *recording, uint32_t thread, uint32_t tid, char *out,
			  size_t room)
{
	const char *name = NULL;
	if (tid)
		name = gp_recording_text(recording, GP_OBJECT_NAME,
					 GP_OBJECT_KEY(GP_OBJECT_THREAD, (uint64_t)tid));
	if (!name)
		name = gp_recording_text(recording, GP_THREAD, thread);
	if (name && *name)
		snprintf(out, room, "%s", name);
	else
		snprintf(out, room, "thread %u", thread);
}
