/*
 * Modules that hold memory, as users read a model: the parts of its repeated layers. First sums by
 * module, then by unit: a module up to the child of the first numbered one.
 */
#include "role_modules.h"

#include <stdio.h>
#include <string.h>

#include "../stack_text.h"

#define DEPTH_MOST 64u /* of modules in each other; outer ones are left out */

struct module_sum {
	uint64_t key; /* role, module */
	struct gp_rule_sum sum;
};
struct unit {
	struct gp_identity identity;
	enum gp_memory_role role;
	uint32_t example; /* a module; the place of the others differs in `stars` */
	uint64_t stars;	  /* bits: by depth */
	struct gp_rule_sum sum;
};
struct chain {
	unsigned depth;
	struct gp_torch_module module[DEPTH_MOST]; /* the root first */
};

void gp_role_modules_add(struct gp_role_modules *m, enum gp_memory_role role, uint32_t stack,
			 uint64_t bytes)
{
	const uint32_t module = gp_recording_stack_module(m->recording, stack);
	const uint64_t key = (uint64_t)role << 32 | module;
	if (module == 0)
		return;
	struct module_sum *row = gp_row_get_key(&m->sums, sizeof *row, key);
	if (row == NULL) {
		m->is_out_of_memory = true;
		return;
	}
	row->sum.bytes += bytes;
	row->sum.count++;
}

static bool is_number(const char *name)
{
	return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

/* The modules from the root to that of the unit. */
static void chain_find(struct gp_recording *r, uint32_t id, struct chain *out)
{
	struct gp_torch_module inner[DEPTH_MOST];
	unsigned n = 0, depth = 0, most = DEPTH_MOST;
	for (; n < DEPTH_MOST && gp_recording_module(r, id, &inner[n]); n++)
		id = inner[n].within;
	for (; n > 0 && depth < most; depth++) {
		out->module[depth] = inner[--n];
		if (most == DEPTH_MOST && depth > 0 && is_number(inner[n].name))
			most = depth + 2;
	}
	out->depth = depth;
}

static struct gp_identity unit_identity(const struct chain *c, enum gp_memory_role role)
{
	struct gp_identity identity = { (uint64_t)role + 1, c->module[0].id };
	for (unsigned k = 1; k < c->depth; k++) {
		const bool is_one = !is_number(c->module[k].name);
		identity = gp_text_identity(identity, is_one ? c->module[k].name : "*");
		if (!is_one)
			identity = gp_text_identity(identity, c->module[k].class);
	}
	return identity;
}

static struct unit *unit_get(struct gp_row_table *units, struct gp_identity identity)
{
	const uint32_t hash = gp_row_hash(gp_identity_hash(identity));
	struct unit *unit = units->row;
	for (uint32_t step = 0, at; (at = gp_row_next(units, hash, &step)) != 0;)
		if (gp_identity_is(unit[at - 1].identity, identity))
			return &unit[at - 1];
	unit = gp_row_add(units, sizeof *unit, hash);
	if (unit != NULL)
		unit->identity = identity;
	return unit;
}

static bool unit_add(struct gp_recording *r, struct gp_row_table *units, uint64_t key,
		     const struct gp_rule_sum *sum)
{
	struct chain of, example;
	const enum gp_memory_role role = (enum gp_memory_role)(key >> 32);
	chain_find(r, (uint32_t)key, &of);
	if (of.depth == 0)
		return true;
	struct unit *unit = unit_get(units, unit_identity(&of, role));
	if (unit == NULL)
		return false;
	if (unit->example == 0) {
		unit->role = role;
		unit->example = of.module[of.depth - 1].id;
	}
	unit->sum.bytes += sum->bytes;
	unit->sum.count += sum->count;
	chain_find(r, unit->example, &example);
	for (unsigned k = 1; k < of.depth && k < example.depth; k++)
		if (strcmp(of.module[k].name, example.module[k].name) != 0)
			unit->stars |= UINT64_C(1) << k;
	return true;
}

static void unit_text(struct gp_recording *r, const struct unit *u, char out[GP_ROLE_MODULE_MAX])
{
	const size_t room = GP_ROLE_MODULE_MAX;
	struct chain c;
	chain_find(r, u->example, &c);
	gp_recording_module_path(r, c.module[0].id, out, room);
	size_t used = c.depth > 1 && strcmp(out, "(root)") == 0 ? 0 : strlen(out);
	for (unsigned k = 1; k < c.depth && used < room; k++)
		used += (size_t)snprintf(out + used, room - used, "%s%s", used != 0 ? "." : "",
					 u->stars >> k & 1 ? "*" : c.module[k].name);
	if (c.depth > 1 && u->stars >> (c.depth - 1) & 1 && used < room)
		snprintf(out + used, room - used, " (%s)", c.module[c.depth - 1].class);
}

/* Among the first of its role, most bytes first. */
static void unit_place(struct gp_recording *r, const struct unit *u, struct gp_role_makers *out)
{
	struct gp_role_module *first = out->module[u->role];
	unsigned at = GP_ROLE_MODULES;
	for (; at > 0 && first[at - 1].sum.bytes < u->sum.bytes; at--)
		if (at < GP_ROLE_MODULES)
			first[at] = first[at - 1];
	if (at == GP_ROLE_MODULES)
		return;
	first[at].sum = u->sum;
	unit_text(r, u, first[at].key);
}

enum gp_status gp_role_modules_list(struct gp_role_modules *m, struct gp_role_makers *out)
{
	const struct module_sum *sum = m->sums.row;
	struct gp_row_table units = { 0 };
	bool is_fine = !m->is_out_of_memory;
	for (uint32_t k = 0; k < m->sums.rows && is_fine; k++)
		is_fine = unit_add(m->recording, &units, sum[k].key, &sum[k].sum);
	const struct unit *unit = units.row;
	for (uint32_t k = 0; k < units.rows && is_fine; k++)
		unit_place(m->recording, &unit[k], out);
	gp_row_table_release(&units);
	gp_row_table_release(&m->sums);
	return is_fine ? GP_OK : GP_E_MEMORY;
}
