/* Ranks come from the communicators of NCCL: a recording has no variables of the environment. */
#include "trace_process.h"

#include <string.h>

bool gp_trace_rank(struct gp_recording *recording, const struct gp_info *info, uint32_t *rank,
		   uint32_t *ranks)
{
	struct gp_collectives c = { 0 };
	*rank = *ranks = 0;
	bool is_known = false;
	if (!info->kept[GP_COMMUNICATOR] && !info->counts[GP_COMMUNICATOR])
		return false;
	if (gp_collectives_build(recording, GP_COLLECTIVES_BY_CALL, INT64_MIN, INT64_MAX, &c) ==
	    GP_OK)
		for (size_t k = 0; k < c.communicators; k++) {
			const struct gp_communicator *of = &c.communicator[k];
			if (!of->rank || of->ranks <= *ranks)
				continue;
			*rank = of->rank - 1;
			*ranks = of->ranks;
			is_known = true;
		}
	gp_collectives_free(&c);
	return is_known;
}

static const char *process_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

void gp_trace_process_name(const struct gp_export *e, unsigned node, char *out, size_t room)
{
	uint32_t rank, ranks;
	char program[128];
	if (gp_trace_rank(e->recording, e->info, &rank, &ranks)) {
		snprintf(out, room, "node_%u_rank_%u", node, rank);
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
