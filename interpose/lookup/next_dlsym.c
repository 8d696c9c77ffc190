/* dlsym as it would be without us. */
#include "../driver/real_driver.h"
#include "mapped_scope.h"
#include "mapped_symbol.h"

/* A C library without any dlsym that we know: look-ups fail, nothing crashes. */
static void *no_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

/*
 * Read from the mapped object: for a preload behind us may export dlsym under libc's versions, as
 * we do, and one before us may need dlsym for its first malloc, where the loader's own look-ups
 * would call that malloc again. ThreadSanitizer's runtime has functions in front of libc's, which
 * jump to NULL until it has looked the originals up, and its first look-up already comes here. So
 * this path calls no function that a sanitizer intercepts.
 */
void gp_dlsym_find(void)
{
	void *found = gp_mapped_symbol("libc.so", "dlsym", NULL, 0);
	if (!found) /* before glibc 2.34 */
		found = gp_mapped_symbol("libdl", "dlsym", NULL, 0);
	gp_dlsym_function *libc = found ? (gp_dlsym_function *)found : no_dlsym;
	void *next = gp_mapped_next((const void *)&gp_cuda, UINT32_MAX, "dlsym");
	/* the same values from every thread */
	__atomic_store_n(&gp_libc_dlsym, libc, __ATOMIC_RELAXED);
	__atomic_store_n(&gp_next_dlsym, next ? (gp_dlsym_function *)next : libc, __ATOMIC_RELEASE);
}
