/* Rows by hash against a plain search: equal hashes of different rows, growth, sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "read/tables/row_table.h"

struct word {
	uint64_t key;
	unsigned count;
};

/* `kept` bits of the hash: the fewer, the more rows share one hash. */
static struct word *word_of(struct gp_row_table *t, uint64_t key, uint32_t kept)
{
	const uint32_t hash = gp_row_hash(key) & kept;
	struct word *word = t->row;
	for (uint32_t step = 0, at; (at = gp_row_next(t, hash, &step)) != 0;)
		if (word[at - 1].key == key)
			return &word[at - 1];
	word = gp_row_add(t, sizeof *word, hash);
	assert_non_null(word);
	assert_int_equal(word->key + word->count, 0);
	word->key = key;
	return word;
}

static int by_key(const void *left, const void *right)
{
	const struct word *a = left, *b = right;
	return (a->key > b->key) - (a->key < b->key);
}

static void rows_are_found_again(void **state)
{
	static const uint32_t kept[] = { 0xffffffff, 0xff, 3, 0 };
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		const unsigned words = kept[k] > 0xff ? 20000 : 1000;
		unsigned *count = calloc(words, sizeof *count);
		unsigned different = 0;
		uint64_t seed = 88172645463325252u;
		struct gp_row_table t = { 0 };
		for (unsigned i = 0; i < 4 * words; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			const unsigned key = (unsigned)(seed >> 33) % words;
			different += count[key]++ == 0;
			word_of(&t, key, kept[k])->count++;
			assert_int_equal(t.rows, different);
		}
		gp_row_sort(&t, sizeof(struct word), by_key);
		const struct word *word = t.row;
		for (unsigned i = 0; i < t.rows; i++) {
			assert_int_equal(word[i].count, count[word[i].key]);
			assert_true(i == 0 || word[i - 1].key < word[i].key);
		}
		uint32_t step = 0;
		assert_int_equal(gp_row_next(&t, 0, &step), 0);
		gp_row_table_release(&t);
		assert_int_equal(t.rows + t.index.places + t.room, 0);
		free(count);
	}
}

/* Consecutive keys are spread: a search looks at few places. */
static void near_keys_do_not_crowd(void **state)
{
	(void)state;
	struct gp_row_table t = { 0 };
	uint64_t looks = 0;
	for (uint64_t key = 0; key < 30000; key++)
		word_of(&t, key << 32 | key % 7, 0xffffffff);
	for (uint64_t key = 0; key < 30000; key++) {
		const uint32_t hash = gp_row_hash(key << 32 | key % 7);
		const struct word *word = t.row;
		uint32_t step = 0, at = gp_row_next(&t, hash, &step);
		while (word[at - 1].key != (key << 32 | key % 7))
			at = gp_row_next(&t, hash, &step);
		looks += step;
	}
	/* usually 1 or 2 each; some seeds spread less, while keys in a crowd need hundreds */
	assert_true(looks < 10 * 30000);
	gp_row_table_release(&t);
}

struct number {
	uint64_t key;
	unsigned value;
};

/* A dropped row is gone, the others are found, and no row occurs twice. */
static void rows_of_keys_come_and_go(void **state)
{
	(void)state;
	enum { KEYS = 3000 };
	unsigned *value = calloc(KEYS, sizeof *value), live = 0;
	uint64_t seed = 88172645463325252u;
	struct gp_row_table t = { 0 };
	for (unsigned i = 1; i < 40 * KEYS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		const uint64_t key = (seed >> 33) % KEYS;
		struct number *known = gp_row_of_key(&t, sizeof *known, key << 40);
		assert_int_equal(known != NULL ? known->value : 0, value[key]);
		if (seed >> 63 && known != NULL) {
			gp_row_drop_key(&t, sizeof *known, known);
			value[key] = 0;
			live--;
		} else {
			live += known == NULL;
			known = gp_row_get_key(&t, sizeof *known, key << 40);
			known->value = value[key] = i;
		}
		assert_int_equal(t.rows, live);
		assert_int_equal(t.index.used, live);
	}
	for (unsigned k = 0; k < KEYS; k++) {
		const struct number *known = gp_row_of_key(&t, sizeof *known, (uint64_t)k << 40);
		assert_int_equal(known != NULL ? known->value : 0, value[k]);
	}
	gp_row_table_release(&t);
	free(value);
}

/* A run of places across the end of the array; each row of it is dropped in turn. */
static void index_keeps_displaced_rows(void **state)
{
	(void)state;
	for (uint32_t gone = 1; gone <= 40; gone++) {
		struct gp_row_index x = { 0 };
		for (uint32_t row = 1; row <= 40; row++)
			assert_true(gp_row_index_add(&x, 110 + row % 9, row));
		gp_row_index_drop(&x, 110 + gone % 9, gone);
		for (uint32_t row = 1; row <= 40; row++) {
			uint32_t step = 0, at;
			while ((at = gp_row_index_next(&x, 110 + row % 9, &step)) != 0 && at != row)
				;
			assert_int_equal(at, row != gone ? row : 0);
		}
		gp_row_index_release(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_again),
		cmocka_unit_test(near_keys_do_not_crowd),
		cmocka_unit_test(rows_of_keys_come_and_go),
		cmocka_unit_test(index_keeps_displaced_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
