/*
 * The metrics of `--metrics roofline` against the host interface of a real CUPTI, which needs no
 * GPU: each chip has them, and a metric that it lacks is named.
 *	usual_metrics LIBCUPTI
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../../interpose/counters/profiler_host.c"

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
	struct gp_metric_config config;
	const struct gp_chip of = { chip, NULL, GP_CUPTI_RANGE_PROFILER };
	memcpy(metrics.name, usual, sizeof usual);
	EXPECT(gp_metrics_select(cupti, &of, &metrics, why) == NULL);
	EXPECT(metrics.count == USUALS - lacked);
	EXPECT(gp_metric_config_open(cupti, &of, &metrics, &config, why) == NULL);
	EXPECT(config.passes >= 2 && config.passes <= most);
	gp_metric_config_close(cupti, &config);
	metrics = (struct gp_metrics){ .name = { usual[0], "no_such__metric.sum" }, .count = 2 };
	const char *refusal = gp_metrics_select(cupti, &of, &metrics, why);
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
	EXPECT(cupti && profiler_missing(cupti) == NULL);
	EXPECT(gp_cupti_load_beside("libnvperf_host.so"));
	const char *refusal = host_open(cupti, &(struct gp_chip){ .name = chip }, &host, why);
	EXPECT(refusal && strstr(refusal, "does not know the GPU"));
	/* CUPTI 13.0 schedules 13, 10, 13 and 12 passes */
	return chip_has_them(cupti, "GH100", 2, 16) || chip_has_them(cupti, "GA100", 2, 16) ||
	       chip_has_them(cupti, "GB100", 2, 16) || chip_has_them(cupti, "AD102", 1, 16);
}
