/*
 * Environment -> struct gp_settings, in the constructor: later a thread of the job may change the
 * environment while another one reads it. Runs in every preloaded process, so it only reads.
 */
#include "settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>

#include "../../format/choice.h"
#include "../../format/on_off.h"
#include "../../format/size_text.h"
#include "../../format/stack_entry.h"
#include "../record.h"

#define DEPTH_MOST 64u
#define COUNT_MOST 1000u
#define COUNT_USUAL 3u
#define INTERVAL_USUAL_NS 10000000u

extern char **environ;
extern char *program_invocation_short_name;

enum option_id {
#define OPTION(NAME, variable, flag, letter, value, initial, text) OPTION_##NAME,
#include "../../format/options.def"
#undef OPTION
	OPTIONS,
};

static const struct {
	const char *variable, *value, *initial;
} options[OPTIONS] = {
#define OPTION(NAME, variable, flag, letter, value, initial, text) { variable, value, initial },
#include "../../format/options.def"
#undef OPTION
};

static const char *option(size_t id)
{
	const char *value = getenv(options[id].variable);
	return value && *value ? value : options[id].initial;
}

/* For options that --light switches off: the option's own value has priority. */
static const char *costly_option(size_t id)
{
	const char *value = getenv(options[id].variable);
	bool is_light = gp_on_off_parse(option(OPTION_LIGHT)) == GP_ON;
	return is_light && !(value && *value) ? "off" : option(id);
}

static bool is_no(const char *text)
{
	return gp_on_off_parse(text) == GP_OFF;
}

static bool is_from_1(const char *text, unsigned long most)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && number >= 1 && number <= most;
}

