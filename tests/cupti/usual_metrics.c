/*
 * The metrics of `--metrics roofline` against the host interface of a real CUPTI, which needs no
 * GPU: each chip has them, and a metric that it lacks is named.
 *	usual_metrics LIBCUPTI
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../../interpose/counters/range_profiler.c"

#define EXPECT(what)                                     \
	do {                                             \
		if (!(what)) {                           \
			printf("%s: %s\n", chip, #what); \
			return 1;                        \
		}                                        \
	} while (0)

static const char *const usual[] = {
#define METRIC(NAME, text, operations) text,
#include "../../libgpuprof/format/usual_metrics.def"
#undef METRIC
};
enum { USUALS = sizeof usual / sizeof *usual };

/* `lacked`: metrics that the chip does not have; `most`: passes. */
static int chip_has_them(const struct gp_cupti *cupti, const char *chip, size_t lacked, size_t most)
{
	char why[GP_PROFILER_WHY] = "";
	struct gp_metrics metrics = { .count = USUALS, .is_usual = true };
	struct gp_range_profiler profiler = { 0 };
	memcpy(metrics.name, usual, sizeof usual);
	EXPECT(profiler_select(cupti, chip, NULL, &metrics, why) == NULL);
	EXPECT(metrics.count == USUALS - lacked);
	EXPECT(profiler_host(cupti, chip, NULL, &profiler.host, why) == NULL);
	EXPECT(profiler_config(cupti, &profiler, &metrics, why) == NULL);
	EXPECT(profiler.passes >= 2 && profiler.passes <= most);
	profiler_host_end(cupti, profiler.host);
	metrics = (struct gp_metrics){ .name = { usual[0], "no_such__metric.sum" }, .count = 2 };
	const char *refusal = profiler_select(cupti, chip, NULL, &metrics, why);
	EXPECT(refusal && strstr(refusal, "no_such__metric.sum"));
	return 0;
}

int main(int argc, char **argv)
{
	char why[GP_PROFILER_WHY];
	void *host;
	const char *chip = "XX000";
	if (argc != 2 || !dlopen(argv[1], RTLD_NOW))
		return 2;
	const struct gp_cupti *cupti = gp_cupti_find();
	EXPECT(cupti && gp_profiler_missing(cupti) == NULL);
	EXPECT(gp_cupti_load_beside("libnvperf_host.so"));
	const char *refusal = profiler_host(cupti, chip, NULL, &host, why);
	EXPECT(refusal && strstr(refusal, "does not know the GPU"));
	/* CUPTI 13.0 schedules 13, 10, 13 and 12 passes */
	return chip_has_them(cupti, "GH100", 2, 16) || chip_has_them(cupti, "GA100", 2, 16) ||
	       chip_has_them(cupti, "GB100", 2, 16) || chip_has_them(cupti, "AD102", 1, 16);
}
