/* Samples of a GPU's counters, as a table with a timeline of each metric, as JSON and as CSV. */
#ifndef GP_SAMPLES_REPORT_H
#define GP_SAMPLES_REPORT_H

#include "../io/json.h"
#include "gpuprof.h"

/* The means of the first metrics: "SM active 50.0%, DRAM read 12.5%". */
#define GP_SAMPLES_BRIEF 256u
void gp_samples_brief(const struct gp_samples *samples, const struct gp_sampled_device *device,
		      char out[GP_SAMPLES_BRIEF]);
void gp_samples_print(FILE *out, const struct gp_samples *samples,
		      const struct gp_sampled_device *device, int64_t from_ns, int64_t to_ns);
/* The key "gpus". */
void gp_samples_write(struct gp_json *json, const struct gp_samples *samples);
/* A row for each value, below GP_SAMPLES_CSV. */
#define GP_SAMPLES_CSV "file,device,at_ns,took_ns,metric,value"
void gp_samples_csv(FILE *out, const char *path, const struct gp_samples *samples);

#endif
