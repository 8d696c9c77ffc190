/* One pass over the text. What it does not know it passes over: PyTorch would not start with it. */
#include "alloc_settings.h"

#include <stdlib.h>
#include <string.h>

#define MIB (1ull << 20)

static bool is_key(const char *at, size_t bytes, const char *key)
{
	return strlen(key) == bytes && memcmp(at, key, bytes) == 0;
}

static bool is_true(const char *value)
{
	return strncmp(value, "True", 4) == 0;
}

static unsigned rank_of(uint64_t mib)
{
	unsigned rank = 0;
	while (mib > 1 && rank < GP_ROUNDUP_SIZES - 1) {
		mib >>= 1;
		rank++;
	}
	return rank;
}

/*
 * "4": for all sizes. "[256:1,512:2,>:8]": from 256 MiB on; the first one counts for what is
 * smaller, too, '>' for all that is larger than the last.
 */
static void read_divisions(struct gp_alloc_settings *s, const char *value)
{
	unsigned next = 0;
	if (*value != '[') {
		for (unsigned k = 0; k < GP_ROUNDUP_SIZES; k++)
			s->divisions[k] = strtoull(value, NULL, 10);
		return;
	}
	while (*value && *value != ']') {
		const char *size = value + 1, *colon = strchr(size, ':');
		if (!colon)
			return;
		uint64_t divisions = strtoull(colon + 1, NULL, 10);
		bool is_rest = *size == '>';
		unsigned rank = is_rest ? GP_ROUNDUP_SIZES - 1 : rank_of(strtoull(size, NULL, 10));
		for (unsigned k = is_rest || !next ? next : rank; k <= rank; k++)
			s->divisions[k] = divisions;
		next = rank + 1;
		value = colon + strcspn(colon, ",]");
	}
}

static void read_pair(struct gp_alloc_settings *s, const char *key, size_t bytes, const char *value)
{
	if (is_key(key, bytes, "max_split_size_mb"))
		s->max_split_bytes = (int64_t)(strtoull(value, NULL, 10) * MIB);
	else if (is_key(key, bytes, "garbage_collection_threshold"))
		s->garbage_collection_threshold = strtod(value, NULL);
	else if (is_key(key, bytes, "expandable_segments"))
		s->has_expandable_segments = is_true(value);
	else if (is_key(key, bytes, "release_lock_on_cudamalloc"))
		s->releases_lock = is_true(value);
	else if (is_key(key, bytes, "pinned_use_cuda_host_register"))
		s->has_host_register = is_true(value);
	else if (is_key(key, bytes, "pinned_num_register_threads"))
		s->register_threads = strtoull(value, NULL, 10);
	else if (is_key(key, bytes, "roundup_power2_divisions"))
		read_divisions(s, value);
}

struct gp_alloc_settings gp_alloc_settings_parse(const char *text)
{
	struct gp_alloc_settings s = { .max_split_bytes = -1, .register_threads = 1 };
	while (*text) {
		text += strspn(text, ", ");
		size_t bytes = strcspn(text, ":,");
		if (text[bytes] == ':') {
			const char *value = text + bytes + 1;
			value += strspn(value, " ");
			read_pair(&s, text, bytes, value);
			/* commas of a list are its own */
			const char *end = *value == '[' ? strchr(value, ']') : NULL;
			text = end ? end : value;
		}
		text += strcspn(text, ",");
	}
	return s;
}
