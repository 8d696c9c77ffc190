/*
 * The width is that of the terminal behind the output stream. A file or a pipe has no width.
 */
#include "terminal_width.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "screen.h"

unsigned gp_columns(uint64_t requested, FILE *out)
{
	const char *columns = getenv("COLUMNS");
	unsigned long wide = requested ? requested : columns ? strtoul(columns, NULL, 10) : 0;
	unsigned of_terminal, rows;
	/* a stream of screen.h has no descriptor; it writes to stdout */
	const int fd = fileno(out) >= 0 ? fileno(out) : STDOUT_FILENO;
	if (!wide && gp_terminal_size(fd, &of_terminal, &rows))
		wide = of_terminal;
	if (!wide)
		wide = 100;
	return wide < GP_COLUMNS_MIN ? GP_COLUMNS_MIN :
	       wide > GP_COLUMNS_MAX ? GP_COLUMNS_MAX :
				       (unsigned)wide;
}

bool gp_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		const char *value = getenv(names[k]);
		if (value && *value)
			return strstr(value, "UTF-8") || strstr(value, "utf8") ||
			       strstr(value, "UTF8");
	}
	return false;
}

const char *gp_cut_mark(void)
{
	return gp_is_utf8() ? "…" : "..";
}
