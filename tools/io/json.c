/*
 * The JSON writer. It buffers no text, so that recordings of any length can be dumped.
 */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "message.h"

void gp_json_init(struct gp_json *json, FILE *out, unsigned flat_from)
{
	*json = (struct gp_json){ .out = out, .flat_from = flat_from };
}

/* Escapes keep unprintable text exact: a program must see different texts as different keys. */
static void escape(FILE *out, uint32_t code)
{
	if (code > 0xffff)
		fprintf(out, "\\u%04x", 0xd7c0 + (code >> 10));
	fprintf(out, "\\u%04x", code > 0xffff ? 0xdc00 + (code & 0x3ff) : code);
}

static void quote(FILE *out, const char *text, size_t bytes)
{
	fputc('"', out);
	while (bytes) {
		uint32_t code;
		size_t n = gp_code_point(text, bytes, &code);
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if (n && gp_printable(text, bytes))
			fwrite(text, 1, n, out);
		else
			escape(out, n ? code : 0xfffd);
		n += !n;
		text += n;
		bytes -= n;
	}
	fputc('"', out);
}

static bool is_flat(const struct gp_json *json)
{
	return json->depth >= json->flat_from;
}

static void line_break(struct gp_json *json)
{
	fputc('\n', json->out);
	for (unsigned k = 0; k < json->depth; k++)
		fputs("  ", json->out);
}

static void place(struct gp_json *json, const char *key)
{
	if (json->depth && json->has_member[json->depth])
		fputs(is_flat(json) ? ", " : ",", json->out);
	if (json->depth && !is_flat(json))
		line_break(json);
	json->has_member[json->depth] = true;
	if (key) {
		quote(json->out, key, strlen(key));
		fputs(": ", json->out);
	}
}

static void json_enter(struct gp_json *json, const char *key, char opener, char closer)
{
	place(json, key);
	fputc(opener, json->out);
	json->depth++;
	assert(json->depth < sizeof json->closer);
	json->closer[json->depth] = closer;
	json->has_member[json->depth] = false;
}

void gp_json_object(struct gp_json *json, const char *key)
{
	const bool is_listed = json->depth == 1 && json->closer[1] == ']';
	json_enter(json, key, '{', '}');
	if (json->is_foreign || (!is_listed && (json->depth > 1 || json->has_schema)))
		return;
	gp_json_number(json, "schema", GP_JSON_SCHEMA);
	json->has_schema = true;
}

void gp_json_array(struct gp_json *json, const char *key)
{
	json_enter(json, key, '[', ']');
}

void gp_json_end(struct gp_json *json)
{
	bool breaks = json->has_member[json->depth] && !is_flat(json);
	char closer = json->closer[json->depth--];
	if (breaks)
		line_break(json);
	fputc(closer, json->out);
	if (json->depth == 0)
		fputc('\n', json->out);
}

void gp_json_bytes(struct gp_json *json, const char *key, const char *text, size_t bytes)
{
	place(json, key);
	quote(json->out, text, bytes);
}

void gp_json_text(struct gp_json *json, const char *key, const char *text)
{
	if (text)
		gp_json_bytes(json, key, text, strlen(text));
	else
		gp_json_null(json, key);
}

void gp_json_number(struct gp_json *json, const char *key, uint64_t number)
{
	place(json, key);
	fprintf(json->out, "%" PRIu64, number);
}

void gp_json_signed(struct gp_json *json, const char *key, int64_t number)
{
	place(json, key);
	fprintf(json->out, "%" PRId64, number);
}

void gp_json_real(struct gp_json *json, const char *key, double number)
{
	place(json, key);
	if (isfinite(number))
		fprintf(json->out, "%.6g", number);
	else
		fputs("null", json->out);
}

void gp_json_decimal(struct gp_json *json, const char *key, double number, int decimals)
{
	place(json, key);
	fprintf(json->out, "%.*f", decimals, number);
}

void gp_json_bool(struct gp_json *json, const char *key, bool is_true)
{
	place(json, key);
	fputs(is_true ? "true" : "false", json->out);
}

void gp_json_null(struct gp_json *json, const char *key)
{
	place(json, key);
	fputs("null", json->out);
}

void gp_json_number_if(struct gp_json *json, const char *key, bool is_known, uint64_t number)
{
	if (is_known)
		gp_json_number(json, key, number);
	else
		gp_json_null(json, key);
}

void gp_json_signed_if(struct gp_json *json, const char *key, bool is_known, int64_t number)
{
	if (is_known)
		gp_json_signed(json, key, number);
	else
		gp_json_null(json, key);
}

void gp_json_written(struct gp_json *json, const char *key, const char *value, size_t bytes)
{
	place(json, key);
	fwrite(value, 1, bytes, json->out);
}

void gp_json_hex(struct gp_json *json, const char *key, uint64_t number)
{
	place(json, key);
	fprintf(json->out, "\"0x%" PRIx64 "\"", number);
}
