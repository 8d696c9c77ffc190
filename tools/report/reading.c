/*
 * The driver of reading.h. It does not depend on any command.
 */
#include "reading.h"

#include <stdlib.h>
#include <string.h>

#include "../io/message.h"
#include "stack_print.h"

/* ---- options ---- */

struct shared_flag {
	unsigned option;
	struct gp_flag flag;
};

void gp_reading_flags(struct gp_reading *r, const struct gp_flag *own,
		      struct gp_flag flags[GP_READING_FLAGS])
{
	const struct shared_flag shared[] = {
		{ GP_OPTION_SPAN,
		  { "from", 0, GP_FLAG_TEXT, "TIME", &r->from,
		    "from this moment: " GP_FLAGS_MOMENTS } },
		{ GP_OPTION_SPAN, { "to", 0, GP_FLAG_TEXT, "TIME", &r->to, "up to this moment" } },
		{ GP_OPTION_DEVICE,
		  { "device", 0, GP_FLAG_DEVICE, "N", &r->device, "only this device" } },
		{ GP_OPTION_JSON,
		  { "json", 0, GP_FLAG_SWITCH, NULL, &r->is_json,
		    "for a program: docs/JSON.md lists the keys" } },
		{ GP_OPTION_STEPS,
		  { "steps", 0, GP_FLAG_TEXT, "NAME", &gp_report_step_name,
		    "ranges of this name, with any number, are the steps" } },
		{ GP_OPTION_NO_STACKS,
		  { "no-stacks", 0, GP_FLAG_SWITCH, NULL, &gp_is_without_stacks,
		    "with --json: leave out stacks" } },
		{ GP_OPTION_OUTPUT,
		  { "output", 'o', GP_FLAG_TEXT, "FILE", &r->output,
		    "write to a new FILE; - is stdout" } },
		{ GP_OPTION_OUTPUT,
		  { "force", 0, GP_FLAG_SWITCH, NULL, &r->is_forced, "replace FILE" } },
		{ GP_OPTION_SCREEN,
		  { "color", 0, GP_FLAG_CHOICE, "WHEN=auto|always|never", &gp_color_option, "" } },
		{ GP_OPTION_SCREEN,
		  { "wide", 0, GP_FLAG_SWITCH, NULL, &gp_screen_options.is_wide, "" } },
		{ GP_OPTION_SCREEN,
		  { "no-pager", 0, GP_FLAG_SWITCH, NULL, &gp_screen_options.has_no_pager, "" } },
	};
	size_t count = 0;
	for (; own && own->name && count + 1 < GP_READING_FLAGS; own++)
		flags[count++] = *own;
	for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
		if (r->command->options & shared[k].option && count + 1 < GP_READING_FLAGS)
			flags[count++] = shared[k].flag;
	flags[count] = (struct gp_flag){ 0 };
	r->device = -1;
	r->top = UINT64_MAX;
}

int gp_reading_check(struct gp_reading *r, int recordings)
{
	r->is_top_given = r->top != UINT64_MAX;
	if (!r->is_top_given)
		r->top = r->is_json ? 0 : r->command->top;
	r->is_many = recordings > 1;
	r->is_text = !r->is_json;
	return r->command->check ? r->command->check(r, recordings) : GP_EXIT_OK;
}

/* ---- recordings ---- */

static int reading_one(struct gp_reading *r, const char *path, bool is_repeated)
{
	int exit_status = GP_EXIT_OK;
	r->path = path;
	if (r->command->opens_itself)
		return r->command->one(r);
	r->recording = gp_report_open(path, &r->info, &exit_status);
	if (!r->recording && r->command->unopened)
		r->command->unopened(r);
	if (!r->recording)
		return exit_status;
	exit_status = is_repeated ? GP_EXIT_OK : gp_report_exit(path, r->info);
	exit_status = gp_report_worse(exit_status, r->command->one(r));
	gp_recording_close(r->recording);
	return exit_status;
}

int gp_reading_repeat(struct gp_reading *r, const char *path)
{
	return reading_one(r, path, true);
}

static void reading_print_table(struct gp_reading *r)
{
	struct gp_report_table *table = &r->table;
	if (!table->rows || !r->sink.has_report)
		return;
	if (!r->none)
		gp_report_table_print(table, r->out);
	else if (!gp_report_table_none_print(table, r->none, r->none_tail ? r->none_tail : "",
					     r->out) &&
		 table->next)
		gp_next_print(r->out, table->next, table->first);
}

static int reading_all(struct gp_reading *r, int recordings, char *const *paths)
{
	const bool is_array = r->is_json && r->is_many;
	int worst = GP_EXIT_OK;
	gp_json_init(&r->json, r->out, r->command->json_levels + r->is_many);
	if (r->command->begin)
		r->command->begin(r);
	if (is_array)
		gp_json_array(&r->json, NULL);
	for (int k = 0; k < recordings; k++)
		worst = gp_report_worse(worst, reading_one(r, paths[k], false));
	if (is_array)
		gp_json_end(&r->json);
	if (r->command->end)
		worst = r->command->end(r, worst);
	reading_print_table(r);
	gp_report_table_release(&r->table);
	return worst;
}

/* Holds the report in memory until `end` decides about it. */
static int reading_hold(struct gp_reading *r, int recordings, char *const *paths)
{
	char *text = NULL;
	size_t bytes = 0;
	r->out = open_memstream(&text, &bytes);
	int worst = r->out ? reading_all(r, recordings, paths) : GP_EXIT_INTERNAL;
	if (!r->out || fclose(r->out) != 0) {
		gp_error("cannot report: %s", gp_status_text(GP_E_MEMORY));
		worst = GP_EXIT_INTERNAL;
	} else if (r->sink.has_report) {
		fwrite(text, 1, bytes, r->sink.out);
	}
	free(text);
	return worst;
}

int gp_reading_show(struct gp_reading *r, int recordings, char *const *paths)
{
	int exit_status =
		gp_sink_open(&r->sink, r->output, r->is_forced, r->is_text, paths, recordings);
	if (exit_status)
		return exit_status;
	r->out = r->sink.out;
	exit_status =
		r->is_held ? reading_hold(r, recordings, paths) : reading_all(r, recordings, paths);
	return gp_sink_close(&r->sink, exit_status);
}

int gp_reading_run(struct gp_reading *r, const struct gp_flag *own, int argc, char **argv)
{
	struct gp_flag flags[GP_READING_FLAGS];
	gp_reading_flags(r, own, flags);
	int recordings = gp_inputs_parse(r->command, flags, argc, &argv);
	if (recordings < 0)
		return gp_flags_exit(recordings);
	int exit_status = gp_reading_check(r, recordings);
	return exit_status ? exit_status : gp_reading_show(r, recordings, argv);
}
