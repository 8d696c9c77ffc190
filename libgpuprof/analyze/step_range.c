/* Names are compared without case, numbers and what stands between words. */
#include "step_range.h"

#include <ctype.h>
#include <string.h>

#define COUNT_MIN 3u
#define NAME_MAX_BYTES 32u

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

void gp_step_ranges_see(struct gp_step_ranges *ranges, const struct gp_recording *r,
			const struct gp_record *record)
{
	const char *text = text_of(r, record);
	if (text == NULL)
		return;
	unsigned kind = kind_of(text);
	if (kind > 0)
		ranges->count[kind - 1]++;
	ranges->optimizers += is_optimizer(text);
}

bool gp_step_ranges_choose(struct gp_step_ranges *ranges)
{
	ranges->chosen = 0;
	for (unsigned k = GP_STEP_NAMES; k > 0; k--)
		if (ranges->count[k - 1] >= COUNT_MIN)
			ranges->chosen = k;
	return ranges->chosen > 0;
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
