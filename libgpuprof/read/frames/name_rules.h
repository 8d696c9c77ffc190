/*
 * The rows of frame_names.def, by kind. A row with a `part` fits Python frames whose file's path
 * contains the part.
 */
#ifndef GP_NAME_RULES_H
#define GP_NAME_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gp_rule_kind {
	GP_RULE_ALLOCATION,
	GP_RULE_SPLIT,
	GP_RULE_OVERLOAD,
	GP_RULE_NOT_OVERLOAD,
	GP_RULE_COLLECTIVE,
	GP_RULE_NODE_SPACE,
	GP_RULE_NOT_NODE,
	GP_RULE_PYTHON_NODE,
	GP_RULE_PYTHON_BEGINNING,
	GP_RULE_PYTHON_ENGINE,
	GP_RULE_ENGINE,
	GP_RULE_ENGINE_STEP,
	GP_RULE_PHASE,
	GP_RULE_PHASE_PYTHON,
	GP_RULE_PASSED,
	GP_RULE_LIBRARY_MADE,
	GP_RULE_LIBRARY_PACKAGE,
	GP_RULE_LIBRARY,
	GP_RULE_PYTHON_PACKAGE,
	GP_RULE_PYTHON_FOREIGN,
	GP_RULE_PYTHON_SYSTEM,
	GP_RULE_SYSTEM_PACKAGE,
	GP_RULE_INTERPRETER_FILE,
	GP_RULE_INTERPRETER,
	GP_RULE_INTERPRETER_LOCAL,
	GP_RULE_KNOWN,
	GP_RULE_WORKSPACE,
	GP_RULE_KNOWN_PYTHON,
	GP_RULE_FOLDED,
	GP_RULE_FOLDED_MODULE,
	GP_RULE_STRIPPED,
	GP_RULE_FOLDED_PYTHON,
	GP_RULES
};

struct gp_name_rule {
	const char *text, *name, *part;
	uint8_t kind, phase; /* enum gp_rule_kind, enum gp_frame_phase */
};

/* The first row of a kind; the others follow it, up to a row of another kind. */
const struct gp_name_rule *gp_rules_of(enum gp_rule_kind kind);
/* The first row of a kind that fits the text; NULL: none. */
const struct gp_name_rule *gp_rule_fitting(enum gp_rule_kind kind, const char *text);
/* True: `text` begins with the text of a row of that kind. */
bool gp_rule_begins(enum gp_rule_kind kind, const char *text);

#endif
