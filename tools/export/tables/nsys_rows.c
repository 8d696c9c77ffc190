/* Tables as nsys_tables.def has them. Those of operations exist only with GPU time. */
#include "nsys_rows.h"
#include "table_stacks.h"

#include <assert.h>
#include <stdlib.h>

static const struct gp_column columns[] = {
#define TABLE(name) { NULL, GP_COLUMN_TEXT },
#define COLUMN(name, TYPE) { #name, GP_COLUMN_##TYPE },
#include "nsys_tables.def"
#undef COLUMN
#undef TABLE
	{ NULL, GP_COLUMN_TEXT }
};
static const char *const names[NSYS_TABLES] = {
#define TABLE(name) #name,
#define COLUMN(name, TYPE)
#include "nsys_tables.def"
#undef COLUMN
#undef TABLE
};

void gp_nsys_open(struct gp_nsys *n, struct gp_export *e, bool has_operations)
{
	n->e = e;
	n->frames_left = gp_table_frames_most(e->info);
	gp_sqlite_open(&n->file, e->path);
	gp_tables_split(columns, names, NSYS_TABLES, n->table);
	for (unsigned k = 0; k < NSYS_TABLES; k++) {
		if (k >= NSYS_CUPTI_ACTIVITY_KIND_KERNEL && !has_operations)
			continue;
		gp_sqlite_create(&n->file, &n->table[k]);
		n->insert[k] = gp_sqlite_insert(&n->file, &n->table[k]);
	}
}

void gp_nsys_close(struct gp_nsys *n)
{
	for (unsigned k = 0; k < NSYS_TABLES; k++)
		gp_sqlite_finish(n->insert[k]);
	gp_sqlite_close(&n->file);
	gp_pickle_rows_release(&n->texts);
	gp_pickle_rows_release(&n->domains);
	gp_pickle_rows_release(&n->thread_rows);
	gp_pickle_rows_release(&n->tids);
	gp_pickle_rows_release(&n->stacks);
	gp_stack_epochs_close(n->epochs);
	free(n->thread);
	gp_rows_release(&n->row);
	gp_rows_release(&n->text_row);
}

void gp_nsys_add(struct gp_nsys *n, enum nsys_table table)
{
	assert(n->row.used == n->table[table].columns);
	gp_sqlite_add(&n->file, n->insert[table], n->row.value, n->row.used);
	n->row.used = 0;
	n->e->entries++;
}

uint32_t gp_nsys_text(struct gp_nsys *n, const char *text)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&n->texts, gp_hash_text(text), 0, text);
	if (!row) {
		n->file.status = GP_E_MEMORY;
		return 0;
	}
	if (row->memo)
		return row->memo - 1;
	const uint32_t id = n->text_count++;
	row->memo = id + 1;
	n->text_row.used = 0;
	gp_row_number(&n->text_row, id);
	gp_row_text(&n->text_row, text);
	gp_sqlite_add(&n->file, n->insert[NSYS_StringIds], n->text_row.value, 2);
	return id;
}

struct gp_nsys_thread *gp_nsys_thread(struct gp_nsys *n, uint32_t thread)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&n->thread_rows, thread, 0, NULL);
	if (row && row->memo)
		return &n->thread[row->memo - 1];
	if (row && n->threads == n->thread_room) {
		const size_t room = n->thread_room ? 2 * n->thread_room : 64;
		struct gp_nsys_thread *grown = realloc(n->thread, room * sizeof *grown);
		if (grown)
			n->thread = grown;
		n->thread_room = grown ? room : n->thread_room;
	}
	if (!row || n->threads == n->thread_room) {
		n->file.status = GP_E_MEMORY;
		return NULL;
	}
	n->thread[n->threads++] = (struct gp_nsys_thread){ .last_ns = INT64_MIN };
	row->memo = (uint32_t)n->threads;
	return &n->thread[n->threads - 1];
}
