/* Fields as spreadsheets and pandas read them. The text is written as it is, unmasked. */
#include "csv.h"

#include <string.h>

void gp_csv_put(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}
