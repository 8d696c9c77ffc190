/*
 * Reads the allocator's settings as its own parser does. Blanks are ignored. Each of `,` `:` `[`
 * `]` is a token, and the characters between them form a word. Skips settings that affect no
 * figure. Lists unknown settings that may affect one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frag_rule.h"

#define WORD_MOST 64u

/* ---- the variable that counts ---- */

/* PYTORCH_CUDA_ALLOC_CONF wins if both are set (PyTorch 2.11). */
static const char *const variables[] = { "PYTORCH_CUDA_ALLOC_CONF=", "PYTORCH_ALLOC_CONF=" };
#define SECOND " PYTORCH_ALLOC_CONF="

const char *gp_allocator_settings_value(const char *text, size_t *bytes)
{
	*bytes = text != NULL ? strlen(text) : 0;
	for (size_t k = 0; text != NULL && k < sizeof variables / sizeof *variables; k++) {
		size_t name = strlen(variables[k]);
		if (strncmp(text, variables[k], name) != 0)
			continue;
		const char *second = k == 0 ? strstr(text, SECOND) : NULL;
		*bytes = (second != NULL ? (size_t)(second - text) : *bytes) - name;
		return text + name;
	}
	return text;
}

/* True: both variables are set, with different values. */
static bool is_ambiguous(const char *text, const char *value, size_t bytes)
{
	if (text == NULL || value[bytes] == '\0')
		return false;
	const char *second = value + bytes + strlen(SECOND);
	return strlen(second) != bytes || memcmp(second, value, bytes) != 0;
}

/* ---- words ---- */

