/* The terminal is asked of the stream that is written to; a file or a pipe has no width. */
#include "terminal_width.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned gp_columns(uint64_t asked, FILE *out)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	unsigned long wide = asked ? asked : columns ? strtoul(columns, NULL, 10) : 0;
	if (!wide && isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		wide = size.ws_col;
	if (!wide)
		wide = 100;
	return wide < GP_COLUMNS_MIN ? GP_COLUMNS_MIN :
	       wide > GP_COLUMNS_MAX ? GP_COLUMNS_MAX :
				       (unsigned)wide;
}
