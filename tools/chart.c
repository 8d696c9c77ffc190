/* Round numbers for axes. */
#include "chart.h"

#include <math.h>

#include "amount.h"

const char *const gp_curve_names[GP_CURVES] = { "driver", "reserved", "allocated" };

uint64_t gp_tick_bytes(uint64_t highest, unsigned ticks)
{
	uint64_t step = 1;
	while (highest / step > ticks && step < (uint64_t)1 << 62)
		step *= 2;
	return step;
}

int64_t gp_tick_ns(int64_t span_ns, unsigned ticks)
{
	int64_t step = 1;
	for (unsigned k = 0; span_ns / step > ticks && step < INT64_MAX / 10; k++)
		step = k % 3 == 1 ? step / 2 * 5 : step * 2;
	return step;
}

struct gp_text gp_tick_bytes_text(uint64_t at, uint64_t step)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct gp_text t;
	unsigned unit = 0;
	double value = (double)at, fine = (double)step;
	while (value >= 1024 && unit < 6) {
		value /= 1024;
		fine /= 1024;
		unit++;
	}
	int digits = fine >= 1 || at == 0 ? 0 : fine >= 0.5 ? 1 : fine >= 0.25 ? 2 : 3;
	snprintf(t.s, sizeof t.s, at ? "%.*f %s" : "%.*f", digits, value, units[unit]);
	return t;
}

struct gp_text gp_tick_ns_text(int64_t at, int64_t step)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	struct gp_text t;
	size_t unit = 0;
	while (unit < 3 && (double)step * 100 <= units[unit].ns)
		unit++;
	double fine = (double)step / units[unit].ns;
	int digits = fine >= 1 ? 0 : fine >= 0.1 ? 1 : 2;
	snprintf(t.s, sizeof t.s, "%.*f %s", digits, (double)at / units[unit].ns, units[unit].name);
	return t;
}
