/*
 * Limits of the command line, compared with the figures of each device.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../report/report.h"
#include "check_report.h"

#define MILLION 1000000u

bool gp_check_amount_read(const char *text, bool may_be_bytes, struct gp_check_amount *out)
{
	char *end;
	*out = (struct gp_check_amount){ .is_given = true };
	if (may_be_bytes && !strchr(text, '%'))
		return gp_size_parse(text, &out->number);
	out->is_share = true;
	if (text[0] < '0' || text[0] > '9' || strspn(text, "0123456789.%") != strlen(text))
		return false;
	double percent = strtod(text, &end);
	out->number = percent <= 100.0 ? (uint64_t)llround(percent * MILLION / 100.0) : 0;
	return percent <= 100.0 && strcmp(end, "%") == 0;
}

struct gp_text gp_check_amount_text(struct gp_check_amount amount)
{
	struct gp_text text;
	if (!amount.is_share)
		return gp_bytes_text(amount.number);
	snprintf(text.s, sizeof text.s, "%.7g%%", (double)amount.number * 100.0 / MILLION);
	return text;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* One decimal, more if rounding would move the value across the limit. */
static struct gp_text share_text(uint64_t share, uint64_t limit)
{
	struct gp_text text;
	uint64_t unit = MILLION / 1000;
	for (int digits = 1; digits <= 4; digits++, unit /= 10) {
		const uint64_t shown = (share + unit / 2) / unit * unit;
		snprintf(text.s, sizeof text.s, "%.*f%%", digits, (double)shown * 100.0 / MILLION);
		if (compare_numbers(shown, limit) == compare_numbers(share, limit))
			break;
	}
	return text;
}

static struct gp_text exact_text(uint64_t bytes)
{
	struct gp_text text;
	snprintf(text.s, sizeof text.s, "%.16s (%" PRIu64 " bytes)", gp_bytes_text(bytes).s, bytes);
	return text;
}

struct gp_check_texts gp_check_texts(struct gp_check_amount value, struct gp_check_amount limit)
{
	struct gp_check_texts t = { gp_check_amount_text(value), gp_check_amount_text(limit) };
	if (value.is_share)
		t.value = share_text(value.number, limit.number);
	else if (value.number != limit.number && strcmp(t.value.s, t.limit.s) == 0)
		t = (struct gp_check_texts){ exact_text(value.number), exact_text(limit.number) };
	return t;
}

struct gp_check_finding *gp_check_add(struct gp_check *c, const char *name,
				      const struct gp_figures *figures)
{
	static struct gp_check_finding none;
	struct gp_check_finding *f =
		c->findings < GP_CHECK_FINDINGS ? &c->finding[c->findings++] : &none;
	*f = (struct gp_check_finding){ .check = name, .has_device = figures != NULL, .at_ns = -1 };
	f->device = figures ? figures->device : 0;
	return f;
}

enum gp_check_state gp_check_state_of(const struct gp_check *c)
{
	enum gp_check_state worst = c->findings ? GP_CHECK_KEPT : GP_CHECK_NOT_JUDGED;
	for (size_t k = 0; k < c->findings; k++)
		worst = c->finding[k].state > worst ? c->finding[k].state : worst;
	return worst;
}

void gp_check_refuse(struct gp_check_finding *f, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(f->why, sizeof f->why, format, arguments);
	va_end(arguments);
	f->state = GP_CHECK_NOT_JUDGED;
}

/* ---- curves ---- */

static const struct {
	enum gp_curve of;
	const char *check, *text;
} curves[] = {
	[GP_CHECK_PEAK] = { GP_CURVE_DRIVER, "max_peak", "driver memory at its peak" },
	[GP_CHECK_RESERVED] = { GP_CURVE_RESERVED, "max_reserved", "reserved at its peak" },
	[GP_CHECK_ALLOCATED] = { GP_CURVE_ALLOCATED, "max_allocated", "allocated at its peak" },
};

static bool has_framework(const struct gp_check *c)
{
	for (size_t k = 0; k < c->figures.devices; k++)
		if (c->figures.device[k].has_framework)
			return true;
	return false;
}

static void check_curve(struct gp_check *c, enum gp_check_condition which,
			const struct gp_figures *figures)
{
	enum gp_curve of = curves[which].of;
	const char *caveat = gp_caveat_of(c->info);
	struct gp_check_finding *f = gp_check_add(c, curves[which].check, figures);
	uint64_t bytes = figures->bytes[of];
	f->limit = c->limit[which];
	f->of = of;
	const struct gp_check_texts text =
		gp_check_texts((struct gp_check_amount){ .number = bytes }, f->limit);
	snprintf(f->text, sizeof f->text, "%s %s, at most %s", text.value.s, curves[which].text,
		 text.limit.s);
	if (of != GP_CURVE_DRIVER && !has_framework(c)) {
		snprintf(f->text, sizeof f->text, "at most %s %s", gp_check_amount_text(f->limit).s,
			 curves[which].text);
		gp_check_refuse(f, "PyTorch's allocator was not recorded");
		return;
	}
	f->has_value = true;
	f->value.number = bytes;
	f->at_ns = figures->at_ns[of];
	if (bytes > f->limit.number) {
		f->state = GP_CHECK_EXCEEDED;
		f->culprits = GP_CULPRITS_HOLDERS;
	} else if (caveat) {
		gp_check_refuse(f, "%s: the peak may be higher", caveat);
	}
}

/* ---- fragmentation ---- */

