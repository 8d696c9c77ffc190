/*
 * Rings that a dead process left, adopted into its recording, and the output of `gpuprof ctl` for
 * them. The input is a list of edits (ring_edit.h) of a ring file that a recorder could have left.
 * Ring 0 is the drain thread's, rings 1 and 2 hold events, ring 3 is a chunk of the table of
 * stacks. The first byte selects the reader.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../libgpuprof/gpuprof.h"
#include "fuzz.h"
#include "ring_edit.h"
#include "run_command.h"
#include "small_recording.h"

const char fuzz_name[] = "rings";

#define RINGS 4u
#define RECORDS 64u /* from position 0, in region 0, which follows the header */
#define ENTRIES 256u
#define ENTRIES_AT GP_REGION_OFFSET(GP_RING_REGIONS - 1) /* at the offset of their chunk */

/* The part of a ring's area that is not zero. */
struct place {
	union {
		struct gp_ring *ring; /* its header */
		unsigned char *bytes;
	};
	struct gp_record *record;
	struct gp_stack_entry *entry;
};

struct left {
	struct gp_control *control;
	struct place place[RINGS];
	uint64_t bytes; /* bytes of the ring file */
	uint8_t recording[1 << 14];
	size_t recording_bytes;
};

static char ring_path[PATH_MAX], recording_path[PATH_MAX];

static void *zeroed(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	if (!memory)
		abort();
	return memset(memory, 0, (bytes + 4095) & ~(size_t)4095);
}

static void fill_stacks(struct gp_stack_entry *entry)
{
	static const char file[] = "train.py";
	entry[1].kind = GP_STACK_TEXT;
	entry[1].parent = sizeof file + 1;
	memcpy(entry[1].text, file, sizeof file);
	memcpy(entry[1].text + sizeof file, "f", 1);
	entry[2].kind = GP_STACK_CODE;
	entry[2].parent = 1;
	entry[2].code.first_line = 7;
	entry[3].kind = GP_STACK_PYTHON;
	entry[3].python.code = 2;
	entry[3].python.line = 9;
	entry[4].kind = GP_STACK_NATIVE;
	entry[4].native.pc = 0x401000;
	entry[5].kind = GP_STACK_NATIVE;
	entry[5].parent = 4;
	entry[5].native.pc = 0x402000;
	entry[6].kind = GP_STACK_STACK;
	entry[6].stack.native = 5;
	entry[6].stack.python = 3;
}

/* Copies the recording's events into ring 1, as if its owner died before it freed their slots. */
static void fill_ring(struct place *place, unsigned i)
{
	struct gp_ring *ring = place->ring;
	ring->state = i == 3 ? GP_RING_STACKS : i == 2 ? GP_RING_RETIRED : GP_RING_ACTIVE;
	ring->thread = i == 3 ? 0 : i;
	if (i == 1 || i == 2) {
		uint64_t first = i == 1 ? 0 : 40, n = i == 1 ? 40 : 24;
		for (uint64_t k = 0; k < n; k++) {
			place->record[k] = small_recording_event(first + k);
			place->record[k].stack = k % 3 ? 6 : 0;
		}
		ring->head = n;
		ring->sequence = i == 1;
	}
	if (i == 3)
		fill_stacks(place->entry);
}

static void left_init(struct left *left)
{
	struct gp_control *c = left->control;
	c->magic = GP_CONTROL_MAGIC;
	c->version = GP_CONTROL_VERSION;
	c->pid = SMALL_RECORDING_PID;
	c->clock = GP_CLOCK_MONOTONIC_RAW;
	c->rings = RINGS;
	c->is_lock_sure = 1;
	c->next_order = 64;
	snprintf(c->boot_id, sizeof c->boot_id, "%s", SMALL_RECORDING_BOOT);
	snprintf(c->output, sizeof c->output, "%.*s", (int)sizeof c->output - 1, recording_path);
	left->bytes = gp_ring_offset(RINGS);
	left->recording_bytes =
		small_recording_make(left->recording, sizeof left->recording, ring_path);
	for (unsigned i = 0; i < RINGS; i++)
		fill_ring(&left->place[i], i);
}

static void left_open(struct left *left)
{
	left->control = zeroed(sizeof *left->control);
	for (unsigned i = 0; i < RINGS; i++) {
		/* the records are behind the header, as in the file */
		left->place[i].bytes = zeroed(GP_RING_HEADER + RECORDS * sizeof(struct gp_record));
		left->place[i].record = (struct gp_record *)(left->place[i].bytes + GP_RING_HEADER);
		left->place[i].entry = zeroed(ENTRIES * sizeof(struct gp_stack_entry));
	}
	left_init(left);
}

static void left_close(struct left *left)
{
	free(left->control);
	for (unsigned i = 0; i < RINGS; i++) {
		free(left->place[i].bytes);
		free(left->place[i].entry);
	}
}

static void set_word(void *memory, size_t bytes, size_t index, uint64_t value)
{
	memcpy((char *)memory + index * 8 % bytes, &value, 8);
}

