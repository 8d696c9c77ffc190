/*
 * Events of a JSON trace, written fast: fixed texts, numbers and texts that are quoted already. The
 * rest of the file is written with io/json.h, and so is each text of a recording, once.
 */
#ifndef GP_CHROME_TEXT_H
#define GP_CHROME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../write/digits.h"

#define GP_CHROME_ROOM (1u << 16)
#define GP_CHROME_SHORT 4096u /* of texts that fit without a test */

struct gp_chrome_text {
	FILE *out;
	uint64_t written;
	size_t used;
	char buffer[GP_CHROME_ROOM];
};

static inline void gp_chrome_flush(struct gp_chrome_text *c)
{
	fwrite(c->buffer, 1, c->used, c->out);
	c->written += c->used;
	c->used = 0;
}

/* Before each event: room for its fixed texts and numbers. */
static inline void gp_chrome_reserve(struct gp_chrome_text *c)
{
	if (c->used > GP_CHROME_ROOM - GP_CHROME_SHORT)
		gp_chrome_flush(c);
}

static inline void gp_chrome_bytes(struct gp_chrome_text *c, const char *text, size_t bytes)
{
	memcpy(c->buffer + c->used, text, bytes);
	c->used += bytes;
}
/* A fixed text, of at most 200 bytes. */
#define gp_chrome_fixed(c, text) gp_chrome_bytes((c), "" text, sizeof(text) - 1)

/* Any text; afterwards there is room for an event again. */
static inline void gp_chrome_long(struct gp_chrome_text *c, const char *text)
{
	const size_t bytes = strlen(text);
	if (bytes > GP_CHROME_ROOM - GP_CHROME_SHORT - c->used)
		gp_chrome_flush(c);
	if (bytes > GP_CHROME_ROOM - GP_CHROME_SHORT) {
		fwrite(text, 1, bytes, c->out);
		c->written += bytes;
		return;
	}
	gp_chrome_bytes(c, text, bytes);
}

static inline void gp_chrome_number(struct gp_chrome_text *c, uint64_t value)
{
	c->used = (size_t)(gp_digits_put(c->buffer + c->used, value) - c->buffer);
}

/* Beyond 2^53, which a double no longer holds exactly, as a text. */
static inline void gp_chrome_id(struct gp_chrome_text *c, uint64_t value)
{
	const bool is_text = value >> 53 != 0;
	if (is_text)
		gp_chrome_fixed(c, "\"");
	gp_chrome_number(c, value);
	if (is_text)
		gp_chrome_fixed(c, "\"");
}

/* Nanoseconds as microseconds with three decimals. */
static inline void gp_chrome_us(struct gp_chrome_text *c, int64_t ns)
{
	uint64_t value = (uint64_t)ns;
	if (ns < 0) {
		gp_chrome_fixed(c, "-");
		value = -value;
	}
	gp_chrome_number(c, value / 1000);
	const unsigned rest = (unsigned)(value % 1000);
	const char decimals[4] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
				   (char)('0' + rest % 10) };
	gp_chrome_bytes(c, decimals, sizeof decimals);
}

#endif
