/* The rules that decided on the roles of memory, as text and as JSON. */
#ifndef ROLE_PRINT_H
#define ROLE_PRINT_H

#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

/* Below a group of one role: its rules, each with its bytes, those with most bytes first. */
void gp_role_rules_print(FILE *out, const struct gp_group *group);
/* The keys `rule`, the one with most bytes, and `rules`. */
void gp_role_rules_write(struct gp_json *json, const struct gp_group *group);
/* Roles with memory, most bytes first. Returns how many. */
size_t gp_roles_sort(const struct gp_role_sums *sums, unsigned sorted[GP_MEMORY_ROLES]);
#define GP_ROLES_TEXT_MAX 1200u
/*
 * "61.2 GiB: activations 41.0 GiB (layers.*.mlp 31.0 GiB), optimizer 20.0 GiB, others 210 MiB": the
 * sum, then the first three roles and those with 1% of it or more, with their modules. "": no
 * role is known. `module` NULL: no modules.
 */
void gp_roles_text(const struct gp_role_sums *sums,
		   const struct gp_role_module (*module)[GP_ROLE_MODULES],
		   char out[GP_ROLES_TEXT_MAX]);
/* The keys of one of them: `key`, `bytes` and `count`; and all in a list. */
void gp_role_sum_write(struct gp_json *json, const struct gp_role_sums *sums, unsigned role);
void gp_role_sums_write(struct gp_json *json, const char *key, const struct gp_role_sums *sums);
/* Prints why all roles are unknown, if they are. */
void gp_no_roles_print(FILE *out, const struct gp_info *info);

#endif
