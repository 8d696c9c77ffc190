/*
 * Arena numbers: one for each arena, recorded once a process and again in a forked child. Several
 * threads request them at once, up to the table's capacity. Also which versions of PyTorch are
 * attached to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "../../interpose/torch/arena_table.c"
#undef SLOTS
#include "../../interpose/lookup/elf_tables.c"
#include "../../interpose/lookup/mapped_symbol.c"
#include "../../interpose/torch/torch_allocator.c"

static struct gp_control control;
static struct gp_local local;

static struct gp_ring *join_ring(void)
{
	struct gp_ring *ring = mmap(NULL, GP_RING_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ring != MAP_FAILED);
	gp_thread.word = 7;
	gp_thread.level = GP_LEVEL_ALL;
	gp_thread.ring = ring;
	gp_thread.slots = gp_region_slots(ring, GP_RING_REGIONS - 1);
	gp_thread.mask = GP_RING_SLOTS - 1;
	gp_thread.limit = GP_RING_SLOTS;
	return ring;
}

static int fresh(void **state)
{
	(void)state;
	memset(gp_arenas, 0, sizeof gp_arenas);
	memset(slots, 0, sizeof slots);
	atomic_store(&numbers, 0);
	atomic_store(&local.word, 7);
	gp_local = &local;
	gp_control = &control;
	memset(&gp_thread, 0, sizeof gp_thread);
	join_ring();
	return 0;
}

static int leave(void **state)
{
	(void)state;
	munmap(gp_thread.ring, GP_RING_BYTES);
	memset(&gp_thread, 0, sizeof gp_thread);
	return 0;
}

static uint32_t number(uint8_t device, uint64_t stream, uint64_t pool, uint64_t user_pool)
{
	struct gp_arena_key key = { stream, pool, user_pool, device, true };
	return gp_arena_number(&key);
}

static void each_arena_has_one_number(void **state)
{
	(void)state;
	assert_int_equal(number(0, 0, 0, 0), 1);
	assert_int_equal(number(1, 0, 0, 0), 2);
	assert_int_equal(number(0, 0x51, 0, 0), 3);
	assert_int_equal(number(0, 0, 7, 0), 4);
	assert_int_equal(number(0, 0, 0, 7), 5);
	assert_int_equal(number(0, 0x51, 0, 0), 3);
	assert_int_equal(number(0, 0, 0, 0), 1);
	assert_int_equal(gp_thread.head, 5);
	const struct gp_record *third = &gp_thread.slots[2];
	assert_int_equal(third->kind, GP_ARENA);
	assert_int_equal(third->aux, 3);
	assert_int_equal(third->arena.stream, 0x51);
	assert_int_equal(third->arena.has_pool, 1);
	struct gp_arena_key none = { 0, 0, 0, 0, false };
	assert_int_equal(gp_arena_number(&none), 6);
}

static void the_last_one_is_found_at_once(void **state)
{
	(void)state;
	uint64_t pool[2] = { 0, 3 };
	uint32_t given = number(1, 0x51, 0, 3);
	assert_true(gp_arena_is(given, 1, 0x51, pool));
	assert_false(gp_arena_is(given, 0, 0x51, pool));
	assert_false(gp_arena_is(given, 1, 0x52, pool));
	pool[0] = 1;
	assert_false(gp_arena_is(given, 1, 0x51, pool));
	pool[0] = 0;
	pool[1] = 4;
	assert_false(gp_arena_is(given, 1, 0x51, pool));
	/* number 0 is not an arena, though its entry looks like the default arena */
	pool[1] = 0;
	assert_false(gp_arena_is(0, 0, 0, pool));
}

static void is_recorded_again_after_a_loss_or_restart(void **state)
{
	(void)state;
	gp_thread.level = GP_LEVEL_OFF;
	assert_int_equal(number(0, 0x51, 0, 0), 0);
	gp_thread.level = GP_LEVEL_ALL;
	assert_int_equal(number(0, 0x51, 0, 0), 1);
	assert_int_equal(gp_thread.head, 1);
	gp_arenas_forget();
	assert_int_equal(number(0, 0x51, 0, 0), 1);
	assert_int_equal(gp_thread.head, 2);
}

static void is_bounded(void **state)
{
	(void)state;
	for (uint64_t k = 1; k < GP_ARENAS; k++) {
		gp_thread.head = 0;
		assert_int_equal(number(0, k << 8, 0, 0), k);
	}
	assert_int_equal(number(0, 1, 1, 1), 0);
	assert_int_equal(number(0, 77 << 8, 0, 0), 77);
}

#define THREADS 4
#define EACH 3000

static uint32_t given_to[THREADS][EACH];

static void *take(void *argument)
{
	uint8_t device = *(uint8_t *)argument;
	join_ring();
	for (unsigned k = 0; k < EACH; k++) {
		gp_thread.head = 0;
		given_to[device][k] = number(device, k, 0, 0);
	}
	munmap(gp_thread.ring, GP_RING_BYTES);
	return NULL;
}

