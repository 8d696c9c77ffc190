/*
 * Works from the root down: children of joined nodes become siblings. Node numbers are in order of
 * appearance, and a parent's number is lower than its children's. A joined node goes to one with a
 * lower number.
 */
#include "phase_fold.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"

struct group {
	uint32_t first; /* number of the node */
	uint64_t names, calls;
};

struct folding {
	struct gp_phase_tree *tree;
	const struct gp_recording *recording;
	struct gp_phases *out;
	uint64_t most;
	uint32_t *child; /* children of the current node */
	size_t children, room;
	bool is_out_of_memory;
};

/* ---- texts ---- */

/* The next letter of a folded name: # for a number. */
static char next_letter(const char **text)
{
	if (!isdigit((unsigned char)**text))
		return *(*text)++;
	while (isdigit((unsigned char)**text))
		++*text;
	return '#';
}

static bool is_alike(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0')
		if (next_letter(&a) != next_letter(&b))
			return false;
	return *a == *b;
}

static uint64_t text_hash(const char *text)
{
	uint64_t hash = 0;
	while (*text != '\0')
		hash = gp_hash_number(hash ^ (unsigned char)next_letter(&text));
	return hash;
}

/* NULL: its name has no number. */
static const char *numbered_text(const struct folding *f, const struct gp_phase_node *n)
{
	const char *text = gp_phase_node_text(n, f->recording);
	return text != NULL && text[strcspn(text, "0123456789")] != '\0' ? text : NULL;
}

static bool keep_text(struct folding *f, struct gp_phase_node *n)
{
	const char *text = gp_phase_node_text(n, f->recording);
	char *folded = malloc(strlen(text) + 1);
	char **kept = gp_array_append(&f->out->folded, &f->out->foldeds, sizeof *kept);
	if (folded == NULL || kept == NULL) {
		f->out->foldeds -= kept != NULL;
		free(folded);
		return false;
	}
	*kept = folded;
	n->folded = folded;
	while (*text != '\0')
		*folded++ = next_letter(&text);
	*folded = '\0';
	return true;
}

/* ---- nodes ---- */

static void move_children(struct folding *f, struct gp_phase_node *to, struct gp_phase_node *from)
{
	const uint32_t parent = (uint32_t)(to - gp_phase_node_at(f->tree, 0));
	if (from->first == 0)
		return;
	for (uint32_t k = from->first; k != 0; k = gp_phase_node_at(f->tree, k)->next)
		gp_phase_node_at(f->tree, k)->parent = parent;
	if (to->last != 0)
		gp_phase_node_at(f->tree, to->last)->next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
	to->is_merged = true;
}

static void merge(struct folding *f, uint32_t into, uint32_t number)
{
	struct gp_phase_node *to = gp_phase_node_at(f->tree, into);
	struct gp_phase_node *from = gp_phase_node_at(f->tree, number);
	const struct gp_phase *o = &from->own;
	const double before = (double)to->own.steady_calls, more = (double)o->steady_calls;
	const double off = from->mean_ns - to->mean_ns;
	if (more > 0) { /* Chan, Golub and LeVeque (1979) */
		to->mean_ns += off * more / (before + more);
		to->squares += from->squares + off * off * before * more / (before + more);
	}
	to->own.calls += o->calls;
	to->own.steady_calls += o->steady_calls;
	to->steady_ns += from->steady_ns;
	to->own.open += o->open;
	to->own.time_ns += o->time_ns;
	to->own.allocated_bytes += o->allocated_bytes;
	to->own.freed_bytes += o->freed_bytes;
	to->own.retained_bytes += o->retained_bytes;
	to->own.launches += o->launches;
	to->own.captured_launches += o->captured_launches;
	to->own.graph_launches += o->graph_launches;
	if (o->peak_bytes > to->own.peak_bytes)
		to->own.peak_bytes = o->peak_bytes;
	to->is_seen |= from->is_seen;
	move_children(f, to, from);
	*from = (struct gp_phase_node){ .parent = from->parent, .into = into };
}

