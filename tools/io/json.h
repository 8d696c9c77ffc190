/* Writes JSON to a stream, commas and escapes included. Text that is not UTF-8 becomes U+FFFD. */
#ifndef GP_JSON_H
#define GP_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Nesting depth: 256 levels of ranges take two containers each. */
#define GP_JSON_DEEP 640u

struct gp_json {
	FILE *out;
	unsigned depth;
	unsigned flat_from; /* containers from this depth on stay on one line */
	bool has_schema;    /* written, or not part of this file's format */
	bool is_foreign;    /* the format of another program: no "schema" */
	bool has_member[GP_JSON_DEEP];
	char closer[GP_JSON_DEEP];
};

/* Version of docs/JSON.md. Increases if a key is removed or changes its meaning or unit. */
#define GP_JSON_SCHEMA 1u

/*
 * flat_from 0: all on one line. The outermost object, or each object of an outermost list, begins
 * with "schema". In a sequence of objects only the first one does.
 */
void gp_json_init(struct gp_json *json, FILE *out, unsigned flat_from);

/* `key` is NULL inside arrays and for the outermost value. */
void gp_json_object(struct gp_json *json, const char *key);
void gp_json_array(struct gp_json *json, const char *key);
void gp_json_end(
	struct gp_json *json); /* closes the innermost container; the outermost ends the line */
void gp_json_text(struct gp_json *json, const char *key, const char *text); /* NULL: null */
void gp_json_bytes(struct gp_json *json, const char *key, const char *text, size_t bytes);
void gp_json_number(struct gp_json *json, const char *key, uint64_t number);
void gp_json_signed(struct gp_json *json, const char *key, int64_t number);
void gp_json_real(struct gp_json *json, const char *key, double number); /* not finite: null */
void gp_json_decimal(struct gp_json *json, const char *key, double number, int decimals);
void gp_json_bool(struct gp_json *json, const char *key, bool is_true);
void gp_json_null(struct gp_json *json, const char *key);
/* null unless `is_known` */
void gp_json_number_if(struct gp_json *json, const char *key, bool is_known, uint64_t number);
void gp_json_signed_if(struct gp_json *json, const char *key, bool is_known, int64_t number);
/* A value that is JSON already. */
void gp_json_written(struct gp_json *json, const char *key, const char *value, size_t bytes);
/* A handle or address: "0x7f12" */
void gp_json_hex(struct gp_json *json, const char *key, uint64_t number);

#endif
