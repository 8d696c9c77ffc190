/*
 * The copy is a file without a name, so it disappears when the program ends for any reason.
 */
#include "stdin_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../command.h"
#include "message.h"

#define CHUNK_BYTES 65536u

static char readable[40]; /* "": stdin was not read yet */

bool gp_is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

const char *gp_readable_path(const char *path)
{
	return gp_is_stdin(path) && readable[0] ? readable : path;
}

const char *gp_named_path(const char *path)
{
	return readable[0] && strcmp(path, readable) == 0 ? "-" : path;
}

static const char *temporary_directory(void)
{
	const char *directory = getenv("TMPDIR");
	return directory && *directory ? directory : "/tmp";
}

/* File systems without O_TMPFILE, such as NFS: creates a file and removes its name at once. */
static int open_nameless(const char *directory)
{
	char path[PATH_MAX];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	if (snprintf(path, sizeof path, "%s/gpuprof-stdin-XXXXXX", directory) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static bool write_all(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t n = write(fd, bytes, count);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		count -= (size_t)n;
	}
	return true;
}

static int unreadable(void)
{
	gp_error("cannot read '-': %s", gp_cause(errno));
	return GP_EXIT_DAMAGED;
}

/* Returns the exit status. */
static int copy_stdin(int to, const char *directory)
{
	char bytes[CHUNK_BYTES];
	for (;;) {
		ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return unreadable();
		if (n == 0)
			return GP_EXIT_OK;
		if (write_all(to, bytes, (size_t)n))
			continue;
		gp_error("cannot keep what '-' brings in '%s': %s", directory, gp_cause(errno));
		gp_hint("TMPDIR names the directory");
		return GP_EXIT_INTERNAL;
	}
}

static int keep_stdin(void)
{
	const char *directory = temporary_directory();
	int fd = open_nameless(directory);
	if (fd < 0) {
		gp_error("cannot create a file in '%s': %s", directory,
			 errno == ENOENT ? "no such directory" : gp_cause(errno));
		return GP_EXIT_INTERNAL;
	}
	int exit_status = copy_stdin(fd, directory);
	if (exit_status)
		close(fd);
	else
		snprintf(readable, sizeof readable, "/proc/self/fd/%d", fd);
	return exit_status;
}

bool gp_stdin_take(int *exit_status)
{
	struct stat st;
	*exit_status = GP_EXIT_OK;
	if (readable[0]) {
		gp_error("'-' stands for one recording, and is given twice");
		*exit_status = GP_EXIT_USAGE;
	} else if (fstat(STDIN_FILENO, &st) != 0) {
		*exit_status = unreadable();
	} else if (isatty(STDIN_FILENO)) {
		gp_error("cannot read '-': it is a terminal");
		gp_hint("gpuprof COMMAND - <FILE, or behind a pipe");
		*exit_status = GP_EXIT_USAGE;
	} else if (S_ISREG(st.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
		snprintf(readable, sizeof readable, "/proc/self/fd/%d", STDIN_FILENO);
	} else {
		*exit_status = keep_stdin();
	}
	return *exit_status == GP_EXIT_OK;
}
