/* The options of frag_options.h. */
#include "frag_options.h"

#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/terminal_width.h"
#include "../report/stack_print.h"

#define PINS_DEFAULT 10u
#define COLOUR_WORDS "age|pool|stack|owner" /* enum gp_frag_colour */

void gp_frag_options_add(struct gp_frag_options *o, struct gp_flag flags[GP_FRAG_FLAGS])
{
	const struct gp_flag rows[GP_FRAG_FLAGS] = {
		{ "fit", 0, GP_FLAG_TEXT, "SIZE", &o->fit,
		  "blocks to free for this request; default the failed one" },
		{ "summary", 0, GP_FLAG_SWITCH, NULL, &o->is_summary,
		  "rows of torch.cuda.memory_summary()" },
		{ "map", 0, GP_FLAG_SWITCH, NULL, &o->is_map,
		  "map of segments and their blocks; with -o FILE.svg as a picture" },
		{ "colour", 0, GP_FLAG_CHOICE, "WHAT=" COLOUR_WORDS, &o->colour_text,
		  "of blocks in the picture, default age" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &o->top,
		  "at most N blocks between gaps, 0: all; default 10, with --json all" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &o->device, "only this device" },
		{ "columns", 0, GP_FLAG_NUMBER, GP_COLUMNS_RANGE, &o->columns,
		  "width of the map; default that of the terminal, else 100" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &o->is_json,
		  "for a program: docs/JSON.md lists the keys" },
		GP_FLAGS_NO_STACKS,
		{ "output", 'o', GP_FLAG_TEXT, "FILE", &o->output,
		  "write to a new FILE; - is stdout; FILE.svg: the map" },
		{ "force", 0, GP_FLAG_SWITCH, NULL, &o->is_forced, "replace FILE" },
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	memcpy(flags, rows, sizeof rows);
	*o = (struct gp_frag_options){ .top = UINT64_MAX, .device = -1 };
}

static bool form_check(const struct gp_frag_options *o, const struct gp_command *command)
{
	if (o->is_json && (o->is_summary || o->is_map))
		gp_usage(command, "'--json' and '--%s' exclude each other",
			 o->is_map ? "map" : "summary");
	else if (o->is_summary && o->is_map)
		gp_usage(command, "'--summary' and '--map' exclude each other");
	else if (o->is_svg && (o->is_json || o->is_summary))
		gp_usage(command, "'--%s' is not drawn: '%s' is for a map",
			 o->is_json ? "json" : "summary", o->output);
	else if (o->colour_text && !o->is_svg)
		gp_usage(command, "'--colour' is of a map in a file: -o FILE.svg");
	else
		return true;
	return false;
}

bool gp_frag_options_read(struct gp_frag_options *o, const struct gp_command *command)
{
	size_t n = o->output ? strlen(o->output) : 0;
	o->is_svg = n > 4 && strcmp(o->output + n - 4, ".svg") == 0;
	if (o->colour_text)
		o->colour = (enum gp_frag_colour)gp_choice_find(COLOUR_WORDS, o->colour_text);
	if (o->top == UINT64_MAX)
		o->top = o->is_json ? 0 : PINS_DEFAULT;
	if (o->fit && (!gp_size_parse(o->fit, &o->fit_bytes) || !o->fit_bytes))
		return gp_flags_wrong_value("fit", o->fit, GP_FLAGS_SIZE);
	return form_check(o, command);
}
