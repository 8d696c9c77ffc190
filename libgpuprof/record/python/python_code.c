/*
 * Describes a code object: its identity, and its names and lines when it is first met. Code objects
 * die and their addresses are reused at once, so an address alone does not identify code later
 * (python_code_frees.c).
 */
#include "python_object.h"
#include "python_walk.h"

/* Odd constants without structure (digits of the fractions of square roots of primes). */
#define KEY_1 0x6a09e667f3bcc909u
#define KEY_2 0xbb67ae8584caa73bu

/* Both halves of the 128-bit product. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)(a ^ KEY_1) * (b ^ KEY_2);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t gp_python_identity(const void *code)
{
	gp_python_watch_code(code);
	const uint64_t identity = mix((uintptr_t)code, gp_python_code_frees(code));
	return identity ? identity : KEY_1;
}

static uint64_t print_of(uint64_t print, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	for (print = mix(print, n); n >= sizeof print; n -= sizeof print, at += sizeof print) {
		uint64_t word;
		memcpy(&word, at, sizeof word);
		print = mix(print + word, word);
	}
	uint64_t last = 0;
	memcpy(&last, at, n);
	return mix(print + last, n);
}

bool gp_python_describe(const void *code, struct gp_python_text *file, struct gp_python_text *name,
			int32_t *first_line)
{
	struct gp_python *p = gp_python_get();
	if (!p)
		return false;
	const struct gp_python_layout *l = &p->layout;
	const void *text_type = p->symbols.text_type;
	if (gp_pointer_at(code, l->object_type) != p->symbols.code_type) {
		gp_python_switch_off(p, "self-check: a frame's code is not a code object");
		return false;
	}
	if (!gp_python_counts_code_frees(p))
		return false;
	gp_python_text_copy(l, text_type, gp_pointer_at(code, l->code_file), file);
	gp_python_text_copy(l, text_type, gp_pointer_at(code, l->code_name), name);
	*first_line = gp_int_at(code, l->code_first_line);
	return true;
}

/* NULL: none that is readable. */
static const uint8_t *lines_of(const struct gp_python *p, const void *code, size_t *bytes)
{
	const struct gp_python_layout *l = &p->layout;
	const void *table = gp_pointer_at(code, l->code_lines);
	const int64_t size = gp_long_at(table, l->object_size);
	/* a subclass of bytes may store its bytes elsewhere */
	if (gp_pointer_at(table, l->object_type) != p->symbols.bytes_type || size < 0)
		return NULL;
	*bytes = (size_t)size;
	return (const uint8_t *)table + l->bytes_data;
}

int32_t gp_python_line(const void *code, int32_t offset)
{
	const struct gp_python *p = gp_python_get();
	size_t bytes;
	const uint8_t *lines = p ? lines_of(p, code, &bytes) : NULL;
	if (!lines)
		return GP_PYTHON_NO_LINE;
	return gp_python_decode_line(p->layout.lines, lines, bytes,
				     gp_int_at(code, p->layout.code_first_line), offset);
}

uint64_t gp_python_print(const void *code, const char *text, size_t text_bytes)
{
	const struct gp_python *p = gp_python_get();
	size_t bytes = 0;
	const uint8_t *lines = p ? lines_of(p, code, &bytes) : NULL;
	uint64_t print = print_of(0, text, text_bytes);
	if (p)
		print = mix(print, (uint32_t)gp_int_at(code, p->layout.code_first_line));
	return lines ? print_of(print, lines, bytes) : print;
}
