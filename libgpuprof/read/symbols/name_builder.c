/* Collects definitions of names into blocks. */
#include <stdlib.h>
#include <string.h>

#include "../block_room.h"
#include "../tables/array.h"
#include "name_table.h"

#define TEXT_MAX (UINT8_MAX * sizeof(struct gp_record) - sizeof(uint64_t))

struct gp_name_builder {
	struct gp_block_room room;
	struct gp_block_header header; /* of the next block */
	uint64_t slots;		       /* used in the next block */
	unsigned char *blocks;
	size_t bytes, blocks_room;
	uint32_t modules;
	size_t frames;
	bool is_failed; /* memory was short once: the data may end within an address */
};

static bool builder_flush(struct gp_name_builder *b)
{
	const size_t bound = gp_block_bound();
	size_t length;
	if (b->slots == 0)
		return true;
	b->is_failed |=
		!gp_array_reserve(&b->blocks, &b->blocks_room, b->bytes, bound, 1) ||
		gp_block_encode(b->room.scratch, &b->header, b->room.record, GP_BLOCK_RECORDS, 0,
				b->slots, b->blocks + b->bytes, bound, &length) != GP_OK;
	if (b->is_failed)
		return false;
	b->header.sequence++;
	b->bytes += length;
	b->slots = 0;
	return true;
}

/* `n`: length of `text` in bytes, at most TEXT_MAX. */
static bool builder_put(struct gp_name_builder *b, struct gp_record record, const char *text,
			uint64_t n)
{
	record.extra = gp_text_slots(n);
	if (b->slots + 1 + record.extra > GP_BLOCK_RECORDS && !builder_flush(b))
		return false;
	b->room.record[b->slots] = record;
	gp_text_put(b->room.record, UINT64_MAX, b->slots + 1, text, n);
	b->slots += 1u + record.extra;
	return true;
}

/* True: `records` more records of any length fit, behind those that wait for their block. */
static bool builder_has_room(const struct gp_name_builder *b, size_t records)
{
	const size_t slots = records * (1u + UINT8_MAX);
	const size_t blocks = 2 + slots / (GP_BLOCK_RECORDS - UINT8_MAX);
	return b->bytes + blocks * gp_block_bound() <= GP_NAME_BYTES_MAX;
}

struct gp_name_builder *gp_name_builder_open(const struct gp_block_header *last, uint64_t frames)
{
	struct gp_name_builder *b = calloc(1, sizeof *b);
	if (b == NULL)
		return NULL;
	/* no segment and no part, so that other readers of blocks skip it */
	b->header = (struct gp_block_header){ .type = GP_BLOCK_DEFINE,
					      .segment = GP_SEGMENT_NONE,
					      .part = UINT32_MAX,
					      .thread = GP_THREAD_NONE,
					      .ticks = last->ticks,
					      .mono_ns = last->mono_ns,
					      .unix_ns = last->unix_ns };
	const struct gp_record count = { .kind = GP_FACT,
					 .aux = GP_FACT_NATIVE_FRAMES,
					 .fact.value = frames };
	if (gp_block_room_open(&b->room) && builder_put(b, count, NULL, 0))
		return b;
	gp_name_builder_close(b);
	return NULL;
}

void gp_name_builder_close(struct gp_name_builder *b)
{
	if (b == NULL)
		return;
	gp_block_room_release(&b->room);
	free(b->blocks);
	free(b);
}

enum gp_status gp_name_builder_module(struct gp_name_builder *b,
				      const struct gp_name_module *module)
{
	char text[GP_MODULE_TEXT_MAX];
	const struct gp_record record = { .kind = GP_MODULE, .aux = b->modules + 1 };
	if (b->is_failed)
		return GP_E_MEMORY;
	if (record.aux == GP_NAME_MODULES_MAX || !builder_has_room(b, 1) ||
	    !gp_name_module_text(module, text))
		return GP_E_SPACE;
	if (!builder_put(b, record, text, strlen(text)))
		return GP_E_MEMORY;
	b->modules++;
	return GP_OK;
}

static bool builder_add_frame(struct gp_name_builder *b, uint64_t offset,
			      const struct gp_symbol *frame)
{
	char text[TEXT_MAX];
	size_t n = frame->function != NULL ? strlen(frame->function) : 0;
	const size_t file = frame->file != NULL ? strlen(frame->file) : 0;
	const struct gp_record record = {
		.kind = GP_NATIVE_NAME,
		.aux = b->modules,
		.native_name = { offset, frame->line, frame->why, frame->is_inlined },
	};
	n = n < TEXT_MAX ? n : TEXT_MAX;
	if (n != 0)
		memcpy(text, frame->function, n);
	/* a truncated path would refer to another file */
	if (file != 0 && n + 1 + file <= TEXT_MAX) {
		text[n] = '\0';
		memcpy(text + n + 1, frame->file, file);
		n += 1 + file;
	}
	return builder_put(b, record, text, n);
}

enum gp_status gp_name_builder_add(struct gp_name_builder *b, uint64_t offset,
				   const struct gp_symbol *frame, size_t count)
{
	if (b->is_failed)
		return GP_E_MEMORY;
	if (count == 0 || count > GP_NAME_FRAMES_MAX || b->frames + count > GP_NAMES_MAX ||
	    !builder_has_room(b, count))
		return GP_E_SPACE;
	b->frames += count;
	for (size_t i = 0; i < count; i++)
		if (!builder_add_frame(b, offset, &frame[i]))
			return GP_E_MEMORY;
	return GP_OK;
}

const unsigned char *gp_name_builder_blocks(struct gp_name_builder *b, size_t *bytes)
{
	if (b->is_failed || !builder_flush(b))
		return NULL;
	*bytes = b->bytes;
	return b->blocks;
}
