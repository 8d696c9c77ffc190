/*
 * `--format pprof`: a profile of google/pprof (proto/profile.proto), compressed with gzip. Texts,
 * functions and locations are written when a sample needs them first.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../page/page.h"
#include "../report/report.h"
#include "stacks/stack_values.h"
#include "write/pickle.h"
#include "write/protobuf.h"

extern const struct gp_export_format gp_export_format_pprof;

/* Fields of the messages of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4 };

#define MODULE_ROOM (UINT64_C(1) << 32) /* no module of a process is larger */
#define PROGRAM 1u			/* the first mapping, which pprof shows as the file */

struct pprof {
	struct gp_export *e;
	struct gp_stack_values values;
	struct gp_page_gzip gzip;
	struct gp_protobuf message;
	struct gp_pickle_rows texts, mappings, locations, functions;
	uint32_t text_count, mapping_count, location_count, function_count;
	uint32_t label[GP_VALUE_LABELS]; /* texts */
	bool is_out_of_memory;
};

/* ---- texts ---- */

/* The memo of a key, which is 0 at first. Out of memory: of a row that is used for nothing else. */
static uint32_t *pprof_memo(struct pprof *p, struct gp_pickle_rows *rows, uint64_t key,
			    uint64_t more)
{
	static uint32_t none;
	struct gp_pickle_row *row = gp_pickle_row_get(rows, key, more, NULL);
	p->is_out_of_memory |= !row;
	none = 0;
	return row ? &row->memo : &none;
}

/* pprof prints texts to a terminal, so control characters are masked, as in messages. */
static void text_write(struct pprof *p, const char *text)
{
	char *masked = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&masked, &bytes);
	if (out)
		gp_mask(out, text, strlen(text));
	if (!out || fclose(out) != 0)
		p->is_out_of_memory = true;
	else
		gp_protobuf_bytes(&p->message, PROFILE_STRING_TABLE, masked, bytes);
	free(masked);
}

/* Its index in the table; NULL: that of "". */
static uint32_t text_of(struct pprof *p, const char *text)
{
	text = text ? text : "";
	uint32_t *memo = pprof_memo(p, &p->texts, gp_hash_text(text), 0);
	if (*memo)
		return *memo - 1;
	text_write(p, text);
	*memo = ++p->text_count;
	return *memo - 1;
}

/* ---- frames ---- */

/* A number of a packed list. */
static void put_packed(struct pprof *p, uint64_t number)
{
	gp_protobuf_reserve(&p->message, GP_VARINT_MOST);
	gp_varint_put(&p->message, number);
}

static void mapping_write(struct pprof *p, uint32_t id, uint64_t start, uint64_t limit,
			  const char *file)
{
	const uint32_t text = text_of(p, file);
	const size_t begin = gp_protobuf_begin(&p->message, PROFILE_MAPPING);
	gp_protobuf_number(&p->message, MAPPING_ID, id);
	gp_protobuf_number(&p->message, MAPPING_START, start);
	gp_protobuf_number(&p->message, MAPPING_LIMIT, limit);
	gp_protobuf_number(&p->message, MAPPING_FILENAME, text);
	/* else pprof would look for names in the files of its own machine */
	gp_protobuf_number(&p->message, MAPPING_HAS_FUNCTIONS, 1);
	gp_protobuf_end(&p->message, begin);
}

static uint32_t mapping_of(struct pprof *p, const struct gp_value_frame *f)
{
	if (!f->module)
		return PROGRAM;
	const uint64_t base = f->address - f->module_offset;
	uint32_t *memo = pprof_memo(p, &p->mappings, gp_hash_text(f->module), base);
	if (*memo)
		return *memo;
	*memo = ++p->mapping_count;
	const uint32_t id = *memo;
	mapping_write(p, id, base, base + MODULE_ROOM > base ? base + MODULE_ROOM : UINT64_MAX,
		      f->module);
	return id;
}

static uint32_t function_of(struct pprof *p, const struct gp_value_frame *f)
{
	const char *file = f->file ? f->file : "";
	uint32_t *memo = pprof_memo(p, &p->functions, gp_hash_text(f->name), gp_hash_text(file));
	if (*memo)
		return *memo;
	*memo = ++p->function_count;
	const uint32_t id = *memo, name = text_of(p, f->name), symbol = text_of(p, f->symbol),
		       path = text_of(p, file);
	const size_t begin = gp_protobuf_begin(&p->message, PROFILE_FUNCTION);
	gp_protobuf_number(&p->message, FUNCTION_ID, id);
	gp_protobuf_number(&p->message, FUNCTION_NAME, name);
	gp_protobuf_number(&p->message, FUNCTION_SYSTEM_NAME, symbol);
	gp_protobuf_number(&p->message, FUNCTION_FILENAME, path);
	gp_protobuf_end(&p->message, begin);
	return id;
}

