/*
 * `gpuprof run`: starts a job under the library, then prints at most five lines about the
 * recordings.
 */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "input/flags.h"
#include "io/amount.h"
#include "io/message.h"
#include "report/report.h"
#include "run/launch.h"
#include "run/run_summary.h"

enum { OPTIONS_MAX = 28, STARTED_BYTES = 40 };
#define RING_LEAST (1u << 20) /* the library rounds smaller values up to this */

struct choice {
	bool is_quiet, is_nameless, is_forced;
	uint64_t keep;
	const char *library;
	struct gp_scope_rule scope;
	const char *value[OPTIONS_MAX]; /* by index in the options table; NULL: left as it is */
	char text[OPTIONS_MAX][400];	/* for --help, with the default */
};

static bool is_window(const struct gp_option *o)
{
	return o->value && strcmp(o->value, "WINDOW") == 0;
}

/* First the options of the table, then those of this command. */
static void flags_fill(struct gp_flag *flags, struct choice *c)
{
	const struct gp_option *option;
	size_t n = gp_options(&option);
	for (size_t k = 0; k < n && k < OPTIONS_MAX; k++) {
		if (!option[k].flag)
			continue;
		snprintf(c->text[k], sizeof c->text[k],
			 *option[k].initial ? "%s; default %s" : "%s", option[k].text,
			 option[k].initial);
		bool is_on_off = !option[k].value || strcmp(option[k].value, "on|off") == 0;
		*flags++ = (struct gp_flag){ option[k].flag,
					     option[k].letter,
					     is_on_off			   ? GP_FLAG_ON_OFF :
					     is_window(&option[k])	   ? GP_FLAG_OPTIONAL :
					     gp_is_choice(option[k].value) ? GP_FLAG_CHOICE :
									     GP_FLAG_TEXT,
					     is_on_off ? "on|off" : option[k].value,
					     &c->value[k],
					     c->text[k] };
	}
	const struct gp_flag own[] = {
		{ "force", 0, GP_FLAG_SWITCH, NULL, &c->is_forced,
		  "replace the file that --output names" },
		{ "keep", 0, GP_FLAG_NUMBER, "N", &c->keep,
		  "afterwards keep only the N newest recordings of this command" },
		{ "library", 0, GP_FLAG_TEXT, "FILE", &c->library,
		  "the library to preload, instead of the one beside the program" },
		{ "no-symbolize", 0, GP_FLAG_SWITCH, NULL, &c->is_nameless,
		  "store no names of native frames in the recordings" },
		{ "quiet", 'q', GP_FLAG_SWITCH, NULL, &c->is_quiet, "print nothing at the end" },
		{ 0 },
	};
	memcpy(flags, own, sizeof own);
}

/* The value of an option: from the command line, else from the environment, else the default. */
static const char *value_of(const struct choice *c, const char *variable)
{
	const struct gp_option *option;
	size_t n = gp_options(&option);
	for (size_t k = 0; k < n && k < OPTIONS_MAX; k++) {
		const char *set = getenv(option[k].variable);
		if (strcmp(option[k].variable, variable) == 0)
			return c->value[k] ? c->value[k] : set && *set ? set : option[k].initial;
	}
	return "";
}

static bool has_metrics(const struct choice *c)
{
	return *value_of(c, "GPUPROF_METRICS") != '\0';
}

/* Makes a relative name absolute: the job may change its directory before it uses the GPU. */
static void pattern_anchor(const struct choice *c, char *out, size_t capacity)
{
	const char *pattern = value_of(c, "GPUPROF_OUTPUT");
	char here[2048];
	size_t n = 0;
	if (*pattern != '/' && getcwd(here, sizeof here)) {
		for (const char *at = here; *at && n + 3 < capacity; at++) {
			out[n++] = *at;
			if (*at == '%') /* a file name, not a pattern */
				out[n++] = '%';
		}
		out[n++] = '/';
	}
	snprintf(out + n, capacity - n, "%s", pattern);
}

static size_t settings_fill(struct gp_setting *settings, const struct choice *c,
			    const char *anchored, const char *list, char *started)
{
	const struct gp_option *option;
	size_t options = gp_options(&option), n = 0;
	for (size_t k = 0; k < options && k < OPTIONS_MAX; k++)
		if (c->value[k])
			settings[n++] = (struct gp_setting){ option[k].variable, c->value[k] };
	settings[n++] = (struct gp_setting){ "GPUPROF_OUTPUT", anchored };
	if (*list)
		settings[n++] = (struct gp_setting){ "GPUPROF_LIST", list };
	/* --delay counts from here, in all processes that the command starts */
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	snprintf(started, STARTED_BYTES, "%lld%09ld", (long long)now.tv_sec, now.tv_nsec);
	settings[n++] = (struct gp_setting){ "GPUPROF_STARTED", started };
	return n;
}

