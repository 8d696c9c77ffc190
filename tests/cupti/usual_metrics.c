/*
 * The metrics of `--metrics roofline` and `utilization` against the host interface of a real CUPTI,
 * which needs no GPU: each chip has them, and a metric that it lacks is named. The latter fit one
 * pass; of metrics that do not, those that do are named.
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

static const char *const sampled[] = {
#define METRIC(label, text) text,
#include "../../libgpuprof/format/sampled_metrics.def"
#undef METRIC
};
enum { SAMPLED = sizeof sampled / sizeof *sampled };

static int chip_samples_them(const struct gp_cupti *cupti, const char *chip, size_t lacked)
{
	char why[GP_PROFILER_WHY] = "";
	struct gp_metrics metrics = { .count = SAMPLED, .is_usual = true };
	const struct gp_chip of = { chip, NULL, GP_CUPTI_PM_SAMPLING };
	memcpy(metrics.name, sampled, sizeof sampled);
	EXPECT(gp_metrics_select(cupti, &of, &metrics, why) == NULL);
	EXPECT(gp_metrics_fit(cupti, &of, &metrics, why) == NULL);
	EXPECT(metrics.count == SAMPLED - lacked);
	metrics = (struct gp_metrics){ .count = 2 };
	metrics.name[0] = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
	metrics.name[1] = sampled[1];
	const char *refusal = gp_metrics_fit(cupti, &of, &metrics, why);
	EXPECT(refusal && strstr(refusal, "do not fit one pass; these do: sm__cycles_active"));
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
	EXPECT(cupti && profiler_missing(cupti, GP_CUPTI_API_SAMPLES) == NULL);
	EXPECT(gp_cupti_load_beside("libnvperf_host.so"));
	const char *refusal = host_open(cupti, &(struct gp_chip){ .name = chip }, &host, why);
	EXPECT(refusal && strstr(refusal, "does not know the GPU"));
	if (chip_samples_them(cupti, "GH100", 0) || chip_samples_them(cupti, "GA100", 1) ||
	    chip_samples_them(cupti, "GB100", 2) || chip_samples_them(cupti, "AD102", 3))
		return 1;
	/* CUPTI 13.0 schedules 13, 10, 13 and 12 passes */
	return chip_has_them(cupti, "GH100", 2, 16) || chip_has_them(cupti, "GA100", 2, 16) ||
	       chip_has_them(cupti, "GB100", 2, 16) || chip_has_them(cupti, "AD102", 1, 16);
}
