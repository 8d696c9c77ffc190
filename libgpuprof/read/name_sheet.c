/* A table of names in the making: texts once each, rows in any order, sorted when it is encoded. */
#include <stdlib.h>
#include <string.h>

#include "../format/varint.h"
#include "array.h"
#include "name_table.h"
#include "row_table.h"
#include "text_store.h"

#define TEXT_BYTES_MAX ((size_t)160 << 20)
#define FRAMES_MAX 4000000u

struct frame {
	const char *function, *file;
	uint32_t line;
};

struct row {
	uint32_t module;
	uint32_t first, count; /* frames */
	uint8_t why;
	bool is_unproved;
	uint64_t offset, symbol_offset;
	const char *symbol;
};

struct module {
	const char *path;
	unsigned char build_id[64];
	size_t build_id_bytes;
	uint32_t number; /* as the caller knows it */
};

struct gp_name_sheet {
	struct gp_text_store texts;
	struct gp_row_table modules; /* of struct module */
	struct row *row;
	size_t rows, row_room;
	struct frame *frame;
	size_t frames, frame_room;
	const char **text; /* when it is encoded: sorted by address, its index + 1 is its number */
	size_t text_count;
};

struct gp_name_sheet *gp_name_sheet_open(void)
{
	struct gp_name_sheet *s = calloc(1, sizeof *s);
	if (s != NULL)
		s->texts.most_bytes = TEXT_BYTES_MAX;
	return s;
}

void gp_name_sheet_close(struct gp_name_sheet *s)
{
	if (s == NULL)
		return;
	gp_text_store_release(&s->texts);
	gp_row_table_release(&s->modules);
	free(s->row);
	free(s->frame);
	free(s->text);
	free(s);
}

bool gp_name_sheet_module(struct gp_name_sheet *s, const struct gp_name_module *module,
			  uint32_t *number)
{
	/* the store keeps a path once: its address is who it is */
	const char *path = gp_text_store_keep(&s->texts, module->path);
	const size_t bytes = module->build_id_bytes;
	const uint32_t hash =
		gp_row_hash(gp_hash_bytes((const char *)module->build_id, bytes) ^ (uintptr_t)path);
	struct module *m = s->modules.row;
	if (path == NULL || bytes > sizeof m->build_id)
		return false;
	for (uint32_t step = 0, at; (at = gp_row_next(&s->modules, hash, &step)) != 0;) {
		*number = at - 1;
		if (m[at - 1].path == path && m[at - 1].build_id_bytes == bytes &&
		    memcmp(m[at - 1].build_id, module->build_id, bytes) == 0)
			return true;
	}
	m = gp_row_add(&s->modules, sizeof *m, hash);
	if (m == NULL)
		return false;
	*number = s->modules.rows - 1;
	*m = (struct module){ .path = path, .build_id_bytes = bytes, .number = *number };
	if (bytes != 0)
		memcpy(m->build_id, module->build_id, bytes);
	return true;
}

static const char *keep(struct gp_name_sheet *s, const char *text)
{
	return text != NULL ? gp_text_store_keep(&s->texts, text) : NULL;
}

bool gp_name_sheet_add(struct gp_name_sheet *s, uint32_t module, uint64_t offset,
		       const struct gp_symbol *frame, size_t count)
{
	size_t refused = s->texts.refused;
	if (count == 0 || count > GP_NAME_FRAMES_MAX || s->frames + count > FRAMES_MAX ||
	    !gp_array_reserve(&s->row, &s->row_room, s->rows, 1, sizeof *s->row) ||
	    !gp_array_reserve(&s->frame, &s->frame_room, s->frames, count, sizeof *s->frame))
		return false;
	struct row row = { .module = module,
			   .first = (uint32_t)s->frames,
			   .count = (uint32_t)count,
			   .is_unproved = frame[0].is_unproved,
			   .offset = offset,
			   .symbol_offset = frame[0].symbol_offset,
			   .symbol = keep(s, frame[0].symbol) };
	for (size_t i = 0; i < count; i++) {
		s->frame[s->frames + i] = (struct frame){ keep(s, frame[i].function),
							  keep(s, frame[i].file), frame[i].line };
		if (frame[i].why != GP_SYMBOL_NAMED)
			row.why = (uint8_t)frame[i].why;
	}
	if (s->texts.refused != refused)
		return false;
	s->frames += count;
	s->row[s->rows++] = row;
	return true;
}

/* ---- as bytes ---- */

struct output {
	unsigned char *bytes;
	size_t count, room;
	bool is_out_of_memory;
};

static unsigned char *space(struct output *o, size_t bytes)
{
	o->is_out_of_memory |= !gp_array_reserve(&o->bytes, &o->room, o->count, bytes, 1);
	return o->is_out_of_memory ? NULL : o->bytes + o->count;
}

static void put(struct output *o, uint64_t value)
{
	unsigned char *at = space(o, GP_VARINT_MAX);
	if (at != NULL)
		o->count = (size_t)(gp_varint_put(at, value) - o->bytes);
}

