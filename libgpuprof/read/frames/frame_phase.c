/* The rules are rows of frame_names.def; the first that fits a frame counts. */
#include "frame_phase.h"

#include "frame_names.h"
#include "name_text.h"

struct phase_rule {
	const char *part; /* of a Python file; NULL: native */
	const char *function;
	enum gp_frame_phase phase;
};

static const struct phase_rule rules[] = {
#define PHASE(function, phase) { NULL, function, GP_FRAME_##phase },
#define PHASE_PYTHON(part, function, phase) { part, function, GP_FRAME_##phase },
#define PYTHON_NODE(part, function) { part, function, GP_FRAME_BACKWARD },
#define PYTHON_ENGINE(part, function) { part, function, GP_FRAME_BACKWARD },
#include "frame_names.def"
};

static bool frame_phase_is_of(const struct gp_frame *f, const struct phase_rule *rule)
{
	if (f->is_python != (rule->part != NULL) || !fits(f->function, rule->function))
		return false;
	return rule->part == NULL || (f->file != NULL && strstr(f->file, rule->part) != NULL);
}

enum gp_frame_phase gp_frame_phase(const struct gp_frame *f)
{
	char name[GP_NAME_MAX];
	if (f->function == NULL)
		return GP_FRAME_NONE;
	for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
		if (frame_phase_is_of(f, &rules[k]))
			return rules[k].phase;
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
