/*
 * Every stack of the process once: chains of frames become ids in a trie that all threads share
 * (format/stack_entry.h). Finding and adding take no lock; memory grows up to a bound, by chunks
 * that the drain thread maps ahead of need, and where it is late, by one that the thread maps that
 * needs it. Called inside hooks: no malloc, no system call but for these.
 */
#ifndef GP_STACK_TABLE_H
#define GP_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "../../format/stack_entry.h"

/* Of an id. A word of the index has bits of the hash above it, so that few others are looked at. */
#define GP_STACK_ID_BITS 22

/* A table without entries. `most`: entries at most, rounded up to chunks. False: no memory. */
bool gp_stack_table_open(uint32_t most);
/*
 * Chunk `number`, zeroed; drain thread only. The table does not own it. False: no such number, or a
 * thread that needed it at once has put memory of its own there.
 */
bool gp_stack_table_add_chunk(uint32_t number, struct gp_stack_entry *chunk);
/* How many there are: the number of the next one. */
uint32_t gp_stack_table_chunks(void);
/* May threads add chunks of their own? Not while there is no room for more. */
void gp_stack_table_allow(bool is_allowed);
/* Bytes of the chunks that threads added. */
uint64_t gp_stack_table_own(void);
/* Unmaps the index of a table that no thread has used. */
void gp_stack_table_close(void);
/* Forgets all: a forked child, whose chunks are not mapped. */
void gp_stack_table_reset(void);

/* True: less than half a chunk is left and `most` allows another one. */
bool gp_stack_table_wants_chunk(void);
/* Entries given out so far. */
uint32_t gp_stack_table_used(void);
/* Events whose stack is not whole since there was no room, and one more of them. */
uint64_t gp_stack_table_cut(void);
void gp_stack_table_count_cut(void);
/* NULL: no such id. */
const struct gp_stack_entry *gp_stack_table_entry(uint32_t id);

/* A frame of a chain. */
struct gp_stack_native {
	uint64_t pc;
	uint32_t id;
	bool runs_python;
};
/*
 * Gives the frames, the outermost first, their ids below `parent`. How many have one: fewer, when
 * the table is full.
 */
unsigned gp_stack_natives(uint32_t parent, struct gp_stack_native *frame, unsigned frames);

/* Each returns the id of the one entry with these fields, 0 when the table is full. */
/* `line` is called for a new frame only: it takes time. */
struct gp_stack_python {
	uint32_t parent, code;
	int32_t offset;
	bool is_entry;
	uint8_t bare_entries;
};
uint32_t gp_stack_python(const struct gp_stack_python *frame,
			 int32_t (*line)(const void *, int32_t), const void *object);
uint32_t gp_stack_pair(uint32_t native, uint32_t python, enum gp_stack_why why_native,
		       enum gp_stack_why why_python);

/* `identity`: of the code object's text, lines included. One made anew elsewhere is the same. */
uint32_t gp_stack_code_add(uint64_t address, uint64_t identity, uint32_t first_line,
			   const char *text, uint32_t text_bytes);

#endif
