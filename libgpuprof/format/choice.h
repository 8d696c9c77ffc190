/* Options whose value is one of a few words, written "one|other|third" in options.def. */
#ifndef GP_CHOICE_H
#define GP_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool gp_is_choice(const char *value)
{
	return value && strchr(value, '|') && strcmp(value, "on|off") != 0;
}

#define GP_NOT_CHOSEN SIZE_MAX

/* Place of `text` among the words of `value`, from 0. */
static inline size_t gp_choice_find(const char *value, const char *text)
{
	size_t place = 0;
	for (const char *word = value;; word++, place++) {
		size_t n = strcspn(word, "|");
		if (n && strlen(text) == n && memcmp(word, text, n) == 0)
			return place;
		word += n;
		if (!*word)
			return GP_NOT_CHOSEN;
	}
}

static inline bool gp_is_chosen(const char *value, const char *text)
{
	return gp_choice_find(value, text) != GP_NOT_CHOSEN;
}

#endif