static void threads_get_different_numbers(void **state)
{
	(void)state;
	static bool seen[GP_ARENAS];
	pthread_t thread[THREADS];
	uint8_t device[THREADS];
	memset(seen, 0, sizeof seen);
	for (uint8_t t = 0; t < THREADS; t++) {
		device[t] = t;
		assert_int_equal(pthread_create(&thread[t], NULL, take, &device[t]), 0);
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	for (uint8_t t = 0; t < THREADS; t++)
		for (unsigned k = 0; k < EACH; k++) {
			uint32_t n = given_to[t][k];
			assert_true(n > 0 && n < GP_ARENAS && !seen[n]);
			seen[n] = true;
			assert_int_equal(gp_arenas[n].key.stream, k);
			assert_int_equal(gp_arenas[n].key.device, t);
			assert_int_equal(number(t, k, 0, 0), n);
			gp_thread.head = 0;
		}
}

#define ROUNDS 3000u /* two arenas each: there is room for them */
#define TABLES 20

static _Atomic uint32_t arrived;
static uint32_t rival_number[2][ROUNDS];

/*
 * Both threads request a number at once, each for one of two arenas that share a place in the
 * table.
 */
static void *request_at_once(void *argument)
{
	uint8_t device = *(uint8_t *)argument;
	join_ring();
	for (uint32_t k = 0; k < ROUNDS; k++) {
		gp_thread.head = 0;
		atomic_fetch_add(&arrived, 1);
		while (atomic_load(&arrived) < 2 * (k + 1))
			;
		rival_number[device][k] = number(device, k << 8 ^ device, 0, 0);
	}
	munmap(gp_thread.ring, GP_RING_BYTES);
	return NULL;
}

static void rivals_for_one_place_get_their_own(void **state)
{
	for (int table = 0; table < TABLES; table++) {
		pthread_t other;
		uint8_t device[] = { 0, 1 };
		leave(state);
		fresh(state);
		atomic_store(&arrived, 0);
		assert_int_equal(pthread_create(&other, NULL, request_at_once, &device[1]), 0);
		munmap(gp_thread.ring, GP_RING_BYTES);
		request_at_once(&device[0]);
		pthread_join(other, NULL);
		join_ring();
		for (uint32_t k = 0; k < ROUNDS; k++)
			for (uint8_t d = 0; d < 2; d++) {
				assert_int_equal(gp_arenas[rival_number[d][k]].key.device, d);
				assert_int_equal(gp_arenas[rival_number[d][k]].key.stream,
						 k << 8 ^ d);
			}
	}
}

static void supported_versions_are_attached(void **state)
{
	(void)state;
	static const struct {
		const char *version;
		int pool; /* -1: not attached */
	} rows[] = {
		{ "", -1 },	      { "2", -1 },
		{ "git", -1 },	      { "1.13.1", -1 },
		{ "2.1.2", -1 },      { "2.2.0", 0 },
		{ "2.7.1+cu126", 0 }, { "2.8.0a0+git5a", 48 },
		{ "2.10.0", 48 },     { "2.11.0+cu130", 48 },
		{ "2.14.1", 48 },     { "2.15.0.dev1", -1 },
		{ "3.2.0", -1 },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		uint32_t offset = 7;
		bool has_snapshot;
		const char *why = layout_of(rows[k].version, false, &offset, &has_snapshot);
		assert_true((why == NULL) == (rows[k].pool >= 0));
		if (!why)
			assert_int_equal(offset, rows[k].pool);
	}
	uint32_t unused;
	bool has_snapshot;
	assert_null(layout_of("2.11.0", false, &unused, &has_snapshot));
	assert_true(has_snapshot);
	assert_null(layout_of("2.12.0", false, &unused, &has_snapshot));
	assert_false(has_snapshot);
	assert_null(layout_of("2.11.0", true, &unused, &has_snapshot));
	assert_string_equal(layout_of("2.10.0", true, &unused, &has_snapshot), NOT_TRIED);
	assert_string_equal(layout_of("2.12.0", true, &unused, &has_snapshot), NOT_TRIED);
	assert_string_equal(layout_of("2.1.2", false, &unused, &has_snapshot),
			    "this PyTorch is too old");
	assert_string_equal(layout_of("2.15.0", false, &unused, &has_snapshot),
			    "this PyTorch is newer than the allocator layouts that are known");
	assert_string_equal(layout_of("3.0", false, &unused, &has_snapshot),
			    "this PyTorch is newer than the allocator layouts that are known");
}

static void finds_no_allocator_where_there_is_none(void **state)
{
	(void)state;
	struct gp_torch_allocator out;
	assert_string_equal(gp_torch_allocator_find("2.11.0", true, &out),
			    "its allocator was not found");
}

static const int constant = 7;
static volatile int variable = 8;

static void parts_of_objects_are_recognized(void **state)
{
	(void)state;
	assert_true(gp_mapped_is_part(&constant, GP_MAPPED_CONSTANT, &constant, 4));
	assert_true(gp_mapped_is_part(&constant, GP_MAPPED_ANY, (const void *)&variable, 4));
	assert_true(gp_mapped_is_part((const void *)&variable, GP_MAPPED_CODE,
				      (void *)(uintptr_t)fresh, 1));
	assert_false(gp_mapped_is_part(&constant, GP_MAPPED_CONSTANT, (const void *)&variable, 4));
	assert_false(gp_mapped_is_part(&constant, GP_MAPPED_CODE, &constant, 4));
	assert_false(gp_mapped_is_part(&constant, GP_MAPPED_CONSTANT, &constant, 1ul << 40));
	assert_false(gp_mapped_is_part(&constant, GP_MAPPED_CODE, (void *)(uintptr_t)strlen, 1));
	assert_false(gp_mapped_is_part(&constant, GP_MAPPED_ANY, NULL, 1));
	assert_false(gp_mapped_is_part(state, GP_MAPPED_ANY, (const void *)&variable,
				       4)); /* in no ELF object */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, leave)
	const struct CMUnitTest tests[] = {
		TEST(each_arena_has_one_number),
		TEST(the_last_one_is_found_at_once),
		TEST(is_recorded_again_after_a_loss_or_restart),
		TEST(is_bounded),
		TEST(threads_get_different_numbers),
		TEST(rivals_for_one_place_get_their_own),
		TEST(supported_versions_are_attached),
		TEST(finds_no_allocator_where_there_is_none),
		TEST(parts_of_objects_are_recognized),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
