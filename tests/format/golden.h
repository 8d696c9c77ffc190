/* A second reader of recordings, written from docs/FORMAT.md alone, without code of libgpuprof. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stddef.h>
#include <stdint.h>

#define NO_THREAD 0xffffffffu

enum { SEGMENT = 1, DEFINE, CHECKPOINT, EVENTS, END };
enum { LATE = 1, LAST_CHECKPOINT = 2, SEALED = 4 };
enum { HAS_HOLE = 1 }; // flag of the file

struct block {
	uint64_t offset, sequence, first_order, last_order, ticks, mono_ns;
	uint32_t segment, part, thread, records, raw_bytes, stored_bytes;
	uint16_t type, flags;
};

struct record {
	uint64_t time, order, v[5], stack; // v[4]: aux
	uint64_t key, key_time;		   // order number at which it is merged
	size_t index;
	char *text;
	uint32_t thread, text_bytes;
	uint16_t kind, code;
	uint8_t device, space;
};

// The description of the recording: its blocks in the order of segments and parts, one clock for
// all.
extern struct block *blocks;
extern size_t n_blocks;
// The records of the blocks that were read so far.
extern struct record *records;
extern size_t n_records;

// Lost memory, launch, other events and nested calls by the file's header.
extern uint64_t header_lost[4];
// True if blocks could not be written and no whole checkpoint has followed.
extern int header_has_hole;

void open_recording(const char *name);
// Continues with the blocks of stored names; exits with 1 where there are none.
void open_names(void);
void read_payload(const struct block *b);
int64_t nanoseconds(uint64_t ticks);
void print_text(const char *text, uint32_t bytes);
// Keeps a record that is a part of stacks; the stack with that id, as `dump --json --bare` prints
// it.
void learn_stack_part(const struct record *r);
void print_stack(uint64_t id);
void need(int holds, const char *what);
void *grown(void *list, size_t n, size_t size);

#endif