static void put_bytes(struct output *o, const void *bytes, size_t count)
{
	unsigned char *at = space(o, count);
	if (at != NULL && count != 0)
		memcpy(at, bytes, count);
	o->count += at != NULL ? count : 0;
}

static int by_address(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t) * (const char *const *)left,
		  b = (uintptr_t) * (const char *const *)right;
	return (a > b) - (a < b);
}

/* The store keeps equal texts once: their addresses are who they are. */
static bool number_texts(struct gp_name_sheet *s)
{
	const struct module *module = s->modules.row;
	size_t most = s->modules.rows + s->rows + 2 * s->frames, used = 0;
	free(s->text);
	s->text = calloc(most + 1, sizeof *s->text);
	if (s->text == NULL)
		return false;
	for (size_t i = 0; i < s->modules.rows; i++)
		s->text[used++] = module[i].path;
	for (size_t i = 0; i < s->rows; i++)
		s->text[used++] = s->row[i].symbol;
	for (size_t i = 0; i < s->frames; i++) {
		s->text[used++] = s->frame[i].function;
		s->text[used++] = s->frame[i].file;
	}
	qsort(s->text, used, sizeof *s->text, by_address);
	s->text_count = 0;
	for (size_t i = 0; i < used; i++)
		if (s->text[i] != NULL &&
		    (s->text_count == 0 || s->text[i] != s->text[s->text_count - 1]))
			s->text[s->text_count++] = s->text[i];
	return true;
}

static void put_text(struct output *o, const struct gp_name_sheet *s, const char *text)
{
	const char *const *found =
		text != NULL ? bsearch(&text, s->text, s->text_count, sizeof *s->text, by_address) :
			       NULL;
	put(o, found != NULL ? (uint64_t)(found - s->text) + 1 : 0);
}

static int by_name(const void *left, const void *right)
{
	const struct module *a = left, *b = right;
	int by_path = strcmp(a->path, b->path);
	size_t least =
		a->build_id_bytes < b->build_id_bytes ? a->build_id_bytes : b->build_id_bytes;
	int by_id = memcmp(a->build_id, b->build_id, least);
	if (by_path != 0 || by_id != 0)
		return by_path != 0 ? by_path : by_id;
	return (a->build_id_bytes > b->build_id_bytes) - (a->build_id_bytes < b->build_id_bytes);
}

static int by_place(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static void put_row(struct output *o, const struct gp_name_sheet *s, const struct row *row,
		    uint64_t before)
{
	put(o, row->offset - before);
	put(o, row->why | (unsigned)row->is_unproved << 4);
	put_text(o, s, row->symbol);
	put(o, row->symbol_offset);
	put(o, row->count);
	for (uint32_t i = 0; i < row->count; i++) {
		const struct frame *frame = &s->frame[row->first + i];
		put_text(o, s, frame->function);
		put_text(o, s, frame->file);
		put(o, frame->line);
	}
}

/* Rows come in the order of the modules; rank[number] is a module's place among them. */
static void put_modules(struct output *o, struct gp_name_sheet *s, uint32_t *rank)
{
	gp_row_sort(&s->modules, sizeof(struct module), by_name);
	const struct module *module = s->modules.row;
	const size_t modules = s->modules.rows;
	for (size_t i = 0; i < modules; i++)
		rank[module[i].number] = (uint32_t)i;
	for (size_t i = 0; i < s->rows; i++)
		s->row[i].module = rank[s->row[i].module];
	if (s->rows != 0)
		qsort(s->row, s->rows, sizeof *s->row, by_place);
	put(o, modules);
	for (size_t i = 0, row = 0; i < modules; i++) {
		const struct module *m = &module[i];
		size_t first = row;
		while (row < s->rows && s->row[row].module == i)
			row++;
		put_text(o, s, m->path);
		put(o, m->build_id_bytes);
		put_bytes(o, m->build_id, m->build_id_bytes);
		put(o, row - first);
	}
	for (size_t i = 0; i < s->rows; i++) {
		bool is_next = i > 0 && s->row[i - 1].module == s->row[i].module;
		put_row(o, s, &s->row[i], is_next ? s->row[i - 1].offset : 0);
	}
}

enum gp_status gp_name_sheet_encode(struct gp_name_sheet *s, uint64_t frames, uint64_t nowhere,
				    unsigned char **out, size_t *count)
{
	struct output o = { 0 };
	uint32_t *rank = calloc(s->modules.rows + 1, sizeof *rank);
	if (rank == NULL || !number_texts(s)) {
		free(rank);
		return GP_E_MEMORY;
	}
	put(&o, frames);
	put(&o, nowhere);
	put(&o, s->text_count);
	for (size_t i = 0; i < s->text_count; i++)
		put_bytes(&o, s->text[i], strlen(s->text[i]) + 1);
	put_modules(&o, s, rank);
	free(rank);
	if (o.is_out_of_memory || o.count > GP_NAME_TABLE_MAX) {
		free(o.bytes);
		return GP_E_MEMORY;
	}
	*out = o.bytes;
	*count = o.count;
	return GP_OK;
}
