/* Decimal digits, two at a time: printf costs ten times as much. */
#ifndef GP_DIGITS_H
#define GP_DIGITS_H

#include <stdint.h>
#include <string.h>

#define GP_DIGITS_MOST 20u

/* Writes a number without an end; returns the place behind it. */
static inline char *gp_digits_put(char *out, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char digits[GP_DIGITS_MOST];
	size_t at = sizeof digits;
	while (value >= 100) {
		const unsigned two = (unsigned)(value % 100);
		value /= 100;
		at -= 2;
		memcpy(digits + at, pairs + 2 * two, 2);
	}
	if (value >= 10) {
		at -= 2;
		memcpy(digits + at, pairs + 2 * value, 2);
	} else {
		digits[--at] = (char)('0' + value);
	}
	memcpy(out, digits + at, sizeof digits - at);
	return out + (sizeof digits - at);
}

#endif
