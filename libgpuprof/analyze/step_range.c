/* Names are compared without case, numbers and what stands between words. */
#include "step_range.h"

#include <ctype.h>
#include <string.h>

#define COUNT_MIN 3u
#define NAME_MAX_BYTES 32u
#define THREADS 4096u
#define NESTED_MOST 8u /* in one that is no step's: where more are, an end is missing */

/* The first that comes often enough is the one. */
static const char *const names[] = {
	"profilerstep", "trainstep", "trainingstep", "globalstep",  "step",	 "iteration",
	"iter",		"trainiter", "trainbatch",   "batch",	    "minibatch", "decodestep",
	"enginestep",	"modelstep", "servestep",    "requeststep",
};
_Static_assert(sizeof names / sizeof *names == GP_STEP_NAMES, "a counter each");

/* 1 + kind of name; 0: none of them. */
static unsigned kind_of(const char *text)
{
	char name[NAME_MAX_BYTES];
	size_t n = 0;
	for (; *text != '\0'; text++) {
		if (!isalpha((unsigned char)*text))
			continue;
		if (n + 1 == sizeof name)
			return 0;
		name[n++] = (char)tolower((unsigned char)*text);
	}
	name[n] = '\0';
	for (unsigned k = 0; k < GP_STEP_NAMES; k++)
		if (strcmp(name, names[k]) == 0)
			return k + 1;
	return 0;
}

/* The text of a range that begins with this event; NULL: none does, or it is not known. */
static const char *text_of(const struct gp_recording *r, const struct gp_record *record)
{
	if (record->kind == GP_RANGE_PUSH)
		return gp_recording_text(r, GP_RANGE_NAME, record->aux);
	if (record->kind == GP_RANGE_START)
		return gp_recording_text(r, GP_RANGE_NAME, record->aux);
	return NULL;
}

static bool is_optimizer(const char *text)
{
	static const char prefix[] = "Optimizer.step#"; /* PyTorch 1.8 and newer */
	return strncmp(text, prefix, sizeof prefix - 1) == 0;
}

/* ---- which of them are open ---- */

#define AN_OPTIMIZER 0xffu
_Static_assert(GP_STEP_NAMES < AN_OPTIMIZER, "kinds of names are below");

static unsigned kind_of_range(const struct gp_step_ranges *s, const struct gp_open_range *range)
{
	const char *text = NULL;
	if (range->source != 0)
		text = gp_recording_text(s->recording, GP_RANGE_NAME, range->name);
	if (text == NULL)
		return 0;
	return is_optimizer(text) ? AN_OPTIMIZER : kind_of(text);
}

static void see_optimizer(struct gp_step_ranges *s, struct gp_open_range *range)
{
	s->updates += s->open_optimizers == 0 && !s->is_behind_optimizer;
	s->open_optimizers++;
	range->mark = AN_OPTIMIZER;
}

static bool is_inside(const struct gp_range_stack *stack, unsigned kind)
{
	for (uint32_t k = 0; stack != NULL && k + 1 < stack->depth; k++)
		if ((stack->range[k].mark & 0xff) == kind)
			return true;
	return false;
}

/* A mark: the kind, and above it how many were nested by then. */
static void see_opened(void *context, struct gp_open_range *range,
		       const struct gp_range_stack *stack)
{
	struct gp_step_ranges *s = context;
	const unsigned kind = kind_of_range(s, range);
	if (kind == AN_OPTIMIZER)
		see_optimizer(s, range);
	if (kind == 0 || kind == AN_OPTIMIZER)
		return;
	struct gp_step_name *name = &s->of[kind - 1];
	name->around += name->ended_around;
	name->ended_around = 0;
	name->nested += is_inside(stack, kind);
	name->open++;
	range->mark = name->nested << 8 | kind;
}

static void see_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
		       const struct gp_record *by)
{
	struct gp_step_ranges *s = context;
	(void)by;
	if (range->mark == AN_OPTIMIZER)
		s->is_behind_optimizer = --s->open_optimizers == 0;
	if (range->mark == 0 || range->mark == AN_OPTIMIZER)
		return;
	struct gp_step_name *name = &s->of[(range->mark & 0xff) - 1];
	name->open--;
	name->ended_around += how == GP_RANGE_ENDED && name->nested > range->mark >> 8;
}

enum gp_status gp_step_ranges_open(struct gp_step_ranges *s, const struct gp_recording *recording)
{
	*s = (struct gp_step_ranges){ .recording = recording,
				      .ranges = gp_open_ranges_open(THREADS),
				      .watch = { see_opened, see_closed, s } };
	if (s->ranges == NULL)
		return GP_E_MEMORY;
	gp_open_ranges_watch(s->ranges, &s->watch);
	return GP_OK;
}

void gp_step_ranges_close(struct gp_step_ranges *s)
{
	if (s->ranges != NULL)
		gp_open_ranges_close(s->ranges);
	s->ranges = NULL;
}

void gp_step_ranges_see(struct gp_step_ranges *s, uint32_t thread, const struct gp_record *record,
			bool is_token)
{
	const char *text = text_of(s->recording, record);
	const bool ends_step = text != NULL && is_optimizer(text);
	const unsigned kind = text != NULL ? kind_of(text) : 0;
	if (kind > 0)
		s->of[kind - 1].count++;
	s->optimizers += ends_step;
	s->is_behind_optimizer = s->is_behind_optimizer && !is_token;
	for (unsigned k = 0; (is_token || ends_step) && k < GP_STEP_NAMES; k++) {
		s->of[k].tokens += is_token && s->of[k].open > 0;
		s->of[k].optimizers += ends_step && s->of[k].open > 0;
	}
	if (gp_is_range(record->kind))
		gp_open_ranges_apply(s->ranges, thread, record);
}

/* ---- the choice ---- */

/* A profiler that ran for a few steps names those alone. */
static bool is_of_few(const struct gp_step_ranges *s, const struct gp_step_name *name)
{
	return name->count * 2 < s->optimizers && name->optimizers * 2 < s->optimizers;
}

bool gp_step_ranges_choose(struct gp_step_ranges *s)
{
	uint64_t most = 0;
	s->chosen = 0;
	for (unsigned k = 0; k < GP_STEP_NAMES; k++)
		if (s->of[k].count >= COUNT_MIN && s->of[k].tokens > most)
			most = s->of[k].tokens;
	for (unsigned k = GP_STEP_NAMES; k > 0; k--) {
		const struct gp_step_name *name = &s->of[k - 1];
		if (name->count >= COUNT_MIN && name->tokens * 2 >= most && !is_of_few(s, name))
			s->chosen = k;
	}
	if (s->chosen == 0)
		return false;
	const struct gp_step_name *name = &s->of[s->chosen - 1];
	s->is_unended = name->around * NESTED_MOST < name->nested;
	return true;
}

enum gp_step_range gp_step_range_of(const struct gp_step_ranges *ranges,
				    const struct gp_recording *r, const struct gp_record *record)
{
	const char *text = text_of(r, record);
	if (text == NULL)
		return GP_RANGE_OTHER;
	if (ranges->chosen > 0 && kind_of(text) == ranges->chosen)
		return GP_RANGE_STEP;
	return is_optimizer(text) ? GP_RANGE_OPTIMIZER : GP_RANGE_OTHER;
}
