/* Each turn adds one frame to the keys that are still equal. */
#include "disambiguate_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 2u /* frames that may be added; groups that need more get numbers */

struct distinguishing {
	gp_keyed_read *read;
	void *context;
	struct gp_read_stack *one, *other;
	bool is_last;
};

static int disambiguate_keys_compare(const void *left, const void *right)
{
	const struct gp_keyed *a = left, *b = right;
	int order = strcmp(*a->key, *b->key);
	return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static bool add_to_key(struct gp_keyed *keyed, const char *more)
{
	char *key = NULL;
	if (asprintf(&key, "%s%s", *keyed->key, more) < 0)
		return false;
	free(*keyed->key);
	*keyed->key = key;
	return true;
}

/*
 * Adds the frame at which each stack differs from the first one. The first one is compared with the
 * second.
 */
static bool distinguish(const struct distinguishing *t, struct gp_keyed *run, size_t count)
{
	char more[GP_KEY_MAX];
	bool is_fine = true;
	for (size_t k = 0; k < count && is_fine; k++) {
		more[0] = '\0';
		if (t->is_last)
			snprintf(more, sizeof more, " (%zu)", k + 1);
		else if (t->read(t->context, run[k].number, t->one) &&
			 t->read(t->context, run[k == 0].number, t->other))
			gp_group_difference(t->one, t->other, more);
		is_fine = more[0] == '\0' || add_to_key(&run[k], more);
	}
	return is_fine;
}

bool gp_keys_distinguish(struct gp_keyed *keyed, size_t count, gp_keyed_read *read, void *context)
{
	struct distinguishing t = { .read = read, .context = context };
	t.one = malloc(sizeof *t.one);
	t.other = malloc(sizeof *t.other);
	bool is_fine = t.one != NULL && t.other != NULL, is_equal = count > 1;
	for (unsigned turn = 0; turn <= TURNS && is_fine && is_equal; turn++) {
		is_equal = false;
		t.is_last = turn == TURNS;
		qsort(keyed, count, sizeof *keyed, disambiguate_keys_compare);
		for (size_t k = 0, n; k < count && is_fine; k += n) {
			for (n = 1; k + n < count; n++)
				if (strcmp(*keyed[k + n].key, *keyed[k].key) != 0)
					break;
			if (n == 1)
				continue;
			is_equal = true;
			is_fine = distinguish(&t, keyed + k, n);
		}
	}
	free(t.one);
	free(t.other);
	return is_fine;
}