static void check_frag(struct gp_check *c, const struct gp_figures *figures)
{
	const char *caveat = gp_caveat_of(c->info);
	if (has_framework(c) && !figures->has_framework)
		return; /* only libraries use this device, and their memory is not in the cache */
	struct gp_check_finding *f = gp_check_add(c, "max_frag", figures);
	uint64_t reserved = figures->bytes[GP_CURVE_RESERVED], excess = gp_figures_excess(figures);
	f->limit = c->limit[GP_CHECK_FRAG];
	struct gp_text limit = gp_check_amount_text(f->limit);
	if (!figures->has_framework) {
		snprintf(f->text, sizeof f->text,
			 "the reserved peak may exceed the allocated peak by at most %s", limit.s);
		gp_check_refuse(f, "PyTorch's allocator was not recorded");
		return;
	}
	f->has_value = true;
	f->value.is_share = true;
	f->value.number =
		(uint64_t)llround(reserved ? MILLION * (double)excess / (double)reserved : 0);
	f->of = GP_CURVE_RESERVED;
	snprintf(f->text, sizeof f->text,
		 "the reserved peak exceeds the allocated peak by %s (%s of %s); at most %s",
		 gp_bytes_text(excess).s, gp_check_texts(f->value, f->limit).value.s,
		 gp_bytes_text(reserved).s, limit.s);
	if (caveat) {
		gp_check_refuse(f, "%s: the share is uncertain", caveat);
	} else if (f->value.number > f->limit.number) {
		f->state = GP_CHECK_EXCEEDED;
		f->culprits = GP_CULPRITS_PINS;
	}
}

/* ---- headroom ---- */

/* Free memory of the device at the job's peak. */
static uint64_t headroom_of(const struct gp_figures *figures)
{
	uint64_t used = figures->used_bytes != GP_BYTES_UNKNOWN ? figures->used_bytes :
								  figures->bytes[GP_CURVE_DRIVER];
	return figures->total_bytes > used ? figures->total_bytes - used : 0;
}

static void check_headroom(struct gp_check *c, const struct gp_figures *figures)
{
	const char *caveat = gp_caveat_of(c->info);
	struct gp_check_finding *f = gp_check_add(c, "min_headroom", figures);
	struct gp_check_amount limit = f->limit = c->limit[GP_CHECK_HEADROOM];
	f->of = GP_CURVE_DRIVER;
	f->culprits = GP_CULPRITS_NONE;
	struct gp_text least = gp_check_amount_text(limit);
	if (!figures->total_bytes) {
		snprintf(f->text, sizeof f->text, "at least %s free at the peak", least.s);
		gp_check_refuse(f, "the size of the device is unknown");
		return;
	}
	uint64_t left = headroom_of(figures), total = figures->total_bytes;
	double share = (double)left / (double)total;
	f->has_value = true;
	f->value.is_share = limit.is_share;
	f->value.number = limit.is_share ? (uint64_t)(share * MILLION) : left;
	f->at_ns = figures->at_ns[GP_CURVE_DRIVER];
	struct gp_text all = gp_bytes_text(total);
	const struct gp_check_texts text = gp_check_texts(f->value, limit);
	if (limit.is_share)
		snprintf(f->text, sizeof f->text,
			 "%s of %s (%s) were free at the peak, at least %s", gp_bytes_text(left).s,
			 all.s, text.value.s, least.s);
	else
		snprintf(f->text, sizeof f->text,
			 "%s of %s (%.1f%%) were free at the peak, at least %s", text.value.s,
			 all.s, 100.0 * share, text.limit.s);
	if (figures->ooms)
		snprintf(f->text, sizeof f->text, "%s, so no headroom; at least %s is required",
			 gp_plural(figures->ooms, "OOM").s, least.s);
	if (figures->used_bytes == GP_BYTES_UNKNOWN && !figures->ooms)
		snprintf(f->why, sizeof f->why,
			 "excludes CUDA context and other processes (not recorded)");
	bool is_less = limit.is_share ? (unsigned __int128)left * MILLION <
						(unsigned __int128)limit.number * total :
					left < limit.number;
	if (figures->ooms || is_less) {
		f->state = GP_CHECK_EXCEEDED;
		f->culprits = GP_CULPRITS_HOLDERS;
	} else if (caveat) {
		gp_check_refuse(f, "%s: the headroom may be smaller", caveat);
	}
}

/* ---- all ---- */

static void check_device(struct gp_check *c, const struct gp_figures *figures)
{
	for (unsigned k = GP_CHECK_PEAK; k <= GP_CHECK_ALLOCATED; k++)
		if (c->limit[k].is_given)
			check_curve(c, (enum gp_check_condition)k, figures);
	if (c->limit[GP_CHECK_FRAG].is_given)
		check_frag(c, figures);
	if (c->limit[GP_CHECK_HEADROOM].is_given)
		check_headroom(c, figures);
}

void gp_check_limits(struct gp_check *c)
{
	static const char *const names[] = { "max_peak", "max_reserved", "max_allocated",
					     "max_frag", "min_headroom" };
	for (size_t k = 0; k < c->figures.devices; k++)
		if (c->only_device < 0 || c->figures.device[k].device == c->only_device)
			check_device(c, &c->figures.device[k]);
	for (unsigned k = 0; k < GP_CHECK_GROWTH && !c->figures.devices; k++) {
		if (!c->limit[k].is_given)
			continue;
		struct gp_check_finding *f = gp_check_add(c, names[k], NULL);
		f->limit = c->limit[k];
		gp_check_refuse(f, "no memory was recorded");
	}
}
