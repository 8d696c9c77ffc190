/* All names of a line that are longer than some limit are cut to it: the longest ones first. */
#include "line_fit.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "message.h"

enum { NAMES_MAX = 16 };

/* Bytes of what stands at `at`, and its columns. Escape sequences end with a letter. */
static size_t sign_length(const char *at, size_t bytes, size_t *columns)
{
	uint32_t code;
	size_t n = 2;
	*columns = 0;
	if (*at == GP_NAME_BEGIN || *at == GP_NAME_END)
		return 1;
	if (*at == '\033' && bytes > 1 && at[1] == '[') {
		while (n < bytes && (unsigned char)at[n] < '@')
			n++;
		return n < bytes ? n + 1 : n;
	}
	*columns = 1;
	n = gp_code_point(at, bytes, &code);
	if (n < 2)
		return 1;
	const int width = wcwidth((wchar_t)code);
	*columns = width < 0 ? 1 : (size_t)width;
	return n;
}

/* wcwidth knows Unicode only in a locale of UTF-8, whatever the user's is. */
static locale_t enter_utf8(void)
{
	static locale_t utf8;
	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return utf8 ? uselocale(utf8) : (locale_t)0;
}

static void leave_utf8(locale_t before)
{
	if (before)
		uselocale(before);
}

static size_t width_of(const char *text, size_t bytes)
{
	size_t width = 0, columns;
	for (size_t at = 0; at < bytes; width += columns)
		at += sign_length(text + at, bytes - at, &columns);
	return width;
}

size_t gp_display_width(const char *text, size_t bytes)
{
	const locale_t before = enter_utf8();
	const size_t width = width_of(text, bytes);
	leave_utf8(before);
	return width;
}

/* Writes without marks. */
static void write_plain(FILE *out, const char *text, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++)
		if (text[at] != GP_NAME_BEGIN && text[at] != GP_NAME_END)
			fputc(text[at], out);
}

/* Its head and its tail, at most `limit` columns with the mark. Returns the columns. */
static size_t write_cut(FILE *out, const char *name, size_t bytes, size_t limit, const char *mark,
			size_t mark_width)
{
	const size_t width = width_of(name, bytes), room = limit - mark_width;
	const size_t head = (room + 1) / 2, tail = room - head;
	size_t at = 0, used = 0, columns;
	for (size_t n; at < bytes; at += n, used += columns) {
		n = sign_length(name + at, bytes - at, &columns);
		if (used + columns > head)
			break;
	}
	write_plain(out, name, at);
	fputs(mark, out);
	size_t left = width - used, kept = used + mark_width;
	while (at < bytes && left > tail) {
		at += sign_length(name + at, bytes - at, &columns);
		left -= columns;
	}
	write_plain(out, name + at, bytes - at);
	return kept + left;
}

struct names {
	const char *at[NAMES_MAX];
	size_t bytes[NAMES_MAX], width[NAMES_MAX], count;
};

static void names_find(const char *line, size_t bytes, struct names *out)
{
	const char *end = line + bytes, *at = line;
	out->count = 0;
	while (out->count < NAMES_MAX && (at = memchr(at, GP_NAME_BEGIN, (size_t)(end - at)))) {
		const char *name = at + 1;
		const char *last = memchr(name, GP_NAME_END, (size_t)(end - name));
		at = last ? last : end;
		out->at[out->count] = name;
		out->bytes[out->count] = (size_t)(at - name);
		out->width[out->count] = width_of(name, (size_t)(at - name));
		out->count++;
	}
}

/* The most columns of a name with which the line is `excess` columns shorter, if that can be. */
static size_t names_limit(const struct names *names, size_t excess)
{
	size_t limit = 0, saved;
	for (size_t k = 0; k < names->count; k++)
		limit = names->width[k] > limit ? names->width[k] : limit;
	do {
		saved = 0;
		limit -= limit > GP_NAME_LEAST;
		for (size_t k = 0; k < names->count; k++)
			saved += names->width[k] > limit ? names->width[k] - limit : 0;
	} while (saved < excess && limit > GP_NAME_LEAST);
	return limit;
}

size_t gp_line_fit(FILE *out, const char *line, size_t bytes, size_t columns, const char *mark)
{
	const locale_t before = enter_utf8();
	const size_t width = width_of(line, bytes), mark_width = width_of(mark, strlen(mark));
	struct names names = { .count = 0 };
	size_t shown = width;
	const char *from = line;
	if (columns && width > columns)
		names_find(line, bytes, &names);
	const size_t limit = names.count ? names_limit(&names, width - columns) : 0;
	for (size_t k = 0; k < names.count; k++) {
		if (names.width[k] <= limit)
			continue;
		write_plain(out, from, (size_t)(names.at[k] - from));
		shown -= names.width[k];
		shown += write_cut(out, names.at[k], names.bytes[k], limit, mark, mark_width);
		from = names.at[k] + names.bytes[k];
	}
	write_plain(out, from, (size_t)(line + bytes - from));
	leave_utf8(before);
	return shown;
}

void gp_name_cut(const char *name, size_t columns, char *out, size_t room)
{
	const size_t bytes = strlen(name);
	const locale_t before = enter_utf8();
	FILE *text = fmemopen(out, room, "w");
	if (text && width_of(name, bytes) <= columns)
		write_plain(text, name, bytes);
	else if (text)
		write_cut(text, name, bytes, columns, "…", 1);
	out[0] = out[room - 1] = '\0';
	if (text)
		fclose(text);
	leave_utf8(before);
}
