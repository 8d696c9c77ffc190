/* Options whose value is one of a few words, written "one|other|third" in options.def. */
#ifndef GP_CHOICE_H
#define GP_CHOICE_H

#include <stdbool.h>
#include <string.h>

static inline bool gp_is_choice(const char *value)
{
	return value && strchr(value, '|') && strcmp(value, "on|off") != 0;
}

static inline bool gp_is_chosen(const char *value, const char *text)
{
	size_t n = strlen(text);
	for (const char *word = value; n; word++) {
		if (strncmp(word, text, n) == 0 && (word[n] == '|' || word[n] == '\0'))
			return true;
		word = strchr(word, '|');
		if (!word)
			break;
	}
	return false;
}

#endif
