/*
 * Names longer than some limit are cut to it, so the longest ones are cut first. A line that is
 * still too long is folded at spaces.
 */
#include "line_fit.h"

#include <ctype.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "message.h"

enum {
	NAMES_MAX = 16,
	FOLD_LEAST = 40, /* columns: on narrower lines, parts of figures would mix */
};

/* Bytes of the sign at `at`, and its columns. An escape sequence ends with a letter. */
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

/* wcwidth needs a UTF-8 locale for Unicode, whatever the user's locale is. */
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

size_t gp_display_fit(const char *text, size_t bytes, size_t columns)
{
	const locale_t before = enter_utf8();
	size_t at = 0, n, width;
	for (; at < bytes; at += n, columns -= width) {
		n = sign_length(text + at, bytes - at, &width);
		if (width > columns)
			break;
	}
	leave_utf8(before);
	return at;
}

/* Writes without marks. */
static void write_plain(FILE *out, const char *text, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++)
		if (text[at] != GP_NAME_BEGIN && text[at] != GP_NAME_END)
			fputc(text[at], out);
}

/* The first `file.py:96` of a name; false: there is none. */
static bool find_place(const char *name, size_t bytes, size_t *begin, size_t *end)
{
	bool has_dot = false;
	*begin = 0;
	for (size_t at = 0; at + 1 < bytes; at++) {
		if (strchr(" /(", name[at])) {
			*begin = at + 1;
			has_dot = false;
		}
		has_dot |= name[at] == '.';
		if (name[at] != ':' || !has_dot || !isdigit((unsigned char)name[at + 1]))
			continue;
		for (*end = at + 1; *end < bytes && isdigit((unsigned char)name[*end]);)
			++*end;
		return true;
	}
	return false;
}

/*
 * Writes head and tail of a name, at most `limit` columns with the mark. Keeps the file and number
 * of a line of code whole if they fit. Returns the columns.
 */
