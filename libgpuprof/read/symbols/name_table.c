/* Rows by module and offset. A module is identified by the text of its MODULE record. */
#include "name_table.h"

#include <stdlib.h>
#include <string.h>

#include "../block_room.h"
#include "../tables/array.h"
#include "../tables/row_table.h"
#include "../tables/text_store.h"

/* Texts are numbers of the store; 0: none. */
struct frame {
	uint32_t function, file;
	uint32_t line;
	uint8_t why;
	bool is_inlined; /* into the next frame */
};

struct row {
	uint64_t key;
	uint64_t offset;
	uint32_t module; /* its text */
	uint32_t frame;	 /* index of the first */
};

struct gp_name_table {
	struct gp_text_store texts;
	struct gp_row_table rows; /* of struct row */
	struct frame *frame;
	size_t frames, frame_room;
	uint32_t *module; /* text of each module number */
	size_t modules;
	uint64_t native_frames, named;
	bool has_more; /* the last frame is inlined into the next one */
	bool is_named; /* all frames of the newest row have names so far */
};

/* ---- modules ---- */

int gp_name_module_order(const struct gp_name_module *a, const struct gp_name_module *b)
{
	const int by_path = a->path == b->path ? 0 : strcmp(a->path, b->path);
	if (by_path != 0 || a->build_id_bytes != b->build_id_bytes)
		return by_path != 0 ? by_path : a->build_id_bytes < b->build_id_bytes ? -1 : 1;
	return a->build_id_bytes != 0 ? memcmp(a->build_id, b->build_id, a->build_id_bytes) : 0;
}

bool gp_name_module_text(const struct gp_name_module *module, char out[GP_MODULE_TEXT_MAX])
{
	static const char digit[] = "0123456789abcdef";
	const size_t path = strlen(module->path), id = 2 * module->build_id_bytes;
	size_t n = 0;
	if (id + path + sizeof "- " > GP_MODULE_TEXT_MAX)
		return false;
	for (size_t i = 0; i < module->build_id_bytes; i++) {
		out[n++] = digit[module->build_id[i] >> 4];
		out[n++] = digit[module->build_id[i] & 15];
	}
	if (n == 0)
		out[n++] = '-';
	out[n++] = ' ';
	memcpy(out + n, module->path, path + 1);
	return true;
}

static uint64_t row_key(uint32_t module, uint64_t offset)
{
	return gp_hash_number(offset) ^ module;
}

/* ---- from definitions ---- */

/* `n` 0: no text. False: no memory. */
static bool table_keep(struct gp_name_table *t, const char *text, size_t n, uint32_t *out)
{
	*out = n != 0 ? gp_text_store_add(&t->texts, text, n) : 0;
	return n == 0 || *out != 0;
}

static enum gp_status learn_module(struct gp_name_table *t, const struct gp_record *r)
{
	size_t n;
	const char *text = gp_record_text(r, &n);
	if (r->aux >= GP_NAME_MODULES_MAX)
		return GP_E_DAMAGED;
	return gp_array_reach(&t->module, &t->modules, r->aux, sizeof *t->module) &&
			       table_keep(t, text, n, &t->module[r->aux]) ?
		       GP_OK :
		       GP_E_MEMORY;
}

static enum gp_status learn_name(struct gp_name_table *t, const struct gp_record *r)
{
	size_t n;
	const char *text = gp_record_text(r, &n);
	const size_t function = text != NULL ? strnlen(text, n) : 0;
	const uint32_t module = r->aux < t->modules ? t->module[r->aux] : 0;
	if (module == 0 || r->native_name.why > GP_SYMBOL_NO_NAME ||
	    (function == 0) != (r->native_name.why != GP_SYMBOL_NAMED) ||
	    r->native_name.line > UINT32_MAX)
		return GP_E_DAMAGED;
	if (t->frames == GP_NAMES_MAX)
		return GP_OK;
	if (!gp_array_reserve(&t->frame, &t->frame_room, t->frames, 1, sizeof *t->frame))
		return GP_E_MEMORY;
	struct frame *frame = &t->frame[t->frames];
	*frame = (struct frame){ .line = (uint32_t)r->native_name.line,
				 .why = (uint8_t)r->native_name.why,
				 .is_inlined = r->native_name.is_inlined != 0 };
	if (!table_keep(t, text, function, &frame->function) ||
	    (function < n && !table_keep(t, text + function + 1, n - function - 1, &frame->file)))
		return GP_E_MEMORY;
	if (!t->has_more) {
		struct row *row = gp_row_get_key(&t->rows, sizeof *row,
						 row_key(module, r->native_name.offset));
		if (row == NULL)
			return GP_E_MEMORY;
		row->offset = r->native_name.offset;
		row->module = module;
		row->frame = (uint32_t)t->frames;
		t->is_named = true;
	}
	t->frames++;
	t->has_more = frame->is_inlined;
	t->is_named &= frame->function != 0;
	t->named += !t->has_more && t->is_named;
	return GP_OK;
}

