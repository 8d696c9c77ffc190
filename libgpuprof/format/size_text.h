/* Sizes as users write them, parsed alike in GPUPROF_* variables and in options. */
#ifndef GP_SIZE_TEXT_H
#define GP_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define GP_SIZE_DECIMALS 6u /* ignores further digits: 1 TiB times a million is below 2^60 */

/*
 * "512M", "4 MiB", "1g", "1.50 GiB" (as in PyTorch's messages), or whole bytes. False: not a size.
 */
static inline bool gp_size_parse(const char *text, uint64_t *out)
{
	static const char units[] = "kmgt";
	uint64_t number = 0, part = 0, parts = 1;
	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	const bool has_point = *text == '.';
	text += has_point;
	if (has_point && (*text < '0' || *text > '9'))
		return false;
	for (unsigned k = 0; has_point && *text >= '0' && *text <= '9'; text++, k++)
		if (k < GP_SIZE_DECIMALS) {
			part = part * 10 + (uint64_t)(*text - '0');
			parts *= 10;
		}
	text += strspn(text, " ");
	const char *unit = *text != '\0' ? strchr(units, *text | 0x20) : NULL;
	if (unit == NULL) {
		*out = number;
		return *text == '\0' && !has_point;
	}
	const unsigned shift = 10u * (unsigned)(unit - units + 1);
	text++;
	if ((*text != '\0' && strcasecmp(text, "b") != 0 && strcasecmp(text, "ib") != 0) ||
	    number >> (64 - shift) != 0)
		return false;
	*out = (number << shift) + (part << shift) / parts;
	return true;
}

#endif
