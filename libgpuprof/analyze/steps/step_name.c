/* Names are compared without case, numbers and what stands between words. */
#include "step_name.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define NAME_MAX_BYTES 64u

static const char *const names[] = {
	"profilerstep",
	"trainstep",
	"trainingstep",
	"globalstep",
	"runtrainingbatch", /* of Lightning */
	"step",
	"trainiteration",
	"trainingiteration",
	"iteration",
	"bodyofiteration", /* of apex's and NVIDIA's examples */
	"iter",
	"trainiter",
	"trainbatch",
	"trainingbatch",
	"batch",
	"minibatch",
	"decodestep",
	"enginestep",
	"modelstep",
	"servestep",
	"requeststep",
};
#define NAMES (sizeof names / sizeof *names)

/* A number behind one of them counts: "denoising step 3". */
static const char *const counted[] = { "step", "iteration", "iter", "batch" };

static uint64_t name_hash(const char *text)
{
	/* FNV-1a, 64 bits */
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash | 1;
}

/* Where what names it ends: "_forward_step 12: 0 ctx reqs" goes on with details. */
static size_t name_length(const char *text)
{
	const char *colon = strstr(text, ": ");
	bool has_number = colon != NULL && colon > text && isdigit((unsigned char)colon[-1]);
	return has_number ? (size_t)(colon - text) : strlen(text);
}

/* Letters alone, small ones. False: there are too many. */
static bool name_letters(const char *text, size_t length, char name[NAME_MAX_BYTES])
{
	size_t n = 0;
	for (size_t k = 0; k < length; k++) {
		if (!isalpha((unsigned char)text[k]))
			continue;
		if (n + 1 == NAME_MAX_BYTES)
			return false;
		name[n++] = (char)tolower((unsigned char)text[k]);
	}
	name[n] = '\0';
	return true;
}

/* Does one of `counted` stand before the number with which the text ends? */
static bool name_is_counted(const char *text, size_t length)
{
	size_t end = length;
	while (end > 0 && isdigit((unsigned char)text[end - 1]))
		end--;
	if (end == length)
		return false;
	while (end > 0 && !isalnum((unsigned char)text[end - 1]))
		end--;
	for (size_t k = 0; k < sizeof counted / sizeof *counted; k++) {
		size_t n = strlen(counted[k]);
		bool is_word = end >= n && (end == n || !isalpha((unsigned char)text[end - n - 1]));
		bool is_it = is_word;
		for (size_t at = 0; is_it && at < n; at++)
			is_it = tolower((unsigned char)text[end - n + at]) == counted[k][at];
		if (is_it)
			return true;
	}
	return false;
}

uint64_t gp_step_name_kind(const char *text, const char *wanted)
{
	static const char lightning[] = "[pl][profile]";
	char name[NAME_MAX_BYTES], other[NAME_MAX_BYTES];
	if (strncmp(text, lightning, sizeof lightning - 1) == 0)
		text += sizeof lightning - 1;
	size_t length = name_length(text);
	if (!name_letters(text, length, name))
		return 0;
	/* a part of a step by its name */
	bool is_step = name_is_counted(text, length) && strstr(name, "micro") == NULL;
	for (size_t k = 0; k < NAMES; k++)
		is_step |= strcmp(name, names[k]) == 0;
	if (wanted != NULL)
		is_step = name_letters(wanted, name_length(wanted), other) &&
			  strcmp(name, other) == 0;
	return is_step ? name_hash(name) : 0;
}

bool gp_step_name_is_optimizer(const char *text)
{
	static const char prefix[] = "Optimizer.step#";
	return strncmp(text, prefix, sizeof prefix - 1) == 0;
}