/* Writes the location of an address: one line for each of its frames, innermost first. */
static void location_write(struct pprof *p, uint32_t id, const uint32_t *frame, uint32_t frames)
{
	const struct gp_value_frame *outer = &p->values.frame[frame[frames - 1]];
	uint32_t function[GP_FRAMES_MAX + 1];
	const uint32_t mapping = mapping_of(p, outer);
	for (uint32_t k = 0; k < frames; k++)
		function[k] = function_of(p, &p->values.frame[frame[k]]);
	const size_t begin = gp_protobuf_begin(&p->message, PROFILE_LOCATION);
	gp_protobuf_number(&p->message, LOCATION_ID, id);
	gp_protobuf_number(&p->message, LOCATION_MAPPING, mapping);
	gp_protobuf_number(&p->message, LOCATION_ADDRESS, outer->address);
	for (uint32_t k = 0; k < frames; k++) {
		const size_t line = gp_protobuf_begin(&p->message, LOCATION_LINE);
		gp_protobuf_number(&p->message, LINE_FUNCTION, function[k]);
		gp_protobuf_number(&p->message, LINE_LINE, p->values.frame[frame[k]].line);
		gp_protobuf_end(&p->message, line);
	}
	gp_protobuf_end(&p->message, begin);
}

static uint32_t location_of(struct pprof *p, const uint32_t *frame, uint32_t frames)
{
	uint64_t key = frames;
	for (uint32_t k = 0; k < frames; k++)
		key = gp_hash_pair(key, frame[k]);
	uint32_t *memo = pprof_memo(p, &p->locations, key, frame[0]);
	if (*memo)
		return *memo;
	*memo = ++p->location_count;
	const uint32_t id = *memo;
	location_write(p, id, frame, frames);
	return id;
}

/* ---- samples ---- */

static unsigned value_types(const struct pprof *p)
{
	return p->values.has_gpu_time ? GP_STACK_VALUES : GP_VALUE_GPU_TIME;
}

static void sample_write(struct pprof *p, const struct gp_value_row *row)
{
	const struct gp_value_stack *stack = &p->values.stack[row->stack];
	const uint32_t *frame = &p->values.index[stack->first];
	uint32_t location[GP_FRAMES_MAX + 2], locations = 0, label[GP_VALUE_LABELS];
	if (row->leaf != UINT32_MAX)
		location[locations++] = location_of(p, &row->leaf, 1);
	for (uint32_t k = 0, n; k < stack->frames; k += n) {
		for (n = 1; k + n < stack->frames && p->values.frame[frame[k + n - 1]].is_inlined;)
			n++;
		location[locations++] = location_of(p, &frame[k], n);
	}
	for (unsigned k = 0; k < GP_VALUE_LABELS; k++)
		label[k] = text_of(p, row->label[k]);
	const size_t begin = gp_protobuf_begin(&p->message, PROFILE_SAMPLE);
	size_t list = gp_protobuf_begin(&p->message, SAMPLE_LOCATION_ID);
	for (uint32_t k = 0; k < locations; k++)
		put_packed(p, location[k]);
	gp_protobuf_end(&p->message, list);
	list = gp_protobuf_begin(&p->message, SAMPLE_VALUE);
	for (unsigned k = 0; k < value_types(p); k++)
		put_packed(p, row->value[k] < INT64_MAX ? row->value[k] : INT64_MAX);
	gp_protobuf_end(&p->message, list);
	for (unsigned k = 0; k < GP_VALUE_LABELS; k++) {
		if (!row->label[k])
			continue;
		list = gp_protobuf_begin(&p->message, SAMPLE_LABEL);
		gp_protobuf_number(&p->message, LABEL_KEY, p->label[k]);
		gp_protobuf_number(&p->message, LABEL_STR, label[k]);
		gp_protobuf_end(&p->message, list);
	}
	gp_protobuf_end(&p->message, begin);
	gp_protobuf_flush(&p->message, false);
}

/* ---- the head ---- */

static void type_write(struct pprof *p, unsigned field, const char *name, const char *unit)
{
	const uint32_t type_text = text_of(p, name), unit_text = text_of(p, unit);
	const size_t begin = gp_protobuf_begin(&p->message, field);
	gp_protobuf_number(&p->message, VALUE_TYPE, type_text);
	gp_protobuf_number(&p->message, VALUE_UNIT, unit_text);
	gp_protobuf_end(&p->message, begin);
}

