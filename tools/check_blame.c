/* Who is to blame for what is not kept: holders at a peak, blocks beside free memory, growth. */
#include <stdlib.h>
#include <string.h>

#include "check_report.h"

/* ---- what is shown ---- */

static bool has_framework(const struct gp_check *c, unsigned device)
{
	for (size_t k = 0; k < c->figures.devices; k++)
		if (c->figures.device[k].device == device)
			return c->figures.device[k].has_framework;
	return false;
}

bool gp_check_wants_holders(const struct gp_check *c, unsigned device, enum gp_curve of)
{
	for (size_t k = 0; k < c->findings; k++) {
		const struct gp_check_finding *f = &c->finding[k];
		bool is_told = of == GP_CURVE_ALLOCATED && has_framework(c, device);
		if (f->culprits == GP_CULPRITS_HOLDERS && f->device == device &&
		    (f->of == of || is_told))
			return true;
	}
	return false;
}

bool gp_check_wants(const struct gp_check *c, unsigned device, enum gp_check_culprits culprits)
{
	for (size_t k = 0; k < c->findings; k++)
		if (c->finding[k].culprits == culprits && c->finding[k].device == device)
			return true;
	return false;
}

/* ---- stacks ---- */

const struct gp_holders *gp_check_holders(const struct gp_check *c, unsigned device,
					  enum gp_curve of)
{
	for (size_t k = 0; k < c->peak.holders; k++)
		if (c->peak.holder[k].device == device && c->peak.holder[k].of == of)
			return &c->peak.holder[k];
	return NULL;
}

bool gp_check_groups(const struct gp_check *c, unsigned device, enum gp_curve of, bool is_folded,
		     struct gp_groups *out, uint64_t *whole)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	for (size_t k = 0; k < c->peak.holders; k++) {
		struct gp_holders *h = &c->peak.holder[k];
		if (h->device != device || h->of != of)
			continue;
		*whole = h->live_bytes;
		if (is_folded)
			gp_use_fold_segments(h);
		return gp_groups_build(c->recording, h->use, h->uses, &how, out) == GP_OK;
	}
	return false;
}

/* ":42" goes: a source that was edited has its functions in other lines. */
static void without_lines(const char *key, char *out, size_t room)
{
	size_t used = 0;
	while (*key && used + 1 < room) {
		size_t digits = *key == ':' ? strspn(key + 1, "0123456789") : 0;
		if (digits)
			key += 1 + digits;
		else
			out[used++] = *key++;
	}
	out[used] = '\0';
}

struct sum {
	char key[1024];
	const char *shown;
	uint64_t bytes, before_bytes;
};

static bool add(struct sum **sums, size_t *count, const char *key, uint64_t bytes, bool is_before)
{
	char plain[sizeof(*sums)->key];
	size_t k = 0;
	without_lines(key, plain, sizeof plain);
	while (k < *count && strcmp((*sums)[k].key, plain) != 0)
		k++;
	if (k == *count) {
		struct sum *grown = realloc(*sums, (*count + 1) * sizeof *grown);
		if (!grown)
			return false;
		*sums = grown;
		grown[(*count)++] = (struct sum){ .shown = key };
		memcpy(grown[k].key, plain, sizeof plain);
	}
	struct sum *s = &(*sums)[k];
	s->bytes += is_before ? 0 : bytes;
	s->before_bytes += is_before ? bytes : 0;
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct gp_check_grown *a = left, *b = right;
	uint64_t x = a->bytes - a->before_bytes, y = b->bytes - b->before_bytes;
	return x != y ? (x < y ? 1 : -1) : strcmp(a->key, b->key);
}

static struct gp_check_grown *list_grown(const struct gp_baseline_device *before,
					 const struct gp_groups *groups, size_t *count)
{
	struct sum *sums = NULL;
	size_t n = 0;
	bool is_fine = true;
	*count = 0;
	for (size_t k = 0; k < groups->groups && is_fine; k++)
		is_fine = add(&sums, &n, groups->group[k].key, groups->group[k].use.bytes, false);
	size_t ours = n;
	for (size_t k = 0; k < before->groups && is_fine; k++)
		is_fine = add(&sums, &n, before->group[k].key, before->group[k].bytes, true);
	struct gp_check_grown *grown = is_fine ? calloc(n + 1, sizeof *grown) : NULL;
	for (size_t k = 0; grown && k < ours; k++)
		if (sums[k].bytes > sums[k].before_bytes)
			grown[(*count)++] = (struct gp_check_grown){ sums[k].shown, sums[k].bytes,
								     sums[k].before_bytes };
	if (grown && *count > 1)
		qsort(grown, *count, sizeof *grown, compare);
	free(sums);
	return grown;
}

struct gp_check_grown *gp_check_grown_list(const struct gp_check *c, unsigned device,
					   struct gp_groups *groups, size_t *count)
{
	const struct gp_baseline_entry *entry = gp_baseline_find(c->baseline, c->info);
	const struct gp_baseline_device *before = entry ? gp_baseline_device(entry, device) : NULL;
	enum gp_curve of = has_framework(c, device) ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	uint64_t whole;
	*count = 0;
	if (!before || !gp_check_groups(c, device, of, false, groups, &whole))
		return NULL;
	struct gp_check_grown *grown = list_grown(before, groups, count);
	if (!grown)
		gp_groups_free(groups);
	return grown;
}

/* ---- pins ---- */

bool gp_check_pins_build(const struct gp_check *c, unsigned device, struct gp_check_pins *out)
{
	*out = (struct gp_check_pins){
		.r = { .recording = c->recording, .info = c->info, .path = c->path },
	};
	const struct gp_frag_question question = { .settings = &out->r.settings };
	const struct gp_moment_of moment = { .when = GP_WHEN_PEAK, .device = device };
	gp_allocator_settings_read(c->info->alloc_conf, &out->r.settings);
	if (gp_memory_build(c->recording, &moment, &out->r.memory))
		return false;
	if (gp_frag_build(&out->r.memory, device, &question, &out->frag) == GP_OK)
		return true;
	gp_memory_free(&out->r.memory);
	return false;
}

void gp_check_pins_free(struct gp_check_pins *pins)
{
	gp_frag_free(&pins->frag);
	gp_memory_free(&pins->r.memory);
}
