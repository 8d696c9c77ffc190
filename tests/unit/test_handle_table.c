/* The handle table against a model: while it grows, with copies in older levels, without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool has_memory = true;

static void *map_or_not(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	return has_memory ? mmap(at, bytes, protection, flags, file, offset) : MAP_FAILED;
}
#define mmap map_or_not
#include "../../interpose/hooks/handle_table.c"
#undef mmap

#define HANDLES 20000u

GP_HANDLE_TABLE(grown, 7, GP_HANDLE_LEVELS);
GP_HANDLE_TABLE(fixed, 7, 1);
GP_HANDLE_TABLE(poor, 7, GP_HANDLE_LEVELS);
GP_HANDLE_TABLE(shared, 7, GP_HANDLE_LEVELS);

/* Handles as drivers' allocators return them: addresses, some of them near to each other. */
static uint64_t handle_of(uint64_t k)
{
	return UINT64_C(0x7f0000000000) + k * 0x1c0;
}

static void random_changes_equal_a_model(void **state)
{
	(void)state;
	int *model = malloc(HANDLES * sizeof *model);
	uint64_t random = 88172645463325252u;
	for (unsigned k = 0; k < HANDLES; k++)
		model[k] = -1;
	for (unsigned n = 0; n < 400000; n++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		const unsigned k = (unsigned)(random >> 33) % HANDLES;
		const unsigned what = (unsigned)random % 7;
		const uint8_t byte = (uint8_t)(random >> 8);
		if (what < 4) {
			gp_handle_put(&grown, handle_of(k), byte);
			model[k] = byte;
		} else {
			assert_int_equal(gp_handle_take(&grown, handle_of(k)), model[k]);
			model[k] = -1;
		}
		assert_int_equal(gp_handle_find(&grown, handle_of(k)), model[k]);
	}
	assert_true(gp_handle_levels(&grown) > 2);
	gp_handle_mask(&grown, 0x7f);
	for (unsigned k = 0; k < HANDLES; k++)
		assert_int_equal(gp_handle_find(&grown, handle_of(k)),
				 model[k] < 0 ? -1 : model[k] & 0x7f);
	gp_handle_clear(&grown);
	for (unsigned k = 0; k < HANDLES; k++)
		assert_int_equal(gp_handle_find(&grown, handle_of(k)), -1);
	free(model);
}

static void bytes_are_counted(void **state)
{
	(void)state;
	assert_int_equal(gp_handle_add(&fixed, 77, 1), -1);
	gp_handle_put(&fixed, 77, 254);
	assert_int_equal(gp_handle_add(&fixed, 77, 1), 255);
	assert_int_equal(gp_handle_add(&fixed, 77, 1), -1);
	assert_int_equal(gp_handle_add(&fixed, 77, -255), 0);
	assert_int_equal(gp_handle_add(&fixed, 77, -1), -1);
	assert_true(gp_handle_has(&fixed, 77, 0));
	gp_handle_clear(&fixed);
}

static void count_kept(struct gp_handle_table *table, unsigned *kept)
{
	*kept = 0;
	for (unsigned k = 0; k < HANDLES; k++)
		gp_handle_put(table, handle_of(k), (uint8_t)k);
	for (unsigned k = 0; k < HANDLES; k++) {
		const int byte = gp_handle_find(table, handle_of(k));
		assert_true(byte == -1 || byte == (uint8_t)k);
		*kept += byte != -1;
	}
}

static void a_full_table_evicts_and_keeps_its_size(void **state)
{
	(void)state;
	unsigned kept;
	count_kept(&fixed, &kept);
	assert_int_equal(kept, GP_HANDLE_WAYS << 7);
	has_memory = false;
	count_kept(&poor, &kept);
	assert_int_equal(kept, GP_HANDLE_WAYS << 7);
	has_memory = true; /* memory is available again */
	count_kept(&poor, &kept);
	assert_int_equal(kept, HANDLES);
}

#define THREADS 4u

/* Each thread has handles of its own, in the same cache lines as other threads. */
static void *put_and_take(void *number)
{
	const uint64_t first = (uintptr_t)number;
	for (unsigned round = 0; round < 4; round++) {
		for (uint64_t k = first; k < HANDLES; k += THREADS)
			gp_handle_put(&shared, handle_of(k), (uint8_t)k);
		for (uint64_t k = first; k < HANDLES; k += THREADS)
			if (gp_handle_find(&shared, handle_of(k)) != (uint8_t)k)
				return "a handle was lost";
		for (uint64_t k = first; round < 3 && k < HANDLES; k += THREADS)
			if (gp_handle_take(&shared, handle_of(k)) != (uint8_t)k ||
			    gp_handle_find(&shared, handle_of(k)) != -1)
				return "a handle was kept";
	}
	return NULL;
}

static void threads_lose_no_handle_while_it_grows(void **state)
{
	(void)state;
	pthread_t thread[THREADS];
	for (uintptr_t k = 0; k < THREADS; k++)
		assert_int_equal(pthread_create(&thread[k], NULL, put_and_take, (void *)k), 0);
	for (unsigned k = 0; k < THREADS; k++) {
		void *why;
		assert_int_equal(pthread_join(thread[k], &why), 0);
		assert_null(why);
	}
	for (unsigned k = 0; k < HANDLES; k++)
		assert_int_equal(gp_handle_find(&shared, handle_of(k)), (uint8_t)k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes_equal_a_model),
		cmocka_unit_test(bytes_are_counted),
		cmocka_unit_test(a_full_table_evicts_and_keeps_its_size),
		cmocka_unit_test(threads_lose_no_handle_while_it_grows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
