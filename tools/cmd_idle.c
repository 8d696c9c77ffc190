/*
 * `gpuprof idle`: what lived at the peak without being used, and memory that was wasted over the
 * run, from a recording with --uses.
 */
#include <string.h>

#include "amount.h"
#include "flags.h"
#include "idle_report.h"
#include "inputs.h"
#include "message.h"
#include "report.h"
#include "sink.h"
#include "stack_print.h"

extern const struct gp_command gp_command_idle;

#define TOP_DEFAULT 10u
#define LEAST_DEFAULT 100u /* launches */

struct idle {
	struct gp_idle_report r;
	struct gp_sink sink;
	const char *output;
	uint64_t least;
	bool is_json, is_forced;
};

static bool has_device(const struct gp_idle_report *r)
{
	if (r->device < 0 || !r->idle.has_uses || r->idle.is_blind)
		return true;
	for (size_t k = 0; k < r->idle.devices; k++)
		if (gp_idle_wants(r, r->idle.device[k].device))
			return true;
	gp_complain("cannot show GPU %lld of '%s': no such memory", (long long)r->device, r->path);
	return false;
}

static int report(struct idle *c, const char *path)
{
	struct gp_idle_report *r = &c->r;
	int exit_status = GP_EXIT_USAGE;
	r->path = path;
	r->recording = gp_report_open(path, &r->info, &exit_status);
	if (!r->recording)
		return exit_status;
	exit_status = gp_report_exit(path, r->info);
	enum gp_status status = gp_idle_build(r->recording, c->least, &r->idle);
	int result = GP_EXIT_OK;
	gp_idle_fold(&r->idle);
	if (status) {
		result = gp_report_failed("report on", path, status);
	} else if (!has_device(r)) {
		result = GP_EXIT_USAGE;
	} else {
		c->sink.has_report = true;
		if (c->is_json)
			gp_idle_write(r);
		else
			gp_idle_print(r);
	}
	gp_idle_free(&r->idle);
	gp_recording_close(r->recording);
	return result > exit_status ? result : exit_status;
}

static int run(int argc, char **argv)
{
	struct idle c = { .r.top = UINT64_MAX, .least = LEAST_DEFAULT };
	const struct gp_flag flags[] = {
		{ "least", 0, GP_FLAG_NUMBER, "LAUNCHES", &c.least,
		  "what is unused for so many launches is idle; default 100" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &c.r.device, "only this device" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N rows of each table, 0: all; default 10, with --json all" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &c.r.has_stacks, "frames below each row" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &c.is_json, "for a program" },
		GP_FLAGS_NO_STACKS,
		GP_FLAGS_OUTPUT(&c.output, &c.is_forced),
		{ 0 },
	};
	int words = gp_inputs_parse(&gp_command_idle, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	if (!gp_inputs_is_one(&gp_command_idle, "idle", words))
		return GP_EXIT_USAGE;
	if (c.r.top == UINT64_MAX)
		c.r.top = c.is_json ? 0 : TOP_DEFAULT;
	int exit_status = gp_sink_open(&c.sink, c.output, c.is_forced, argv, 1);
	if (exit_status != GP_EXIT_OK)
		return exit_status;
	c.r.out = c.sink.out;
	return gp_sink_close(&c.sink, report(&c, argv[0]));
}

const struct gp_command gp_command_idle = {
	"idle",
	"idle [--least LAUNCHES] [--json] [options] RECORDING",
	"show memory that is held without being used, at the peak and over the run",
	run,
};