static bool is_verbose(const struct choice *c)
{
	return gp_on_off_parse(value_of(c, "GPUPROF_VERBOSE")) == GP_ON;
}

static bool is_switched_off(void)
{
	const char *value = getenv("GPUPROF");
	return value && gp_on_off_parse(value) == GP_OFF;
}

static bool is_right_size(const struct gp_option *o, const char *text)
{
	uint64_t bytes;
	if (!gp_size_parse(text, &bytes))
		return gp_flags_wrong_value(o->flag, text, GP_FLAGS_SIZE);
	if (strcmp(o->flag, "ring") == 0 && bytes && bytes < RING_LEAST)
		return gp_flags_wrong_value(o->flag, text, "size of 1 MiB or more",
					    "a size is 4GiB, 1.5G or 512M; 0 keeps all");
	return true;
}

/* "1..64". */
static bool is_right_number(const struct gp_option *o, const char *text)
{
	uint64_t number;
	const struct gp_flag flag = { o->flag, 0, GP_FLAG_NUMBER, o->value, &number, o->text };
	return gp_flags_number_read(&flag, text, &number);
}

static bool is_right_events(const struct gp_option *o, const char *text)
{
	struct gp_stack_events events;
	if (gp_stack_events_parse(text, &events))
		return true;
	gp_error("bad value of '--%s': '%s' is not a list of alloc, memory, all, launch:N", o->flag,
		 text);
	gp_hint("launch:100 is every 100th launch of a thread, up to launch:999999999; "
		"memory,launch:100 is frees and allocations too");
	return false;
}

static bool has_kernel(const struct choice *c)
{
	return *value_of(c, "GPUPROF_KERNEL") != '\0';
}

/* Names with commas between them, or one of two words alone. */
static bool is_right_names(const struct choice *c, const struct gp_option *o, const char *text)
{
	const char *const word = has_kernel(c) ? "roofline" : "utilization";
	const char *const other = has_kernel(c) ? "utilization" : "roofline";
	size_t names = 0, n;
	bool has_word = false;
	for (const char *at = text; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		names += n > 0;
		has_word |= n == strlen(word) && strncmp(at, word, n) == 0;
	}
	const bool is_other = strcmp(text, other) == 0;
	if (names > 0 && !is_other && !(has_word && strcmp(text, word) != 0))
		return true;
	if (is_other)
		gp_error("'--metrics %s' %s '--kernel'", other,
			 has_kernel(c) ? "samples the whole GPU, without" :
					 "measures kernels, and needs");
	else
		gp_error("bad value of '--%s': %s%s%s", o->flag, names ? "'" : "",
			 names ? word : "no metric is named", names ? "' stands alone" : "");
	gp_hint("'--metrics utilization' samples the GPU, '--metrics roofline --kernel .' measures "
		"kernels");
	return false;
}

/* Checked here, because the library would repeat the message in each process of the job. */
static bool has_right_values(const struct choice *c)
{
	const struct gp_option *option;
	size_t n = gp_options(&option);
	uint64_t interval_ns;
	for (size_t k = 0; k < n && k < OPTIONS_MAX; k++) {
		const struct gp_option *o = &option[k];
		const char *text = c->value[k];
		if (!text || !o->value)
			continue;
		if (strcmp(o->value, "SIZE") == 0 && !is_right_size(o, text))
			return false;
		if (strcmp(o->value, "EVENTS") == 0 && !is_right_events(o, text))
			return false;
		if (strcmp(o->value, "NAMES") == 0 && !is_right_names(c, o, text))
			return false;
		if (strstr(o->value, "..") && !is_right_number(o, text))
			return false;
		if (strcmp(o->value, "TIME") == 0 && !gp_interval_parse(text, &interval_ns))
			return gp_flags_wrong_value(o->flag, text, "time from 1ms to 1s",
						    "a time is 10ms or 0.5");
		if (strcmp(o->flag, "count") == 0 && !(has_metrics(c) && has_kernel(c))) {
			gp_error("'--count' needs '--metrics' and '--kernel'");
			return false;
		}
		if (strcmp(o->flag, "interval") == 0 && (!has_metrics(c) || has_kernel(c))) {
			gp_error("'--interval' needs '--metrics' without '--kernel'");
			return false;
		}
	}
	return true;
}

