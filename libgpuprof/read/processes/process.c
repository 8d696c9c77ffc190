/* Processes that record now or left their rings behind, as seen in their ring files. */
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../file/recording.h"

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
		.requested_level = atomic_load(&c->requested_level),
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

/* ---- requests to a process ---- */

struct process_search {
	unsigned pid;
	struct gp_ring_file file;
	bool is_found, is_own; /* is_own: its pid is valid in our namespace */
};

static void find_process(void *context, const char *path)
{
	struct process_search *search = context;
	struct gp_ring_file file;
	if (search->is_own || gp_ring_file_open(path, true, &file) != GP_OK)
		return;
	bool is_own = gp_is_own_namespace(file.control);
	if (file.control->pid != search->pid || gp_ring_file_owner(&file) != GP_OWNER_ALIVE ||
	    (search->is_found && !is_own)) {
		gp_ring_file_close(&file);
		return;
	}
	if (search->is_found)
		gp_ring_file_close(&search->file);
	search->file = file;
	search->is_found = true;
	search->is_own = is_own;
}

/* The caller closes search->file. */
static bool search_process(struct process_search *search, unsigned pid)
{
	*search = (struct process_search){ .pid = pid };
	gp_ring_file_visit(NULL, find_process, search);
	return search->is_found;
}

enum gp_status gp_process_set_level(unsigned pid, unsigned level)
{
	struct process_search search;
	if (level < GP_LEVEL_OFF || level > GP_LEVEL_ALL)
		return GP_E_ARGUMENT;
	if (!search_process(&search, pid))
		return GP_E_OPEN;
	/* partner: the load that the drain thread does at its next turn */
	atomic_store(&search.file.control->requested_level, level);
	gp_ring_file_close(&search.file);
	return GP_OK;
}

#define LOOK_NS 200000000 /* the end of a process sends no notice, so poll */

/* GP_E_TRUNCATED, GP_E_BUSY: see gp_process_snapshot. */
static enum gp_status request_snapshot(const struct gp_ring_file *file, int64_t patience_ns)
{
	struct gp_control *c = file->control;
	/* partner: the load in gp_snapshot_tend, of the drain thread */
	uint32_t mine = atomic_fetch_add(&c->snapshots_requested, 1) + 1;
	int64_t until = (int64_t)gp_clock_read(CLOCK_MONOTONIC) + patience_ns;
	for (;;) {
		/* partner: the store in gp_futex_set_shared */
		uint32_t done = atomic_load_explicit(&c->snapshots_done, memory_order_acquire);
		int64_t left = until - (int64_t)gp_clock_read(CLOCK_MONOTONIC);
		if ((int32_t)(done - mine) >= 0)
			return GP_OK;
		if (gp_ring_file_owner(file) != GP_OWNER_ALIVE)
			return GP_E_TRUNCATED;
		if (left <= 0)
			return GP_E_BUSY;
		int64_t look = left < LOOK_NS ? left : LOOK_NS;
		const struct timespec timeout = { 0, (long)look };
		syscall(SYS_futex, &c->snapshots_done, FUTEX_WAIT, done, &timeout, NULL, 0);
	}
}

enum gp_status gp_process_snapshot(unsigned pid, unsigned patience_ms, struct gp_process *out,
				   uint64_t *order)
{
	struct process_search search;
	if (!search_process(&search, pid))
		return GP_E_OPEN;
	describe(&search.file, out);
	enum gp_status status = request_snapshot(&search.file, (int64_t)patience_ms * 1000000);
	*order = atomic_load(&search.file.control->snapshot_order);
	gp_ring_file_close(&search.file);
	return status;
}
