/* An epoch ends when a module is unloaded, and at both ends of an uncertain interval. */
#include "module_epochs.h"

#include <stdlib.h>

#include "../../read/file/recording.h"
#include "../../read/tables/array.h"

static int module_epochs_compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

enum gp_status gp_module_epochs_build(const struct gp_recording *r, struct gp_module_epochs *out)
{
	const struct gp_module_list *list = gp_defined_modules(r->definitions);
	*out = (struct gp_module_epochs){ 0 };
	size_t most = list->room + 2 * list->caveats;
	out->end_ns = calloc(most + 1, sizeof *out->end_ns);
	if (out->end_ns == NULL)
		return GP_E_MEMORY;
	for (size_t k = 1; k < list->room; k++)
		if (list->module[k].path != NULL && list->module[k].until != 0)
			out->end_ns[out->ends++] = gp_tick_ns(&r->tick, list->module[k].until);
	for (size_t k = 0; k < list->caveats; k++) {
		out->end_ns[out->ends++] = gp_tick_ns(&r->tick, list->caveat[k].since);
		out->end_ns[out->ends++] = gp_tick_ns(&r->tick, list->caveat[k].until);
	}
	if (out->ends > 1)
		qsort(out->end_ns, out->ends, sizeof *out->end_ns, module_epochs_compare);
	return GP_OK;
}

void gp_module_epochs_release(struct gp_module_epochs *epochs)
{
	free(epochs->end_ns);
	*epochs = (struct gp_module_epochs){ 0 };
}

size_t gp_module_epoch(const struct gp_module_epochs *epochs, int64_t at_ns)
{
	return gp_array_count_to(epochs->end_ns, epochs->ends, at_ns);
}

enum gp_status gp_stack_epochs_open(struct gp_recording *recording, struct gp_module_epochs **out)
{
	enum gp_status status = gp_recording_end(recording);
	*out = status == GP_OK ? calloc(1, sizeof **out) : NULL;
	if (status != GP_OK)
		return status;
	return *out != NULL ? gp_module_epochs_build(recording, *out) : GP_E_MEMORY;
}

uint32_t gp_stack_epoch(const struct gp_module_epochs *epochs, int64_t at_ns)
{
	return (uint32_t)gp_module_epoch(epochs, at_ns);
}

void gp_stack_epochs_close(struct gp_module_epochs *epochs)
{
	if (epochs != NULL)
		gp_module_epochs_release(epochs);
	free(epochs);
}
