/*
 * gp_allocator_settings_read of the library reads the settings that decide what fits; this file
 * reads the other keys. Ignores unknown keys: PyTorch would not start with one.
 */
#include "alloc_settings.h"

#include <stdlib.h>
#include <string.h>

#include "gpuprof.h"

#define TEXT_MOST 4096u

static bool is_key(const char *at, size_t bytes, const char *key)
{
	return strlen(key) == bytes && memcmp(at, key, bytes) == 0;
}

static bool is_true(const char *value)
{
	return strncmp(value, "True", 4) == 0;
}

static void read_pair(struct gp_alloc_settings *s, const char *key, size_t bytes, const char *value)
{
	if (is_key(key, bytes, "garbage_collection_threshold"))
		s->garbage_collection_threshold = strtod(value, NULL);
	else if (is_key(key, bytes, "release_lock_on_cudamalloc"))
		s->releases_lock = is_true(value);
	else if (is_key(key, bytes, "pinned_use_cuda_host_register"))
		s->has_host_register = is_true(value);
	else if (is_key(key, bytes, "pinned_num_register_threads"))
		s->register_threads = strtoull(value, NULL, 10);
}

/* Removes blanks. */
static void copy_bare(const char *text, char *out)
{
	size_t used = 0;
	for (; *text && used + 1 < TEXT_MOST; text++)
		if (!strchr(" \t\n\v\f\r", *text))
			out[used++] = *text;
	out[used] = '\0';
}

struct gp_alloc_settings gp_alloc_settings_parse(const char *whole)
{
	struct gp_alloc_settings s = { .max_split_bytes = -1, .register_threads = 1 };
	struct gp_allocator_settings known;
	char bare[TEXT_MOST];
	const char *text = bare;
	gp_allocator_settings_read(whole, &known);
	if (known.max_split_bytes <= INT64_MAX)
		s.max_split_bytes = (int64_t)known.max_split_bytes;
	s.has_expandable_segments = known.is_expandable;
	for (unsigned k = 0; k < GP_ROUNDUP_BUCKETS; k++)
		s.divisions[k] = known.roundup_divisions[k];
	copy_bare(whole, bare);
	while (*text) {
		text += *text == ',';
		size_t bytes = strcspn(text, ":,");
		if (text[bytes] == ':') {
			const char *value = text + bytes + 1;
			read_pair(&s, text, bytes, value);
			/* commas inside a list do not end the pair */
			const char *end = *value == '[' ? strchr(value, ']') : NULL;
			text = end ? end : value;
		}
		text += strcspn(text, ",");
	}
	return s;
}
