/* The words for on and off, parsed alike in GPUPROF_* variables and in options. */
#ifndef GP_ON_OFF_H
#define GP_ON_OFF_H

#include <strings.h>

enum gp_on_off { GP_OFF, GP_ON, GP_NEITHER };

static inline enum gp_on_off gp_on_off_parse(const char *text)
{
	static const char *const words[][2] = {
		{ "off", "on" }, { "0", "1" }, { "no", "yes" }, { "false", "true" }
	};
	for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
		for (unsigned is_on = 0; is_on < 2; is_on++)
			if (strcasecmp(text, words[k][is_on]) == 0)
				return is_on ? GP_ON : GP_OFF;
	return GP_NEITHER;
}

#endif
