/*
 * fork, exec, then read until the pipe ends or the time limit passes.
 */
#include "child_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void child_output_start(char **argv, const struct gp_setting *settings, size_t count,
			       int write_end)
{
	int nothing = open("/dev/null", O_RDWR);
	bool is_ready = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
			dup2(write_end, STDOUT_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0;
	for (size_t k = 0; k < count && is_ready; k++)
		is_ready = (settings[k].value ? setenv(settings[k].variable, settings[k].value, 1) :
						unsetenv(settings[k].variable)) == 0;
	if (is_ready)
		execvp(argv[0], argv);
	_exit(127);
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* False: the time limit has passed. */
static bool hear(int read_end, int64_t until_ms, struct gp_captured *out)
{
	size_t length = 0;
	for (;;) {
		char rest[512];
		struct pollfd ready = { .fd = read_end, .events = POLLIN };
		int64_t left_ms = until_ms - now_ms();
		int count = left_ms > 0 ? poll(&ready, 1, (int)left_ms) : 0;
		if (count == 0)
			return false;
		if (count < 0 && errno == EINTR)
			continue;
		size_t room = sizeof out->text - 1 - length;
		ssize_t n = count < 0 ? -1 :
					read(read_end, room ? out->text + length : rest,
					     room ? room : sizeof rest);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		length += room ? (size_t)n : 0;
		out->text[length] = '\0';
	}
}

void gp_capture(char **argv, const struct gp_setting *settings, size_t count, unsigned limit_ms,
		struct gp_captured *out)
{
	int ends[2], state = 0;
	*out = (struct gp_captured){ .exit_status = -1 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		child_output_start(argv, settings, count, ends[1]);
	close(ends[1]);
	if (child > 0) {
		out->is_late = !hear(ends[0], now_ms() + limit_ms, out);
		if (out->is_late)
			kill(child, SIGKILL);
		while (waitpid(child, &state, 0) < 0 && errno == EINTR)
			;
		out->exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
		out->is_started = out->exit_status != 127;
	}
	close(ends[0]);
}

bool gp_captured_value(const char *text, const char *key, char *out, size_t capacity)
{
	size_t n = strlen(key);
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");
		if (length > n && strncmp(line, key, n) == 0 && line[n] == ' ') {
			snprintf(out, capacity, "%.*s", (int)(length - n - 1), line + n + 1);
			return true;
		}
		line += length + (line[length] == '\n');
	}
	return false;
}
