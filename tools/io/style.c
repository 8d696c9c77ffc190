/*
 * The table of roles. Uses only sequences that every terminal supports: sixteen colours and bold.
 */
#include "style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const sequences[GP_ROLES] = {
	[GP_ROLE_GOOD] = "\033[32m",	  [GP_ROLE_BAD] = "\033[1;31m",
	[GP_ROLE_MARK] = "\033[1;33m",	  [GP_ROLE_ERROR] = "\033[1;31m",
	[GP_ROLE_HINT] = "\033[36m",	  [GP_ROLE_DRIVER] = "\033[90m",
	[GP_ROLE_RESERVED] = "\033[34m",  [GP_ROLE_AT_TIMES] = "\033[36m",
	[GP_ROLE_ALLOCATED] = "\033[32m",
};

const char *gp_color_option;
static bool is_report_coloured;

bool gp_is_coloured(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	if (gp_color_option && strcmp(gp_color_option, "auto") != 0)
		return strcmp(gp_color_option, "always") == 0;
	return isatty(fd) && !(no_color && *no_color) && terminal && strcmp(terminal, "dumb") != 0;
}

void gp_report_colour(int fd)
{
	is_report_coloured = gp_is_coloured(fd);
}

bool gp_report_is_coloured(void)
{
	return is_report_coloured;
}

const char *gp_role_sequence(enum gp_role role)
{
	return sequences[role];
}

const char *gp_on(enum gp_role role)
{
	return is_report_coloured ? sequences[role] : "";
}

const char *gp_off(void)
{
	return is_report_coloured ? GP_ROLE_END : "";
}