static bool is_in_list(const char *list, const char *name)
{
	size_t n = strlen(name);
	while (*list) {
		size_t item = strcspn(list, ",");
		if (item == n && memcmp(list, name, n) == 0)
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

static void copy(char *out, size_t capacity, const char *text)
{
	size_t n = strlen(text);
	if (n >= capacity)
		n = capacity - 1;
	memcpy(out, text, n);
	out[n] = '\0';
}

static void read_stacks(struct gp_settings *s)
{
	const char *frames = costly_option(OPTION_STACKS), *requested = getenv("GPUPROF_STACKS");
	const bool is_both = strcmp(frames, "both") == 0, is_all = strcmp(frames, "all") == 0;
	struct gp_stack_events events = { GP_STACK_ON_ALLOC, 0 };
	gp_stack_events_parse(option(OPTION_STACK_EVENTS), &events);
	s->are_stacks_requested = requested && *requested;
	s->has_python = is_both || is_all || strcmp(frames, "python") == 0;
	s->has_native = is_both || is_all || strcmp(frames, "native") == 0;
	s->has_native_up_to_python = is_both;
	s->stacks = s->has_python || s->has_native ? events.on : 0;
	if (!s->has_python && !s->has_native)
		s->no_stacks = s->are_stacks_requested ? "--stacks=off" : "--light";
	s->launch_every = s->stacks ? events.every : 0;
	const char *depth = option(OPTION_STACK_DEPTH);
	s->stack_depth =
		is_from_1(depth, DEPTH_MOST) ? (uint32_t)strtoul(depth, NULL, 10) : DEPTH_MOST;
	s->stacks_most = 16u * GP_STACK_CHUNK; /* 32 MiB, provided as they are used */
}

static struct gp_scope_words scope_words(void)
{
	return (struct gp_scope_words){ option(OPTION_DELAY), option(OPTION_DURATION),
					option(OPTION_CAPTURE_RANGE),
					option(OPTION_CAPTURE_RANGE_END) };
}

/*
 * `gpuprof run` passes the time at which it started the command. A time of another boot, or in the
 * future, is invalid.
 */
static uint64_t job_start_ns(void)
{
	const char *text = getenv("GPUPROF_STARTED");
	uint64_t now = gp_now_ns();
	uint64_t printed = text && *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : now;
	return printed < now ? printed : now;
}

static void read_scope(struct gp_settings *s)
{
	const struct gp_scope_words words = scope_words();
	struct gp_scope_flaw flaw;
	const struct {
		const char *name, *value, *nothing;
	} parts[] = { { "delay=", words.delay, "" },
		      { " duration=", words.duration, "" },
		      { " range=", words.range, "none" },
		      { " end=", words.range_end, "outside" } };
	s->job_ns = job_start_ns();
	s->stacks_outside = strcmp(option(OPTION_OUTSIDE), "stacks") == 0 ? s->stacks : 0;
	s->scope_words[0] = '\0';
	gp_scope_parse(&words, &s->scope, &flaw);
	if (!s->is_started) /* a recording that begins stopped follows no rule */
		s->scope = (struct gp_scope_rule){ .from = GP_SCOPE_ALL };
	if (!gp_scope_is_limited(&s->scope))
		return;
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
		if (*parts[k].value == '\0' || strcmp(parts[k].value, parts[k].nothing) == 0)
			continue;
		size_t at = strlen(s->scope_words);
		copy(s->scope_words + at, sizeof s->scope_words - at,
		     parts[k].name + (at == 0 && *parts[k].name == ' '));
		at = strlen(s->scope_words);
		copy(s->scope_words + at, sizeof s->scope_words - at, parts[k].value);
	}
}

static void settings_judge(void);

void gp_settings_read(void)
{
	struct gp_settings *s = &gp_settings;
	const char *only = option(OPTION_ONLY);
	/* a setuid program must not obey the caller's variables */
	s->is_on = !getauxval(AT_SECURE) && !is_no(option(OPTION_SWITCH));
	if (*only && !is_in_list(only, program_invocation_short_name))
		s->is_on = false;
	s->is_verbose = gp_on_off_parse(option(OPTION_VERBOSE)) == GP_ON;
	s->has_launches = !is_no(option(OPTION_LAUNCHES));
	s->is_started = !is_no(option(OPTION_START));
	s->has_nvtx = !is_no(option(OPTION_NVTX));
	const char *details = costly_option(OPTION_ALLOCATOR_DETAILS);
	s->has_allocator_details = strcmp(details, "off") != 0;
	s->has_untried_details = strcmp(details, "on") == 0;
	s->has_torch_ranges = !is_no(option(OPTION_TORCH_RANGES));
	s->has_backward_modules = gp_on_off_parse(option(OPTION_BACKWARD_MODULES)) == GP_ON;
	s->has_uses = gp_on_off_parse(option(OPTION_USES)) == GP_ON;
	read_stacks(s);
	read_scope(s);
	gp_scope_follow = s->scope.from;
	gp_gpu_rule_parse(option(OPTION_GPU_TIME), &s->gpu_time);
	copy(s->metrics, sizeof s->metrics, option(OPTION_METRICS));
	copy(s->kernel, sizeof s->kernel, option(OPTION_KERNEL));
	/* they exclude each other: run refuses both, counters win here */
	if (*s->metrics && *s->kernel)
		s->gpu_time.when = GP_GPU_NEVER;
	const char *count = option(OPTION_COUNT);
	s->count = is_from_1(count, COUNT_MOST) ? (uint32_t)strtoul(count, NULL, 10) : COUNT_USUAL;
	if (!gp_interval_parse(option(OPTION_INTERVAL), &s->interval_ns))
		s->interval_ns = INTERVAL_USUAL_NS;
	gp_scope_heeds = s->scope.from == GP_SCOPE_RANGE || s->scope.from == GP_SCOPE_STEPS ||
			 s->gpu_time.when == GP_GPU_STEPS;
	copy(s->output, sizeof s->output, option(OPTION_OUTPUT));
	copy(s->ring_dir, sizeof s->ring_dir, option(OPTION_RING_DIR));
	const char *list = getenv("GPUPROF_LIST");
	copy(s->list, sizeof s->list, list ? list : "");
	s->ring_bytes = 512u << 20;
	gp_size_parse(option(OPTION_RING), &s->ring_bytes);
	s->memory_bytes = 0;
	gp_size_parse(option(OPTION_MEMORY), &s->memory_bytes);
	if (s->is_on)
		settings_judge();
}

static bool is_known(const char *entry, size_t name)
{
	static const char *const internal[] = { "GPUPROF_LIST", "GPUPROF_LIB", "GPUPROF_STARTED",
						"GPUPROF_PAGER" };
	for (size_t k = 0; k < sizeof internal / sizeof *internal; k++)
		if (strlen(internal[k]) == name && memcmp(entry, internal[k], name) == 0)
			return true;
	for (size_t k = 0; k < OPTIONS; k++)
		if (strlen(options[k].variable) == name &&
		    memcmp(entry, options[k].variable, name) == 0)
			return true;
	return false;
}

/* ---- messages on the variables of a recorded process ---- */

/* Lines, each ending with a 0; gp_log recognises a printed line by its address. */
static char flaws[4096];
static size_t flaws_used;

/* Values are untrusted text, and the line goes to a terminal. */
__attribute__((format(printf, 1, 2))) static void settings_keep(const char *format, ...)
{
	char *line = flaws + flaws_used;
	const size_t room = sizeof flaws - flaws_used;
	va_list values;
	va_start(values, format);
	const int n = vsnprintf(line, room, format, values);
	va_end(values);
	if (n < 0 || (size_t)n >= room)
		return;
	flaws_used += (size_t)n + 1;
	for (; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = '?';
}

/* "one|other" as "one, other". */
static const char *separated(const char *words, char out[120])
{
	size_t at = 0;
	for (; *words && at < 120 - 3; words++) {
		out[at++] = *words == '|' ? ',' : *words;
		if (*words == '|')
			out[at++] = ' ';
	}
	out[at] = '\0';
	return out;
}

static void judge_value(size_t k)
{
	const char *text = option(k), *cause = NULL, *flaw = NULL;
	char words[120] = "";
	uint64_t bytes;
	struct gp_stack_events events;
	struct gp_gpu_rule rule;
	if (strcmp(options[k].value, "SIZE") == 0 && !gp_size_parse(text, &bytes))
		cause = "is not a size";
	else if (gp_is_choice(options[k].value) && !gp_is_chosen(options[k].value, text))
		cause = "is not one of ", separated(options[k].value, words);
	else if (strcmp(options[k].value, "EVENTS") == 0 && !gp_stack_events_parse(text, &events))
		cause = "is not a list of alloc, memory, all, launch:N";
	else if (strcmp(options[k].value, "WINDOW") == 0)
		cause = gp_gpu_rule_parse(text, &rule);
	else if (strcmp(options[k].value, "TIME") == 0 && !gp_interval_parse(text, &bytes))
		cause = "is not a time from 1ms to 1s";
	else if (strcmp(options[k].value, "1..64") == 0 && !is_from_1(text, DEPTH_MOST))
		cause = "is not a number from 1 to 64";
	else if (strcmp(options[k].value, "1..1000") == 0 && !is_from_1(text, COUNT_MOST))
		cause = "is not a number from 1 to 1000";
	else if (!gp_is_choice(options[k].value) && strstr(options[k].value, "off") &&
		 gp_on_off_parse(text) == GP_NEITHER)
		cause = "is neither on nor off";
	else if (strcmp(options[k].value, "PATTERN") == 0 && (flaw = gp_output_flaw(text)))
		cause = "has no meaning and stays as it is";
	if (cause)
		settings_keep("bad value of '%s': '%.*s' %s%s", options[k].variable, flaw ? 2 : 60,
			      flaw ? flaw : text, cause, words);
}

/* Then everything is captured. */
static void judge_scope(void)
{
	static const enum option_id options_of[] = { OPTION_DELAY, OPTION_DELAY, OPTION_DURATION,
						     OPTION_CAPTURE_RANGE,
						     OPTION_CAPTURE_RANGE_END };
	const struct gp_scope_words words = scope_words();
	struct gp_scope_rule rule;
	struct gp_scope_flaw flaw;
	if (!gp_scope_parse(&words, &rule, &flaw)) {
		const enum option_id id = options_of[flaw.word];
		settings_keep("all is captured: bad value of '%s': '%.60s' %s",
			      options[id].variable, option(id), flaw.why);
	} else if (gp_scope_is_limited(&rule) && !gp_settings.is_started) {
		settings_keep("GPUPROF_START is off: no capture range is followed");
	}
}

static void judge_names(void)
{
	for (char **entry = environ; entry && *entry; entry++) {
		const char *equal = strchr(*entry, '=');
		if (!equal || strncmp(*entry, "GPUPROF_", 8) != 0)
			continue;
		const size_t name = (size_t)(equal - *entry);
		if (!is_known(*entry, name))
			settings_keep("unknown variable '%.*s'", name < 60 ? (int)name : 60,
				      *entry);
	}
}

static void settings_judge(void)
{
	flaws_used = 0;
	for (size_t k = 0; k < OPTIONS; k++)
		judge_value(k);
	judge_scope();
	judge_names();
}

void gp_settings_warn(void)
{
	for (size_t at = 0; at < flaws_used; at += strlen(flaws + at) + 1)
		gp_log(true, flaws + at, NULL);
}
