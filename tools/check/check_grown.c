/*
 * Lists the stacks that hold more than in the baseline. Keys of groups have line numbers, which
 * move when a source is edited. A key names the callers of a place ("via") only where several
 * callers reach it. So groups of a place are compared by key if all of the baseline's keys still
 * exist. Otherwise they are compared without line numbers, and if that fails, too, all groups of
 * the place are added up.
 */
#include <stdlib.h>
#include <string.h>

#include "check_report.h"

#define KEY_MAX 1024u
static const char via[] = "  via ";

enum level { AS_CALLED, WITHOUT_LINES, PLACE, LEVELS };

struct row {
	const char *key;
	char plain[KEY_MAX]; /* without line numbers */
	size_t place;	     /* length of the part before "  via " */
	uint64_t bytes;
	bool is_before;
};

static void write_plain(struct row *row)
{
	const char *key = row->key;
	size_t used = 0;
	while (*key && used + 1 < sizeof row->plain) {
		const size_t digits = *key == ':' ? strspn(key + 1, "0123456789") : 0;
		if (digits)
			key += 1 + digits;
		else
			row->plain[used++] = *key++;
	}
	row->plain[used] = '\0';
	const char *end = strstr(row->plain, via);
	row->place = end ? (size_t)(end - row->plain) : used;
}

static int compare_places(const struct row *a, const struct row *b)
{
	const size_t least = a->place < b->place ? a->place : b->place;
	const int order = memcmp(a->plain, b->plain, least);
	return order ? order : (a->place > b->place) - (a->place < b->place);
}

static int compare_at(const struct row *a, const struct row *b, enum level level)
{
	return level == PLACE	      ? compare_places(a, b) :
	       level == WITHOUT_LINES ? strcmp(a->plain, b->plain) :
					strcmp(a->key, b->key);
}

/* Puts rows that are equal at a level next to each other. */
static int compare_rows(const void *left, const void *right)
{
	int order = 0;
	for (int level = PLACE; level >= AS_CALLED && !order; level--)
		order = compare_at(left, right, (enum level)level);
	return order;
}

static size_t run_of(const struct row *row, size_t rows, enum level level)
{
	size_t n = 1;
	while (n < rows && compare_at(&row[n], &row[0], level) == 0)
		n++;
	return n;
}

/* Whether each group of the baseline still exists at this level. */
static bool has_all(const struct row *row, size_t rows, enum level level)
{
	for (size_t k = 0, n; k < rows; k += n) {
		bool is_before = false, is_now = false;
		n = run_of(&row[k], rows - k, level);
		for (size_t i = k; i < k + n; i++) {
			is_before |= row[i].is_before;
			is_now |= !row[i].is_before;
		}
		if (is_before && !is_now)
			return false;
	}
	return true;
}

struct listing {
	struct gp_check_grown *grown;
	size_t count;
	uint64_t unlisted; /* upper limit for a group that the baseline does not list */
};

/* One group keeps its key; several get the common part of their keys. */
static char *check_grown_name_of(const struct row *row, size_t groups, enum level level)
{
	if (groups == 1)
		return strdup(row->key);
	return level == PLACE ? strndup(row->plain, row->place) : strdup(row->plain);
}

static bool check_grown_add_run(struct listing *l, const struct row *row, size_t rows,
				enum level level)
{
	const struct row *now = NULL;
	struct gp_check_grown sum = { 0 };
	size_t groups = 0;
	for (size_t k = 0; k < rows; k++) {
		now = now || row[k].is_before ? now : &row[k];
		groups += !row[k].is_before;
		sum.bytes += row[k].is_before ? 0 : row[k].bytes;
		sum.before_bytes += row[k].is_before ? row[k].bytes : 0;
	}
	if (groups == rows) {
		sum.before_bytes = l->unlisted * groups;
		sum.is_at_most = l->unlisted > 0;
	}
	if (!now || sum.bytes <= sum.before_bytes)
		return true;
	sum.key = check_grown_name_of(now, groups, level);
	l->grown[l->count] = sum;
	l->count += sum.key != NULL;
	return sum.key != NULL;
}

static bool add_place(struct listing *l, const struct row *row, size_t rows)
{
	enum level level = AS_CALLED;
	bool is_fine = true;
	while (level < PLACE && !has_all(row, rows, level))
		level++;
	for (size_t k = 0, n; k < rows && is_fine; k += n) {
		n = run_of(&row[k], rows - k, level);
		is_fine = check_grown_add_run(l, &row[k], n, level);
	}
	return is_fine;
}

static int compare_grown(const void *left, const void *right)
{
	const struct gp_check_grown *a = left, *b = right;
	const uint64_t x = a->bytes - a->before_bytes, y = b->bytes - b->before_bytes;
	return x != y ? (x < y ? 1 : -1) : strcmp(a->key, b->key);
}

static uint64_t least_of(const struct gp_baseline_device *before)
{
	uint64_t least = before->groups >= GP_BASELINE_GROUPS ? UINT64_MAX : 0;
	for (size_t k = 0; k < before->groups; k++)
		least = before->group[k].bytes < least ? before->group[k].bytes : least;
	return least;
}

static struct gp_check_grown *list_grown(const struct gp_baseline_device *before,
					 const struct gp_groups *groups, size_t *count)
{
	const size_t rows = groups->groups + before->groups;
	struct listing l = { .unlisted = least_of(before) };
	struct row *row = calloc(rows + 1, sizeof *row);
	l.grown = calloc(groups->groups + 1, sizeof *l.grown);
	bool is_fine = row && l.grown;
	for (size_t k = 0; k < rows && is_fine; k++) {
		const size_t i = k - groups->groups;
		row[k].is_before = k >= groups->groups;
		row[k].key = row[k].is_before ? before->group[i].key : groups->group[k].key;
		row[k].bytes =
			row[k].is_before ? before->group[i].bytes : groups->group[k].use.bytes;
		write_plain(&row[k]);
	}
	if (is_fine && rows > 1)
		qsort(row, rows, sizeof *row, compare_rows);
	for (size_t k = 0, n; k < rows && is_fine; k += n) {
		n = run_of(&row[k], rows - k, PLACE);
		is_fine = add_place(&l, &row[k], n);
	}
	free(row);
	if (l.count > 1)
		qsort(l.grown, l.count, sizeof *l.grown, compare_grown);
	*count = l.count;
	if (is_fine)
		return l.grown;
	gp_check_grown_free(l.grown, l.count);
	*count = 0;
	return NULL;
}

struct gp_check_grown *gp_check_grown_list(const struct gp_check *c, unsigned device, size_t *count)
{
	const struct gp_baseline_entry *entry = gp_baseline_find(c->baseline, c->info);
	const struct gp_baseline_device *before = entry ? gp_baseline_device(entry, device) : NULL;
	const enum gp_curve of =
		gp_check_has_framework(c, device) ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	struct gp_groups groups;
	uint64_t whole;
	*count = 0;
	if (!before || !gp_check_groups(c, device, of, false, &groups, &whole))
		return NULL;
	struct gp_check_grown *grown = list_grown(before, &groups, count);
	gp_groups_free(&groups);
	return grown;
}

void gp_check_grown_free(struct gp_check_grown *list, size_t count)
{
	for (size_t k = 0; k < count; k++)
		free(list[k].key);
	free(list);
}
