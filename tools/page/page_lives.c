/* The lives of memory on a page: their blocks of data, and the tables to which the blocks refer. */
#include <stdlib.h>

#include "page.h"

/* ---- blocks ---- */

enum gp_status gp_page_data_add(void *context, const unsigned char *bytes, size_t count,
				size_t *number)
{
	struct gp_page *page = context;
	struct gp_page_gzip *data = realloc(page->data, (page->blocks + 1) * sizeof *data);
	if (!data)
		return GP_E_MEMORY;
	page->data = data;
	data += page->blocks;
	if (!gp_page_gzip_begin(data))
		return GP_E_MEMORY;
	*number = page->blocks++;
	const bool is_written = fwrite(bytes, 1, count, data->in) == count;
	return gp_page_gzip_end(data) && is_written ? GP_OK : GP_E_MEMORY;
}

void gp_page_data_cut(struct gp_page *page, size_t blocks)
{
	while (page->blocks > blocks)
		gp_page_gzip_release(&page->data[--page->blocks]);
}

enum gp_status gp_page_lives_build(struct gp_page *page, struct gp_recording *recording,
				   struct gp_lives *lives)
{
	const struct gp_lives_sink sink = { .write = gp_page_data_add, .context = page };
	const size_t before = page->blocks;
	struct gp_steps steps;
	*lives = (struct gp_lives){ 0 };
	enum gp_status status = gp_steps_find(recording, &steps);
	if (status)
		return status;
	status = gp_lives_build(recording, &steps, &sink, lives);
	gp_steps_free(&steps);
	if (status)
		gp_page_data_cut(page, before);
	return status;
}

/* ---- tables ---- */

