/*
 * The options of `gpuprof run` with which the next recording of a job has what this one lacks.
 */
#include "again.h"

#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "report.h"

#define DETAILS_OPTION "--allocator-details=on"

/* Twice the limit of the default, which had no room for all stacks. */
#define MEMORY_OPTION "--memory=512M"

/* From the recorder's reason for missing details, which names an option if one helps. */
static bool details_can_be_had(const struct gp_info *info)
{
	const char *why = info->allocator_why;
	return !why || !*why || strcmp(why, "switched off") == 0 || strstr(why, DETAILS_OPTION);
}

/* If frames of both kinds were refused, no option adds stacks. */
static bool stacks_can_be_had(const struct gp_info *info)
{
	return !info->no_python || !info->no_native;
}

unsigned gp_again_lacks(const struct gp_info *info, unsigned needed)
{
	unsigned lacks = needed & (info->has_uses || info->no_uses ? 0 : GP_LACK_USES);
	if (needed & GP_LACK_STACKS && !info->has_stacks && stacks_can_be_had(info))
		lacks |= GP_LACK_STACKS;
	if (needed & GP_LACK_DETAILS && info->pytorch && !info->has_allocator_details &&
	    details_can_be_had(info))
		lacks |= GP_LACK_DETAILS;
	return lacks;
}

const char *gp_again_run(const struct gp_info *info, unsigned lacks, char *out)
{
	bool is_stacks = lacks & GP_LACK_STACKS;
	bool is_details = lacks & GP_LACK_DETAILS && info->allocator_why &&
			  strstr(info->allocator_why, DETAILS_OPTION);
	snprintf(out, GP_AGAIN_OPTIONS, "gpuprof run%s%s%s%s%s%s%s",
		 lacks & GP_LACK_GPU_TIME ? " --gpu-time" : "",
		 lacks & GP_LACK_COUNTERS ? " --metrics roofline --kernel REGEX" : "",
		 lacks & GP_LACK_LAUNCHES ? " --stack-events=all" : "",
		 lacks & GP_LACK_USES || info->has_uses ? " --track-access" : "",
		 is_stacks && info->stacks_cut ? " " MEMORY_OPTION : "",
		 is_stacks && info->is_captured_in_part ? " --outside-capture=stacks" : "",
		 is_details ? " " DETAILS_OPTION : "");
	return out;
}

/* The option that switched stacks off, as far as the recorder reported it. */
static const char *stacks_option(const struct gp_info *info)
{
	static const char *const known[] = { "--light", "--stacks=off" };
	for (size_t k = 0; info->no_stacks && k < sizeof known / sizeof *known; k++)
		if (strcmp(info->no_stacks, known[k]) == 0)
			return known[k];
	return "--light or --stacks=off";
}

/* A command without options would not help a user of --light, so the text names that option. */
const char *gp_again_why(const struct gp_info *info, unsigned lacks, char *out)
{
	if (lacks & GP_LACK_STACKS && info->stacks_cut) {
		snprintf(out, GP_AGAIN_WHY, "no room for the stacks of %s",
			 gp_plural(info->stacks_cut, "event").s);
		return out;
	}
	if (lacks & GP_LACK_STACKS && !info->is_captured_in_part) {
		snprintf(out, GP_AGAIN_WHY, "no stacks recorded; record again without %s",
			 stacks_option(info));
		return out;
	}
	*out = '\0';
	return out;
}

void gp_again_print(FILE *out, const struct gp_info *info, unsigned lacks)
{
	char run[GP_AGAIN_OPTIONS];
	fprintf(out, "next: %s -- ", gp_again_run(info, lacks, run));
	gp_command_print(out, info->command ? info->command : "COMMAND");
	fputc('\n', out);
}
