/*
 * What `gpuprof run` learns of its processes: a line each in the file that GPUPROF_LIST names. The
 * path of a recording, "failed: WHY" where none could be made, "late: PATH" where one was not
 * opened in time.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

void gp_list_add(const char *what, const char *text)
{
	char line[1500];
	size_t before = strlen(what), n = strlen(text);
	if (!gp_settings.list[0] || before + n >= sizeof line)
		return;
	int fd = open(gp_settings.list, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	memcpy(line, what, before);
	memcpy(line + before, text, n);
	line[before + n] = '\n';
	ssize_t written = write(fd, line, before + n + 1);
	(void)written;
	close(fd);
}
