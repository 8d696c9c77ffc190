/*
 * Preloaded beside the library under test: makes the N-th system function that it calls fail. Calls
 * by others are not counted; the return address shows the caller. FAILING_CALL=N: only that call
 * fails. FAILING_FROM=N: that call and all later ones. FAILING_HANG=NAME: its calls of that
 * function never return. FAILING_SLOW=NAME: each of them takes 10 ms. FAILING_COUNT=FILE: gets a
 * line a call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static struct {
	uintptr_t from, to; /* the library's mapped range */
	unsigned long call, all_from;
	const char *hang, *slow;
	const char *log;
	_Atomic unsigned long calls;
} failing;

static int find_library(struct dl_phdr_info *object, size_t bytes, void *unused)
{
	(void)bytes, (void)unused;
	const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
	if (!slash || strcmp(slash, "/libgpuprof.so") != 0)
		return 0;
	failing.from = object->dlpi_addr;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		uintptr_t end = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr +
				object->dlpi_phdr[i].p_memsz;
		if (object->dlpi_phdr[i].p_type == PT_LOAD && end > failing.to)
			failing.to = end;
	}
	return 1;
}

static unsigned long number(const char *variable)
{
	const char *text = getenv(variable);
	return text ? strtoul(text, NULL, 10) : 0;
}

/* Runs at the first call, which may come from the library's own constructor. */
static void init(void)
{
	failing.log = getenv("FAILING_COUNT");
	failing.call = number("FAILING_CALL");
	failing.all_from = number("FAILING_FROM");
	failing.hang = getenv("FAILING_HANG");
	failing.slow = getenv("FAILING_SLOW");
	dl_iterate_phdr(find_library, NULL);
}

/*
 * Opened again each time, because the library closes the descriptors that its own thread inherits.
 */
static void log_call(unsigned long call, const char *name, bool fails)
{
	char line[80];
	int length = snprintf(line, sizeof line, "%lu %s%s\n", call, name, fails ? " fails" : "");
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
	long file = syscall(SYS_openat, AT_FDCWD, failing.log, flags, 0600);
	if (file < 0)
		return;
	(void)!syscall(SYS_write, file, line, (size_t)length);
	syscall(SYS_close, file);
}

static bool must_fail(const void *caller, const char *name, int error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int kept = errno;
	pthread_once(&once, init);
	if ((uintptr_t)caller < failing.from || (uintptr_t)caller >= failing.to)
		return false;
	unsigned long call = atomic_fetch_add(&failing.calls, 1) + 1;
	bool fails = call == failing.call || (failing.all_from && call >= failing.all_from);
	if (failing.log)
		log_call(call, name, fails);
	bool is_first_thread = syscall(SYS_gettid) == getpid();
	while (failing.hang && !is_first_thread && strcmp(failing.hang, name) == 0)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
	if (failing.slow && !is_first_thread && strcmp(failing.slow, name) == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	errno = fails ? error : kept;
	return fails;
}

/* FAIL(result, name, (parameters), (arguments), error, value that a failure returns) */
#define FAIL(type, name, parameters, arguments, error, failure)           \
	type name parameters;                                             \
	type name parameters                                              \
	{                                                                 \
		static type(*real) parameters;                            \
		if (!real)                                                \
			*(void **)&real = dlsym(RTLD_NEXT, #name);        \
		if (must_fail(__builtin_return_address(0), #name, error)) \
			return failure;                                   \
		return real arguments;                                    \
	}

typedef void *thread_main(void *);
typedef void key_end(void *);

FAIL(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
     (at, n, prot, flags, fd, offset), ENOMEM, MAP_FAILED)
FAIL(int, madvise, (void *at, size_t n, int advice), (at, n, advice), EINVAL, -1)
FAIL(int, ftruncate, (int fd, off_t bytes), (fd, bytes), EIO, -1)
FAIL(int, posix_fallocate, (int fd, off_t offset, off_t bytes), (fd, offset, bytes), ENOSPC, ENOSPC)
FAIL(int, fallocate, (int fd, int mode, off_t offset, off_t bytes), (fd, mode, offset, bytes),
     ENOSPC, -1)
FAIL(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), ENOSPC, -1)
FAIL(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n), EIO, -1)
FAIL(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), EIO, -1)
FAIL(int, unlink, (const char *path), (path), EACCES, -1)
FAIL(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, thread_main *run, void *argument),
     (thread, attributes, run, argument), EAGAIN, EAGAIN)
FAIL(int, pthread_key_create, (pthread_key_t * key, key_end *end), (key, end), EAGAIN, EAGAIN)
FAIL(char *, realpath, (const char *path, char *resolved), (path, resolved), ENOMEM, NULL)
FAIL(char *, getcwd, (char *to, size_t n), (to, n), ENOENT, NULL)
FAIL(int, dup, (int fd), (fd), EMFILE, -1)
FAIL(int, unshare, (int flags), (flags), EPERM, -1)
FAIL(int, fstatfs, (int fd, struct statfs *out), (fd, out), EIO, -1)
FAIL(int, statfs, (const char *path, struct statfs *out), (path, out), EIO, -1)

/* variadic in libc: defined under other names, because the third argument is always passed on */
int any_open(const char *path, int flags, unsigned mode) __asm__("open");
int any_openat(int at, const char *path, int flags, unsigned mode) __asm__("openat");
int any_fcntl(int fd, int command, void *argument) __asm__("fcntl");

int any_open(const char *path, int flags, unsigned mode)
{
	if (must_fail(__builtin_return_address(0), "open", EMFILE))
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int any_openat(int at, const char *path, int flags, unsigned mode)
{
	if (must_fail(__builtin_return_address(0), "openat", EMFILE))
		return -1;
	return (int)syscall(SYS_openat, at, path, flags, mode);
}

int any_fcntl(int fd, int command, void *argument)
{
	if (must_fail(__builtin_return_address(0), "fcntl", ENOLCK))
		return -1;
	return (int)syscall(SYS_fcntl, fd, command, argument);
}
