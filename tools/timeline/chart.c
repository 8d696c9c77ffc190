/* Round numbers for axes. */
#include "chart.h"

#include <math.h>

#include "../io/amount.h"
#include "../report/report.h"

#define MINUTE_NS (60 * INT64_C(1000000000))
#define HOUR_NS (60 * MINUTE_NS)

const char *const gp_curve_names[GP_CURVES] = { "driver", "reserved", "allocated" };

uint64_t gp_tick_bytes(uint64_t highest, unsigned ticks)
{
	uint64_t step = 1;
	while (highest / step > ticks && step < (uint64_t)1 << 62)
		step *= 2;
	return step;
}

const char *gp_chart_name(const struct gp_chart *chart, size_t index)
{
	const struct gp_info_device *about = chart->about[index];
	return about && about->name ? about->name : "";
}

bool gp_chart_has_host(const struct gp_chart *chart)
{
	const struct gp_timeline_device *host = chart->host;
	return host && (!chart->devices || host->peak_bytes[GP_HOST_PINNED] >= GP_PINNED_LEAST);
}

const struct gp_role_bands *gp_chart_bands(const struct gp_chart *chart, unsigned device)
{
	for (size_t k = 0; chart->roles && k < chart->roles->devices; k++)
		if (chart->roles->device[k].device == device)
			return &chart->roles->device[k];
	return NULL;
}

int64_t gp_tick_ns(int64_t span_ns, unsigned ticks)
{
	static const int64_t longer[] = { MINUTE_NS,	  2 * MINUTE_NS,  5 * MINUTE_NS,
					  10 * MINUTE_NS, 20 * MINUTE_NS, 30 * MINUTE_NS,
					  HOUR_NS,	  2 * HOUR_NS,	  6 * HOUR_NS,
					  12 * HOUR_NS,	  24 * HOUR_NS };
	int64_t step = 1;
	for (unsigned k = 0; span_ns / step > ticks && step < MINUTE_NS; k++)
		step = k % 3 == 1 ? step / 2 * 5 : step * 2;
	for (size_t k = 0; k < sizeof longer / sizeof *longer && step >= MINUTE_NS / 2; k++) {
		step = longer[k];
		if (span_ns / step <= ticks)
			return step;
	}
	while (span_ns / step > ticks && step < INT64_MAX / 2)
		step *= 2;
	return step;
}

bool gp_tick_first(int64_t from, int64_t to, int64_t step, int64_t *at)
{
	*at = from / step * step;
	return *at >= from ? *at <= to : gp_tick_next(to, step, at);
}

bool gp_tick_next(int64_t to, int64_t step, int64_t *at)
{
	return !__builtin_add_overflow(*at, step, at) && *at <= to;
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

/* "40 min", "1 h 20 min", "6 h" */
static struct gp_text minutes_text(int64_t at)
{
	struct gp_text t;
	long long hours = at / HOUR_NS, minutes = at % HOUR_NS / MINUTE_NS;
	if (hours && minutes)
		snprintf(t.s, sizeof t.s, "%lld h %02lld min", hours, minutes);
	else
		snprintf(t.s, sizeof t.s, "%lld %s", hours ? hours : minutes, hours ? "h" : "min");
	return t;
}

struct gp_text gp_tick_ns_text(int64_t at, int64_t step, int64_t last)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	struct gp_text t = { "0" };
	size_t unit = 0;
	if (at == 0)
		return t;
	if (step >= MINUTE_NS)
		return minutes_text(at);
	while (unit < 3 && (double)last < units[unit].ns)
		unit++;
	int digits = 0;
	for (double fine = (double)step / units[unit].ns; fine < 0.9 && digits < 9; fine *= 10)
		digits++;
	snprintf(t.s, sizeof t.s, "%.*f %s", digits, (double)at / units[unit].ns, units[unit].name);
	return t;
}
