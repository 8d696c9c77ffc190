/*
 * `gpuprof phases`: what the job said it was doing, as a tree: calls, time, memory and launches of
 * each range.
 */
#include <string.h>

#include "amount.h"
#include "flags.h"
#include "inputs.h"
#include "message.h"
#include "phases_report.h"

static int run(int argc, char **argv);
const struct gp_command gp_command_phases = {
	"phases",
	"phases [--json] [--device N] [--of CURVE] [--from TIME] [--to TIME] [--depth N] [--top N] "
	"[--fold N] [--own-thread] [--as-told | --frames] [-o FILE [--force]] RECORDING",
	"show calls, time, memory and launches of each phase, by the job's ranges or stacks",
	run,
};

static enum gp_curve of_choose(const char *text)
{
	return !text			   ? GP_CURVES :
	       strcmp(text, "driver") == 0 ? GP_CURVE_DRIVER :
					     GP_CURVE_ALLOCATED;
}

static int report(struct gp_phases_report *p, const char *file, bool is_forced)
{
	struct gp_sink sink;
	char *path = (char *)p->path;
	enum gp_status status = gp_phases_build(p->recording, &p->asked, &p->phases);
	if (status)
		return gp_report_failed("read", p->path, status);
	int opened = gp_sink_open(&sink, file, is_forced, &path, 1);
	if (opened)
		return opened;
	p->out = sink.out;
	sink.has_report = true;
	if (p->is_json)
		gp_phases_write(p);
	else
		gp_phases_print(p);
	return gp_sink_close(&sink, gp_report_exit(p->path, p->info));
}

static int open_and_report(struct gp_phases_report *p, const char *from, const char *to,
			   const char *file, bool is_forced)
{
	int exit_status = GP_EXIT_USAGE;
	p->recording = gp_report_open(p->path, &p->info, &exit_status);
	if (!p->recording)
		return exit_status;
	const int64_t device = p->asked.device == GP_DEVICE_UNKNOWN ? -1 : (int64_t)p->asked.device;
	if (gp_report_has_device(p->path, p->info, device) &&
	    gp_span_find(p->recording, from, to, &p->asked.from_ns, &p->asked.to_ns))
		exit_status = report(p, file, is_forced);
	gp_phases_free(&p->phases);
	gp_recording_close(p->recording);
	return exit_status;
}

static int run(int argc, char **argv)
{
	struct gp_phases_report p = { .asked = { .from_ns = INT64_MIN, .to_ns = INT64_MAX },
				      .depth = UINT64_MAX,
				      .top = GP_PHASES_TOP };
	uint64_t fold = GP_PHASES_FOLD;
	const char *from = NULL, *to = NULL, *of = NULL, *file = NULL;
	int64_t device;
	bool is_forced = false;
	const struct gp_flag flags[] = {
		{ "json", 0, GP_FLAG_SWITCH, NULL, &p.is_json, "as JSON" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &device,
		  "memory and launches of this device alone" },
		{ "of", 0, GP_FLAG_CHOICE, "CURVE=allocated|driver", &of, "memory of this curve" },
		{ "from", 0, GP_FLAG_TEXT, "TIME", &from,
		  "from this moment: 1.5s, 20ms, start, end, peak, oom, step:3" },
		{ "to", 0, GP_FLAG_TEXT, "TIME", &to, "up to this moment" },
		{ "depth", 0, GP_FLAG_NUMBER, "N", &p.depth, "N levels of ranges at most" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &p.top,
		  "the first N ranges of a level; 0: all. Default 20, with --json all" },
		{ "fold", 0, GP_FLAG_NUMBER, "N", &fold,
		  "names that count up are one where there are more than N; 0: never. Default 5, "
		  "with --json 0" },
		{ "own-thread", 0, GP_FLAG_SWITCH, NULL, &p.asked.is_own_thread,
		  "work belongs to ranges of its own thread alone, that of autograd's too" },
		{ "as-told", 0, GP_FLAG_SWITCH, NULL, &p.asked.is_as_told,
		  "ranges of the recording alone: no forward is derived, no frames are read" },
		{ "frames", 0, GP_FLAG_SWITCH, NULL, &p.asked.is_by_frames,
		  "phases as stacks show them, in the place of ranges; default where there are "
		  "none" },
		GP_FLAGS_OUTPUT(&file, &is_forced),
		{ 0 },
	};
	int words = gp_inputs_parse(&gp_command_phases, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	if (!gp_inputs_is_one(&gp_command_phases, "phases", words))
		return GP_EXIT_USAGE;
	if (p.asked.is_as_told && p.asked.is_by_frames)
		return gp_usage(&gp_command_phases, "'--as-told' with '--frames'");
	p.asked.of = of_choose(of);
	p.asked.device = device < 0 ? GP_DEVICE_UNKNOWN : (unsigned)device;
	p.asked.fold = fold != GP_PHASES_FOLD ? fold : p.is_json ? 0 : 5;
	p.path = argv[0];
	return open_and_report(&p, from, to, file, is_forced);
}
