/* Processes that record now or left their rings behind, as their ring files show them. */
#include <stdio.h>
#include <string.h>

#include "recording.h"

struct process_visit {
	void (*visit)(void *context, const struct gp_process *);
	void *context;
};

static void describe(const struct gp_ring_file *file, struct gp_process *out)
{
	const struct gp_control *c = file->control;
	enum gp_owner owner = gp_ring_file_owner(file);
	*out = (struct gp_process){
		.pid = c->pid,
		.is_alive = owner != GP_OWNER_DEAD && owner != GP_OWNER_INHERITED,
		.rings = file->rings,
		.bytes = file->bytes,
		.level = atomic_load(&c->level),
		.want_level = atomic_load(&c->want_level),
		.next_order = atomic_load(&c->next_order),
		.drained = atomic_load(&c->drained),
	};
	snprintf(out->ring_path, sizeof out->ring_path, "%.*s", (int)sizeof out->ring_path - 1,
		 file->path);
	snprintf(out->output, sizeof out->output, "%.*s", (int)sizeof c->output - 1, c->output);
	out->lost_memory = atomic_load(&c->lost[0]);
	out->lost_launch = atomic_load(&c->lost[1]);
	out->lost_other = atomic_load(&c->lost[2]);
	for (uint32_t i = 0; i < file->rings; i++) {
		const struct gp_ring *ring = gp_ring_file_ring(file, i);
		out->lost_memory += atomic_load(&ring->lost_memory);
		out->lost_launch += atomic_load(&ring->lost_launch);
		out->lost_other += atomic_load(&ring->lost_other);
	}
}

static void visit_path(void *context, const char *path)
{
	struct process_visit *to = context;
	struct gp_ring_file file;
	if (gp_ring_file_open(path, false, &file) != GP_OK)
		return;
	struct gp_process process;
	describe(&file, &process);
	gp_ring_file_close(&file);
	to->visit(to->context, &process);
}

enum gp_status gp_process_visit(void (*visit)(void *context, const struct gp_process *),
				void *context)
{
	struct process_visit to = { .visit = visit, .context = context };
	gp_ring_file_visit(NULL, visit_path, &to);
	return GP_OK;
}

struct level_setting {
	unsigned pid, level;
	bool is_done;
};

static void set_level(void *context, const char *path)
{
	struct level_setting *setting = context;
	struct gp_ring_file file;
	if (gp_ring_file_open(path, true, &file) != GP_OK)
		return;
	if (file.control->pid == setting->pid && gp_ring_file_owner(&file) == GP_OWNER_ALIVE) {
		/* partner: the drain thread's load at its next turn */
		atomic_store(&file.control->want_level, setting->level);
		setting->is_done = true;
	}
	gp_ring_file_close(&file);
}

enum gp_status gp_process_set_level(unsigned pid, unsigned level)
{
	if (level < GP_LEVEL_OFF || level > GP_LEVEL_ALL)
		return GP_E_ARGUMENT;
	struct level_setting setting = { .pid = pid, .level = level };
	gp_ring_file_visit(NULL, set_level, &setting);
	return setting.is_done ? GP_OK : GP_E_OPEN;
}
