/* Parses the capture options and checks their combinations. */
#include "scope_rule.h"

#include <string.h>
#include <strings.h>

#include "on_off.h"

#define LONGEST_NS 3155760000000000000u /* a hundred years */

bool gp_scope_time_parse(const char *text, uint64_t *out_ns)
{
	uint64_t whole = 0, part = 0, unit = 1000000000;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++) {
		whole = whole * 10 + (uint64_t)(*at - '0');
		if (whole > LONGEST_NS / 1000000)
			return false;
	}
	if (at == text)
		return false;
	const char *point = at;
	uint64_t scale = 1000000000;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++)
			if (scale > 1) {
				scale /= 10;
				part += (uint64_t)(*at - '0') * scale;
			}
	if (*point == '.' && at == point + 1)
		return false;
	if (strcmp(at, "ms") == 0)
		unit = 1000000;
	else if (*at != '\0' && strcmp(at, "s") != 0)
		return false;
	if (whole > LONGEST_NS / unit)
		return false;
	*out_ns = whole * unit + part / (1000000000 / unit);
	return true;
}

bool gp_interval_parse(const char *text, uint64_t *out_ns)
{
	return gp_scope_time_parse(text, out_ns) && *out_ns >= 1000000 && *out_ns <= 1000000000;
}

/* A number from 1 to 10^15; leaves `*text` after it. */
static bool number_parse(const char **text, uint64_t *out)
{
	uint64_t number = 0;
	const char *at = *text;
	for (; *at >= '0' && *at <= '9' && number < 100000000000000u; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	if (at == *text || (*at >= '0' && *at <= '9') || number == 0)
		return false;
	*text = at;
	*out = number;
	return true;
}

/* Up to a @, where \@ stands for a @ itself. False: too long. */
static bool name_parse(const char **text, char *out)
{
	size_t n = 0;
	const char *at = *text;
	for (; *at != '\0' && *at != '@'; at++) {
		if (*at == '\\' && at[1] == '@')
			at++;
		if (n + 1 == GP_SCOPE_NAME_MAX)
			return false;
		out[n++] = *at;
	}
	out[n] = '\0';
	*text = at;
	return true;
}

static const char *nvtx_parse(const char *at, struct gp_scope_rule *rule)
{
	rule->from = GP_SCOPE_RANGE;
	if (!name_parse(&at, rule->name))
		return "has too long a name";
	if (rule->name[0] == '\0')
		return "names no range";
	if (*at == '@' && (at++, !name_parse(&at, rule->domain) || *at != '\0'))
		return "has a domain that is not a name";
	return NULL;
}

static const char no_steps[] = "is neither a step nor a range of steps, from 1 on";

/* "A" or "A-B", and the "@NAME" behind it; "": none. */
static const char *step_range_parse(const char **text, uint64_t *first, uint64_t *last)
{
	if (!number_parse(text, first))
		return no_steps;
	*last = *first;
	if (**text == '-' && (++*text, !number_parse(text, last)))
		return no_steps;
	return *last < *first ? "ends before its first step" : NULL;
}

static const char *step_name_parse(const char *at, char *name)
{
	name[0] = '\0';
	if (*at == '\0')
		return NULL;
	if (*at++ != '@')
		return no_steps;
	return !name_parse(&at, name) || name[0] == '\0' || *at != '\0' ?
		       "has no name of a range after @" :
		       NULL;
}

static const char *steps_parse(const char *at, struct gp_scope_rule *rule)
{
	rule->from = GP_SCOPE_STEPS;
	const char *why = step_range_parse(&at, &rule->first_step, &rule->last_step);
	if (!why)
		why = step_name_parse(at, rule->name);
	if (rule->name[0])
		strcpy(rule->domain, "*");
	return why;
}

/* "K/N": the last K of each N. */
static bool share_parse(const char **text, struct gp_gpu_rule *rule)
{
	uint64_t count;
	const char *at = *text;
	if (!number_parse(&at, &count) || *at++ != '/' || !number_parse(&at, &rule->every) ||
	    count > rule->every)
		return false;
	rule->first_step = rule->every - count + 1;
	rule->last_step = rule->every;
	*text = at;
	return true;
}

const char *gp_gpu_rule_parse(const char *text, struct gp_gpu_rule *out)
{
	const char *why = "is not one of always, off, step:A-B, step:K/N", *at = text + 5;
	*out = (struct gp_gpu_rule){ .when = GP_GPU_NEVER };
	if (gp_on_off_parse(text) == GP_OFF)
		return NULL;
	if (gp_on_off_parse(text) == GP_ON || strcmp(text, "always") == 0) {
		out->when = GP_GPU_ALWAYS;
		return NULL;
	}
	if (strncmp(text, "step:", 5) != 0)
		return why;
	out->when = GP_GPU_STEPS;
	why = share_parse(&at, out) ? NULL :
				      step_range_parse(&at, &out->first_step, &out->last_step);
	if (!why)
		why = step_name_parse(at, out->name);
	if (why)
		*out = (struct gp_gpu_rule){ .when = GP_GPU_NEVER };
	return why;
}

bool gp_gpu_rule_has(const struct gp_gpu_rule *rule, uint64_t step)
{
	if (rule->when != GP_GPU_STEPS)
		return rule->when == GP_GPU_ALWAYS;
	const uint64_t place = rule->every ? (step - 1) % rule->every + 1 : step;
	return place >= rule->first_step && place <= rule->last_step;
}

static const char *range_parse(const char *text, struct gp_scope_rule *rule)
{
	if (text[0] == '\0' || strcmp(text, "none") == 0)
		return NULL;
	if (strcmp(text, "cudaProfilerApi") == 0)
		rule->from = GP_SCOPE_PROFILER;
	else if (strcmp(text, "ctl") == 0)
		rule->from = GP_SCOPE_ORDERS;
	else if (strncmp(text, "nvtx:", 5) == 0)
		return nvtx_parse(text + 5, rule);
	else if (strncmp(text, "step:", 5) == 0)
		return steps_parse(text + 5, rule);
	else
		return "is not one of none, cudaProfilerApi, nvtx:NAME, step:A-B, ctl";
	return NULL;
}

/* Values that users of nsys may have meant. */
static const char *range_hint(const char *text)
{
	if (strncasecmp(text, "cuda", 4) == 0)
		return "did you mean 'cudaProfilerApi'?";
	if (strcmp(text, "nvtx") == 0)
		return "'-c nvtx -p NAME@DOMAIN' of nsys is '-c nvtx:NAME@DOMAIN'";
	if (strncmp(text, "step", 4) == 0)
		return "steps are step:10, step:10-12, step:10-12@NAME";
	return NULL;
}

/* "WORD:N". */
static bool counted_parse(const char *text, const char *word, uint64_t *times)
{
	const size_t n = strlen(word);
	if (strncmp(text, word, n) != 0 || text[n] != ':')
		return false;
	const char *at = text + n + 1;
	return number_parse(&at, times) && *at == '\0';
}

static const char *end_parse(const char *text, struct gp_scope_rule *rule)
{
	rule->then = GP_SCOPE_OUTSIDE;
	rule->times = 1;
	if (text[0] == '\0' || strcmp(text, "outside") == 0 ||
	    counted_parse(text, "outside", &rule->times))
		return NULL;
	if (strcmp(text, "repeat") == 0)
		rule->times = 0;
	else if (strcmp(text, "stop") == 0 || counted_parse(text, "repeat", &rule->times))
		rule->then = GP_SCOPE_STOP;
	else if (strcmp(text, "none") == 0)
		rule->then = GP_SCOPE_NONE;
	else
		return "is not one of outside, outside:N, stop, repeat, repeat:N, none";
	return NULL;
}

static const char *together_flaw(const struct gp_scope_words *words,
				 const struct gp_scope_rule *rule, enum gp_scope_word *word)
{
	const bool has_range = rule->from == GP_SCOPE_PROFILER || rule->from == GP_SCOPE_RANGE ||
			       rule->from == GP_SCOPE_STEPS;
	*word = GP_SCOPE_WORD_DELAY;
	if (rule->delay_ns && rule->from != GP_SCOPE_ALL)
		return "excludes a capture range, which has its own begin";
	*word = GP_SCOPE_WORD_END;
	/* the clock ends only one span */
	if (rule->from == GP_SCOPE_ALL && rule->duration_ns && rule->then != GP_SCOPE_NONE &&
	    rule->times == 1)
		return NULL;
	const bool is_default = !words->range_end[0] || strcmp(words->range_end, "outside") == 0;
	if (!is_default && !has_range)
		return rule->duration_ns ? "must be outside or stop where no capture "
					   "range is given" :
					   "requires a capture range";
	if (rule->from == GP_SCOPE_STEPS && (rule->then == GP_SCOPE_NONE || rule->times != 1))
		return "repeats steps, which come once";
	return NULL;
}

static struct gp_scope_flaw flaw_of(const struct gp_scope_words *words, struct gp_scope_rule *rule)
{
	static const char no_time[] = "is not a time above 0";
	struct gp_scope_flaw flaw = { GP_SCOPE_WORD_NONE, NULL, NULL };
	if (words->delay[0] != '\0' && !gp_scope_time_parse(words->delay, &rule->delay_ns))
		return (struct gp_scope_flaw){ GP_SCOPE_WORD_DELAY, "is not a time",
					       "times are 5, 1.5, 20ms" };
	if (words->duration[0] != '\0' &&
	    (!gp_scope_time_parse(words->duration, &rule->duration_ns) || !rule->duration_ns))
		return (struct gp_scope_flaw){ GP_SCOPE_WORD_DURATION, no_time,
					       "times are 5, 1.5, 20ms" };
	if ((flaw.why = range_parse(words->range, rule)) != NULL)
		flaw = (struct gp_scope_flaw){ GP_SCOPE_WORD_RANGE, flaw.why,
					       range_hint(words->range) };
	else if ((flaw.why = end_parse(words->range_end, rule)) != NULL)
		flaw = (struct gp_scope_flaw){
			GP_SCOPE_WORD_END, flaw.why,
			strstr(words->range_end, "shutdown") ?
				"a job is never ended: 'stop' ends the recording of it" :
				NULL
		};
	if (flaw.why)
		return flaw;
	flaw.why = together_flaw(words, rule, &flaw.word);
	if (!flaw.why)
		flaw.word = GP_SCOPE_WORD_NONE;
	return flaw;
}

bool gp_scope_parse(const struct gp_scope_words *words, struct gp_scope_rule *out,
		    struct gp_scope_flaw *flaw)
{
	*out = (struct gp_scope_rule){ .from = GP_SCOPE_ALL };
	*flaw = flaw_of(words, out);
	if (flaw->why)
		*out = (struct gp_scope_rule){ .from = GP_SCOPE_ALL };
	return flaw->why == NULL;
}

bool gp_scope_is_limited(const struct gp_scope_rule *rule)
{
	return rule->from != GP_SCOPE_ALL || rule->delay_ns != 0 || rule->duration_ns != 0;
}

static bool is_text(const char *text, const char *other, uint64_t bytes)
{
	return strlen(text) == bytes && memcmp(text, other, bytes) == 0;
}

bool gp_scope_is_named(const struct gp_scope_rule *rule, const char *name, uint64_t bytes,
		       const char *domain, uint64_t domain_bytes)
{
	if (!is_text(rule->name, name, bytes))
		return false;
	return strcmp(rule->domain, "*") == 0 ||
	       is_text(rule->domain, domain ? domain : "", domain ? domain_bytes : 0);
}
