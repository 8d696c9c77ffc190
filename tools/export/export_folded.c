/*
 * `--format folded`: one line a stack, "outermost;...;innermost VALUE", as flamegraph.pl and
 * inferno read it. The outermost frame is the device.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/message.h"
#include "stacks/stack_values.h"

extern const struct gp_export_format gp_export_format_folded;

/* Readers split a line at ';', and the value from the rest at the last blank. */
static void folded_put(FILE *out, const char *text)
{
	for (size_t n; *text; text += n) {
		n = strcspn(text, ";");
		gp_mask(out, text, n);
		if (text[n] && ++n)
			fputc(',', out);
	}
}

static void folded_put_frame(FILE *out, const struct gp_value_frame *f)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;
	fputc(';', out);
	folded_put(out, f->name[0] ? f->name : "?");
	if (!f->file)
		return;
	fputs(" (", out);
	folded_put(out, slash ? slash + 1 : f->file);
	if (f->line)
		fprintf(out, ":%u", f->line);
	fputc(')', out);
}

static void folded_put_line(FILE *out, const struct gp_stack_values *v,
			    const struct gp_value_sum *sum)
{
	char device[16];
	const struct gp_value_stack *stack = &v->stack[sum->stack];
	gp_value_device_text(sum->device, device);
	fputs(device, out);
	for (uint32_t k = stack->frames; k > 0; k--)
		folded_put_frame(out, &v->frame[v->index[stack->first + k - 1]]);
	if (sum->leaf != UINT32_MAX)
		folded_put_frame(out, &v->frame[sum->leaf]);
	fprintf(out, " %llu\n", (unsigned long long)sum->value);
}

static void print_empty(const struct gp_export *e, const struct gp_stack_values *v)
{
	const bool is_missing = strcmp(e->select, "gpu_time") == 0 && !v->has_gpu_time;
	if (is_missing && v->no_gpu_time)
		gp_error("'%s': no GPU time was recorded: %s", e->recording_path, v->no_gpu_time);
	else if (is_missing)
		gp_error("'%s': no GPU time was recorded", e->recording_path);
	else
		gp_error("'%s': no %s in this span: no stacks to write", e->recording_path,
			 e->select);
	if (is_missing && !v->no_gpu_time)
		gp_hint("gpuprof run --gpu-time");
}

static enum gp_status export_folded_write(struct gp_export *e)
{
	struct gp_stack_values v;
	const enum gp_stack_value of = gp_value_find(e->select);
	const struct gp_stack_values_wish wish = { .values = 1u << of };
	size_t sums = 0;
	enum gp_status status = gp_stack_values_build(e, &wish, &v);
	struct gp_value_sum *sum = status ? NULL : gp_stack_values_sum(&v, of, &sums);
	if (status == GP_OK && !sum)
		status = GP_E_MEMORY;
	for (size_t k = 0; k < sums; k++)
		folded_put_line(e->out, &v, &sum[k]);
	if (status == GP_OK && !sums)
		print_empty(e, &v);
	e->entries += sums;
	free(sum);
	gp_stack_values_free(&v);
	return status;
}

static const char *const selections[] = { "inuse_space",   "inuse_objects", "alloc_space",
					  "alloc_objects", "gpu_time",	    NULL };

const struct gp_export_format gp_export_format_folded = {
	.name = "folded",
	.unit = "stacks",
	.opens = "draw it with flamegraph.pl or inferno-flamegraph",
	.selections = selections,
	.is_text = true,
	.write = export_folded_write,
};
