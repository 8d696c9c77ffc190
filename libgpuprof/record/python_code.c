/*
 * What a code object is: its identity, and its names and lines at first sight. Code objects die and
 * their addresses come back at once, so an address alone says nothing later.
 */
#include "python_object.h"
#include "python_walk.h"

/* Odd constants without structure (digits of the fractions of square roots of primes). */
#define KEY_1 0x6a09e667f3bcc909u
#define KEY_2 0xbb67ae8584caa73bu
#define KEY_3 0x3c6ef372fe94f82bu
#define KEY_4 0xa54ff53a5f1d36f1u
#define KEY_5 0x510e527fade682d1u
#define KEY_6 0x9b05688c2b3e6c1fu
#define KEY_7 0x1f83d9abfb41bd6bu
#define KEY_8 0x5be0cd19137e2179u
#define KEY_9 0xcbbb9d5dc1059ed9u
#define KEY_10 0x629a292a367cd507u

/* Both halves of the 128-bit product. */
GP_HOT uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

GP_HOT uint64_t word_at(const void *object, int64_t at)
{
	uint64_t value;
	memcpy(&value, (const char *)object + at, sizeof value);
	return value;
}

/*
 * By no whole number of bytes: a bit that is in two words that overlap then counts in two places.
 * In one it would count with the sum of two keys, which is even.
 */
GP_HOT uint64_t turned(uint64_t word)
{
	return word << 29 | word >> 35;
}

/*
 * The first 16 and the last 8 bytes of a table, never a byte outside its object: of a shorter table
 * words overlap, and in one below 8 bytes what the word holds of the object's head is shifted out.
 */
GP_HOT uint64_t table_print(const struct gp_python_layout *l, const void *table)
{
	const int64_t size = gp_long_at(table, l->object_size), data = l->bytes_data;
	const uint64_t length = (uint64_t)size * KEY_7;
	if (size <= 0)
		return length;
	uint64_t last = word_at(table, data + size - 8);
	if (gp_likely(size >= 16))
		return length + word_at(table, data) * KEY_8 + word_at(table, data + 8) * KEY_9 +
		       turned(last) * KEY_10;
	const uint64_t first = size >= 8 ? word_at(table, data) : 0;
	if (size < 8)
		last >>= 8 * (8 - size);
	return length + first * KEY_8 + turned(last) * KEY_10;
}

/*
 * Before 3.12 code objects have no number of their own. Their address, the addresses of what they
 * hold, size and lines together never met twice for different functions in 30,000 that were made
 * and dropped at the same few addresses; without the table's bytes up to 0.25 % did. A sum of
 * products with odd keys: a word that differs alone always tells.
 */
static uint64_t fingerprint(const struct gp_python_layout *l, const void *code)
{
	const void *table = gp_pointer_at(code, l->code_lines);
	const uint64_t size = word_at(code, l->minor < 11 ? l->code_bytecode : l->object_size);
	const uint64_t line = (uint32_t)gp_int_at(code, l->code_first_line);
	return (uintptr_t)code * KEY_1 + word_at(code, l->code_file) * KEY_2 +
	       word_at(code, l->code_name) * KEY_3 + (uintptr_t)table * KEY_4 + size * KEY_5 +
	       line * KEY_6 + table_print(l, table);
}

uint64_t gp_python_identity(const void *code)
{
	const struct gp_python *p = gp_python_get();
	if (gp_unlikely(!p))
		return 1;
	const struct gp_python_layout *l = &p->layout;
	/* counts up with each code object that is made, and is 0 for all when it has run over */
	uint64_t version = l->code_version >= 0 ? (uint32_t)gp_int_at(code, l->code_version) : 0;
	uint64_t identity = gp_likely(version) ? fold((uintptr_t)code ^ KEY_1, version ^ KEY_2) :
						 fingerprint(l, code);
	return identity ? identity : KEY_1;
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
		gp_python_switch_off(p, "self-check: a frame's code is no code object");
		return false;
	}
	gp_python_text_copy(l, text_type, gp_pointer_at(code, l->code_file), file);
	gp_python_text_copy(l, text_type, gp_pointer_at(code, l->code_name), name);
	*first_line = gp_int_at(code, l->code_first_line);
	return true;
}

int32_t gp_python_line(const void *code, int32_t offset)
{
	const struct gp_python *p = gp_python_get();
	if (!p)
		return GP_PYTHON_NO_LINE;
	const struct gp_python_layout *l = &p->layout;
	const void *table = gp_pointer_at(code, l->code_lines);
	int64_t size = gp_long_at(table, l->object_size);
	/* a table of a class of its own may keep its bytes elsewhere */
	if (gp_pointer_at(table, l->object_type) != p->symbols.bytes_type || size < 0)
		return GP_PYTHON_NO_LINE;
	return gp_python_decode_line(l->lines, (const uint8_t *)table + l->bytes_data, (size_t)size,
				     gp_int_at(code, l->code_first_line), offset);
}
