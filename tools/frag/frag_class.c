/*
 * Classes of blocks, for colours. Each stack is named once. Stacks with the same name are one
 * class, and the largest classes get a colour of their own.
 */
#include "frag_class.h"

#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"

/* A stack of blocks, its name and its class. */
struct kind {
	uint32_t stack;
	int64_t at_ns;
	uint64_t bytes;
	char name[GP_SITE_MAX];
	uint8_t class;
};
struct kinds {
	struct kind *kind;
	size_t kinds;
};

/* ---- ages ---- */

static const struct {
	int64_t below_ns;
	const char *name;
} ages[] = {
	{ 1000000, "younger than 1 ms" },     { 10000000, "1 to 10 ms" },
	{ 100000000, "10 to 100 ms" },	      { 1000000000, "0.1 to 1 s" },
	{ 10000000000, "1 to 10 s" },	      { 60000000000, "10 s to a minute" },
	{ INT64_MAX, "older than a minute" },
};

static void classify_ages(const struct gp_frag_report *r, struct gp_frag_classes *out)
{
	out->classes = sizeof ages / sizeof *ages;
	for (size_t k = 0; k < out->classes; k++)
		snprintf(out->class[k].name, GP_SITE_MAX, "%s", ages[k].name);
	for (size_t k = 0; k < r->memory.blocks; k++) {
		const struct gp_memory_block *b = &r->memory.block[k];
		uint8_t class = 0;
		while (r->memory.at_ns - b->at_ns >= ages[class].below_ns)
			class ++;
		out->of_block[k] = class;
		out->class[class].bytes += b->state != GP_STATE_FREE ? b->bytes : 0;
	}
}

/* ---- stacks ---- */

static int compare_stacks(const void *left, const void *right)
{
	const struct kind *a = left, *b = right;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(((const struct kind *)left)->name, ((const struct kind *)right)->name);
}

static int compare_classes(const void *left, const void *right)
{
	const struct gp_frag_class *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Lists the different stacks with their bytes, by number. */
static bool list_kinds(const struct gp_frag_report *r, struct kinds *out)
{
	const struct gp_memory *m = &r->memory;
	struct kind *kind = calloc(m->blocks + 1, sizeof *kind);
	size_t kinds = 0, kept = 0;
	if (!kind)
		return false;
	for (size_t k = 0; k < m->blocks; k++)
		if (m->block[k].state != GP_STATE_FREE)
			kind[kinds++] = (struct kind){ .stack = m->block[k].stack,
						       .at_ns = m->block[k].at_ns,
						       .bytes = m->block[k].bytes };
	qsort(kind, kinds, sizeof *kind, compare_stacks);
	for (size_t k = 0; k < kinds; k++) {
		if (kept && kind[kept - 1].stack == kind[k].stack)
			kind[kept - 1].bytes += kind[k].bytes;
		else
			kind[kept++] = kind[k];
	}
	*out = (struct kinds){ kind, kept };
	return true;
}

/* Makes the largest names classes. If there are more names, the last class holds the rest. */
static bool class_kinds(struct kinds *all, struct gp_frag_classes *out)
{
	struct gp_frag_class *class = calloc(all->kinds + 1, sizeof *class);
	size_t classes = 0;
	if (!class)
		return false;
	qsort(all->kind, all->kinds, sizeof *all->kind, compare_names);
	for (size_t k = 0; k < all->kinds; k++) {
		if (!classes || strcmp(class[classes - 1].name, all->kind[k].name) != 0)
			memcpy(class[classes++].name, all->kind[k].name, GP_SITE_MAX);
		class[classes - 1].bytes += all->kind[k].bytes;
	}
	qsort(class, classes, sizeof *class, compare_classes);
	bool has_rest = classes > GP_CLASSES_MOST;
	out->classes = has_rest ? GP_CLASSES_MOST : classes;
	size_t own = has_rest ? GP_CLASSES_MOST - 1 : classes;
	memcpy(out->class, class, own * sizeof *class);
	for (size_t k = own; k < classes; k++)
		out->class[own].bytes += class[k].bytes;
	if (has_rest)
		snprintf(out->class[own].name, GP_SITE_MAX, "%s",
			 gp_plural(classes - own, "other").s);
	for (size_t k = 0; k < all->kinds; k++) {
		uint8_t which = 0;
		while (which < own && strcmp(out->class[which].name, all->kind[k].name) != 0)
			which++;
		all->kind[k].class = which;
	}
	qsort(all->kind, all->kinds, sizeof *all->kind, compare_stacks);
	free(class);
	return true;
}

static bool classify_stacks(const struct gp_frag_report *r, struct gp_frag_classes *out)
{
	const struct gp_memory *m = &r->memory;
	struct kinds all;
	if (!list_kinds(r, &all))
		return false;
	for (size_t k = 0; k < all.kinds; k++)
		gp_frag_site(r, all.kind[k].stack, all.kind[k].at_ns, all.kind[k].name);
	bool is_fine = class_kinds(&all, out);
	for (size_t k = 0; k < m->blocks && is_fine; k++) {
		const struct kind sought = { .stack = m->block[k].stack };
		const struct kind *found =
			bsearch(&sought, all.kind, all.kinds, sizeof sought, compare_stacks);
		out->of_block[k] = found ? found->class : 0;
	}
	free(all.kind);
	return is_fine;
}

bool gp_frag_classify(const struct gp_frag_report *r, enum gp_frag_colour by,
		      struct gp_frag_classes *out)
{
	*out = (struct gp_frag_classes){ .of_block = calloc(r->memory.blocks + 1, 1) };
	if (!out->of_block)
		return false;
	if (by == GP_COLOUR_AGE)
		classify_ages(r, out);
	else if (!classify_stacks(r, out)) {
		gp_frag_classes_release(out);
		return false;
	}
	return true;
}

void gp_frag_classes_release(struct gp_frag_classes *classes)
{
	free(classes->of_block);
	classes->of_block = NULL;
}
