/* One pass over the bytes when they are opened; afterwards rows are found by bisection. */
#include "name_table.h"

#include <stdlib.h>
#include <string.h>

#include "../../format/varint.h"
#include "../tables/row_rank.h"

#define ROW_BYTES_MIN 8u
/* From a mark to a text marked by it there are fewer texts, and no more bytes. */
#define TEXTS_A_MARK 16u
#define BYTES_A_MARK 256u
/* A recorded path has at most 255 slots of 64 bytes, the largest number that `extra` holds. */
#define PATH_BYTES_MAX ((size_t)UINT8_MAX * 64)

struct mark {
	uint32_t text; /* its number, counted from 0 */
	uint32_t at;   /* in the bytes */
};

struct row {
	uint64_t offset;
	uint32_t at; /* in the bytes: behind its offset */
};

struct module {
	struct gp_name_module is;
	size_t row, rows;
};

struct gp_name_table {
	unsigned char *bytes;
	size_t count;
	uint64_t frames, named;
	struct mark *mark; /* not of each text: an empty one takes a byte, a pointer 8 */
	size_t marks;
	size_t texts;	       /* and one, for number 0 */
	struct module *module; /* by path, then build id */
	size_t modules;
	struct row *row; /* by offset in each module */
	size_t rows;
};

/* A place in bytes that nobody vouches for; `at` NULL: they were not what a writer writes. */
struct reading {
	const unsigned char *at, *end;
	bool is_out_of_memory;
};

static uint64_t number(struct reading *r)
{
	uint64_t value = 0;
	if (r->at != NULL)
		r->at = gp_varint_get(r->at, r->end, &value);
	return r->at != NULL ? value : 0;
}

/* How many there are of something that takes at least `each` bytes. */
static size_t number_of(struct reading *r, size_t each)
{
	uint64_t n = number(r);
	if (r->at != NULL && n > (size_t)(r->end - r->at) / each)
		r->at = NULL;
	return r->at != NULL ? (size_t)n : 0;
}

static const char *text(const struct gp_name_table *t, struct reading *r)
{
	uint64_t n = number(r);
	if (r->at == NULL || n >= t->texts) {
		r->at = NULL;
		return NULL;
	}
	if (n == 0)
		return NULL;
	size_t low = 0, high = t->marks;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (t->mark[middle].text <= n - 1)
			low = middle;
		else
			high = middle;
	}
	const char *text = (const char *)t->bytes + t->mark[low].at;
	for (uint64_t k = t->mark[low].text; k < n - 1; k++)
		text += strlen(text) + 1;
	return text;
}

static void mark_text(struct gp_name_table *t, size_t text, size_t at)
{
	const struct mark *last = t->marks != 0 ? &t->mark[t->marks - 1] : NULL;
	if (last == NULL || text - last->text >= TEXTS_A_MARK || at - last->at > BYTES_A_MARK)
		t->mark[t->marks++] = (struct mark){ (uint32_t)text, (uint32_t)at };
}

static void read_texts(struct gp_name_table *t, struct reading *r)
{
	size_t texts = number_of(r, 1);
	if (r->at == NULL)
		return;
	size_t most = texts / TEXTS_A_MARK + t->count / BYTES_A_MARK + 1;
	t->mark = malloc((most < texts ? most : texts + 1) * sizeof *t->mark);
	r->is_out_of_memory = t->mark == NULL;
	if (t->mark == NULL)
		return;
	t->texts = texts + 1;
	for (size_t i = 0; i < texts; i++) {
		const unsigned char *end = memchr(r->at, 0, (size_t)(r->end - r->at));
		if (end == NULL) {
			r->at = NULL;
			return;
		}
		mark_text(t, i, (size_t)(r->at - t->bytes));
		r->at = end + 1;
	}
}

static int compare_modules(const struct gp_name_module *a, const struct gp_name_module *b)
{
	/* many modules can name one text */
	int by_path = a->path == b->path ? 0 : strcmp(a->path, b->path);
	size_t least =
		a->build_id_bytes < b->build_id_bytes ? a->build_id_bytes : b->build_id_bytes;
	int by_id = by_path != 0 || least == 0 ? 0 : memcmp(a->build_id, b->build_id, least);
	if (by_path != 0 || by_id != 0)
		return by_path != 0 ? by_path : by_id;
	return (a->build_id_bytes > b->build_id_bytes) - (a->build_id_bytes < b->build_id_bytes);
}

/* False: not what a writer writes. */
static bool read_module(struct gp_name_table *t, struct reading *r)
{
	struct module *m = &t->module[t->modules];
	*m = (struct module){ .is.path = text(t, r), .row = t->rows };
	m->is.build_id_bytes = number_of(r, 1);
	m->is.build_id = r->at;
	if (r->at != NULL)
		r->at += m->is.build_id_bytes;
	m->rows = number_of(r, ROW_BYTES_MIN);
	if (r->at == NULL || m->is.path == NULL ||
	    strnlen(m->is.path, PATH_BYTES_MAX + 1) > PATH_BYTES_MAX)
		return false;
	/* sorted: each is there once */
	return t->modules == 0 || compare_modules(&t->module[t->modules - 1].is, &m->is) < 0;
}