static void frames_write(struct gp_json *json, const struct gp_lives *lives)
{
	gp_json_object(json, "frames");
	gp_json_array(json, "text");
	for (size_t k = 0; k < lives->frames; k++)
		gp_json_number(json, NULL, lives->frame[k].text);
	gp_json_end(json);
	gp_json_array(json, "is_python");
	for (size_t k = 0; k < lives->frames; k++)
		gp_json_number(json, NULL, lives->frame[k].is_python);
	gp_json_end(json);
	gp_json_end(json);
	gp_json_array(json, "stacks");
	for (size_t k = 0; k < lives->stacks; k++) {
		const struct gp_lives_stack *stack = &lives->stack[k];
		gp_json_array(json, NULL);
		for (size_t at = 0; at < stack->frames; at++)
			gp_json_number(json, NULL, lives->place[stack->first + at]);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static int64_t device_number(unsigned device)
{
	return device == GP_DEVICE_UNKNOWN ? -1 : (int64_t)device;
}

static void groups_write(struct gp_json *json, const struct gp_lives *lives)
{
	static const struct {
		const char *key;
		size_t offset; /* of a uint32_t */
	} column[] = {
		{ "stack", offsetof(struct gp_lives_group, stack) },
		{ "role", offsetof(struct gp_lives_group, role) },
		{ "phase", offsetof(struct gp_lives_group, phase) },
		{ "module", offsetof(struct gp_lives_group, module) },
		{ "operator", offsetof(struct gp_lives_group, operator) },
		{ "library", offsetof(struct gp_lives_group, library) },
		{ "line", offsetof(struct gp_lives_group, line) },
		{ "range", offsetof(struct gp_lives_group, range) },
		{ "pool", offsetof(struct gp_lives_group, pool) },
		{ "arena", offsetof(struct gp_lives_group, arena) },
	};
	gp_json_object(json, "groups");
	gp_json_array(json, "device");
	for (size_t k = 0; k < lives->groups; k++)
		gp_json_signed(json, NULL, device_number(lives->group[k].device));
	gp_json_end(json);
	gp_json_array(json, "of");
	for (size_t k = 0; k < lives->groups; k++)
		gp_json_number(json, NULL, lives->group[k].of);
	gp_json_end(json);
	gp_json_array(json, "is_part");
	for (size_t k = 0; k < lives->groups; k++)
		gp_json_number(json, NULL, lives->group[k].is_part);
	gp_json_end(json);
	for (size_t c = 0; c < sizeof column / sizeof *column; c++) {
		gp_json_array(json, column[c].key);
		for (size_t k = 0; k < lives->groups; k++)
			gp_json_number(json, NULL,
				       *(const uint32_t *)((const char *)&lives->group[k] +
							   column[c].offset));
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void arenas_write(struct gp_json *json, const struct gp_lives *lives)
{
	gp_json_array(json, "arenas");
	for (size_t k = 0; k < lives->arenas; k++) {
		const struct gp_arena *arena = &lives->arena[k];
		gp_json_object(json, NULL);
		if (arena->is_known)
			gp_json_hex(json, "stream", arena->stream);
		else
			gp_json_null(json, "stream");
		if (arena->is_known && arena->has_pool) {
			gp_json_array(json, "pool");
			gp_json_number(json, NULL, arena->pool);
			gp_json_number(json, NULL, arena->user_pool);
			gp_json_end(json);
		} else {
			gp_json_null(json, "pool");
		}
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void capacity_curve_write(struct gp_json *json, const char *key,
				 const struct gp_lives_curve *curve)
{
	if (curve->points == 0) {
		gp_json_null(json, key);
		return;
	}
	gp_json_object(json, key);
	gp_json_number(json, "points", curve->points);
	gp_json_number(json, "data", curve->data);
	gp_json_bool(json, "is_exact", curve->is_exact);
	gp_json_end(json);
}

static void capacities_write(struct gp_json *json, const struct gp_lives *lives)
{
	gp_json_array(json, "capacities");
	for (size_t k = 0; k < lives->devices; k++) {
		const struct gp_lives_capacity *c = &lives->capacity[lives->device[k]];
		gp_json_object(json, NULL);
		gp_json_number(json, "device", lives->device[k]);
		gp_json_number_if(json, "total_bytes", c->total_bytes != 0, c->total_bytes);
		capacity_curve_write(json, "used", &c->used);
		capacity_curve_write(json, "limit", &c->limit);
		gp_json_end(json);
	}
	gp_json_end(json);
}

/* The settings of PyTorch's allocator that decide which requests fit. */
static void settings_write(struct gp_json *json, const char *alloc_conf)
{
	struct gp_allocator_settings s;
	gp_allocator_settings_read(alloc_conf, &s);
	gp_json_object(json, "allocator");
	gp_json_number_if(json, "max_split_bytes", s.max_split_bytes != UINT64_MAX,
			  s.max_split_bytes);
	gp_json_number(json, "max_non_split_rounding", s.max_non_split_rounding);
	gp_json_number(json, "large_segment_bytes", s.large_segment_bytes);
	gp_json_array(json, "roundup_divisions");
	for (unsigned k = 0; k < GP_ROUNDUP_BUCKETS; k++)
		gp_json_number(json, NULL, s.roundup_divisions[k]);
	gp_json_end(json);
	gp_json_bool(json, "is_expandable", s.is_expandable);
	gp_json_text(json, "not_known", s.not_known);
	gp_json_end(json);
}

static void curves_write(struct gp_json *json, const struct gp_lives *lives)
{
	static const char *const names[] = { [GP_CURVE_DRIVER] = "driver",
					     [GP_CURVE_RESERVED] = "reserved",
					     [GP_CURVE_ALLOCATED] = "allocated",
					     [GP_CURVE_PINNED] = "pinned" };
	gp_json_array(json, "curves");
	for (size_t k = 0; k < lives->curves; k++) {
		const struct gp_lives_curve *curve = &lives->curve[k];
		gp_json_object(json, NULL);
		gp_json_signed(json, "device", device_number(curve->device));
		gp_json_text(json, "curve", names[curve->of]);
		gp_json_number(json, "points", curve->points);
		gp_json_number(json, "data", curve->data);
		gp_json_bool(json, "is_exact", curve->is_exact);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void marks_write(struct gp_json *json, const struct gp_lives *lives)
{
	gp_json_array(json, "marks");
	for (size_t k = 0; k < lives->marks; k++) {
		const struct gp_lives_mark *mark = &lives->mark[k];
		gp_json_object(json, NULL);
		gp_json_signed(json, "at_ns", mark->at_ns);
		gp_json_text(json, "kind", gp_lives_mark_names[mark->kind]);
		if (mark->kind == GP_LIVES_STEP)
			gp_json_number(json, "number", mark->number);
		else
			gp_json_text(json, "text", lives->text[mark->text]);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_number(json, "marks_left_out", lives->marks_left_out);
}

void gp_page_lives_write(struct gp_json *json, const struct gp_lives *lives, const char *alloc_conf)
{
	gp_json_object(json, "lives");
	gp_json_signed(json, "from_ns", lives->from_ns);
	gp_json_signed(json, "to_ns", lives->to_ns);
	gp_json_array(json, "devices");
	for (size_t k = 0; k < lives->devices; k++)
		gp_json_number(json, NULL, lives->device[k]);
	gp_json_end(json);
	gp_json_array(json, "text");
	for (size_t k = 0; k < lives->texts; k++)
		gp_json_text(json, NULL, lives->text[k]);
	gp_json_end(json);
	frames_write(json, lives);
	groups_write(json, lives);
	arenas_write(json, lives);
	gp_json_number(json, "count", lives->count);
	/* a number that JavaScript has, of those that are longer than each life */
	gp_json_number(json, "shorter_than_ns",
		       lives->shorter_than_ns == UINT64_MAX ?
			       (uint64_t)(lives->to_ns - lives->from_ns) + 1 :
			       lives->shorter_than_ns);
	gp_json_number(json, "left_out", lives->left_out);
	gp_json_array(json, "blocks");
	for (size_t k = 0; k < lives->blocks; k++)
		gp_json_number(json, NULL, lives->block[k]);
	gp_json_end(json);
	curves_write(json, lives);
	capacities_write(json, lives);
	settings_write(json, alloc_conf);
	marks_write(json, lives);
	gp_json_end(json);
}
