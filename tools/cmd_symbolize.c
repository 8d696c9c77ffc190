/*
 * `gpuprof symbolize`: looks up the native frames of finished recordings on this machine. Stores
 * their names in the recordings, so that other machines can read them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/message.h"
#include "io/progress.h"
#include "report/reading.h"

#define MODULES_SHOWN 12u

static bool show_progress(void *context, uint64_t done, uint64_t frames)
{
	char text[128];
	if (!gp_progress_is_due())
		return false;
	snprintf(text, sizeof text, "%s of %s", gp_count_text(done).s,
		 gp_plural(frames, "native frame").s);
	gp_progress_show("naming", gp_recording_path(context), text);
	return false;
}

static enum gp_status symbolize_look_up(struct gp_recording *recording, struct gp_symbolized *out)
{
	const struct gp_symbolizing how = { gp_progress_is_seen() ? show_progress : NULL,
					    recording };
	enum gp_status status = gp_recording_symbolize(recording, &how, out);
	gp_progress_clear();
	return status;
}

static void print_unnamed(FILE *out, const struct gp_symbolized *s)
{
	if (s->nowhere)
		fprintf(out,
			"  %s in no module that is known: made at run time, or gone before it was "
			"seen\n",
			gp_count_text(s->nowhere).s);
	for (size_t k = 0; k < s->unnamed_modules && k < MODULES_SHOWN; k++) {
		fprintf(out, "  %s in ", gp_count_text(s->unnamed[k].frames).s);
		gp_name_print(out, s->unnamed[k].module);
		fprintf(out, ": %s\n", s->unnamed[k].why);
	}
	if (s->unnamed_modules > MODULES_SHOWN)
		fprintf(out, "  and %s with frames without a name\n",
			gp_plural(s->unnamed_modules - MODULES_SHOWN, "more module").s);
	if (s->waiting)
		fprintf(out, "  %s not looked up: no room for their names\n",
			gp_count_text(s->waiting).s);
}

static void print_person(FILE *out, const char *path, const struct gp_symbolized *s)
{
	gp_name_print(out, path);
	if (s->frames == 0) {
		fputs(": no native frames, nothing to look up\n", out);
		return;
	}
	fprintf(out, ": %s of %s named", gp_count_text(s->named).s,
		gp_plural(s->frames, "native frame").s);
	if (s->added == 0)
		fprintf(out, ", nothing new");
	else if (s->added != s->named)
		fprintf(out, ", %s of them new", gp_count_text(s->added).s);
	fprintf(out, "; %s of names\n", gp_bytes_text(s->names_bytes).s);
	print_unnamed(out, s);
}

static void symbolize_write_program(struct gp_json *json, const char *path, enum gp_status status,
				    const struct gp_symbolized *s)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "file", path);
	gp_json_text(json, "status", gp_status_text(status));
	gp_json_text(json, "obstacle", s->obstacle);
	gp_json_text(json, "damaged_names", s->dropped ? s->dropped->what : NULL);
	gp_json_bool(json, "written", s->is_written);
	gp_json_number(json, "frames", s->frames);
	gp_json_number(json, "named", s->named);
	gp_json_number(json, "added", s->added);
	gp_json_number(json, "in_no_module", s->nowhere);
	gp_json_number(json, "not_looked_up", s->waiting);
	gp_json_number(json, "names_bytes", s->names_bytes);
	gp_json_array(json, "unnamed");
	for (size_t k = 0; k < s->unnamed_modules; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "module", s->unnamed[k].module);
		gp_json_text(json, "why", s->unnamed[k].why);
		gp_json_number(json, "frames", s->unnamed[k].frames);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}

static void complain(const char *path, enum gp_status status, const struct gp_symbolized *s)
{
	gp_error("cannot store names in '%s': %s", path,
		 s->obstacle ? s->obstacle : gp_status_text(status));
	if (status == GP_E_BUSY)
		gp_hint("try again when that has ended");
	if (status == GP_E_TRUNCATED)
		gp_hint("'gpuprof verify --repair OUT %s' writes a copy that has one", path);
	if (status == GP_E_DAMAGED && s->dropped)
		gp_hint("'gpuprof symbolize %s' stores them anew where the libraries are", path);
	else if (status == GP_E_DAMAGED)
		gp_hint("'gpuprof verify --repair OUT %s' writes a copy of what is whole", path);
}

/* A failed write is not damage of the recording. */
static int exit_of(enum gp_status status)
{
	bool is_writing = status == GP_E_OPEN || status == GP_E_SPACE || status == GP_E_IO;
	return is_writing ? GP_EXIT_INTERNAL : gp_exit_of(status);
}

struct symbolize {
	struct gp_reading r;
	const char *first; /* recording */
	bool has_frames;   /* in one of the recordings */
};

static int symbolize_one(struct gp_reading *r)
{
	struct symbolize *all = (struct symbolize *)r;
	const char *path = r->path;
	struct gp_recording *recording;
	struct gp_symbolized s = { 0 };
	struct gp_damage why;
	all->first = all->first ? all->first : path;
	enum gp_status status = gp_report_check(path, &why);
	if (status == GP_OK)
		status = gp_recording_open(path, &recording, &why);
	if (status != GP_OK) {
		s.obstacle = why.what;
		if (r->is_json)
			symbolize_write_program(&r->json, path, status, &s);
		return gp_exit_of(status);
	}
	status = symbolize_look_up(recording, &s);
	if (status != GP_OK)
		complain(path, status, &s);
	else if (s.dropped)
		gp_error("'%s': symbol names were damaged at byte %" PRIu64 " and are replaced: %s",
			 path, s.dropped->offset, s.dropped->what);
	if (r->is_json)
		symbolize_write_program(&r->json, path, status, &s);
	else if (status == GP_OK)
		print_person(r->out, path, &s);
	all->has_frames |= status == GP_OK && s.frames != 0;
	gp_symbolized_free(&s);
	gp_recording_close(recording);
	return exit_of(status);
}

static int symbolize_end(struct gp_reading *r, int worst)
{
	const struct symbolize *all = (const struct symbolize *)r;
	if (!r->is_json && all->has_frames)
		gp_next_print(r->out, "peak", all->first);
	return worst;
}

static int symbolize_run(const struct gp_command *command, int argc, char **argv)
{
	struct symbolize s = { .r.command = command };
	return gp_reading_run(&s.r, NULL, argc, argv);
}

const struct gp_command gp_command_symbolize = {
	.name = "symbolize",
	.synopsis = "symbolize [--json] [options] RECORDING...",
	.text = "store the names of native frames, so recordings read elsewhere",
	.run = symbolize_run,
	.options = GP_OPTION_JSON | GP_OPTION_SCREEN,
	.inputs = GP_INPUTS_DIRECTORIES,
	.json_levels = 2,
	.opens_itself = true,
	.one = symbolize_one,
	.end = symbolize_end,
};