static void change_ring(struct place *place, const struct ring_edit *e)
{
	struct gp_ring *ring = place->ring;
	struct gp_record *r = &place->record[e->index % RECORDS];
	switch (e->where % RING_EDITS) {
	case RING_EDIT_HEADER:
		set_word(place->bytes, 256, e->index, e->value);
		break;
	case RING_EDIT_PENDING:
		ring->head = ring->tail + e->value;
		break;
	case RING_EDIT_TAIL:
		ring->head += e->value - ring->tail;
		ring->tail = e->value;
		break;
	case RING_EDIT_STATE:
		ring->state = (uint32_t)e->value % 5;
		break;
	case RING_EDIT_RECORD:
		set_word(place->record, RECORDS * sizeof *r, e->index, e->value);
		break;
	case RING_EDIT_EXTRA:
		r->extra = (uint8_t)e->value;
		break;
	case RING_EDIT_STACK:
		r->stack = (uint32_t)e->value;
		break;
	case RING_EDIT_ENTRY:
		set_word(place->entry, ENTRIES * sizeof *place->entry, e->index, e->value);
		break;
	case RING_EDIT_KIND:
		place->entry[e->index % ENTRIES].kind = (uint32_t)e->value % 7;
		place->entry[e->index % ENTRIES].parent = (uint32_t)(e->value >> 8);
		break;
	default:
		break;
	}
}

static void change(struct left *left, const struct ring_edit *e)
{
	switch (e->where % RING_EDITS) {
	case RING_EDIT_CONTROL:
		/* except the path: rings of this user may name any file of this user */
		if (e->index * 8u % sizeof *left->control < offsetof(struct gp_control, output) ||
		    e->index * 8u % sizeof *left->control >= offsetof(struct gp_control, clock))
			set_word(left->control, sizeof *left->control, e->index, e->value);
		break;
	case RING_EDIT_RINGS:
		left->control->rings = (uint32_t)e->value;
		break;
	case RING_EDIT_LENGTH:
		left->bytes = e->value % (gp_ring_offset(RINGS) + 8192);
		break;
	case RING_EDIT_RECORDING:
		left->recording[e->index % left->recording_bytes] ^= (uint8_t)e->value;
		break;
	case RING_EDIT_CUT:
		left->recording_bytes = 1 + e->value % left->recording_bytes;
		break;
	default:
		change_ring(&left->place[e->ring % RINGS], e);
	}
}

static void put_at(int fd, const void *bytes, size_t count, uint64_t at)
{
	if (pwrite(fd, bytes, count, (off_t)at) != (ssize_t)count)
		abort();
}

static void put_files(const struct left *left)
{
	int fd = open(ring_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		abort();
	put_at(fd, left->control, sizeof *left->control, 0);
	for (uint32_t i = 0; i < RINGS; i++) {
		uint64_t at = gp_ring_offset(i);
		put_at(fd, left->place[i].bytes,
		       GP_RING_HEADER + RECORDS * sizeof(struct gp_record), at);
		if (left->place[i].ring->state == GP_RING_STACKS)
			put_at(fd, left->place[i].entry, ENTRIES * sizeof(struct gp_stack_entry),
			       at + ENTRIES_AT);
	}
	if (ftruncate(fd, (off_t)left->bytes) != 0)
		abort();
	close(fd);
	fuzz_put("a.gpr", left->recording, left->recording_bytes);
}

static void see_process(void *context, const struct gp_process *process)
{
	size_t *sum = context;
	*sum += strlen(process->output) + strlen(process->ring_path);
}

static void adopt(bool is_alone)
{
	static FILE *report;
	uint64_t wait_ns = 0;
	unsigned adopted = 0;
	size_t sum = 0;
	if (!report)
		report = fopen("/dev/null", "we");
	(void)gp_process_visit(see_process, &sum);
	(void)gp_adopt_into(recording_path, &wait_ns, &adopted, report);
	if (!is_alone)
		(void)gp_adopt(&adopted, report);
	(void)gp_verify(recording_path, NULL, report);
}

static void read_them(unsigned choice)
{
	char words[64];
	snprintf(words, sizeof words, "ctl %u status", SMALL_RECORDING_PID);
	const char *const lines[] = { "ctl", "ctl --json", "info --json @", words };
	if (choice < 2)
		adopt(choice == 0);
	else
		run_command(lines[choice - 2], recording_path, "", 0);
}

static void find_paths(void)
{
	snprintf(ring_path, sizeof ring_path, "%.3000s/gpuprof-ring-%u-%u-1", fuzz_place(),
		 (unsigned)geteuid(), SMALL_RECORDING_PID);
	snprintf(recording_path, sizeof recording_path, "%.4000s/a.gpr", fuzz_place());
	if (chdir(fuzz_place()) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct left left;
	if (bytes < 1)
		return 0;
	if (ring_path[0] == '\0')
		find_paths();
	left_open(&left);
	for (size_t at = 1; bytes - at >= sizeof(struct ring_edit) && at < bytes;
	     at += sizeof(struct ring_edit)) {
		struct ring_edit edit;
		memcpy(&edit, data + at, sizeof edit);
		change(&left, &edit);
	}
	put_files(&left);
	left_close(&left);
	read_them(data[0] % FUZZ_RING_CHOICES);
	unlink(ring_path);
	return 0;
}