static void read_modules(struct gp_name_table *t, struct reading *r)
{
	size_t modules = number_of(r, 3), rows = 0;
	if (r->at == NULL)
		return;
	t->module = calloc(modules + 1, sizeof *t->module);
	r->is_out_of_memory = t->module == NULL;
	for (; t->module != NULL && t->modules < modules; t->modules++) {
		if (!read_module(t, r)) {
			r->at = NULL;
			return;
		}
		rows += t->module[t->modules].rows;
		if (rows > t->count / ROW_BYTES_MIN) {
			r->at = NULL;
			return;
		}
	}
	t->row = calloc(rows + 1, sizeof *t->row);
	r->is_out_of_memory |= t->row == NULL;
}

/* What stands of one address, behind its offset; how many frames, 0: not what a writer writes. */
static size_t read_row(const struct gp_name_table *t, struct reading *r, struct gp_symbol *out)
{
	uint64_t state = number(r);
	struct gp_symbol blank = { .why = (enum gp_symbol_why)(state & 15),
				   .is_unproved = state >> 4 & 1 };
	blank.symbol = text(t, r);
	blank.symbol_offset = number(r);
	uint64_t count = number(r);
	bool is_right = state < 32 && (state & 15) <= GP_SYMBOL_NO_NAME && count > 0 &&
			count <= GP_NAME_FRAMES_MAX;
	for (size_t i = 0; r->at != NULL && is_right && i < count; i++) {
		out[i] = blank;
		out[i].function = text(t, r);
		out[i].file = text(t, r);
		uint64_t line = number(r);
		out[i].line = line <= UINT32_MAX ? (uint32_t)line : 0;
		out[i].is_inlined = i + 1 < count;
		out[i].why = out[i].function != NULL ? GP_SYMBOL_NAMED : blank.why;
		is_right = out[i].why != GP_SYMBOL_NAMED || out[i].function != NULL;
	}
	return r->at != NULL && is_right ? (size_t)count : 0;
}

static void read_rows(struct gp_name_table *t, struct reading *r, struct module *m)
{
	struct gp_symbol frame[GP_NAME_FRAMES_MAX];
	uint64_t offset = 0;
	m->row = t->rows;
	for (size_t i = 0; i < m->rows; i++) {
		uint64_t step = number(r);
		if (r->at == NULL || (i > 0 && step == 0) || offset + step < offset) {
			r->at = NULL;
			return;
		}
		offset += step;
		t->row[t->rows++] =
			(struct row){ offset, (uint32_t)(r->at - (const unsigned char *)t->bytes) };
		size_t count = read_row(t, r, frame);
		if (count == 0) {
			r->at = NULL;
			return;
		}
		t->named += gp_symbol_rank(frame, count) == GP_SYMBOL_RANK_NAMED;
	}
}

enum gp_status gp_name_table_open(unsigned char *bytes, size_t count, struct gp_name_table **out,
				  const char **what)
{
	struct reading r = { .at = bytes, .end = bytes + count };
	struct gp_name_table *t = calloc(1, sizeof *t);
	*out = NULL;
	*what = NULL;
	if (t == NULL) {
		free(bytes);
		return GP_E_MEMORY;
	}
	t->bytes = bytes;
	t->count = count;
	t->frames = number(&r);
	number(&r); /* how many of them lie in no module: for other readers */
	if (r.at != NULL && count <= GP_NAME_TABLE_MAX)
		read_texts(t, &r);
	if (r.at != NULL && !r.is_out_of_memory)
		read_modules(t, &r);
	for (size_t i = 0; i < t->modules && r.at != NULL && !r.is_out_of_memory; i++)
		read_rows(t, &r, &t->module[i]);
	if (r.at != NULL && !r.is_out_of_memory && count <= GP_NAME_TABLE_MAX) {
		*out = t;
		return GP_OK;
	}
	gp_name_table_close(t);
	*what = "expected a table of names";
	return r.is_out_of_memory ? GP_E_MEMORY : GP_E_DAMAGED;
}

void gp_name_table_close(struct gp_name_table *t)
{
	if (t == NULL)
		return;
	free(t->row);
	free(t->module);
	free(t->mark);
	free(t->bytes);
	free(t);
}

const unsigned char *gp_name_table_bytes(const struct gp_name_table *t, size_t *count)
{
	*count = t->count;
	return t->bytes;
}

uint64_t gp_name_table_frames(const struct gp_name_table *t)
{
	return t->frames;
}

uint64_t gp_name_table_named(const struct gp_name_table *t)
{
	return t->named;
}

static const struct module *find_module(const struct gp_name_table *t,
					const struct gp_name_module *module)
{
	size_t low = 0, high = t->modules;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_modules(&t->module[middle].is, module);
		if (order == 0)
			return &t->module[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

size_t gp_name_table_find(const struct gp_name_table *t, const struct gp_name_module *module,
			  uint64_t offset, struct gp_symbol *out, size_t most)
{
	const struct module *m = find_module(t, module);
	if (m == NULL)
		return 0;
	const struct row *first = &t->row[m->row],
			 *behind = first + gp_row_rank(first, m->rows, sizeof *first, offset);
	if (behind == first || behind[-1].offset != offset)
		return 0;
	struct gp_symbol frame[GP_NAME_FRAMES_MAX];
	struct reading r = { .at = t->bytes + behind[-1].at, .end = t->bytes + t->count };
	size_t count = read_row(t, &r, frame);
	count = count < most ? count : most;
	memcpy(out, frame, count * sizeof *out);
	return count;
}

static unsigned rank_of(enum gp_symbol_why why)
{
	switch (why) {
	case GP_SYMBOL_NAMED:
		return GP_SYMBOL_RANK_NAMED;
	case GP_SYMBOL_NO_NAME:
		return 2; /* the right file said so */
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