struct words {
	const char *at, *end;
	char word[WORD_MOST]; /* the current one; "": the end */
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_mark(char c)
{
	return c != '\0' && strchr(",:[]", c) != NULL;
}

static void advance(struct words *w)
{
	size_t n = 0;
	for (; w->at < w->end; w->at++) {
		if (is_blank(*w->at))
			continue;
		if (is_mark(*w->at) && n != 0)
			break;
		if (n + 1 < WORD_MOST)
			w->word[n++] = *w->at;
		if (is_mark(*w->at)) {
			w->at++;
			break;
		}
	}
	w->word[n] = '\0';
}

static bool is_word(const struct words *w, const char *word)
{
	return strcmp(w->word, word) == 0;
}

/* Advances to the word after a colon. */
static bool advance_to_value(struct words *w)
{
	advance(w);
	if (!is_word(w, ":"))
		return false;
	advance(w);
	return !is_mark(*w->word) || *w->word == '[';
}

/* ---- values ---- */

static uint64_t mib_of(const struct words *w)
{
	unsigned long long mib = strtoull(w->word, NULL, 10);
	return mib > UINT64_MAX / GP_MIB ? UINT64_MAX : (uint64_t)mib * GP_MIB;
}

/* 0: not a value that PyTorch accepts. */
static double fraction_of(const struct words *w)
{
	double fraction = strtod(w->word, NULL);
	return fraction > 0 && fraction <= 1 ? fraction : 0;
}

static void frag_setting_fill(struct gp_allocator_settings *out, unsigned from, unsigned to,
			      unsigned divisions)
{
	for (unsigned k = from; k < to; k++)
		out->roundup_divisions[k] = divisions;
}

/*
 * "[256:1,512:2,>:8]": keys are in MiB. The first key also counts for smaller sizes, `>` for sizes
 * above the last key. Other sizes have no divisions.
 */
static void read_list(struct words *w, struct gp_allocator_settings *out)
{
	unsigned last = 0;
	bool is_first = true;
	for (advance(w); *w->word != '\0' && !is_word(w, "]"); advance(w)) {
		bool is_rest = is_word(w, ">");
		uint64_t mib = is_rest ? 1 : strtoull(w->word, NULL, 10);
		if (mib == 0 || !advance_to_value(w))
			return;
		unsigned divisions = (unsigned)strtoul(w->word, NULL, 10);
		unsigned bucket = 63u - (unsigned)__builtin_clzll(mib);
		bucket = bucket < GP_ROUNDUP_BUCKETS ? bucket : GP_ROUNDUP_BUCKETS - 1;
		if (is_rest) {
			frag_setting_fill(out, last + 1, GP_ROUNDUP_BUCKETS, divisions);
		} else {
			frag_setting_fill(out, is_first ? 0 : bucket, bucket + 1, divisions);
			last = bucket;
			is_first = false;
		}
		advance(w);
		if (!is_word(w, ","))
			return;
	}
}

static void skip_list(struct words *w)
{
	while (*w->word != '\0' && !is_word(w, "]"))
		advance(w);
}

/* ---- keys ---- */

static void add_caveat(struct gp_allocator_settings *out, const char *what, const char *word)
{
	size_t used = strlen(out->not_known);
	snprintf(out->not_known + used, sizeof out->not_known - used, "%s%s%s",
		 used != 0 ? "; " : "", what, word);
}

/*
 * Settings without effect on the figures. Garbage collection frees whole cached segments before a
 * request to the driver, and a release frees these anyway.
 */
static bool is_idle(const char *key)
{
	static const char *const idle[] = {
		"garbage_collection_threshold",
		"release_lock_on_cudamalloc",
		"graph_capture_record_stream_reuse",
	};
	for (size_t k = 0; k < sizeof idle / sizeof *idle; k++)
		if (strcmp(key, idle[k]) == 0)
			return true;
	return strncmp(key, "pinned_", strlen("pinned_")) == 0;
}

/* `w` is at the value of `key`. */
static void read_value(const char *key, const struct words *w, struct gp_allocator_settings *out)
{
	if (strcmp(key, "max_split_size_mb") == 0)
		out->max_split_bytes = mib_of(w);
	else if (strcmp(key, "max_non_split_rounding_mb") == 0)
		out->max_non_split_rounding = mib_of(w);
	else if (strcmp(key, "large_segment_size_mb") == 0)
		out->large_segment_bytes = mib_of(w);
	else if (strcmp(key, "expandable_segments") == 0)
		out->is_expandable = is_word(w, "True");
	else if (strcmp(key, "roundup_power2_divisions") == 0)
		frag_setting_fill(out, 0, GP_ROUNDUP_BUCKETS, (unsigned)strtoul(w->word, NULL, 10));
	else if (strcmp(key, "per_process_memory_fraction") == 0)
		out->memory_fraction = fraction_of(w);
	else if (strcmp(key, "backend") == 0 && !is_word(w, "native"))
		add_caveat(out, "rules are of PyTorch's own allocator, the job used ", w->word);
	else if (strcmp(key, "backend") != 0 && !is_idle(key))
		add_caveat(out, "figures ignore the setting ", key);
}

static void read_words(struct words *w, struct gp_allocator_settings *out)
{
	for (advance(w); *w->word != '\0'; advance(w)) {
		char key[WORD_MOST];
		memcpy(key, w->word, sizeof key);
		if (is_mark(*key) || !advance_to_value(w))
			continue;
		if (!is_word(w, "[")) {
			read_value(key, w, out);
		} else if (strcmp(key, "roundup_power2_divisions") == 0) {
			frag_setting_fill(out, 0, GP_ROUNDUP_BUCKETS, 0);
			read_list(w, out);
			skip_list(w);
		} else {
			read_value(key, w, out);
			skip_list(w);
		}
	}
}

void gp_allocator_settings_read(const char *text, struct gp_allocator_settings *out)
{
	*out = gp_allocator_defaults;
	size_t bytes;
	const char *value = gp_allocator_settings_value(text, &bytes);
	struct words w = { .at = value, .end = value != NULL ? value + bytes : NULL };
	if (value != NULL)
		read_words(&w, out);
	if (is_ambiguous(text, value, bytes))
		add_caveat(
			out,
			"PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF differ; the first counts",
			"");
	/* PyTorch does not start with a smaller value */
	if (out->large_segment_bytes < GP_SMALL_SEGMENT)
		out->large_segment_bytes = gp_allocator_defaults.large_segment_bytes;
}
