/*
 * Sizes and times with three significant digits: more are noise in a report, and --json has them
 * all.
 */
#include "amount.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static int digits_after_point(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

enum toward { NEAREST, DOWN, UP };

static struct gp_text bytes_toward(uint64_t bytes, enum toward toward)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	static const double powers[] = { 1, 10, 100 };
	struct gp_text t;
	double value = (double)bytes;
	size_t unit = 0;
	while (value >= 1023.5 && unit + 1 < sizeof units / sizeof *units) {
		value /= 1024;
		unit++;
	}
	const int digits = unit ? digits_after_point(value) : 0;
	if (toward == DOWN)
		value = floor(value * powers[digits]) / powers[digits];
	else if (toward == UP)
		value = ceil(value * powers[digits]) / powers[digits];
	snprintf(t.s, sizeof t.s, "%.*f %s", digits, value, units[unit]);
	return t;
}

struct gp_text gp_bytes_text(uint64_t bytes)
{
	return bytes_toward(bytes, NEAREST);
}

struct gp_text gp_at_most_text(uint64_t bytes)
{
	return bytes_toward(bytes, DOWN);
}

struct gp_text gp_at_least_text(uint64_t bytes)
{
	return bytes_toward(bytes, UP);
}

struct gp_text gp_about_text(double ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = { { 86400e9, "days" }, { 3600e9, "h" }, { 60e9, "min" }, { 1e9, "s" } };
	struct gp_text t;
	unsigned k = 0;
	while (k < 3 && ns < 2 * units[k].ns)
		k++;
	const double value = ns / units[k].ns;
	snprintf(t.s, sizeof t.s, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[k].name);
	return t;
}

/* Subtracts the error of doubles, so that a sum of thirds of a block is a whole block. */
int64_t gp_rate_bytes(double bytes_per_step)
{
	return (int64_t)ceil(bytes_per_step - 1e-6);
}

struct gp_text gp_ns_text(int64_t ns)
{
	struct gp_text t;
	const char *sign = ns < 0 ? "-" : "";
	double value = fabs((double)ns);
	if (value >= 3600e9) {
		uint64_t minutes = (uint64_t)(value / 60e9);
		snprintf(t.s, sizeof t.s, "%s%" PRIu64 " h %02" PRIu64 " min", sign, minutes / 60,
			 minutes % 60);
	} else if (value >= 120e9) {
		uint64_t seconds = (uint64_t)(value / 1e9);
		snprintf(t.s, sizeof t.s, "%s%" PRIu64 " min %02" PRIu64 " s", sign, seconds / 60,
			 seconds % 60);
	} else if (value >= 1e9) {
		snprintf(t.s, sizeof t.s, "%s%.3f s", sign, value / 1e9);
	} else if (value >= 1e6) {
		snprintf(t.s, sizeof t.s, "%s%.*f ms", sign, digits_after_point(value / 1e6),
			 value / 1e6);
	} else if (value >= 1e3) {
		snprintf(t.s, sizeof t.s, "%s%.*f us", sign, digits_after_point(value / 1e3),
			 value / 1e3);
	} else {
		snprintf(t.s, sizeof t.s, value > 0 ? "%s%.0f ns" : "%s0 s", sign, value);
	}
	return t;
}

struct gp_text gp_count_text(uint64_t count)
{
	struct gp_text t;
	char plain[24];
	int n = snprintf(plain, sizeof plain, "%" PRIu64, count), at = 0;
	for (int k = 0; k < n; k++) {
		if (k && (n - k) % 3 == 0)
			t.s[at++] = ',';
		t.s[at++] = plain[k];
	}
	t.s[at] = '\0';
	return t;
}

struct gp_text gp_rate_text(double rate, int digits)
{
	struct gp_text t;
	double half_unit = 500; /* of the last digit below 1000; pow would need glibc 2.29 */
	for (int k = 0; k < digits; k++)
		half_unit /= 10;
	if (rate >= 1000 - half_unit)
		return gp_count_text((uint64_t)(rate + 0.5));
	if (rate > 0 && rate < 1e-4)
		snprintf(t.s, sizeof t.s, "less than 0.0001");
	else
		snprintf(t.s, sizeof t.s, "%.*g", digits, rate);
	return t;
}

bool gp_ns_parse(const char *text, int64_t *out)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 },     { "us", 1e3 }, { "ms", 1e6 },  { "s", 1e9 },
		      { "min", 6e10 }, { "m", 6e10 }, { "h", 3.6e12 } };
	char *end;
	if (!strchr("0123456789.", *text) || !*text)
		return false;
	if (text[strspn(text, "0123456789")] == '\0') {
		*out = strtoll(text, NULL, 10);
		*out = *out < GP_NS_MOST ? *out : GP_NS_MOST;
		return true;
	}
	double value = strtod(text, &end);
	while (*end == ' ')
		end++;
	for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
		if (strcmp(end, units[k].name) != 0)
			continue;
		value *= units[k].ns;
		if (!(value < (double)GP_NS_MOST))
			return false;
		*out = llround(value);
		return true;
	}
	return false;
}

bool gp_duration_parse(const char *text, int64_t *out)
{
	char seconds[64];
	if (strlen(text) >= sizeof seconds - 1)
		return false;
	const bool is_bare = *text != '\0' && text[strspn(text, "0123456789.")] == '\0';
	snprintf(seconds, sizeof seconds, "%s%s", text, is_bare ? "s" : "");
	return gp_ns_parse(seconds, out);
}

struct gp_text gp_plural(uint64_t count, const char *noun)
{
	struct gp_text t, number = gp_count_text(count);
	if (count == 0)
		snprintf(number.s, sizeof number.s, "no");
	const size_t bytes = strlen(noun);
	const char *more = bytes > 2 && strcmp(noun + bytes - 2, "ch") == 0 ? "es" : "s";
	const size_t room = sizeof t.s - strlen(number.s) - strlen(more) - sizeof " ";
	snprintf(t.s, sizeof t.s, "%s %.*s%s", number.s, (int)room, noun, count == 1 ? "" : more);
	return t;
}

struct gp_text gp_moment_text(int64_t at_ns, uint64_t unix_ns)
{
	const time_t second = (time_t)(unix_ns / 1000000000u);
	struct gp_text t = { "" };
	struct tm tm;
	char day[24] = "?";
	if (gmtime_r(&second, &tm))
		strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(t.s, sizeof t.s, "%.16s (%s.%03u UTC)", gp_ns_text(at_ns).s, day,
		 (unsigned)(unix_ns / 1000000u % 1000u));
	return t;
}

struct gp_text gp_ran_out_text(uint64_t ooms)
{
	struct gp_text out = { "never ran out" };
	if (ooms)
		snprintf(out.s, sizeof out.s, "ran out %.36s", gp_plural(ooms, "time").s);
	return out;
}
