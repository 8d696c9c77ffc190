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

struct gp_nsys {
	struct gp_export *e;
	struct gp_sqlite file;
	struct gp_table table[NSYS_TABLES];
	struct gp_sqlite_insert *insert[NSYS_TABLES];
	struct gp_pickle_rows texts; /* memo: 1 + the id */
	uint32_t text_count;
	struct gp_rows row; /* its values alone */
	struct gp_rows text_row;
};

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
static inline int64_t gp_nsys_tid(const struct gp_nsys *n, uint32_t thread)
{
	return gp_nsys_pid(n) | (gp_recording_tid(n->e->recording, thread) & 0xffffff);
}
/* Operations of the GPU, their launches and ranges. */
void gp_nsys_gpu_write(struct gp_nsys *n);

#endif
