/* A table of names in the making: texts once each, rows in any order, sorted when it is encoded. */
#include <stdlib.h>
#include <string.h>

#include "../../format/varint.h"
#include "../tables/array.h"
#include "../tables/row_table.h"
#include "../tables/text_store.h"
#include "name_table.h"

#define TEXT_BYTES_MAX ((size_t)160 << 20)
#define FRAMES_MAX 4000000u

/* Of texts: their number in the table. */
struct frame {
	uint32_t function, file;
	uint32_t line;
};

struct row {
	uint32_t module;
	uint32_t first, count; /* frames */
	uint8_t why;
	bool is_unproved;
	uint64_t offset, symbol_offset;
	uint32_t symbol;
};

struct text {
	uint64_t number; /* of the store */
};

struct module {
	uint32_t path; /* number in the table */
	unsigned char build_id[64];
	size_t build_id_bytes;
	uint32_t number; /* as the caller knows it */
};

struct gp_name_builder {
	struct gp_text_store texts;
	struct gp_row_table modules; /* of struct module */
	struct row *row;
	size_t rows, row_room;
	struct frame *frame;
	size_t frames, frame_room;
	struct gp_row_table numbers; /* of struct text, in the order of the table */
};

struct gp_name_builder *gp_name_builder_open(void)
{
	struct gp_name_builder *s = calloc(1, sizeof *s);
	if (s != NULL)
		s->texts.most_bytes = TEXT_BYTES_MAX;
	return s;
}

void gp_name_builder_close(struct gp_name_builder *s)
{
	if (s == NULL)
		return;
	gp_text_store_release(&s->texts);
	gp_row_table_release(&s->modules);
	free(s->row);
	free(s->frame);
	gp_row_table_release(&s->numbers);
	free(s);
}

static const char *text_of(const struct gp_name_builder *s, uint32_t number)
{
	const struct text *text = s->numbers.row;
	return gp_text_store_get(&s->texts, (uint32_t)text[number - 1].number);
}

/* *out: its number in the table, 0 for NULL. False: no memory, or the bound is reached. */
static bool keep(struct gp_name_builder *s, const char *text, uint32_t *out)
{
	*out = 0;
	if (text == NULL)
		return true;
	const uint32_t kept = gp_text_store_add(&s->texts, text, SIZE_MAX);
	const struct text *row = kept != 0 ? gp_row_get_key(&s->numbers, sizeof *row, kept) : NULL;
	if (row != NULL)
		*out = (uint32_t)(row - (const struct text *)s->numbers.row) + 1;
	return row != NULL;
}

bool gp_name_builder_module(struct gp_name_builder *s, const struct gp_name_module *module,
			    uint32_t *number)
{
	uint32_t path;
	struct module *m;
	const size_t bytes = module->build_id_bytes;
	if (bytes > sizeof m->build_id || !keep(s, module->path, &path))
		return false;
	const uint32_t hash =
		gp_row_hash(gp_hash_bytes((const char *)module->build_id, bytes) ^ path);
	m = s->modules.row;
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

bool gp_name_builder_add(struct gp_name_builder *s, uint32_t module, uint64_t offset,
			 const struct gp_symbol *frame, size_t count)
{
	if (count == 0 || count > GP_NAME_FRAMES_MAX || s->frames + count > FRAMES_MAX ||
	    !gp_array_reserve(&s->row, &s->row_room, s->rows, 1, sizeof *s->row) ||
	    !gp_array_reserve(&s->frame, &s->frame_room, s->frames, count, sizeof *s->frame))
		return false;
	struct row row = { .module = module,
			   .first = (uint32_t)s->frames,
			   .count = (uint32_t)count,
			   .is_unproved = frame[0].is_unproved,
			   .offset = offset,
			   .symbol_offset = frame[0].symbol_offset };
	bool is_kept = keep(s, frame[0].symbol, &row.symbol);
	for (size_t i = 0; i < count && is_kept; i++) {
		struct frame *to = &s->frame[s->frames + i];
		to->line = frame[i].line;
		is_kept = keep(s, frame[i].function, &to->function) &&
			  keep(s, frame[i].file, &to->file);
		if (frame[i].why != GP_SYMBOL_NAMED)
			row.why = (uint8_t)frame[i].why;
	}
	if (!is_kept)
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

static void name_builder_put(struct output *o, uint64_t value)
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

static int by_name(const void *left, const void *right, void *sheet)
{
	const struct module *a = left, *b = right;
	int by_path = strcmp(text_of(sheet, a->path), text_of(sheet, b->path));
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

static void put_row(struct output *o, const struct gp_name_builder *s, const struct row *row,
		    uint64_t before)
{
	name_builder_put(o, row->offset - before);
	name_builder_put(o, row->why | (unsigned)row->is_unproved << 4);
	name_builder_put(o, row->symbol);
	name_builder_put(o, row->symbol_offset);
	name_builder_put(o, row->count);
	for (uint32_t i = 0; i < row->count; i++) {
		const struct frame *frame = &s->frame[row->first + i];
		name_builder_put(o, frame->function);
		name_builder_put(o, frame->file);
		name_builder_put(o, frame->line);
	}
}

/* Rows come in the order of the modules; rank[number] is a module's place among them. */
static void put_modules(struct output *o, struct gp_name_builder *s, uint32_t *rank)
{
	struct module *module = s->modules.row;
	const size_t modules = s->modules.rows;
	if (modules != 0)
		qsort_r(module, modules, sizeof *module, by_name, s);
	for (size_t i = 0; i < modules; i++)
		rank[module[i].number] = (uint32_t)i;
	for (size_t i = 0; i < s->rows; i++)
		s->row[i].module = rank[s->row[i].module];
	if (s->rows != 0)
		qsort(s->row, s->rows, sizeof *s->row, by_place);
	name_builder_put(o, modules);
	for (size_t i = 0, row = 0; i < modules; i++) {
		const struct module *m = &module[i];
		size_t first = row;
		while (row < s->rows && s->row[row].module == i)
			row++;
		name_builder_put(o, m->path);
		name_builder_put(o, m->build_id_bytes);
		put_bytes(o, m->build_id, m->build_id_bytes);
		name_builder_put(o, row - first);
	}
	for (size_t i = 0; i < s->rows; i++) {
		bool is_next = i > 0 && s->row[i - 1].module == s->row[i].module;
		put_row(o, s, &s->row[i], is_next ? s->row[i - 1].offset : 0);
	}
}

enum gp_status gp_name_builder_encode(struct gp_name_builder *s, uint64_t frames, uint64_t nowhere,
				      unsigned char **out, size_t *count)
{
	struct output o = { 0 };
	uint32_t *rank = calloc(s->modules.rows + 1, sizeof *rank);
	if (rank == NULL)
		return GP_E_MEMORY;
	name_builder_put(&o, frames);
	name_builder_put(&o, nowhere);
	name_builder_put(&o, s->numbers.rows);
	for (uint32_t i = 1; i <= s->numbers.rows; i++)
		put_bytes(&o, text_of(s, i), strlen(text_of(s, i)) + 1);
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
