/*
 * Frames are looked up in the recording each time, since it caches them.
 */
#include "stack_print.h"

#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"

#define UNNAMED_SHOWN 3u /* modules */

enum gp_stack_how gp_stack_style_how(const struct gp_stack_style *style)
{
	if (style->is_bare)
		return GP_STACK_BARE;
	return style->is_native ? GP_STACK_SYMBOLS : GP_STACK_FOLDED;
}

static void print_masked(FILE *out, const char *text)
{
	gp_name_print(out, text);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

void gp_frame_print(FILE *out, const struct gp_frame *f)
{
	if (f->function)
		print_masked(out, f->function);
	else if (f->module)
		fprintf(out, "+0x%" PRIx64, f->module_offset);
	else if (!f->is_python)
		fprintf(out, "0x%" PRIx64, f->address);
	else
		fputs("unknown", out);
	if (f->file) {
		fputs(" (", out);
		print_masked(out, f->file);
		if (f->line)
			fprintf(out, ":%" PRIu32, f->line);
		fputc(')', out);
	} else if (f->module) {
		fputs(" [", out);
		print_masked(out, last_part(f->module));
		fputc(']', out);
	}
}

void gp_stack_print(FILE *out, struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		    enum gp_stack_how how)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	if (!gp_recording_stack(recording, stack, at_ns, how, &s, frame, GP_FRAMES_MAX))
		return;
	for (size_t k = 0; k < s.frames; k++) {
		fprintf(out, "%20s ", "");
		gp_frame_print(out, &frame[k]);
		fputc('\n', out);
	}
	const char *missing = how == GP_STACK_FOLDED ? s.missing : s.missing_native;
	if (missing)
		fprintf(out, "%20s ... %s\n", "", missing);
}

bool gp_is_without_stacks;

static void write_frame(struct gp_json *json, const struct gp_frame *f)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "function", f->function);
	gp_json_text(json, "file", f->file);
	gp_json_number_if(json, "line", f->line, f->line);
	gp_json_text(json, "module", f->module);
	if (!f->is_python)
		gp_json_hex(json, "address", f->address);
	gp_json_text(json, "why", f->unknown);
	gp_json_end(json);
}

void gp_stack_write(struct gp_json *json, struct gp_recording *recording, uint32_t stack,
		    int64_t at_ns, enum gp_stack_how how)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	if (gp_is_without_stacks)
		return;
	if (stack && !gp_recording_stack(recording, stack, at_ns, how, &s, frame, GP_FRAMES_MAX)) {
		gp_json_null(json, "stack");
		return;
	}
	gp_json_array(json, "stack");
	for (size_t k = 0; stack && k < s.frames; k++)
		write_frame(json, &frame[k]);
	gp_json_end(json);
}

void gp_unnamed_print(FILE *out, struct gp_recording *recording)
{
	const struct gp_unnamed *module;
	size_t modules, left = 0;
	uint64_t frames_left = 0;
	if (gp_recording_unnamed(recording, &module, &modules) != GP_OK) {
		fputs("native frames without a name: not counted, no memory\n", out);
		return;
	}
	for (size_t k = 0; k < modules; k++) {
		/* a last single row is shown instead of "1 more" */
		if (k >= UNNAMED_SHOWN && modules > UNNAMED_SHOWN + 1) {
			left++;
			frames_left += module[k].frames;
			continue;
		}
		fprintf(out, "%s without a name: ", gp_plural(module[k].frames, "native frame").s);
		print_masked(out, module[k].module);
		fprintf(out, ": %s\n", module[k].why);
	}
	if (left)
		fprintf(out, "%s without a name in %s\n",
			gp_plural(frames_left, "more native frame").s,
			gp_plural(left, "more module").s);
}
