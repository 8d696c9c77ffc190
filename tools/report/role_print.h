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
/* The keys of one of them: `key`, `bytes` and `count`; and all in a list. */
void gp_role_sum_write(struct gp_json *json, const struct gp_role_sums *sums, unsigned role);
void gp_role_sums_write(struct gp_json *json, const char *key, const struct gp_role_sums *sums);
/* Prints why all roles are unknown, if they are. */
void gp_no_roles_print(FILE *out, const struct gp_info *info);

#endif
