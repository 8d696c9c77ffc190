/*
 * `gpuprof verify`: checks every byte of recordings and replays them; writes a clean copy of a
 * damaged one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/message.h"
#include "io/stdin_recording.h"
#include "report/reading.h"

struct verify {
	struct gp_reading r;
	const char *repaired; /* NULL: no copy is requested, or it failed */
	struct gp_sink sink;  /* of the copy */
};

/* Visits each line that the check reported. */
static void visit_findings(const struct verify *v, const char *path, const char *text,
			   struct gp_json *json)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		if (json) {
			gp_json_bytes(json, NULL, text, length);
		} else {
			if (v->r.is_many) {
				gp_name_print(v->r.out, path);
				fputs(": ", v->r.out);
			}
			gp_mask(v->r.out, text, length);
			fputc('\n', v->r.out);
		}
		text += length + (text[length] == '\n');
	}
}

static void verify_write_program(struct verify *v, const char *path, enum gp_status status,
				 const char *findings)
{
	gp_json_object(&v->r.json, NULL);
	gp_json_text(&v->r.json, "file", path);
	gp_json_bool(&v->r.json, "ok", status == GP_OK);
	gp_json_text(&v->r.json, "status", gp_status_text(status));
	gp_json_array(&v->r.json, "findings");
	visit_findings(v, path, findings, &v->r.json);
	gp_json_end(&v->r.json);
	gp_json_text(&v->r.json, "repaired", v->repaired);
	gp_json_end(&v->r.json);
}

/* Discards the copy if reading failed before the first copied byte. */
static void drop_copy(struct verify *v)
{
	if (v->repaired)
		gp_sink_close(&v->sink, GP_EXIT_INTERNAL);
	v->repaired = NULL;
}

/* Renames a complete copy and reports it. Returns the exit status for the copy. */
static int finish_copy(struct verify *v, const struct gp_copy *copy, FILE *report)
{
	bool is_written = copy->status == GP_OK;
	if (!is_written)
		gp_error("cannot write '%s': %s", v->repaired, gp_status_text(copy->status));
	v->sink.has_report = is_written;
	int exit_status = gp_sink_close(&v->sink, is_written ? GP_EXIT_OK : GP_EXIT_INTERNAL);
	if (exit_status == GP_EXIT_OK)
		fprintf(report,
			"wrote '%s': %" PRIu64 " block%s kept, %" PRIu64 " dropped with %" PRIu64
			" record%s\n",
			v->repaired, copy->blocks, copy->blocks == 1 ? "" : "s", copy->dropped,
			copy->dropped_records, copy->dropped_records == 1 ? "" : "s");
	else
		v->repaired = NULL;
	return exit_status;
}

/* Writes findings to `report`. Returns the exit status of writing the copy. */
static int verify_check(struct verify *v, const char *path, FILE *report, enum gp_status *status)
{
	struct gp_copy copy = { .fd = v->repaired ? fileno(v->sink.out) : -1 };
	*status = gp_verify(gp_readable_path(path), v->repaired ? &copy : NULL, report);
	return v->repaired ? finish_copy(v, &copy, report) : GP_EXIT_OK;
}

static int verify_one(struct gp_reading *r)
{
	struct verify *v = (struct verify *)r;
	const char *path = r->path;
	char *findings = NULL;
	size_t bytes = 0;
	struct gp_damage why;
	bool is_repair = v->repaired != NULL;
	enum gp_status status = gp_report_check(path, &why);
	if (status != GP_OK) {
		drop_copy(v);
		if (v->r.is_json)
			verify_write_program(v, path, status, why.what);
		return gp_exit_of(status);
	}
	FILE *report = open_memstream(&findings, &bytes);
	if (!report) {
		gp_error("cannot verify '%s': %s", path, gp_cause(errno));
		drop_copy(v);
		return GP_EXIT_INTERNAL;
	}
	int copied = verify_check(v, path, report, &status);
	if (fclose(report) != 0) {
		gp_error("cannot verify '%s': %s", path, gp_cause(errno));
		free(findings);
		return GP_EXIT_INTERNAL;
	}
	if (v->r.is_json)
		verify_write_program(v, path, status, findings);
	else
		visit_findings(v, path, findings, NULL);
	if (status != GP_OK)
		gp_error("cannot vouch for '%s': %s", path, gp_status_text(status));
	if (status == GP_E_DAMAGED && !is_repair)
		gp_hint("'gpuprof verify --repair OUT %s' writes a copy of what is whole", path);
	free(findings);
	return copied > gp_exit_of(status) ? copied : gp_exit_of(status);
}

/* Opens the copy before anything is read: an existing name is a usage error, not damage. */
static int verify_check_options(struct gp_reading *r, int recordings)
{
	struct verify *v = (struct verify *)r;
	if (!v->repaired)
		return GP_EXIT_OK;
	if (!gp_inputs_is_one(r->command, "--repair", recordings))
		return GP_EXIT_USAGE;
	return gp_sink_open_recording(&v->sink, v->repaired);
}

static int verify_run(const struct gp_command *command, int argc, char **argv)
{
	struct verify v = { .r.command = command };
	const struct gp_flag flags[] = {
		{ "repair", 0, GP_FLAG_TEXT, "OUT", &v.repaired,
		  "write what is whole to the new file OUT" },
		{ 0 },
	};
	return gp_reading_run(&v.r, flags, argc, argv);
}

const struct gp_command gp_command_verify = {
	.name = "verify",
	.synopsis = "verify [--json] [--repair OUT] [options] RECORDING...",
	.text = "check every byte of recordings; write a clean copy of a damaged one",
	.run = verify_run,
	.options = GP_OPTION_JSON | GP_OPTION_SCREEN,
	.json_levels = 2,
	.opens_itself = true,
	.check = verify_check_options,
	.one = verify_one,
};
