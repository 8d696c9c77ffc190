/*
 * Native stacks in a test program: libunwind, loaded as the preload object loads it, and another
 * copy of it as the reference.
 */
#ifndef NATIVE_FIXTURE_H
#define NATIVE_FIXTURE_H

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../libgpuprof/record/native/native_learn.h"
#include "../../libgpuprof/record/native/native_walk.h"

static struct {
	char build[3072]; /* folder of the build */
	int (*unw_backtrace)(void **buffer, int size);
	int (*backtrace)(void **buffer,
			 int size); /* glibc's, whatever a sanitizer puts before it */
	unsigned descriptors_before, descriptors_after;
} native_fixture;

static _Thread_local struct gp_native_thread *native_thread_own;
static _Thread_local struct gp_thread_pieces native_thread_pieces;

static inline struct gp_native_thread *native_thread(void)
{
	if (!native_thread_own)
		native_thread_own = gp_native_thread_open(&native_thread_pieces);
	return native_thread_own;
}

static inline void native_thread_done(void)
{
	gp_thread_pieces_close(&native_thread_pieces);
	native_thread_own = NULL;
}

/*
 * Stacks that native_stack_now found in the memo, and walks that began outside the thread's own
 * stack. Signal handlers count, too.
 */
static _Thread_local volatile uint64_t native_hits, native_foreign_walks;

/* As gp_native_stack_now, but counts. */
static inline struct gp_native_stack *native_stack_now(struct gp_native_thread *thread,
						       const void *frame_address)
{
	struct gp_native_look look;
	struct gp_native_stack *found = gp_native_stack_find(thread, frame_address, &look);
	native_hits += found != NULL;
	native_foreign_walks += found == NULL && look.readable != 0 && !look.is_own;
	return found ? found : gp_native_stack_take(thread, &look, NULL);
}

/* Runs in the caller's frame: the result begins with the caller, as glibc's does. */
#define native_unw_backtrace(buffer, size) native_fixture.unw_backtrace(buffer, size)

static inline void native_no_op(void *context)
{
	__asm__ volatile("" ::"r"(context) : "memory");
}

static inline void native_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "native_fixture: %s\n", what);
	exit(1);
}

/* Path of a file of the build, independent of the current directory. */
static inline void native_beside(char path[4096], const char *name)
{
	snprintf(path, 4096, "%s/%s", native_fixture.build, name);
}

static inline unsigned native_descriptors(void)
{
	unsigned n = 0;
	DIR *folder = opendir("/proc/self/fd");
	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

static inline void *native_find(void *handle, const char *name)
{
	return dlsym(handle, name);
}

/*
 * Functions of a test in place of the recorder's own. Without such functions the section does not
 * exist.
 */
#define NATIVE_OWN __attribute__((noinline, section("own_code")))
extern const char __start_own_code[] __attribute__((weak, visibility("hidden")));
extern const char __stop_own_code[] __attribute__((weak, visibility("hidden")));

static inline void native_fixture_open(const char *program, unsigned depth)
{
	char path[4096];
	native_must(realpath(program, path) != NULL, "where is this program");
	for (unsigned i = 0; i < 2; i++) /* BUILD/unit/test_x */
		*strrchr(path, '/') = '\0';
	native_must(strlen(path) < sizeof native_fixture.build, "a shorter path is needed");
	memcpy(native_fixture.build, path, strlen(path) + 1);
	native_fixture.descriptors_before = native_descriptors();
	ElfW(Sym) *symbol = NULL;
	Dl_info info;
	void *state = dlsym(RTLD_DEFAULT, "_rtld_global");
	if (state && dladdr1(state, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
		gp_native_watch_loader(state, symbol->st_size);
	native_beside(path, "libgpuprof-unwind.so");
	struct gp_native_setup setup = { .depth = (uint16_t)depth, .lookup = native_find };
	setup.own_from = (uintptr_t)__start_own_code;
	setup.own_to = (uintptr_t)__stop_own_code;
	setup.context = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!setup.context)
		setup.context = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	native_must(setup.context != NULL, "libunwind is missing");
	const char *why = gp_native_open(&setup);
	native_must(!why, why);
	native_fixture.descriptors_after = native_descriptors();
	void *judge = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	native_must(judge != NULL, "the system's libunwind is missing");
	*(void **)&native_fixture.unw_backtrace = dlsym(judge, "unw_backtrace");
	judge = dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL);
	native_must(judge != NULL, "glibc is missing");
	*(void **)&native_fixture.backtrace = dlsym(judge, "backtrace");
}

#endif
