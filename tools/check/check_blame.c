/*
 * Finds the culprits of an exceeded limit: holders at a peak, blocks beside free memory.
 */
#include <stdlib.h>
#include <string.h>

#include "check_report.h"

/* ---- what is shown ---- */

bool gp_check_has_framework(const struct gp_check *c, unsigned device)
{
	for (size_t k = 0; k < c->figures.devices; k++)
		if (c->figures.device[k].device == device)
			return c->figures.device[k].has_framework;
	return false;
}

bool gp_check_shows_holders(const struct gp_check *c, unsigned device, enum gp_curve of)
{
	for (size_t k = 0; k < c->findings; k++) {
		const struct gp_check_finding *f = &c->finding[k];
		bool has_blocks = of == GP_CURVE_ALLOCATED && gp_check_has_framework(c, device);
		if (f->culprits == GP_CULPRITS_HOLDERS && f->device == device &&
		    (f->of == of || has_blocks))
			return true;
	}
	return false;
}

bool gp_check_shows(const struct gp_check *c, unsigned device, enum gp_check_culprits culprits)
{
	for (size_t k = 0; k < c->findings; k++)
		if (c->finding[k].culprits == culprits && c->finding[k].device == device)
			return true;
	return false;
}

/* ---- stacks ---- */

struct gp_holders *gp_check_holders(const struct gp_peak *peak, unsigned device, enum gp_curve of)
{
	for (size_t k = 0; k < peak->holders; k++)
		if (peak->holder[k].device == device && peak->holder[k].of == of)
			return &peak->holder[k];
	return NULL;
}

bool gp_check_groups(const struct gp_check *c, unsigned device, enum gp_curve of, bool is_folded,
		     struct gp_groups *out, uint64_t *whole)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	struct gp_holders *h = gp_check_holders(&c->peak, device, of);
	if (!h)
		return false;
	*whole = h->live_bytes;
	if (is_folded)
		gp_use_fold_segments(h);
	return gp_groups_build(c->recording, h->use, h->uses, &how, out) == GP_OK;
}

/* ---- pins ---- */

bool gp_check_pins_build(const struct gp_check *c, unsigned device, struct gp_check_pins *out)
{
	*out = (struct gp_check_pins){
		.r = { .recording = c->recording, .info = c->info, .path = c->path },
	};
	const struct gp_frag_question question = { .settings = &out->r.settings };
	const struct gp_moment_of moment = { .when = GP_WHEN_PEAK,
					     .device = device,
					     .of = GP_CURVE_RESERVED };
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
