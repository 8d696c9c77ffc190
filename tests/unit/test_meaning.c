/* Meanings of definitions: the newest of each kind and key, for any number of definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "read/file/recording.h"

enum { MANY = 100000 };

static void define(struct gp_definitions_index *m, struct gp_record record, const char *text)
{
	struct gp_record slot[2] = { record };
	if (text != NULL) {
		uint64_t bytes = strlen(text);
		slot[0].extra = 1;
		memcpy(&slot[1], &bytes, sizeof bytes);
		memcpy((char *)&slot[1] + sizeof bytes, text, bytes);
	}
	assert_int_equal(gp_defined_add(m, slot), GP_OK);
}

static struct gp_record kernel(uint64_t handle)
{
	struct gp_record r = { .kind = GP_KERNEL };
	r.kernel.handle = handle;
	return r;
}

static struct gp_record thread(uint32_t number, uint64_t tid)
{
	struct gp_record r = { .kind = GP_THREAD, .aux = number };
	r.thread.tid = tid;
	return r;
}

static void count_named(void *context, const struct gp_named *named)
{
	*(size_t *)context += named->text != NULL;
}

static void the_newest_holds(void **state)
{
	(void)state;
	struct gp_definitions_index *m = gp_defined_open();
	struct gp_named named;
	define(m, kernel(7), "first");
	const char *first = gp_defined_text(m, GP_KERNEL, 7);
	define(m, kernel(7), "second");
	assert_string_equal(first, "first");
	assert_string_equal(gp_defined_text(m, GP_KERNEL, 7), "second");
	assert_null(gp_defined_text(m, GP_OBJECT_NAME, 7));
	define(m, kernel(7), NULL);
	assert_null(gp_defined_text(m, GP_KERNEL, 7));
	define(m, kernel(8), "");
	assert_string_equal(gp_defined_text(m, GP_KERNEL, 8), "");

	define(m, thread(UINT32_MAX, 5), NULL);
	define(m, thread(UINT32_MAX, UINT32_MAX), "worker");
	assert_true(gp_defined_get(m, GP_THREAD, UINT32_MAX, &named));
	assert_int_equal(named.value, UINT32_MAX);
	assert_string_equal(named.text, "worker");
	assert_false(gp_defined_get(m, GP_THREAD, UINT64_MAX, &named));
	assert_null(named.text);

	define(m, (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_SCOPE }, "words");
	assert_string_equal(gp_defined_text(m, GP_FACT, GP_FACT_SCOPE), "words");
	assert_non_null(gp_defined_record(m, GP_FACT, GP_FACT_SCOPE));
	assert_null(gp_defined_record(m, GP_FACT, GP_FACT_SCOPE + 1));
	/* no event can refer to it */
	define(m, (struct gp_record){ .kind = GP_ARENA, .aux = UINT32_MAX }, NULL);
	assert_null(gp_defined_record(m, GP_ARENA, UINT32_MAX));

	gp_defined_clear(m);
	assert_null(gp_defined_text(m, GP_KERNEL, 8));
	assert_null(gp_defined_record(m, GP_FACT, GP_FACT_SCOPE));
	assert_false(gp_defined_get(m, GP_THREAD, UINT32_MAX, &named));
	assert_string_equal(first, "first");
	gp_defined_close(m);
}

static void many_are_found(void **state)
{
	(void)state;
	struct gp_definitions_index *m = gp_defined_open();
	char text[32];
	size_t threads = 0;
	for (uint32_t k = 0; k < MANY; k++) {
		snprintf(text, sizeof text, "name %u", k);
		define(m, kernel(k * UINT64_C(0x100000001)), text);
		define(m, thread(k, k + 1), k % 2 != 0 ? text : NULL);
	}
	for (uint32_t k = 0; k < MANY; k++) {
		struct gp_named named;
		snprintf(text, sizeof text, "name %u", k);
		assert_string_equal(gp_defined_text(m, GP_KERNEL, k * UINT64_C(0x100000001)), text);
		assert_true(gp_defined_get(m, GP_THREAD, k, &named));
		assert_int_equal(named.value, k + 1);
	}
	gp_defined_visit(m, GP_THREAD, count_named, &threads);
	assert_int_equal(threads, MANY / 2);
	gp_defined_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_holds),
		cmocka_unit_test(many_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