static enum gp_status learn(struct gp_name_table *t, const struct gp_record *r)
{
	if (r->kind == GP_MODULE)
		return learn_module(t, r);
	if (r->kind == GP_NATIVE_NAME)
		return learn_name(t, r);
	if (r->kind == GP_FACT && r->aux == GP_FACT_NATIVE_FRAMES)
		t->native_frames = r->fact.value;
	return GP_OK;
}

/* Reads the block at *at, and moves *at behind it. */
static enum gp_status learn_block(struct gp_name_table *t, struct gp_block_room *room,
				  uint64_t sequence, const unsigned char **at,
				  const unsigned char *end, const char **what)
{
	struct gp_block_header header;
	uint64_t slots;
	*what = "expected a block of names";
	if ((size_t)(end - *at) < GP_BLOCK_HEADER || gp_block_header_decode(*at, &header) != GP_OK)
		return GP_E_DAMAGED;
	if (header.type == GP_BLOCK_OLD_NAMES && sequence == 0)
		return GP_E_VERSION;
	*at += GP_BLOCK_HEADER;
	if (header.type != GP_BLOCK_DEFINE || header.sequence != sequence ||
	    header.stored_bytes > (size_t)(end - *at) || gp_block_is_short(&header))
		return GP_E_DAMAGED;
	*what = "this block of names does not decode";
	if (gp_block_decode(room->scratch, &header, *at, room->record, &slots) != GP_OK)
		return GP_E_DAMAGED;
	*at += header.stored_bytes;
	enum gp_status status = GP_OK;
	for (uint64_t k = 0; k < slots && status == GP_OK; k += 1u + room->record[k].extra)
		status = learn(t, &room->record[k]);
	return status;
}

enum gp_status gp_name_table_open(const unsigned char *blocks, size_t count,
				  struct gp_name_table **out, const char **what)
{
	struct gp_block_room room = { 0 };
	struct gp_name_table *t = calloc(1, sizeof *t);
	const unsigned char *at = blocks, *end = blocks + count;
	enum gp_status status =
		t != NULL && gp_block_room_open_decoder(&room) ? GP_OK : GP_E_MEMORY;
	for (uint64_t n = 0; at < end && status == GP_OK; n++)
		status = learn_block(t, &room, n, &at, end, what);
	if (status == GP_OK && t->has_more) {
		*what = "the last frame is missing";
		status = GP_E_DAMAGED;
	}
	gp_block_room_release(&room);
	if (status != GP_OK) {
		gp_name_table_close(t);
		t = NULL;
	}
	*out = t;
	return status;
}

void gp_name_table_close(struct gp_name_table *t)
{
	if (t == NULL)
		return;
	gp_text_store_release(&t->texts);
	gp_row_table_release(&t->rows);
	free(t->frame);
	free(t->module);
	free(t);
}

uint64_t gp_name_table_frames(const struct gp_name_table *t)
{
	return t->native_frames;
}

uint64_t gp_name_table_named(const struct gp_name_table *t)
{
	return t->named;
}

/* ---- look-ups ---- */

size_t gp_name_table_find(const struct gp_name_table *t, const struct gp_name_module *module,
			  uint64_t offset, struct gp_symbol *out, size_t most)
{
	char text[GP_MODULE_TEXT_MAX];
	if (!gp_name_module_text(module, text))
		return 0;
	const uint32_t known = gp_text_store_find(&t->texts, text, strlen(text));
	const struct row *row = gp_row_of_key(&t->rows, sizeof *row, row_key(known, offset));
	/* two keys may have one hash */
	if (known == 0 || row == NULL || row->module != known || row->offset != offset)
		return 0;
	size_t count = 0;
	for (const struct frame *frame = &t->frame[row->frame]; count < most; frame++) {
		out[count++] = (struct gp_symbol){
			.function = gp_text_store_get(&t->texts, frame->function),
			.file = gp_text_store_get(&t->texts, frame->file),
			.line = frame->line,
			.why = (enum gp_symbol_why)frame->why,
			.is_inlined = frame->is_inlined,
		};
		if (!frame->is_inlined)
			break;
	}
	return count;
}

static unsigned rank_of(enum gp_symbol_why why)
{
	switch (why) {
	case GP_SYMBOL_NAMED:
		return GP_SYMBOL_RANK_NAMED;
	case GP_SYMBOL_NO_NAME:
		return 2; /* the correct file has no name for it */
	case GP_SYMBOL_TIME_UP:
	case GP_SYMBOL_NO_MEMORY:
		return 0;
	case GP_SYMBOL_NO_MODULE:
	case GP_SYMBOL_AMBIGUOUS:
	case GP_SYMBOL_NO_FILE:
	case GP_SYMBOL_UNREADABLE:
	case GP_SYMBOL_MISMATCHED:
		break;
	}
	return 1;
}

unsigned gp_symbol_rank(const struct gp_symbol *frame, size_t count)
{
	unsigned rank = count != 0 ? GP_SYMBOL_RANK_NAMED : 0;
	for (size_t i = 0; i < count; i++)
		rank = rank_of(frame[i].why) < rank ? rank_of(frame[i].why) : rank;
	return rank;
}
