/* Mutations of a JSON text by its tokens: numbers, strings, and the text between two commas. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

static size_t replace(uint8_t *data, size_t bytes, size_t room, size_t at, size_t old,
		      const void *new, size_t count)
{
	if (bytes - old + count > room)
		return bytes;
	memmove(data + at + count, data + at + old, bytes - at - old);
	memcpy(data + at, new, count);
	return bytes - old + count;
}

/* Returns the first position of one of `set`, from a random one on and around the end. */
static size_t any_of(const uint8_t *data, size_t bytes, const char *set)
{
	size_t from = fuzz_below(bytes);
	for (size_t i = 0; i < bytes; i++) {
		size_t at = (from + i) % bytes;
		if (data[at] != '\0' && strchr(set, data[at]))
			return at;
	}
	return from;
}

static size_t change_number(uint8_t *data, size_t bytes, size_t room)
{
	static const char *const forms[] = { "%llu",	  "-%llu",  "%llue9",
					     "%llue-400", "0.%llu", "%llue999999999" };
	char text[48];
	size_t at = any_of(data, bytes, "0123456789"), end = at;
	while (end < bytes && isdigit(data[end]))
		end++;
	const char *form = forms[fuzz_below(2) ? 0 : fuzz_below(sizeof forms / sizeof *forms)];
	int n = snprintf(text, sizeof text, form, (unsigned long long)fuzz_number(1u << 20));
	return replace(data, bytes, room, at, end - at, text, (size_t)n);
}

/* Moves the text between two delimiters to another delimiter, or removes it. */
static size_t move_part(uint8_t *data, size_t bytes, size_t room)
{
	uint8_t part[256];
	size_t at = any_of(data, bytes, ",{[:"), end = at + 1;
	while (end < bytes && end - at < sizeof part && !strchr(",]}", data[end]))
		end++;
	memcpy(part, data + at, end - at < sizeof part ? end - at : sizeof part);
	if (fuzz_below(3) == 0)
		return replace(data, bytes, room, at, end - at, "", 0);
	size_t to = any_of(data, bytes, ",]}");
	return replace(data, bytes, room, to, 0, part, end - at < sizeof part ? end - at : 0);
}

/* Deeper than any recursive reader can follow. */
static size_t nest(uint8_t *data, size_t bytes, size_t room)
{
	static const char *const opening[] = { "[", "{\"a\":", "[[{\"\":[" };
	const char *text = opening[fuzz_below(3)];
	size_t at = any_of(data, bytes, ":,[");
	for (size_t n = 1 + fuzz_below(fuzz_below(4) ? 40 : 20000); n > 0; n--)
		bytes = replace(data, bytes, room, at < bytes ? at + 1 : bytes, 0, text,
				strlen(text));
	return bytes;
}

size_t fuzz_mutate_json(uint8_t *data, size_t bytes, size_t room)
{
	if (bytes < 2)
		return 0;
	for (size_t n = 1 + fuzz_below(3); n > 0 && bytes > 1; n--)
		switch (fuzz_below(8)) {
		case 0:
		case 1:
		case 2:
			bytes = change_number(data, bytes, room);
			break;
		case 3: {
			const char *text = fuzz_text();
			size_t at = any_of(data, bytes, "\"");
			bytes = replace(data, bytes, room, at + 1, 0, text, strlen(text));
			break;
		}
		case 4:
			if (fuzz_below(8) == 0)
				bytes = nest(data, bytes, room);
			break;
		case 5:
			bytes = fuzz_mutate_bytes(data, bytes, room);
			break;
		default:
			bytes = move_part(data, bytes, room);
		}
	return bytes;
}
