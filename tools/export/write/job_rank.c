/* Variables of launchers are a fact of the recording, communicators are calls of NCCL. */
#include "job_rank.h"

#include <stdlib.h>
#include <string.h>

/* Of "NAME=3 OTHER=8". False: not a number that a rank can be. */
static bool variable_read(const char **text, uint32_t *out)
{
	char *end;
	const char *value = *text ? strchr(*text, '=') : NULL;
	if (!value || value[1] < '0' || value[1] > '9')
		return false;
	const unsigned long long number = strtoull(value + 1, &end, 10);
	*text = end;
	*out = (uint32_t)number;
	return number < UINT32_MAX && (*end == ' ' || *end == '\0');
}

static bool rank_of_launcher(const struct gp_info *info, struct gp_job_rank *out)
{
	const char *text = info->launcher;
	if (!variable_read(&text, &out->rank))
		return false;
	if (!variable_read(&text, &out->ranks) || out->ranks <= out->rank)
		out->ranks = 0;
	return true;
}

static bool rank_of_nccl(struct gp_recording *recording, const struct gp_info *info,
			 struct gp_job_rank *out)
{
	struct gp_collectives c = { 0 };
	if (!info->kept[GP_COMMUNICATOR] && !info->counts[GP_COMMUNICATOR])
		return false;
	if (gp_collectives_build(recording, GP_COLLECTIVES_BY_CALL, INT64_MIN, INT64_MAX, &c) ==
	    GP_OK)
		for (size_t k = 0; k < c.communicators; k++) {
			const struct gp_communicator *of = &c.communicator[k];
			if (!of->rank || of->rank > of->ranks || of->ranks <= out->ranks)
				continue;
			*out = (struct gp_job_rank){ of->rank - 1, of->ranks, true };
		}
	gp_collectives_free(&c);
	return out->has_nccl;
}

bool gp_job_rank_find(struct gp_recording *recording, const struct gp_info *info,
		      struct gp_job_rank *out)
{
	struct gp_job_rank nccl = { 0 };
	*out = (struct gp_job_rank){ 0 };
	const bool has_launcher = rank_of_launcher(info, out);
	const bool has_nccl = rank_of_nccl(recording, info, &nccl);
	if (has_nccl && (!has_launcher || nccl.ranks > out->ranks))
		*out = nccl;
	out->has_nccl = has_nccl;
	return has_launcher || has_nccl;
}
