/*
 * Sizes, moments and counts as text for people, and back.
 */
#ifndef GP_AMOUNT_H
#define GP_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Small texts by value, for use as an argument of printf: gp_bytes_text(n).s. */
struct gp_text {
	char s[48];
};

struct gp_text gp_bytes_text(uint64_t bytes); /* "1.50 GiB"; exact below 1 KiB: "512 B" */
/* Likewise, rounded down and up: for upper and lower limits. */
struct gp_text gp_at_most_text(uint64_t bytes);
struct gp_text gp_at_least_text(uint64_t bytes);
/*
 * Bytes a step as all reports show and compare them. Rounded up, so that a rate above a limit of
 * whole bytes stays above it.
 */
int64_t gp_rate_bytes(double bytes_per_step);
struct gp_text gp_ns_text(int64_t ns); /* "1.234 s", "12.3 ms", "2 min 05 s" */
/* Estimates of long times: "3.2 days", "14 h", "25 min", "40 s". */
struct gp_text gp_about_text(double ns);
struct gp_text gp_count_text(uint64_t count); /* "1,234,567" */
/* With 3 or 4 digits, never an exponent: "34.98", "0.5", "2,287", "102,606", "less than 0.0001". */
struct gp_text gp_rate_text(double rate, int digits);

/* The latest moment in a recording. */
#define GP_NS_MOST (INT64_MAX / 4)
/*
 * "1.5s", "20ms", "3us", "2min", "1h"; a plain integer is nanoseconds, at most GP_NS_MOST. False:
 * not a moment.
 */
bool gp_ns_parse(const char *text, int64_t *out);

/* A duration: the same, but a plain number is seconds, "0.5". False: not a duration. */
bool gp_duration_parse(const char *text, int64_t *out);

/* "1 device", "2 devices", "no devices". */
struct gp_text gp_plural(uint64_t count, const char *noun);
/* Of memory: "never ran out", "ran out 2 times". */
/* "39.3 ms (2026-11-21 21:22:41.079 UTC)": a moment since the start, and its time of day */
struct gp_text gp_moment_text(int64_t at_ns, uint64_t unix_ns);
struct gp_text gp_ran_out_text(uint64_t ooms);

#endif
