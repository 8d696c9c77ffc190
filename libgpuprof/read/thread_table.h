/* A number for each thread of a recording. Thread numbers come from the file: any of 2^32. */
#ifndef GP_THREAD_TABLE_H
#define GP_THREAD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. */
struct gp_thread_table {
	/* open addressing, room is a power of two */
	struct gp_thread_value {
		uint32_t thread;
		bool is_used;
		uint64_t value;
	} * entry;
	size_t threads, room;
};

/*
 * A new one begins with 0. Valid until the next call; NULL: out of memory, the table stays as it
 * is.
 */
uint64_t *gp_thread_table_find(struct gp_thread_table *table, uint32_t thread);
void gp_thread_table_release(struct gp_thread_table *table);

#endif
