/*
 * Compares a recording with the baseline's entry for its GPU, driver and PyTorch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../report/report.h"
#include "check_report.h"

#define MILLION 1000000.0

static const char *const names[] = { "baseline_driver", "baseline_reserved", "baseline_allocated" };

/* ---- figures ---- */

static uint64_t allowed(uint64_t bytes, const struct gp_check_amount *tolerance)
{
	uint64_t more = tolerance->is_share ?
				(uint64_t)((double)bytes * (double)tolerance->number / MILLION) :
				tolerance->number;
	return bytes < UINT64_MAX - more ? bytes + more : UINT64_MAX;
}

static void check_curve(struct gp_check *c, const struct gp_figures *figures,
			const struct gp_baseline_device *before, enum gp_curve of)
{
	struct gp_check_finding *f = gp_check_add(c, names[of], figures);
	const struct gp_check_amount *tolerance = &c->baseline->tolerance[of];
	const char *caveat = gp_caveat_of(c->info);
	uint64_t was = before->bytes[of], is = figures->bytes[of];
	f->has_value = true;
	f->value.number = is;
	f->limit.number = allowed(was, tolerance);
	struct gp_check_texts text = { gp_bytes_text(is), gp_bytes_text(was) };
	if (is > f->limit.number)
		text = gp_check_texts(f->value, (struct gp_check_amount){ .number = was });
	f->at_ns = figures->at_ns[of];
	f->of = of;
	snprintf(f->text, sizeof f->text,
		 "%s %s at its peak, in the baseline %s and at most %s more", text.value.s,
		 of == GP_CURVE_DRIVER ? "driver memory" : gp_curve_keys[of], text.limit.s,
		 gp_check_amount_text(*tolerance).s);
	if (is > f->limit.number) {
		f->state = GP_CHECK_EXCEEDED;
		f->culprits = GP_CULPRITS_GROWN;
	} else if (caveat) {
		gp_check_refuse(f, "%s: the peak may be higher", caveat);
	} else if (allowed(is, tolerance) < was) {
		snprintf(f->why, sizeof f->why, "lower than the baseline: --update stores it");
	}
}

void gp_check_baseline(struct gp_check *c)
{
	const struct gp_baseline_entry *entry = gp_baseline_find(c->baseline, c->info);
	if (!c->figures.devices)
		gp_check_refuse(gp_check_add(c, "baseline", NULL), "no memory was recorded");
	else if (!entry)
		gp_check_refuse(gp_check_add(c, "baseline", NULL),
				"no entry for this GPU, CUDA API and PyTorch; --update adds one");
	for (size_t k = 0; entry && k < c->figures.devices; k++) {
		const struct gp_figures *figures = &c->figures.device[k];
		const struct gp_baseline_device *before =
			gp_baseline_device(entry, figures->device);
		if (c->only_device >= 0 && figures->device != c->only_device)
			continue;
		if (!before)
			gp_check_refuse(gp_check_add(c, "baseline", figures),
					"no such device; --update adds it");
		for (int of = GP_CURVE_ALLOCATED; before && of >= GP_CURVE_DRIVER; of--)
			if (figures->bytes[of] || before->bytes[of])
				check_curve(c, figures, before, (enum gp_curve)of);
	}
}