static size_t write_cut(FILE *out, const char *name, size_t bytes, size_t limit, const char *mark,
			size_t mark_width)
{
	const size_t width = width_of(name, bytes), room = limit - mark_width, hole = width - room;
	size_t head = (room + 1) / 2, at = 0, used = 0, columns, begin, end;
	if (find_place(name, bytes, &begin, &end)) {
		const size_t from = width_of(name, begin), to = width_of(name, end);
		const bool is_hit = head < to && head + hole > from;
		if (is_hit && to <= room) {
			head = to;
		} else if (is_hit && from >= hole) {
			head = from - hole;
		} else if (is_hit && to - from + 2 * mark_width <= limit) {
			fputs(mark, out);
			return mark_width +
			       write_cut(out, name + begin, bytes - begin, room, mark, mark_width);
		}
	}
	const size_t tail = room - head;
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

size_t gp_name_least(const char *name)
{
	enum { MARKS = 4, MOST = 28 }; /* longer names are files that a compiler generated */
	const size_t bytes = strlen(name);
	size_t begin, end;
	const locale_t before = enter_utf8();
	const size_t width = width_of(name, bytes);
	size_t least = GP_NAME_LEAST;
	if (find_place(name, bytes, &begin, &end))
		least = width_of(name + begin, end - begin) + MARKS;
	leave_utf8(before);
	least = least < GP_NAME_LEAST || least > MOST ? GP_NAME_LEAST : least;
	return width < least ? width : least;
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

/* The largest limit on names that makes the line `excess` columns shorter, if there is one. */
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

/*
 * Writes the line with names cut to `limit`. `is_marked`: keeps the marks around them. Returns the
 * columns.
 */
static size_t names_write(FILE *out, const char *line, size_t bytes, const struct names *names,
			  size_t limit, const char *mark, bool is_marked)
{
	const size_t mark_width = width_of(mark, strlen(mark));
	size_t shown = width_of(line, bytes);
	const char *from = line;
	for (size_t k = 0; k < names->count; k++) {
		const char *name = names->at[k] - (is_marked ? 1 : 0);
		if (is_marked)
			fwrite(from, 1, (size_t)(name + 1 - from), out);
		else
			write_plain(out, from, (size_t)(name - from));
		from = names->at[k];
		if (names->width[k] <= limit)
			continue;
		shown -= names->width[k];
		shown += write_cut(out, from, names->bytes[k], limit, mark, mark_width);
		from += names->bytes[k];
	}
	if (is_marked)
		fwrite(from, 1, (size_t)(line + bytes - from), out);
	else
		write_plain(out, from, (size_t)(line + bytes - from));
	return shown;
}

size_t gp_line_fit(FILE *out, const char *line, size_t bytes, size_t columns, const char *mark)
{
	const locale_t before = enter_utf8();
	const size_t width = width_of(line, bytes);
	struct names names = { .count = 0 };
	if (columns && width > columns)
		names_find(line, bytes, &names);
	const size_t limit = names.count ? names_limit(&names, width - columns) : 0;
	const size_t shown = names_write(out, line, bytes, &names, limit, mark, false);
	leave_utf8(before);
	return shown;
}

/* ---- folding ---- */

struct fold {
	FILE *out;
	size_t columns, column, rows;
	size_t hang;  /* where lines after the first begin */
	size_t field; /* a word in this column begins a new line; 0: no such column */
	const char *colour;
	size_t colour_bytes; /* 0: none */
};

/* The column of the last part, where two spaces separate parts; 0 with one part. */
static size_t field_of(const char *line, size_t bytes, size_t *indent, unsigned *fields)
{
	size_t column = 0, columns, spaces = 0, field = 0;
	bool has_text = false, is_name = false;
	*indent = 0;
	*fields = 0;
	for (size_t at = 0; at < bytes; column += columns) {
		const char sign = line[at];
		at += sign_length(line + at, bytes - at, &columns);
		is_name = sign == GP_NAME_BEGIN || (is_name && sign != GP_NAME_END);
		if (!columns)
			continue;
		if (sign != ' ' && !has_text)
			*indent = column;
		else if (sign != ' ' && spaces > 1 && ++*fields)
			field = column;
		has_text = has_text || sign != ' ';
		spaces = sign != ' ' || is_name ? 0 : spaces + 1;
	}
	return field;
}

/* A unit or a short noun. */
static bool is_unit(const char *at, size_t bytes)
{
	enum { UNIT_MOST = 8 };
	size_t n = 0;
	while (n < bytes && at[n] != ' ')
		n++;
	return n > 0 && n <= UNIT_MOST && isalpha((unsigned char)*at);
}

/* Keeps a figure with its unit, and text in brackets, up to half a line. */
static size_t word_length(const char *line, size_t bytes, size_t columns)
{
	size_t at = 0, width = 0, wide;
	int depth = 0;
	while (at < bytes) {
		const bool is_figure = at && isdigit((unsigned char)line[at - 1]) &&
				       is_unit(line + at + 1, bytes - at - 1);
		if (line[at] == ' ' && ((!is_figure && depth <= 0) || width > columns / 2))
			break;
		depth += (line[at] == '[') - (line[at] == ']');
		at += sign_length(line + at, bytes - at, &wide);
		width += wide;
	}
	return at;
}

static void fold_word(struct fold *f, const char *word, size_t bytes)
{
	for (size_t at = 0, n, columns; at < bytes; at += n) {
		n = sign_length(word + at, bytes - at, &columns);
		if (word[at] == '\033') {
			f->colour = word + at;
			f->colour_bytes = n > 4 || (n == 4 && word[at + 2] != '0') ? n : 0;
		}
	}
	write_plain(f->out, word, bytes);
	f->column += width_of(word, bytes);
}

/* Begins a line for a word of `width`. Pagers reset colours at the end of a line. */
static void fold_break(struct fold *f, size_t width)
{
	const size_t room = width < f->columns ? f->columns - width : 0;
	f->column = f->hang < room ? f->hang : room;
	fprintf(f->out, "%s\n%*s", f->colour_bytes ? "\033[0m" : "", (int)f->column, "");
	fwrite(f->colour, 1, f->colour_bytes, f->out);
	f->rows++;
}

static void fold_line(struct fold *f, const char *line, size_t bytes)
{
	bool has_word = false;
	for (size_t at = 0, n; at < bytes; at += n, has_word = true) {
		size_t spaces = 0;
		while (at + spaces < bytes && line[at + spaces] == ' ')
			spaces++;
		at += spaces;
		n = word_length(line + at, bytes - at, f->columns);
		const size_t begin = f->column + spaces, width = width_of(line + at, n);
		if (has_word && (begin + width > f->columns ||
				 (f->rows == 1 && f->field && begin == f->field))) {
			fold_break(f, width);
		} else {
			fprintf(f->out, "%*s", (int)spaces, "");
			f->column = begin;
		}
		fold_word(f, line + at, n);
		if (f->column > f->columns)
			f->rows += (f->column - 1) / f->columns;
	}
}

/*
 * Sets where the lines continue: after the label, below the last column of a table, or indented by
 * two.
 */
static void fold_place(struct fold *f, const char *line, size_t bytes)
{
	enum { LEAST = 30 }; /* columns for readable text */
	unsigned fields;
	size_t indent, width = width_of(line, bytes);
	const size_t half = f->columns / 2;
	const size_t most = f->columns > 2 * LEAST ? f->columns - LEAST : half;
	const size_t field = field_of(line, bytes, &indent, &fields);
	f->hang = field ? field : indent + 2;
	if (f->hang <= most)
		return;
	if (fields < 2) {
		f->hang = indent + 2 < half ? indent + 2 : half;
		return;
	}
	f->field = field;
	f->hang = width - field < f->columns - half ? f->columns - (width - field) : half;
}

size_t gp_line_put(FILE *out, const char *line, size_t bytes, size_t columns, const char *mark)
{
	const locale_t before = enter_utf8();
	const size_t width = width_of(line, bytes);
	struct names names = { .count = 0 };
	size_t rows = 1, least = width, text_bytes = 0;
	char *text = NULL;
	if (columns && width > columns)
		names_find(line, bytes, &names);
	for (size_t k = 0; k < names.count; k++)
		least -= names.width[k] > GP_NAME_LEAST ? names.width[k] - GP_NAME_LEAST : 0;
	const bool is_folded = columns >= FOLD_LEAST && least > columns;
	FILE *copy = is_folded ? open_memstream(&text, &text_bytes) : NULL;
	if (copy) {
		struct fold f = { .out = out, .columns = columns, .rows = 1, .colour = "" };
		names_write(copy, line, bytes, &names, columns / 2, mark, true);
		if (fclose(copy) == 0) {
			fold_place(&f, text, text_bytes);
			fold_line(&f, text, text_bytes);
			rows = f.rows;
		}
		free(text);
	} else {
		const size_t shown = gp_line_fit(out, line, bytes, columns, mark);
		rows = columns && shown ? (shown - 1) / columns + 1 : 1;
	}
	leave_utf8(before);
	return rows;
}

void gp_name_cut(const char *name, size_t columns, const char *mark, char *out, size_t room)
{
	const size_t bytes = strlen(name);
	const locale_t before = enter_utf8();
	FILE *text = fmemopen(out, room, "w");
	if (text && width_of(name, bytes) <= columns)
		write_plain(text, name, bytes);
	else if (text)
		write_cut(text, name, bytes, columns, mark, width_of(mark, strlen(mark)));
	out[0] = out[room - 1] = '\0';
	if (text)
		fclose(text);
	leave_utf8(before);
}
