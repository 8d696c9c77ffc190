/*
 * What `gpuprof run` learns of its processes: a line each in the file that GPUPROF_LIST names. The
 * path of a recording, "failed: WHY" where none could be made, "late: PATH" where one was not
 * opened in time.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../recorder.h"

/* System calls as such, as in print_message.c: a thread of the job may be here. */
static long list_append(const char *line, size_t length)
{
	const long fd = syscall(SYS_openat, AT_FDCWD, gp_settings.list,
				O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	const long written = syscall(SYS_write, fd, line, length);
	const int error = errno;
	syscall(SYS_close, fd);
	errno = error;
	return written;
}

void gp_list_add(const char *what, const char *text)
{
	char line[1500];
	size_t before = strlen(what), n = strlen(text);
	if (!gp_settings.list[0] || before + n >= sizeof line)
		return;
	memcpy(line, what, before);
	memcpy(line + before, text, n);
	line[before + n] = '\n';
	gp_write_unseen(list_append, line, before + n + 1);
}
