/*
 * Finds the dlsym that callers would get without us.
 */
#include "../driver/real_driver.h"
#include "mapped_scope.h"
#include "mapped_symbol.h"

/* For a C library without a known dlsym: look-ups fail, and the process does not crash. */
static void *no_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

/*
 * Reads the mapped object instead of using the loader. A preload after us may export dlsym under
 * libc's versions, as we do. A preload before us may need dlsym for its first malloc, and the
 * loader's look-ups would call that malloc again. ThreadSanitizer's runtime intercepts libc
 * functions that jump to NULL until it has looked up the originals. Its first look-up already comes
 * here, so this path calls no function that a sanitizer intercepts.
 */
void gp_dlsym_find(void)
{
	void *found = gp_mapped_symbol("libc.so", "dlsym", NULL, 0);
	if (!found) /* before glibc 2.34 */
		found = gp_mapped_symbol("libdl", "dlsym", NULL, 0);
	gp_dlsym_function *libc = found ? (gp_dlsym_function *)found : no_dlsym;
	void *next = gp_mapped_next((const void *)&gp_cuda, UINT32_MAX, "dlsym");
	/* all threads store the same values */
	__atomic_store_n(&gp_libc_dlsym, libc, __ATOMIC_RELAXED);
	__atomic_store_n(&gp_next_dlsym, next ? (gp_dlsym_function *)next : libc, __ATOMIC_RELEASE);
}
