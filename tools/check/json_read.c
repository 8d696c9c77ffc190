/*
 * Recursive descent, one function for each kind of value. A parent owns its members at once, so
 * that a failure frees them.
 */
#include "json_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32u

struct reading {
	const char *text;
	size_t bytes, at;
	unsigned depth;
	char *why;
};

static bool json_read_refuse(struct reading *r, const char *expected)
{
	if (!r->why[0])
		snprintf(r->why, GP_JSON_WHY_MAX, "expected %s at byte %zu", expected, r->at);
	return false;
}

/* The next character after blanks; NUL: the end. */
static char peek(struct reading *r)
{
	while (r->at < r->bytes && strchr(" \t\r\n", r->text[r->at]) && r->text[r->at])
		r->at++;
	return r->at < r->bytes ? r->text[r->at] : '\0';
}

static bool json_read_take(struct reading *r, const char *word)
{
	size_t n = strlen(word);
	if (r->bytes - r->at < n || memcmp(r->text + r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

/* ---- texts ---- */

static bool read_hex(struct reading *r, unsigned *out)
{
	char digits[5] = "";
	if (r->bytes - r->at < 4)
		return json_read_refuse(r, "four hexadecimal digits");
	memcpy(digits, r->text + r->at, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return json_read_refuse(r, "four hexadecimal digits");
	*out = (unsigned)strtoul(digits, NULL, 16);
	r->at += 4;
	return true;
}

static size_t put_utf8(char *out, unsigned code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t k = n; k-- > 1; code >>= 6)
		out[k] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | code);
	return n;
}

/* Reads the digits after "\u". */
static bool read_code(struct reading *r, char *out, size_t *used)
{
	unsigned code, low;
	if (!read_hex(r, &code))
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		if (!json_read_take(r, "\\u") || !read_hex(r, &low) || low < 0xdc00 || low > 0xdfff)
			return json_read_refuse(r, "the second half of a pair");
		code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
	}
	if (code == 0 || (code >= 0xd800 && code <= 0xdfff))
		return json_read_refuse(r, "a character");
	*used += put_utf8(out + *used, code);
	return true;
}

static bool read_escape(struct reading *r, char *out, size_t *used)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found =
		r->at < r->bytes && r->text[r->at] ? strchr(from, r->text[r->at]) : NULL;
	if (json_read_take(r, "u"))
		return read_code(r, out, used);
	if (!found)
		return json_read_refuse(r, "an escape");
	r->at++;
	out[(*used)++] = to[found - from];
	return true;
}

static bool read_text(struct reading *r, char **out)
{
	size_t used = 0, room = 1;
	if (peek(r) != '"')
		return json_read_refuse(r, "'\"'");
	r->at++;
	/* the decoded text is never longer than the encoded one */
	for (size_t k = r->at; k < r->bytes && r->text[k] != '"'; k++, room++)
		k += r->text[k] == '\\' && k + 1 < r->bytes;
	char *text = *out = calloc(2 * room, 1);
	if (!text)
		return json_read_refuse(r, "memory");
	while (r->at < r->bytes && r->text[r->at] != '"') {
		char c = r->text[r->at];
		if ((unsigned char)c < ' ')
			return json_read_refuse(r, "no control character");
		r->at++;
		if (c != '\\')
			text[used++] = c;
		else if (!read_escape(r, text, &used))
			return false;
	}
	return json_read_take(r, "\"") || json_read_refuse(r, "'\"'");
}

/* ---- numbers ---- */

static bool read_number(struct reading *r, struct gp_json_value *v)
{
	size_t from = r->at, n = 0;
	v->type = GP_JSON_NUMBER;
	while (r->at < r->bytes && r->text[r->at] && strchr("+-.eE0123456789", r->text[r->at]))
		r->at++;
	n = r->at - from;
	v->is_whole = n > 0 && n < 20;
	for (size_t k = from; k < r->at && v->is_whole; k++) {
		v->is_whole = r->text[k] >= '0' && r->text[k] <= '9';
		v->whole = v->whole * 10 + (uint64_t)(r->text[k] - '0');
	}
	return n > 0 || json_read_refuse(r, "a value");
}

/* ---- values ---- */

static bool read_value(struct reading *r, struct gp_json_value *v);

static struct gp_json_value *add_child(struct gp_json_value *v)
{
	bool is_full = (v->children & (v->children - 1)) == 0;
	size_t room = v->children ? 2 * v->children : 1;
	struct gp_json_value *child = is_full ? realloc(v->child, room * sizeof *child) : v->child;
	if (!child)
		return NULL;
	v->child = child;
	child[v->children] = (struct gp_json_value){ 0 };
	return &child[v->children++];
}

static bool read_children(struct reading *r, struct gp_json_value *v, char closer)
{
	const char *expected = closer == '}' ? "',' or '}'" : "',' or ']'";
	r->at++;
	if (++r->depth > DEPTH_MAX)
		return json_read_refuse(r, "less depth");
	bool is_more = peek(r) != closer;
	while (is_more) {
		struct gp_json_value *child = add_child(v);
		if (!child)
			return json_read_refuse(r, "memory");
		if (closer == '}' && !read_text(r, &child->key))
			return false;
		if (closer == '}' && (peek(r) != ':' || !json_read_take(r, ":")))
			return json_read_refuse(r, "':'");
		if (!read_value(r, child))
			return false;
		is_more = peek(r) == ',';
		r->at += is_more;
	}
	r->depth--;
	if (peek(r) != closer)
		return json_read_refuse(r, expected);
	r->at++;
	return true;
}

static bool read_value(struct reading *r, struct gp_json_value *v)
{
	switch (peek(r)) {
	case '{':
		v->type = GP_JSON_OBJECT;
		return read_children(r, v, '}');
	case '[':
		v->type = GP_JSON_LIST;
		return read_children(r, v, ']');
	case '"':
		v->type = GP_JSON_TEXT;
		return read_text(r, &v->text);
	case 't':
	case 'f':
		v->type = GP_JSON_BOOL;
		v->is_true = json_read_take(r, "true");
		return v->is_true || json_read_take(r, "false") || json_read_refuse(r, "a value");
	case 'n':
		return json_read_take(r, "null") || json_read_refuse(r, "a value");
	default:
		return read_number(r, v);
	}
}

bool gp_json_value_read(const char *text, size_t bytes, struct gp_json_value *out,
			char why[GP_JSON_WHY_MAX])
{
	struct reading r = { .text = text, .bytes = bytes, .why = why };
	*out = (struct gp_json_value){ 0 };
	why[0] = '\0';
	if (!read_value(&r, out))
		return false;
	peek(&r);
	return r.at == bytes || json_read_refuse(&r, "nothing more");
}

void gp_json_value_free(struct gp_json_value *v)
{
	for (size_t k = 0; k < v->children; k++)
		gp_json_value_free(&v->child[k]);
	free(v->child);
	free(v->key);
	free(v->text);
	*v = (struct gp_json_value){ 0 };
}

const struct gp_json_value *gp_json_value_find(const struct gp_json_value *object, const char *key,
					       enum gp_json_type type)
{
	for (size_t k = 0; object->type == GP_JSON_OBJECT && k < object->children; k++)
		if (object->child[k].type == type && strcmp(object->child[k].key, key) == 0)
			return &object->child[k];
	return NULL;
}