static bool has_right_pattern(const struct choice *c)
{
	const char *pattern = value_of(c, "GPUPROF_OUTPUT"), *flaw = gp_output_flaw(pattern);
	if (!*pattern || strcmp(pattern, "-") == 0) {
		gp_error("bad value of '--output': '%s' is not a name of a file", pattern);
		gp_hint("'-o run.gpr' names one file, '-o run-%%p.gpr' one for each process");
		return false;
	}
	if (flaw) {
		gp_error("bad value of '--output': '%.2s' of '%s' is not a placeholder", flaw,
			 pattern);
		gp_hint("placeholders are %%h, %%p, %%t, %%r, %%l, %%n, %%j and %%q{VARIABLE}; "
			"%%%% is a "
			"percent sign");
	}
	return !flaw;
}

static void print_scope_flaw(const struct choice *c, const char *variable,
			     const struct gp_scope_flaw *flaw)
{
	const struct gp_option *o;
	gp_options(&o);
	while (strcmp(o->variable, variable) != 0)
		o++;
	const struct gp_flag flag = { o->flag, 0, GP_FLAG_TEXT, o->value, NULL, o->text };
	gp_error("bad value of '--%s': '%s' %s", o->flag, value_of(c, variable), flaw->why);
	if (flaw->hint)
		gp_hint("%s", flaw->hint);
	else
		gp_flags_hint(&flag);
}

/* Checks each word of when and what to capture, and their combination. */
static bool has_right_scope(struct choice *c)
{
	static const char *const variables[] = { NULL, "GPUPROF_DELAY", "GPUPROF_DURATION",
						 "GPUPROF_CAPTURE_RANGE",
						 "GPUPROF_CAPTURE_RANGE_END" };
	const struct gp_scope_words words = { value_of(c, variables[GP_SCOPE_WORD_DELAY]),
					      value_of(c, variables[GP_SCOPE_WORD_DURATION]),
					      value_of(c, variables[GP_SCOPE_WORD_RANGE]),
					      value_of(c, variables[GP_SCOPE_WORD_END]) };
	struct gp_scope_flaw flaw;
	if (!gp_scope_parse(&words, &c->scope, &flaw)) {
		print_scope_flaw(c, variables[flaw.word], &flaw);
		return false;
	}
	const bool has_torch = gp_on_off_parse(value_of(c, "GPUPROF_TORCH_RANGES")) != GP_OFF;
	if (c->scope.from == GP_SCOPE_STEPS && !c->scope.name[0] && !has_torch) {
		gp_error("bad value of '--torch-ranges': steps are found by optimizer ranges");
		gp_hint("step:A-B@NAME counts NVTX ranges of that name");
		return false;
	}
	if (c->scope.name[0] && !has_torch &&
	    gp_on_off_parse(value_of(c, "GPUPROF_NVTX")) == GP_OFF) {
		gp_error("bad value of '--nvtx': without it and '--torch-ranges' no range is "
			 "recorded");
		gp_hint("'--nvtx=on' records ranges of the job and its libraries, "
			"'--torch-ranges=on' those of PyTorch");
		return false;
	}
	if (!gp_scope_is_limited(&c->scope) ||
	    gp_on_off_parse(value_of(c, "GPUPROF_START")) != GP_OFF)
		return true;
	gp_error("bad value of '--start': 'off' records nothing and ignores capture ranges");
	gp_hint("'--capture-range=ctl' begins without captures, and records live memory");
	return false;
}

static bool has_right_window(const struct choice *c)
{
	const char *text = value_of(c, "GPUPROF_GPU_TIME");
	struct gp_gpu_rule rule;
	const char *why = gp_gpu_rule_parse(text, &rule);
	if (why) {
		gp_error("bad value of '--gpu-time': '%s' %s", text, why);
		gp_hint("--gpu-time=step:100-102 is three steps, step:2/100 is two of each "
			"hundred");
		return false;
	}
	if (rule.when == GP_GPU_STEPS && !rule.name[0] &&
	    gp_on_off_parse(value_of(c, "GPUPROF_TORCH_RANGES")) == GP_OFF) {
		gp_error("bad value of '--torch-ranges': steps are found by optimizer ranges");
		gp_hint("--gpu-time=step:A-B@NAME counts ranges of that name");
		return false;
	}
	return true;
}

static bool has_gpu_time(const struct choice *c)
{
	struct gp_gpu_rule rule;
	return !gp_gpu_rule_parse(value_of(c, "GPUPROF_GPU_TIME"), &rule) &&
	       rule.when != GP_GPU_NEVER;
}

