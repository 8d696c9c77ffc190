/* Frames are asked of the recording each time: it knows each stack once. */
#include "stack_print.h"

#include <inttypes.h>
#include <string.h>

#include "message.h"

#define MOST 256u

static const char *why_short(enum gp_stack_why why)
{
	switch (why) {
	case GP_WHY_TRUNCATED:
		return "deeper frames are left out";
	case GP_WHY_FINALIZING:
		return "no Python frames: the interpreter is ending";
	case GP_WHY_TABLE_FULL:
		return "no room for more stacks";
	case GP_WHY_GATE:
		return "no native frames: the process was forking";
	case GP_WHY_NO_RULE:
		return "native frames end where nothing tells how to unwind";
	case GP_WHY_WHOLE:
	case GP_WHY_OFF:
	case GP_WHY_NO_THREAD:
	case GP_WHY_NO_FRAMES:
		break;
	}
	return NULL;
}

static void print_masked(FILE *out, const char *text)
{
	if (text)
		gp_mask(out, text, strlen(text));
	else
		fputs("unknown", out);
}

void gp_stack_print(FILE *out, const struct gp_recording *recording, uint32_t stack)
{
	struct gp_call_stack s;
	struct gp_stack_native_frame native[MOST];
	struct gp_stack_python_frame python[MOST];
	if (!gp_recording_stack(recording, stack, &s, native, python, MOST))
		return;
	for (size_t k = 0; k < s.natives; k++)
		fprintf(out, "%20s 0x%" PRIx64 "\n", "", native[k].pc);
	for (size_t k = 0; k < s.pythons; k++) {
		fprintf(out, "%20s ", "");
		print_masked(out, python[k].name);
		fputs(" (", out);
		print_masked(out, python[k].file);
		if (python[k].line)
			fprintf(out, ":%" PRIu32, python[k].line);
		fputs(")\n", out);
	}
	const char *why =
		why_short(s.why_native) ? why_short(s.why_native) : why_short(s.why_python);
	if (why)
		fprintf(out, "%20s ... %s\n", "", why);
}

void gp_stack_write(struct gp_json *json, const struct gp_recording *recording, uint32_t stack)
{
	struct gp_call_stack s;
	struct gp_stack_native_frame native[MOST];
	struct gp_stack_python_frame python[MOST];
	if (!gp_recording_stack(recording, stack, &s, native, python, MOST)) {
		gp_json_null(json, "stack");
		return;
	}
	gp_json_array(json, "stack");
	for (size_t k = 0; k < s.natives; k++) {
		gp_json_object(json, NULL);
		gp_json_hex(json, "pc", native[k].pc);
		gp_json_end(json);
	}
	for (size_t k = 0; k < s.pythons; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "function", python[k].name);
		gp_json_text(json, "file", python[k].file);
		gp_json_number(json, "line", python[k].line);
		gp_json_null(json, "module");
		gp_json_end(json);
	}
	gp_json_end(json);
}