static void comment_write(struct pprof *p, const char *text)
{
	gp_protobuf_number(&p->message, PROFILE_COMMENT, text_of(p, text));
}

static void comments_write(struct pprof *p)
{
	char text[8192];
	const struct gp_stack_values *v = &p->values;
	const char *caveat = gp_caveat_of(p->e->info);
	snprintf(text, sizeof text, "gpuprof: %s", p->e->recording_path);
	comment_write(p, text);
	snprintf(text, sizeof text, "alloc_*: allocated from %s to %s; inuse_*: live at %s",
		 gp_ns_text(v->from_ns).s, gp_ns_text(v->at_ns).s, gp_ns_text(v->at_ns).s);
	comment_write(p, text);
	comment_write(p, gp_headline_of(p->e->info).s);
	if (caveat) {
		snprintf(text, sizeof text, "incomplete: %s", caveat);
		comment_write(p, text);
	}
	if (v->gpu_lost) {
		snprintf(text, sizeof text, "incomplete: %s of the GPU lost",
			 gp_plural(v->gpu_lost, "operation").s);
		comment_write(p, text);
	}
}

/* The program of the command, as pprof names a profile by its first mapping. */
static void program_write(struct pprof *p)
{
	const char *command = p->e->info->command;
	char program[4096];
	snprintf(program, sizeof program, "%.*s", (int)strcspn(command ? command : "", " "),
		 command ? command : "");
	p->mapping_count = PROGRAM;
	mapping_write(p, PROGRAM, 0, 0, program);
}

static void head_write(struct pprof *p)
{
	const struct gp_stack_values *v = &p->values;
	text_of(p, "");
	for (unsigned k = 0; k < value_types(p); k++)
		type_write(p, PROFILE_SAMPLE_TYPE, gp_value_types[k].name, gp_value_types[k].unit);
	type_write(p, PROFILE_PERIOD_TYPE, "space", "bytes");
	for (unsigned k = 0; k < GP_VALUE_LABELS; k++)
		p->label[k] = text_of(p, gp_value_labels[k]);
	const uint32_t initial = text_of(p, gp_value_types[GP_VALUE_INUSE_SPACE].name);
	gp_protobuf_number(&p->message, PROFILE_PERIOD, 1);
	gp_protobuf_number(&p->message, PROFILE_DEFAULT_SAMPLE_TYPE, initial);
	gp_protobuf_number(&p->message, PROFILE_TIME_NANOS,
			   p->e->info->start_unix_ns + (uint64_t)v->from_ns);
	gp_protobuf_number(&p->message, PROFILE_DURATION_NANOS,
			   v->at_ns > v->from_ns ? (uint64_t)(v->at_ns - v->from_ns) : 0);
	comments_write(p);
	program_write(p);
}

/* ---- the format ---- */

static enum gp_status pprof_compress(struct pprof *p)
{
	if (!gp_page_gzip_begin(&p->gzip) || !gp_protobuf_init(&p->message, p->gzip.in))
		return GP_E_MEMORY;
	head_write(p);
	for (size_t k = 0; k < p->values.rows && !p->is_out_of_memory; k++)
		sample_write(p, &p->values.row[k]);
	gp_protobuf_flush(&p->message, true);
	p->is_out_of_memory |= p->message.is_out_of_memory;
	if (!gp_page_gzip_end(&p->gzip) || p->is_out_of_memory)
		return GP_E_MEMORY;
	fwrite(p->gzip.bytes, 1, p->gzip.count, p->e->out);
	p->e->entries += p->values.rows;
	return GP_OK;
}

static enum gp_status export_pprof_write(struct gp_export *e)
{
	static const struct gp_stack_values_wish wish = { .values = GP_STACK_VALUES_ALL,
							  .has_labels = true,
							  .has_addresses = true };
	struct pprof p = { .e = e };
	enum gp_status status = gp_stack_values_build(e, &wish, &p.values);
	if (status == GP_OK)
		status = pprof_compress(&p);
	gp_page_gzip_release(&p.gzip);
	gp_protobuf_release(&p.message);
	gp_pickle_rows_release(&p.texts);
	gp_pickle_rows_release(&p.mappings);
	gp_pickle_rows_release(&p.locations);
	gp_pickle_rows_release(&p.functions);
	gp_stack_values_free(&p.values);
	return status;
}

const struct gp_export_format gp_export_format_pprof = {
	.name = "pprof",
	.unit = "samples",
	.opens = "open it with go tool pprof -http :",
	.write = export_pprof_write,
};
