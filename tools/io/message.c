/*
 * The grammar of messages. Writes to stderr only.
 */
#include "message.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../command.h"
#include "line_fit.h"
#include "style.h"

static FILE *(*prepare)(unsigned *columns);

void gp_message_prepare(FILE *(*function)(unsigned *columns))
{
	prepare = function;
}

/* Writes a line with `prefix`, folded if messages go to a terminal. */
static void line_print(enum gp_role role, const char *prefix, const char *line, size_t length)
{
	unsigned columns = 0;
	FILE *out = prepare ? prepare(&columns) : stderr;
	const bool is_coloured = *prefix && gp_is_coloured(STDERR_FILENO);
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = columns ? open_memstream(&text, &bytes) : NULL;
	fflush(stdout);
	fprintf(to ? to : out, "%s%s%s", is_coloured ? gp_role_sequence(role) : "", prefix,
		is_coloured ? GP_ROLE_END : "");
	gp_mask(to ? to : out, line, length);
	if (to && fclose(to) == 0)
		gp_line_put(out, text, bytes, columns, "");
	fputc('\n', out);
	free(text);
}

static void message_print(enum gp_role role, const char *prefix, const char *format,
			  va_list arguments)
{
	char line[4096];
	const int error = errno; /* callers read errno afterwards */
	int n = vsnprintf(line, sizeof line, format, arguments);
	if (n >= 0)
		line_print(role, prefix, line,
			   (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
	errno = error;
}

void gp_message_line(const char *line, size_t bytes)
{
	line_print(GP_ROLE_ERROR, "", line, bytes);
}

void gp_error(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message_print(GP_ROLE_ERROR, "gpuprof: ", format, arguments);
	va_end(arguments);
}

void gp_hint(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message_print(GP_ROLE_HINT, "hint: ", format, arguments);
	va_end(arguments);
}

const char *gp_cause(int error)
{
	static char text[128];
	if (error == ENOENT)
		return "no such file";
	snprintf(text, sizeof text, "%s", strerror(error));
	text[0] = (char)tolower((unsigned char)text[0]);
	return text;
}

int gp_exit_of(enum gp_status status)
{
	switch (status) {
	case GP_OK:
	case GP_END:
		return GP_EXIT_OK;
	case GP_E_ARGUMENT:
		return GP_EXIT_USAGE;
	case GP_E_MEMORY:
		return GP_EXIT_INTERNAL;
	case GP_E_OPEN:
	case GP_E_NOT_RECORDING:
	case GP_E_VERSION:
	case GP_E_DAMAGED:
	case GP_E_IO:
	case GP_E_SPACE:
	case GP_E_BUSY:
	case GP_E_TRUNCATED:
		return GP_EXIT_DAMAGED;
	}
	return GP_EXIT_INTERNAL;
}

/* Bytes of the sequence with this first byte, and the smallest code point that may use it. */
static size_t sequence(unsigned char first, uint32_t *low)
{
	if (first >= 0xf0 && first < 0xf5)
		return *low = 0x10000, 4;
	if (first >= 0xe0)
		return *low = 0x800, first < 0xf0 ? 3 : 0;
	if (first >= 0xc2)
		return *low = 0x80, 2;
	return 0;
}

size_t gp_code_point(const char *at, size_t bytes, uint32_t *code)
{
	const unsigned char first = (unsigned char)*at;
	*code = first;
	if (first < 0x80)
		return 1;
	uint32_t low = 0;
	size_t n = sequence(first, &low);
	if (n == 0 || n > bytes)
		return 0;
	*code = first & (0xffu >> (n + 1));
	for (size_t k = 1; k < n; k++) {
		unsigned char next = (unsigned char)at[k];
		if ((next & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (next & 0x3f);
	}
	bool is_code = *code >= low && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
	return is_code ? n : 0;
}

/*
 * Invisible characters that affect other text: controls, line separators, changes of text
 * direction, and format characters (Cf) that can hide text. Joiners (U+200C, U+200D) and variation
 * selectors are allowed: names in Persian, Hindi and emoji contain them, and they shape only their
 * neighbours. XML has no U+FFFE and U+FFFF.
 */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{ 0, 0x1f },	      { 0x7f, 0x9f },	    { 0xad, 0xad },	  { 0x61c, 0x61c },
	{ 0x180e, 0x180e },   { 0x200b, 0x200b },   { 0x200e, 0x200f },	  { 0x2028, 0x202e },
	{ 0x2060, 0x206f },   { 0xfeff, 0xfeff },   { 0xfff9, 0xfffb },	  { 0xfffe, 0xffff },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe007f },
};

size_t gp_printable(const char *at, size_t bytes)
{
	uint32_t code;
	const size_t n = gp_code_point(at, bytes, &code);
	if (code >= 0x20 && code < 0x7f)
		return n;
	for (size_t k = 0; k < sizeof unseen / sizeof *unseen; k++)
		if (code >= unseen[k].first && code <= unseen[k].last)
			return 0;
	return n;
}

void gp_mask(FILE *out, const char *text, size_t bytes)
{
	while (bytes) {
		size_t n = gp_printable(text, bytes);
		if (n)
			fwrite(text, 1, n, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)*text);
		n += !n;
		text += n;
		bytes -= n;
	}
}

void gp_xml_put(FILE *out, const char *text, size_t most)
{
	static const char *const entity[] = {
		['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;"
	};
	size_t bytes = strlen(text);
	for (size_t shown = 0, n; bytes; shown++, text += n, bytes -= n) {
		if (shown == most) {
			fputs("…", out);
			return;
		}
		n = gp_printable(text, bytes);
		if (strchr("<>&\"", *text))
			fputs(entity[(unsigned char)*text], out);
		else if (n)
			fwrite(text, 1, n, out);
		else
			fputs("\xef\xbf\xbd", out);
		n += !n;
	}
}

void gp_mask_line(FILE *out, const char *text)
{
	if (!text)
		return;
	gp_mask(out, text, strlen(text));
	fputc('\n', out);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Edit distance with swaps of neighbours (optimal string alignment), for words of at most 63
 * letters.
 */
static size_t distance(const char *a, const char *b)
{
	enum { LONGEST = 64 };
	size_t rows[3][LONGEST + 1], n = strlen(a), m = strlen(b);
	if (n >= LONGEST || m >= LONGEST)
		return LONGEST;
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	for (size_t j = 0; j <= m; j++)
		above[j] = before[j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = smaller(smaller(above[j], row[j - 1]) + 1,
					 above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], before[j - 2] + 1);
		}
		size_t *free_row = before;
		before = above;
		above = row;
		row = free_row;
	}
	return above[m];
}

const char *gp_nearest(const char *word, const char *const *candidates, size_t count)
{
	const char *best = NULL;
	size_t least = strlen(word) / 3 + 2;
	for (size_t k = 0; k < count; k++) {
		size_t d = distance(word, candidates[k]);
		bool is_start =
			strlen(word) >= 2 && strncmp(word, candidates[k], strlen(word)) == 0;
		if (is_start)
			d = 0;
		if (d < least) {
			least = d;
			best = candidates[k];
		}
	}
	return best;
}
