/* Fields as spreadsheets and pandas read them, masked as for a terminal. */
#include "csv.h"

#include <string.h>

#include "message.h"

void gp_csv_put(FILE *out, const char *text)
{
	const bool is_quoted = strpbrk(text, ",\"") != NULL;
	fputs(is_quoted ? "\"" : "", out);
	for (size_t n; *text; text += n) {
		n = strcspn(text, "\"");
		gp_mask(out, text, n);
		if (text[n] == '"') {
			fputs("\"\"", out);
			n++;
		}
	}
	fputs(is_quoted ? "\"" : "", out);
}
