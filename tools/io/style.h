/*
 * Colours by role: one table for verdicts, tables, messages and plots. `--color=auto` colours
 * output on a terminal, unless NO_COLOR is set or TERM is dumb.
 */
#ifndef GP_STYLE_H
#define GP_STYLE_H

#include <stdbool.h>

enum gp_role {
	GP_ROLE_GOOD,	/* pass, no leak */
	GP_ROLE_BAD,	/* FAIL, a leak, the cause of an OOM, losses and damage */
	GP_ROLE_MARK,	/* an outlier */
	GP_ROLE_ERROR,	/* the first word of a message on stderr */
	GP_ROLE_HINT,	/* of a hint */
	GP_ROLE_DRIVER, /* curves of plots */
	GP_ROLE_RESERVED,
	GP_ROLE_AT_TIMES,
	GP_ROLE_ALLOCATED,
	GP_ROLES,
};

/* The value of --color: "auto", "always" or "never"; NULL: auto. */
extern const char *gp_color_option;

/* Whether text on that descriptor is coloured. */
bool gp_is_coloured(int fd);

/* Decides the colours of the report, which goes to `fd`. Without this call it has none. */
void gp_report_colour(int fd);
bool gp_report_is_coloured(void);

/* Escape sequences for text of the report, or "" without colours. */
const char *gp_on(enum gp_role role);
const char *gp_off(void);

/* The sequence itself. */
const char *gp_role_sequence(enum gp_role role);
#define GP_ROLE_END "\033[0m"

#endif
