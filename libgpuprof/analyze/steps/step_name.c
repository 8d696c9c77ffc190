/* Compares names without case, numbers and the characters between words. */
#include "step_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../../format/event.h"
#include "../stack_text.h"

/*
 * A step's name ends with one of these. Before a number it is the whole last word: "denoising step
 * 3".
 */
static const char *const units[] = { "step", "iteration", "iter", "batch" };
#define UNITS (sizeof units / sizeof *units)

/*
 * Without a number, one of these stands before it; "runtraining" is Lightning's, "bodyof" comes
 * from examples of apex and NVIDIA.
 */
static const char *const before_units[] = {
	"",	"profiler", "train",  "training", "runtraining", "global",  "bodyof",
	"mini", "decode",   "engine", "model",	  "serve",	 "request",
};
#define BEFORE_UNITS (sizeof before_units / sizeof *before_units)

struct name {
	char letters[GP_RANGE_NAME_MAX]; /* letters only, in lower case */
	size_t length, word;		 /* word: index of the last word */
	bool has_number;		 /* at its end */
};

/* False: the name has too many letters. Cuts details: "_forward_step 12: 0 ctx reqs". */
static bool name_read(const char *text, struct name *out)
{
	const char *colon = strstr(text, ": ");
	bool is_detail = colon != NULL && colon > text && isdigit((unsigned char)colon[-1]);
	const size_t bytes = is_detail ? (size_t)(colon - text) : strlen(text);
	bool is_in_word = false;
	*out = (struct name){ .has_number = bytes > 0 && isdigit((unsigned char)text[bytes - 1]) };
	for (size_t k = 0; k < bytes && out->length < GP_RANGE_NAME_MAX; k++) {
		const bool is_letter = isalpha((unsigned char)text[k]);
		out->word = is_letter && !is_in_word ? out->length : out->word;
		is_in_word = is_letter;
		if (is_letter)
			out->letters[out->length++] = (char)tolower((unsigned char)text[k]);
	}
	return out->length < GP_RANGE_NAME_MAX;
}

static bool name_is_step(const struct name *name)
{
	for (size_t k = 0; k < UNITS; k++) {
		const size_t unit = strlen(units[k]);
		const size_t before = name->length > unit ? name->length - unit : 0;
		if (strcmp(name->letters + before, units[k]) != 0)
			continue;
		/* a micro step is a part of a step */
		if (name->has_number && name->word == before)
			return strstr(name->letters, "micro") == NULL;
		for (size_t n = 0; n < BEFORE_UNITS; n++)
			if (strlen(before_units[n]) == before &&
			    strncmp(name->letters, before_units[n], before) == 0)
				return true;
	}
	return false;
}

uint64_t gp_step_name_kind(const char *text, const char *requested)
{
	static const char lightning[] = "[pl][profile]";
	struct name name, other;
	if (strncmp(text, lightning, sizeof lightning - 1) == 0)
		text += sizeof lightning - 1;
	if (!name_read(text, &name))
		return 0;
	const bool is_step = requested == NULL ? name_is_step(&name) :
						 name_read(requested, &other) &&
							 strcmp(name.letters, other.letters) == 0;
	return is_step ? gp_identity_hash(
				 gp_text_identity((struct gp_identity){ 4, 4 }, name.letters)) |
				 1 :
			 0;
}
