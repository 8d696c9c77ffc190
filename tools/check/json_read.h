/*
 * Reads small JSON files that people write by hand. Takes whole texts, not streams.
 */
#ifndef GP_JSON_READ_H
#define GP_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gp_json_type {
	GP_JSON_NULL,
	GP_JSON_BOOL,
	GP_JSON_NUMBER,
	GP_JSON_TEXT,
	GP_JSON_LIST,
	GP_JSON_OBJECT
};
struct gp_json_value {
	enum gp_json_type type;
	char *key;		/* of a member; NULL: not a member */
	char *text;		/* of a TEXT, UTF-8 without NUL */
	bool is_true, is_whole; /* whole: a number without sign, fraction and exponent: `whole` */
	uint64_t whole;
	size_t children;
	struct gp_json_value *child;
};

#define GP_JSON_WHY_MAX 96u
/*
 * Reads one value, nested at most 32 deep, with no text after it. False: `why` has the expected
 * token and its place: "expected ',' or '}' at byte 17". Free with gp_json_value_free, also after a
 * failure.
 */
bool gp_json_value_read(const char *text, size_t bytes, struct gp_json_value *out,
			char why[GP_JSON_WHY_MAX]);
void gp_json_value_free(struct gp_json_value *value);
/* The first member with that key and type; NULL: none. */
const struct gp_json_value *gp_json_value_find(const struct gp_json_value *object, const char *key,
					       enum gp_json_type type);

#endif