static int by_number(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

static bool list_children(struct folding *f, const struct gp_phase_node *n)
{
	f->children = 0;
	for (uint32_t k = n->first; k != 0; k = gp_phase_node_at(f->tree, k)->next) {
		if (!gp_array_reserve(&f->child, &f->room, f->children, 1, sizeof *f->child))
			return false;
		f->child[f->children++] = k;
	}
	if (n->is_merged && f->children > 1)
		qsort(f->child, f->children, sizeof *f->child, by_number);
	return true;
}

/* Links the remaining children. */
static void link_children(struct folding *f, uint32_t parent)
{
	struct gp_phase_node *n = gp_phase_node_at(f->tree, parent);
	n->first = n->last = 0;
	for (size_t k = 0; k < f->children; k++) {
		if (f->child[k] == 0)
			continue;
		if (n->last != 0)
			gp_phase_node_at(f->tree, n->last)->next = f->child[k];
		else
			n->first = f->child[k];
		n->last = f->child[k];
		gp_phase_node_at(f->tree, n->last)->next = 0;
	}
}

/* ---- siblings ---- */

static bool is_of_kind(const struct gp_phase_node *a, const struct gp_phase_node *b)
{
	return a->domain == b->domain && a->source == b->source && a->style == b->style;
}

static uint32_t phase_fold_hash_of(const struct gp_phase_node *n, uint64_t name)
{
	const uint64_t kind = (uint64_t)n->source << 40 | (uint64_t)n->style << 32 | n->domain;
	return gp_row_hash(gp_hash_pair(name, kind));
}

/* `text` NULL: compares names as they are. Returns NULL if there is no such group. */
static struct group *group_find(const struct folding *f, const struct gp_row_table *groups,
				const struct gp_phase_node *n, const char *text, uint32_t hash)
{
	struct group *group = groups->row;
	for (uint32_t step = 0, at; (at = gp_row_next(groups, hash, &step)) != 0;) {
		const struct gp_phase_node *there = gp_phase_node_at(f->tree, group[at - 1].first);
		if (is_of_kind(there, n) &&
		    (text != NULL ? is_alike(gp_phase_node_text(there, f->recording), text) :
				    there->name == n->name))
			return &group[at - 1];
	}
	return NULL;
}

static struct group *group_get(struct folding *f, struct gp_row_table *groups, uint32_t number,
			       const char *text)
{
	const struct gp_phase_node *n = gp_phase_node_at(f->tree, number);
	const uint32_t hash = phase_fold_hash_of(n, text != NULL ? text_hash(text) : n->name);
	struct group *group = group_find(f, groups, n, text, hash);
	if (group != NULL)
		return group;
	group = gp_row_add(groups, sizeof *group, hash);
	if (group != NULL)
		group->first = number;
	f->is_out_of_memory |= group == NULL;
	return group;
}

/* Joins children with equal names after their parents were joined. */
static void join_same(struct folding *f)
{
	struct gp_row_table groups = { 0 };
	for (size_t k = 0; k < f->children && !f->is_out_of_memory; k++) {
		const struct group *group = group_get(f, &groups, f->child[k], NULL);
		if (group == NULL || group->first == f->child[k])
			continue;
		merge(f, group->first, f->child[k]);
		f->child[k] = 0;
	}
	gp_row_table_release(&groups);
}

static bool counts_up(const struct folding *f, const struct group *group)
{
	return group->names > f->most && group->calls <= GP_FOLD_CALLS * group->names;
}

static const char *text_at(const struct folding *f, size_t child)
{
	const struct gp_phase_node *n = gp_phase_node_at(f->tree, f->child[child]);
	return f->child[child] != 0 && n->is_seen ? numbered_text(f, n) : NULL;
}

static void join_alike(struct folding *f)
{
	struct gp_row_table groups = { 0 };
	for (size_t k = 0; k < f->children && !f->is_out_of_memory; k++) {
		const char *text = text_at(f, k);
		struct group *group =
			text != NULL ? group_get(f, &groups, f->child[k], text) : NULL;
		if (group == NULL)
			continue;
		group->names++;
		group->calls += gp_phase_node_at(f->tree, f->child[k])->own.calls;
	}
	for (size_t k = 0; k < f->children && !f->is_out_of_memory; k++) {
		const char *text = text_at(f, k);
		const struct group *group =
			text != NULL ? group_get(f, &groups, f->child[k], text) : NULL;
		if (group == NULL || !counts_up(f, group))
			continue;
		struct gp_phase_node *first = gp_phase_node_at(f->tree, group->first);
		if (group->first != f->child[k]) {
			merge(f, group->first, f->child[k]);
			f->child[k] = 0;
		} else if (keep_text(f, first)) {
			first->names = group->names;
		} else {
			f->is_out_of_memory = true;
		}
	}
	gp_row_table_release(&groups);
}

bool gp_phase_tree_fold(struct gp_phase_tree *tree, const struct gp_recording *recording,
			uint64_t most, struct gp_phases *out)
{
	struct folding f = { .tree = tree, .recording = recording, .out = out, .most = most };
	for (uint32_t k = 0; k < tree->nodes.rows && !f.is_out_of_memory; k++) {
		const struct gp_phase_node *n = gp_phase_node_at(tree, k);
		if (n->first == n->last || !list_children(&f, n)) {
			f.is_out_of_memory |= n->first != n->last;
			continue;
		}
		if (n->is_merged)
			join_same(&f);
		join_alike(&f);
		link_children(&f, k);
	}
	free(f.child);
	return !f.is_out_of_memory;
}