/* Counters: the pattern, and what they exclude. */
static bool has_right_metrics(const struct choice *c)
{
	const char *text = value_of(c, "GPUPROF_KERNEL");
	char cause[160];
	regex_t pattern;
	if (!has_metrics(c) && *text) {
		gp_error("'--kernel' chooses what '--metrics' measures, and needs it");
		gp_hint("--metrics roofline measures the usual metrics");
		return false;
	}
	if (!has_metrics(c))
		return true;
	if (has_kernel(c) && has_gpu_time(c)) {
		gp_error("'--metrics' and '--gpu-time' exclude each other: the measured kernels "
			 "wait");
		gp_hint("record GPU time in one run and counters in another");
		return false;
	}
	if (gp_on_off_parse(value_of(c, "GPUPROF_LAUNCHES")) == GP_OFF) {
		gp_error("bad value of '--launches': counters need launches");
		return false;
	}
	if (!has_kernel(c))
		return true;
	const int flaw = regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB);
	if (flaw == 0) {
		regfree(&pattern);
		return true;
	}
	regerror(flaw, &pattern, cause, sizeof cause);
	gp_error("bad value of '--kernel': '%s' is not an extended regular expression: %s", text,
		 cause);
	return false;
}

/*
 * Refuses a pattern without a percent sign if its file exists. The library would keep that file and
 * choose another name, and later commands would read the old file.
 */
static bool is_place_free(const struct choice *c)
{
	const char *name = value_of(c, "GPUPROF_OUTPUT");
	struct stat at;
	if (is_switched_off() || strchr(name, '%') || stat(name, &at) != 0 ||
	    !(S_ISREG(at.st_mode) || S_ISDIR(at.st_mode)))
		return true;
	if (!c->is_forced || !S_ISREG(at.st_mode)) {
		gp_error("cannot record to '%s': %s", name, gp_cause(EEXIST));
		gp_hint("%s", S_ISREG(at.st_mode) ? "--force replaces it" : "name another file");
		return false;
	}
	if (unlink(name) == 0)
		return true;
	gp_error("cannot replace '%s': %s", name, gp_cause(errno));
	return false;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct choice c = { 0 };
	struct gp_flag flags[OPTIONS_MAX + 6];
	struct gp_setting settings[OPTIONS_MAX + 3];
	char started[STARTED_BYTES];
	struct gp_job_list list;
	char library[4096], anchored[4096];
	flags_fill(flags, &c);
	int words = gp_flags_parse(command, flags, argc, argv, true);
	if (words < 0)
		return gp_flags_exit(words);
	if (words == 0)
		return gp_usage(command, "no command given");
	if (!has_right_values(&c) || !has_right_pattern(&c) || !has_right_scope(&c) ||
	    !has_right_window(&c) || !has_right_metrics(&c))
		return GP_EXIT_USAGE;
	if (!gp_library_find(c.library, library, sizeof library) ||
	    ((has_gpu_time(&c) || has_metrics(&c)) && !gp_library_add(library, sizeof library)))
		return GP_EXIT_USAGE;
	if (!is_place_free(&c))
		return GP_EXIT_USAGE;
	gp_job_list_open(&list);
	pattern_anchor(&c, anchored, sizeof anchored);
	size_t count = settings_fill(settings, &c, anchored, list.path, started);
	struct gp_ending ending = gp_launch(argv, library, settings, count);
	if (ending.is_started && is_switched_off() && !c.is_quiet)
		gp_error("nothing is recorded: GPUPROF is '%s'", getenv("GPUPROF"));
	if (ending.is_started && !is_switched_off())
		gp_run_summary(&(struct gp_run_summary){ .list = &list,
							 .command = argv[0],
							 .only = value_of(&c, "GPUPROF_ONLY"),
							 .pattern = value_of(&c, "GPUPROF_OUTPUT"),
							 .scope = &c.scope,
							 .next = has_metrics(&c)  ? "counters" :
								 has_gpu_time(&c) ? "kernels" :
										    NULL,
							 .keep = c.keep,
							 .is_quiet = c.is_quiet,
							 .is_verbose = is_verbose(&c),
							 .is_symbolizing = !c.is_nameless });
	gp_job_list_close(&list);
	return gp_end_alike(&ending);
}

const struct gp_command gp_command_run = {
	.name = "run",
	.synopsis = "run [options] [--] COMMAND [ARGUMENT...]",
	.text = "record a command and everything it starts",
	.run = run,
};
