/*
 * `--format speedscope`: JSON of https://www.speedscope.app/file-format-schema.json. One sampled
 * profile for each value and device, with the frames of all of them in one list.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/json.h"
#include "../report/report.h"
#include "stacks/stack_values.h"

extern const struct gp_export_format gp_export_format_speedscope;

/* The first one is shown first. */
static const enum gp_stack_value order[] = { GP_VALUE_INUSE_SPACE,   GP_VALUE_ALLOC_SPACE,
					     GP_VALUE_GPU_TIME,	     GP_VALUE_INUSE_OBJECTS,
					     GP_VALUE_ALLOC_OBJECTS, GP_VALUE_GPU_KERNELS };
#define VALUES (sizeof order / sizeof *order)

struct speedscope {
	struct gp_export *e;
	struct gp_stack_values values;
	struct gp_json json;
};

static void frames_write(struct speedscope *s)
{
	gp_json_object(&s->json, "shared");
	gp_json_array(&s->json, "frames");
	for (size_t k = 0; k < s->values.frames; k++) {
		const struct gp_value_frame *f = &s->values.frame[k];
		gp_json_object(&s->json, NULL);
		gp_json_text(&s->json, "name", f->name);
		/* the library of a native frame without a source file */
		if (f->file || f->module)
			gp_json_text(&s->json, "file", f->file ? f->file : f->module);
		if (f->line)
			gp_json_number(&s->json, "line", f->line);
		gp_json_end(&s->json);
	}
	gp_json_end(&s->json);
	gp_json_end(&s->json);
}

/* Frames of a sample, outermost first. */
static void sample_write(struct speedscope *s, const struct gp_value_sum *sum)
{
	const struct gp_value_stack *stack = &s->values.stack[sum->stack];
	gp_json_array(&s->json, NULL);
	for (uint32_t k = stack->frames; k > 0; k--)
		gp_json_number(&s->json, NULL, s->values.index[stack->first + k - 1]);
	if (sum->leaf != UINT32_MAX)
		gp_json_number(&s->json, NULL, sum->leaf);
	gp_json_end(&s->json);
}

static void name_write(struct speedscope *s, enum gp_stack_value of, unsigned device)
{
	char text[1024], gpu[16];
	const char *caveat = gp_caveat_of(s->e->info);
	const bool is_moment = of == GP_VALUE_INUSE_SPACE || of == GP_VALUE_INUSE_OBJECTS;
	gp_value_device_text(device, gpu);
	const int n =
		is_moment ? snprintf(text, sizeof text, "%s, %s at %s", gp_value_types[of].name,
				     gpu, gp_ns_text(s->values.at_ns).s) :
			    snprintf(text, sizeof text, "%s, %s from %s to %s",
				     gp_value_types[of].name, gpu, gp_ns_text(s->values.from_ns).s,
				     gp_ns_text(s->values.at_ns).s);
	if (caveat)
		snprintf(text + n, sizeof text - (size_t)n, " (incomplete: %s)", caveat);
	gp_json_text(&s->json, "name", text);
}

/* A profile: the sums of one device. */
static void profile_write(struct speedscope *s, enum gp_stack_value of,
			  const struct gp_value_sum *sum, size_t sums)
{
	uint64_t total = 0;
	const char *unit = gp_value_types[of].unit;
	for (size_t k = 0; k < sums; k++)
		total += sum[k].value;
	gp_json_object(&s->json, NULL);
	gp_json_text(&s->json, "type", "sampled");
	name_write(s, of, sum->device);
	gp_json_text(&s->json, "unit", strcmp(unit, "count") == 0 ? "none" : unit);
	gp_json_number(&s->json, "startValue", 0);
	gp_json_number(&s->json, "endValue", total);
	gp_json_array(&s->json, "samples");
	for (size_t k = 0; k < sums; k++)
		sample_write(s, &sum[k]);
	gp_json_end(&s->json);
	gp_json_array(&s->json, "weights");
	for (size_t k = 0; k < sums; k++)
		gp_json_number(&s->json, NULL, sum[k].value);
	gp_json_end(&s->json);
	gp_json_end(&s->json);
	s->e->entries += sums;
}

/* The profiles of one value, one for each device. */
static enum gp_status profiles_write(struct speedscope *s, enum gp_stack_value of)
{
	size_t sums, n;
	struct gp_value_sum *sum = gp_stack_values_sum(&s->values, of, &sums);
	if (!sum)
		return GP_E_MEMORY;
	for (size_t k = 0; k < sums; k += n) {
		for (n = 1; k + n < sums && sum[k + n].device == sum[k].device;)
			n++;
		profile_write(s, of, &sum[k], n);
	}
	free(sum);
	return GP_OK;
}

static enum gp_status speedscope_write(struct speedscope *s)
{
	enum gp_status status = GP_OK;
	gp_json_init(&s->json, s->e->out, 3);
	s->json.is_foreign = true;
	gp_json_object(&s->json, NULL);
	gp_json_text(&s->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	gp_json_text(&s->json, "exporter", "gpuprof " GP_VERSION);
	gp_json_text(&s->json, "name", s->e->recording_path);
	gp_json_number(&s->json, "activeProfileIndex", 0);
	frames_write(s);
	gp_json_array(&s->json, "profiles");
	for (size_t k = 0; k < VALUES && status == GP_OK; k++)
		status = profiles_write(s, order[k]);
	gp_json_end(&s->json);
	gp_json_end(&s->json);
	return status;
}

static enum gp_status export_speedscope_write(struct gp_export *e)
{
	static const struct gp_stack_values_wish wish = { .values = GP_STACK_VALUES_ALL };
	struct speedscope s = { .e = e };
	enum gp_status status = gp_stack_values_build(e, &wish, &s.values);
	if (status == GP_OK)
		status = speedscope_write(&s);
	gp_stack_values_free(&s.values);
	return status;
}

const struct gp_export_format gp_export_format_speedscope = {
	.name = "speedscope",
	.unit = "samples",
	.opens = "open it at speedscope.app",
	.is_text = true,
	.write = export_speedscope_write,
};
