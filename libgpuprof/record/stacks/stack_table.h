/*
 * Every stack of the process once: chains of frames become ids in a trie that all threads share
 * (format/stack_entry.h). Look-up and insertion take no lock. Memory grows up to a limit, by chunks
 * that the drain thread maps ahead of need. If it is late, the thread that needs a chunk maps it.
 * Called inside hooks: no malloc, and no other system call.
 */
#ifndef GP_STACK_TABLE_H
#define GP_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "../../format/stack_entry.h"

/*
 * Bits of an id. A word of the index has bits of the hash above it, so that few wrong entries are
 * read.
 */
#define GP_STACK_ID_BITS 22

/* A table without entries. `most`: limit of entries, rounded up to chunks. False: no memory. */
bool gp_stack_table_open(uint32_t most);
/*
 * Adds chunk `number`, zeroed; drain thread only. The table does not own it. False: no such number,
 * or a thread that needed it at once has added its own memory.
 */
bool gp_stack_table_add_chunk(uint32_t number, struct gp_stack_entry *chunk);
/* Number of chunks, which is also that of the next one. */
uint32_t gp_stack_table_chunks(void);
/* Whether threads may add chunks of their own: no, while there is no room for more. */
void gp_stack_table_allow(bool is_allowed);
/* Bytes of the chunks that threads added. */
uint64_t gp_stack_table_own(void);
/* Unmaps the index of a table that no thread has used. */
void gp_stack_table_close(void);
/* Forgets all: for a forked child, whose chunks are not mapped. */
void gp_stack_table_reset(void);

/* True: less than half a chunk is left and `most` allows another one. */
bool gp_stack_table_needs_chunk(void);
/* Number of entries so far. */
uint32_t gp_stack_table_used(void);
/* Events with an incomplete stack for lack of room: the count; one more. */
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
 * Adds the frames, outermost first, below `parent`, and sets their ids. Returns how many have one:
 * fewer if the table is full.
 */
unsigned gp_stack_natives(uint32_t parent, struct gp_stack_native *frame, unsigned frames);

/* Each returns the id of the one entry with these fields; 0: the table is full. */
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

/*
 * The stack `pair` within a call of a module; 0: the table is full, or half full of these. Modules
 * have names: "layers", "3", "" for a root; `text` is "name\0class". `within`: the module whose
 * child it is; 0: a root.
 */
uint32_t gp_stack_in_module(uint32_t pair, uint32_t module);
uint32_t gp_stack_module_add(uint32_t within, const char *text, uint32_t text_bytes);
/* The stacks whose module was left out for lack of room or time: the count; one more. */
uint64_t gp_stack_table_modules_cut(void);
void gp_stack_table_count_module_cut(void);

/* `identity`: of the code object's text, lines included. Equal for a copy made elsewhere. */
uint32_t gp_stack_code_add(uint64_t address, uint64_t identity, uint32_t first_line,
			   const char *text, uint32_t text_bytes);

#endif
