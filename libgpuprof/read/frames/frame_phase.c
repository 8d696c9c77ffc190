/* The rules are rows of frame_names.def; the first that fits a frame counts. */
#include "frame_phase.h"

#include "frame_names.h"
#include "name_rules.h"
#include "name_text.h"

static bool frame_phase_is_of(const struct gp_frame *f, const struct gp_name_rule *rule)
{
	if (f->is_python != (rule->part != NULL) || !fits(f->function, rule->text))
		return false;
	return rule->part == NULL || (f->file != NULL && strstr(f->file, rule->part) != NULL);
}

enum gp_frame_phase gp_frame_phase(const struct gp_frame *f)
{
	static const enum gp_rule_kind kinds[] = { GP_RULE_PYTHON_NODE, GP_RULE_PYTHON_ENGINE,
						   GP_RULE_PHASE, GP_RULE_PHASE_PYTHON };
	char name[GP_NAME_MAX];
	if (f->function == NULL)
		return GP_FRAME_NONE;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (const struct gp_name_rule *r = gp_rules_of(kinds[k]); r->kind == kinds[k]; r++)
			if (frame_phase_is_of(f, r))
				return (enum gp_frame_phase)r->phase;
	const struct gp_name_frame named = { f->function, f->module, NULL, f->is_python };
	const enum gp_frame_role role = gp_frame_role(&named, name);
	return role == GP_ROLE_NODE || role == GP_ROLE_ENGINE ? GP_FRAME_BACKWARD : GP_FRAME_NONE;
}

bool gp_frames_are_of_optimizer(const struct gp_frame *frame, size_t frames)
{
	for (size_t k = 0; k < frames; k++)
		if (gp_frame_phase(&frame[k]) == GP_FRAME_OPTIMIZER)
			return true;
	return false;
}

const char *gp_frame_phase_name(unsigned phase)
{
	static const char *const names[GP_FRAME_PHASES] = {
		[GP_FRAME_DATA] = "data",	    [GP_FRAME_ZERO_GRAD] = "zero_grad",
		[GP_FRAME_FORWARD] = "forward",	    [GP_FRAME_BACKWARD] = "backward",
		[GP_FRAME_OPTIMIZER] = "optimizer",
	};
	return phase < GP_FRAME_PHASES ? names[phase] : NULL;
}
