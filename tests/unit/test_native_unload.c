/*
 * A library and code made at run time alternate at one address: rules learned for one are not used
 * for the other.
 */
#include "recorded_child.h"

#include <sys/mman.h>

#include "native_fixture.h"
#include "record/native/native_rule.h"

#if defined(__x86_64__)

#define PAGE 4096u
#define WAIT_NS 100000000000u

typedef void callee(void (*leaf)(void *), void *context);

/* push %rbx; call *%rdi; pop %rbx; ret */
static const unsigned char made_code[] = { 0x53, 0xff, 0xd7, 0x5b, 0xc3 };
#define MADE_RETURN 3u /* return address of the call */

static struct gp_native_stack seen;

static __attribute__((noinline)) void leaf(void *context)
{
	(void)context;
	struct gp_native_stack *s =
		gp_native_stack_now(native_thread(), __builtin_frame_address(0));
	CHECK(s);
	seen = *s;
}

static callee *open_library(void **library)
{
	char path[4096];
	callee *call;
	native_beside(path, "native/libcallee_small.so");
	*library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(*library);
	*(void **)&call = dlsym(*library, "native_callee");
	CHECK(call);
	return call;
}

/* Made code whose call returns to the same address as the library's call. */
static callee *make_code(uintptr_t back, void **pages)
{
	const uintptr_t at = back - MADE_RETURN, page = at & ~(uintptr_t)(PAGE - 1);
	callee *call;
	*pages = mmap((void *)page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(*pages == (void *)page);
	memcpy((void *)at, made_code, sizeof made_code);
	*(uintptr_t *)&call = at;
	return call;
}

static void take_turns(void)
{
	void *library, *pages;
	/*
	 * the recorder maps all its memory now, so that none of it lies at the library's address
	 * later
	 */
	do
		put_memory(GP_ALLOC, 512);
	while (gp_thread.region + 1u < GP_RING_REGIONS);
	leaf(NULL);
	callee *call = open_library(&library);
	call(leaf, NULL);
	CHECK(seen.end == GP_NATIVE_WHOLE && seen.depth > 2);
	const uintptr_t back = seen.pc[0];
	const uint32_t epoch = atomic_load(&gp_native_epoch);
	dlclose(library);
	/* no walk and no load: the drain thread detects the change */
	const uint64_t deadline = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW) + WAIT_NS;
	while (atomic_load(&gp_native_epoch) == epoch &&
	       gp_clock_raw_ns(CLOCK_MONOTONIC_RAW) < deadline)
		put_memory(GP_ALLOC, 512);
	CHECK(atomic_load(&gp_native_epoch) != epoch);
	make_code(back, &pages)(leaf, NULL);
	CHECK(seen.end == GP_NATIVE_FOREIGN && seen.depth == 1 && seen.pc[0] == back);
	munmap(pages, 2 * PAGE);
	/* the loader takes the lowest free place that is large enough, as before */
	callee *again = open_library(&library);
	CHECK(again == call);
	again(leaf, NULL);
	CHECK(seen.end == GP_NATIVE_WHOLE && seen.depth > 2 && seen.pc[0] == back);
	dlclose(library);
}

static void library_and_made_code_take_turns(void **state)
{
	(void)state;
	assert_true(gp_native_has_load_counter());
	setenv("GPUPROF_STACKS", "native", 1);
	assert_int_equal(in_child("turns.gpr", "0", take_turns), 0);
}

int main(int argc, char **argv)
{
	(void)argc;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library_and_made_code_take_turns),
	};
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

#else

int main(void)
{
	return 0;
}

#endif
