/* One table; the first row of each kind is looked up once. */
#include "name_rules.h"

#include "frame_phase.h"
#include "name_text.h"

#define RULE(kind, text, name, part, phase) { text, name, part, GP_RULE_##kind, phase },
static const struct gp_name_rule rules[] = {
#include "frame_names.def"
	{ .kind = GP_RULES },
};

const struct gp_name_rule *gp_rules_of(enum gp_rule_kind kind)
{
	static const struct gp_name_rule *first[GP_RULES];
	const struct gp_name_rule *rule = first[kind] != NULL ? first[kind] : rules;
	while (rule->kind != kind)
		rule++;
	return first[kind] = rule;
}

const struct gp_name_rule *gp_rule_fitting(enum gp_rule_kind kind, const char *text)
{
	for (const struct gp_name_rule *rule = gp_rules_of(kind); rule->kind == kind; rule++)
		if (fits(text, rule->text))
			return rule;
	return NULL;
}

bool gp_rule_begins(enum gp_rule_kind kind, const char *text)
{
	for (const struct gp_name_rule *rule = gp_rules_of(kind); rule->kind == kind; rule++)
		if (starts(text, rule->text))
			return true;
	return false;
}
