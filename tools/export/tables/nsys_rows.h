/* A database in the shape of Nsight Systems' export: its file, its texts, its rows. */
#ifndef GP_NSYS_ROWS_H
#define GP_NSYS_ROWS_H

#include "../write/pickle.h"
#include "sqlite_file.h"

enum nsys_table {
#define TABLE(name) NSYS_##name,
#define COLUMN(name, TYPE)
#include "nsys_tables.def"
#undef COLUMN
#undef TABLE
	NSYS_TABLES
};

/* Of DIAGNOSTIC_EVENT. Scripts show severities above NSYS_INFO. */
enum { NSYS_INFO = 1, NSYS_WARNING = 2 };
enum { NSYS_FROM_RECORDER = 1, NSYS_FROM_EXPORT = 2 };

struct gp_nsys {
	struct gp_export *e;
	struct gp_sqlite file;
	struct gp_table table[NSYS_TABLES];
	struct gp_sqlite_insert *insert[NSYS_TABLES];
	struct gp_pickle_rows texts; /* memo: 1 + the id */
	uint32_t text_count;
	struct gp_pickle_rows domains; /* that have an event */
	struct gp_rows row;	       /* its values alone */
	struct gp_rows text_row;
	uint64_t seen;				 /* events of the replay */
	struct gp_pickle_rows thread_rows, tids; /* by thread: 1 + index; tids with a row */
	struct gp_nsys_thread {
		int64_t last_ns; /* of its last event */
		bool is_named;
	} * thread;
	size_t threads, thread_room;
	struct gp_gpu gpu;
	/* launches in the order of their events, and the next one */
	struct gp_nsys_launch {
		uint64_t event;
		uint32_t number, operation; /* its first operation, or NSYS_NO_OPERATION */
		bool is_written;	    /* that operation is in the file */
	} * launch;
	size_t launch_next;
	struct gp_module_epochs *epochs; /* NULL: without stacks */
	struct gp_pickle_rows stacks;	 /* memo: 1 + the id, or 1: without frames */
	uint32_t callchains;
	uint64_t frames_left;	/* rows of CUDA_CALLCHAINS */
	uint64_t stacks_beyond; /* stacks without room for their frames */
	uint64_t untimed;	/* operations that are left out */
	uint64_t ends_unknown;	/* calls */
};
#define NSYS_NO_OPERATION UINT32_MAX

void gp_nsys_open(struct gp_nsys *n, struct gp_export *e, bool has_operations);
void gp_nsys_close(struct gp_nsys *n);
/* Adds the values of n->row, which gp_row_* put there, and empties it. */
void gp_nsys_add(struct gp_nsys *n, enum nsys_table table);
/* The id of a text. */
uint32_t gp_nsys_text(struct gp_nsys *n, const char *text);
static inline int64_t gp_nsys_pid(const struct gp_nsys *n)
{
	return (int64_t)n->e->info->pid << 24;
}
/* Threads of an unknown id are kept apart: NSYS_NO_TID and their number. */
#define NSYS_NO_TID 0x800000u
static inline int64_t gp_nsys_tid(const struct gp_nsys *n, uint32_t thread)
{
	const uint32_t tid = gp_recording_tid(n->e->recording, thread);
	return gp_nsys_pid(n) | (tid ? tid & 0xffffff : (thread & 0x7fffff) | NSYS_NO_TID);
}
/* The state of a thread; valid until the next call. NULL: out of memory. */
struct gp_nsys_thread *gp_nsys_thread(struct gp_nsys *n, uint32_t thread);
/* Adds operations of the GPU. gp_nsys_gpu_close frees, also after a failure. */
void gp_nsys_gpu_open(struct gp_nsys *n);
void gp_nsys_gpu_close(struct gp_nsys *n);
void gp_nsys_ranges_write(struct gp_nsys *n);
/*
 * Adds a launch, copy or wait, if it is in the span or its operation is. For each event of the
 * replay. True: a call was added.
 */
bool gp_nsys_call_see(struct gp_nsys *n, const struct gp_event *event,
		      const struct gp_nsys_thread *thread, bool is_in);
/*
 * The id of a recorded stack in CUDA_CALLCHAINS, from 1; 0: it has no frames. Adds the frames of a
 * new one, so n->row must be empty.
 */
uint32_t gp_nsys_callchain(struct gp_nsys *n, uint32_t stack, int64_t at_ns);
/* Adds losses, damage and limits. */
void gp_nsys_diagnostics_write(struct gp_nsys *n);

#endif
