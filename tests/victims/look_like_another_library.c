/*
 * Two libraries take turns at one address, and the stack looks alike under both. One has a larger
 * frame; in its place, a function of this program leaves the same words for the other library. The
 * size of an allocation identifies the library. Another thread loads them, so that those words
 * stay.
 */
#include "victim.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#define ROUNDS 40
#define TIMES 12 /* allocations a round */

typedef void callee(void (*leaf)(void *), void *context);

static struct driver driver;
static callee *volatile target;
callee *small_callee;
static _Atomic int wanted, loaded;

/* Fills the difference between the two libraries' frames, before the smaller one is called. */
void padded(void (*leaf)(void *), void *context);
__asm__(".text\n"
	".globl padded\n"
	".type padded, @function\n"
	"padded:\n"
	".cfi_startproc\n"
	"subq $1016, %rsp\n"
	".cfi_adjust_cfa_offset 1016\n"
	"call *small_callee(%rip)\n"
	"addq $1016, %rsp\n"
	".cfi_adjust_cfa_offset -1016\n"
	"ret\n"
	".cfi_endproc\n"
	".size padded, . - padded\n");

/* Beside the victims' folder. */
static void path_of(char *path, const char *name)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	must(n > 0);
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	strcpy(strrchr(path, '/'), "/native/");
	strcat(path, name);
}

/* The library with the large frame in odd rounds. */
static void *load(void *unused)
{
	char path[2][PATH_MAX + 64];
	path_of(path[0], "libcallee_small.so");
	path_of(path[1], "libcallee_large.so");
	void *library = NULL;
	for (int round = 1; round <= ROUNDS; round++) {
		while (atomic_load(&wanted) != round)
			;
		must(!library || dlclose(library) == 0);
		library = dlopen(path[round & 1], RTLD_NOW | RTLD_LOCAL);
		must(library);
		*(void **)&small_callee = dlsym(library, "native_callee");
		must(small_callee);
		target = round & 1 ? small_callee : padded;
		atomic_store(&loaded, round);
	}
	return unused;
}

static __attribute__((noinline)) void allocate(void *bytes)
{
	CUdeviceptr address;
	must(driver.cuMemAlloc_v2(&address, *(size_t *)bytes) == CUDA_SUCCESS);
}

int main(void)
{
	driver = need_driver(FROM_DLSYM);
	pthread_t loader;
	must(pthread_create(&loader, NULL, load, NULL) == 0);
	for (int round = 1; round <= ROUNDS; round++) {
		size_t bytes = round & 1 ? 2000 : 1000;
		atomic_store(&wanted, round);
		while (atomic_load(&loaded) != round) /* a call would overwrite those words */
			;
		for (int k = 0; k < TIMES; k++)
			target(allocate, &bytes);
	}
	must(pthread_join(loader, NULL) == 0);
	claim("alloc", ROUNDS * TIMES);
	claim("complete", 1);
	claim_recordings(1);
	printf("allocated %d times\n", ROUNDS * TIMES);
	return 0;
}
