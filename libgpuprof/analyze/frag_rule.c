/* Sizes as the allocator rounds them; its settings as the job's environment says them. */
#include "frag_rule.h"

#include <stdlib.h>
#include <string.h>

#define LARGE_SEGMENT (20 * GP_MIB)
#define BUCKET_FIRST 20u /* log2 of a MiB */

const struct gp_allocator_settings gp_allocator_defaults = {
	.max_split_bytes = UINT64_MAX,
	.max_non_split_rounding = LARGE_SEGMENT,
	.large_segment_bytes = LARGE_SEGMENT,
};

/* ---- sizes ---- */

static unsigned log2_of(uint64_t n)
{
	return 63u - (unsigned)__builtin_clzll(n);
}

/* Sizes of the power of two below `bytes` are multiples of this. */
static uint64_t step_at(const struct gp_allocator_settings *s, uint64_t bytes)
{
	if (bytes < GP_BLOCK_UNIT)
		return GP_BLOCK_UNIT;
	unsigned log = log2_of(bytes), bucket = log > BUCKET_FIRST ? log - BUCKET_FIRST : 0;
	bucket = bucket < GP_ROUNDUP_BUCKETS ? bucket : GP_ROUNDUP_BUCKETS - 1;
	uint64_t divisions = s->roundup_divisions[bucket];
	if (divisions <= 1 || bytes <= GP_BLOCK_UNIT * divisions)
		return GP_BLOCK_UNIT;
	return (UINT64_C(1) << log) >> log2_of(divisions);
}

uint64_t gp_allocator_rounded(const struct gp_allocator_settings *s, uint64_t bytes)
{
	uint64_t step = step_at(s, bytes);
	if (bytes > UINT64_MAX - step)
		return UINT64_MAX / GP_BLOCK_UNIT * GP_BLOCK_UNIT;
	return bytes < GP_BLOCK_UNIT ? GP_BLOCK_UNIT : (bytes + step - 1) / step * step;
}

uint64_t gp_rule_floor(const struct gp_allocator_settings *s, uint64_t bytes)
{
	/* steps end where a power of two does */
	return bytes / step_at(s, bytes) * step_at(s, bytes);
}

uint64_t gp_rule_segment(const struct gp_allocator_settings *s, uint64_t rounded)
{
	if (rounded <= GP_SMALL_MOST)
		return GP_SMALL_SEGMENT;
	if (rounded < GP_LARGE_ALONE)
		return s->large_segment_bytes;
	if (rounded > UINT64_MAX - GP_SMALL_SEGMENT)
		return UINT64_MAX;
	return (rounded + GP_SMALL_SEGMENT - 1) / GP_SMALL_SEGMENT * GP_SMALL_SEGMENT;
}

bool gp_rule_takes(const struct gp_allocator_settings *s, uint64_t rounded, uint64_t block)
{
	if (rounded < s->max_split_bytes)
		return block < s->max_split_bytes || s->max_split_bytes == UINT64_MAX;
	return block - rounded < s->max_non_split_rounding;
}

uint64_t gp_rule_largest(const struct gp_allocator_settings *s, uint64_t most, uint64_t room)
{
	/* a size in each of the three ways to a segment, the largest first */
	uint64_t whole = room / GP_SMALL_SEGMENT * GP_SMALL_SEGMENT;
	const uint64_t tried[] = { whole, GP_LARGE_ALONE - GP_BLOCK_UNIT, GP_SMALL_MOST };
	for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
		uint64_t bytes = gp_rule_floor(s, tried[k] < most ? tried[k] : most);
		if (bytes != 0 && gp_rule_segment(s, bytes) <= room)
			return bytes;
	}
	return 0;
}

uint64_t gp_rule_page(const struct gp_allocator_settings *s, bool is_small)
{
	return is_small ? GP_SMALL_SEGMENT : s->large_segment_bytes;
}

/* ---- settings ---- */

static const char *skip_blank(const char *at)
{
	return at + strspn(at, " \t");
}

/*
 * "[256:1,512:2,>:8]": keys are MiB. The first one fills the buckets below it, too, `>`
 * those behind the last; one that no key names has no divisions.
 */
static void read_divisions(const char *at, struct gp_allocator_settings *out)
{
	unsigned next = 0;
	bool is_first = true;
	while (*at == '[' || *at == ',') {
		char *end;
		at = skip_blank(at + 1);
		bool is_rest = *at == '>';
		unsigned long key = is_rest ? 1 : strtoul(at, &end, 10);
		at = skip_blank(is_rest ? at + 1 : end);
		if (*at != ':' || key == 0)
			return;
		unsigned divisions = (unsigned)strtoul(at + 1, &end, 10);
		unsigned bucket = is_rest ? GP_ROUNDUP_BUCKETS - 1 : log2_of(key);
		bucket = bucket < GP_ROUNDUP_BUCKETS ? bucket : GP_ROUNDUP_BUCKETS - 1;
		for (unsigned k = is_rest || is_first ? next : bucket; k <= bucket; k++)
			out->roundup_divisions[k] = divisions;
		next = bucket + 1;
		is_first = false;
		at = skip_blank(end);
	}
}

static uint64_t read_mib(const char *at)
{
	unsigned long long mib = strtoull(at, NULL, 10);
	return mib > UINT64_MAX / GP_MIB ? UINT64_MAX : (uint64_t)mib * GP_MIB;
}

static bool is_key(const char *at, size_t bytes, const char *name)
{
	return strlen(name) == bytes && memcmp(at, name, bytes) == 0;
}

static void read_setting(const char *key, size_t bytes, const char *value,
			 struct gp_allocator_settings *out)
{
	if (is_key(key, bytes, "max_split_size_mb"))
		out->max_split_bytes = read_mib(value);
	else if (is_key(key, bytes, "max_non_split_rounding_mb"))
		out->max_non_split_rounding = read_mib(value);
	else if (is_key(key, bytes, "large_segment_size_mb"))
		out->large_segment_bytes = read_mib(value);
	else if (is_key(key, bytes, "expandable_segments"))
		out->is_expandable = strncmp(value, "True", 4) == 0;
	else if (is_key(key, bytes, "roundup_power2_divisions") && *value == '[')
		read_divisions(value, out);
	else if (is_key(key, bytes, "roundup_power2_divisions"))
		for (unsigned k = 0; k < GP_ROUNDUP_BUCKETS; k++)
			out->roundup_divisions[k] = (unsigned)strtoul(value, NULL, 10);
}

void gp_allocator_settings_read(const char *text, struct gp_allocator_settings *out)
{
	*out = gp_allocator_defaults;
	for (const char *at = text != NULL ? text : ""; *at != '\0';) {
		at = skip_blank(at);
		size_t bytes = strcspn(at, ":, \t");
		const char *key = at, *colon = skip_blank(at + bytes);
		if (*colon != ':') {
			at = colon + (*colon != '\0');
			continue;
		}
		const char *value = skip_blank(colon + 1);
		read_setting(key, bytes, value, out);
		at = value + strcspn(value, *value == '[' ? "]" : ",");
		at += *at == ']';
		at += *at == ',';
	}
	/* what PyTorch refuses to run with */
	if (out->large_segment_bytes < GP_SMALL_SEGMENT)
		out->large_segment_bytes = LARGE_SEGMENT;
}
