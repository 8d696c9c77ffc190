/* Which failures on a timeline are OOMs: those that `gpuprof oom` lists. */
#include "../../read/tables/row_rank.h"
#include "timeline.h"

static bool is_listed(const struct gp_ooms *ooms, uint64_t order)
{
	size_t behind = gp_row_rank(ooms->oom, ooms->ooms, sizeof *ooms->oom, order);
	return behind > 0 && ooms->oom[behind - 1].order == order;
}

enum gp_status gp_timeline_judge(struct gp_recording *recording, struct gp_timeline *out)
{
	struct gp_ooms ooms = { 0 };
	bool has_marks = false;
	for (size_t k = 0; k < out->devices; k++)
		has_marks = has_marks || out->device[k].marks > 0;
	if (!has_marks)
		return GP_OK;
	enum gp_status status = gp_ooms_build(recording, NULL, &ooms);
	for (size_t k = 0; k < out->devices && status == GP_OK; k++) {
		struct gp_timeline_device *d = &out->device[k];
		struct gp_mark *mark = (struct gp_mark *)d->mark;
		for (size_t i = 0; i < d->marks; i++) {
			mark[i].is_oom = is_listed(&ooms, mark[i].order);
			d->ooms += mark[i].is_oom;
			d->failed_calls += !mark[i].is_framework;
		}
	}
	gp_ooms_free(&ooms);
	return status;
}
