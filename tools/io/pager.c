/*
 * The pager is a command line with options, so a shell runs it, as in git.
 */
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usual[] = "less";
static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
enum { ENDS = sizeof ends / sizeof *ends };

static volatile pid_t pager; /* 0: none is running */
static volatile int input = -1;
static struct sigaction before[ENDS], pipe_before;

static const char *command(void)
{
	static const char *const names[] = { "GPUPROF_PAGER", "PAGER" };
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		const char *value = getenv(names[k]);
		if (value)
			return !*value || strcmp(value, "cat") == 0 ? NULL : value;
	}
	return usual;
}

/* Waits until the pager has shown its input, then ends the program by the signal. */
static void end_behind_pager(int number)
{
	close(input);
	while (pager && waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_signals(void)
{
	struct sigaction ours = { .sa_handler = end_behind_pager },
			 ignored = { .sa_handler = SIG_IGN };
	sigfillset(&ours.sa_mask);
	for (int k = 0; k < ENDS; k++)
		if (sigaction(ends[k], NULL, &before[k]) == 0 && before[k].sa_handler != SIG_IGN)
			sigaction(ends[k], &ours, NULL);
	sigaction(SIGPIPE, &ignored, &pipe_before);
}

/*
 * Shows the input with cat if the shell cannot start the pager (126: not executable, 127: not
 * found).
 */
static const char script[] = "eval \"$1\"; case $? in 126|127) exec cat ;; esac";

static void run_pager(const char *line, int from)
{
	if (from == STDIN_FILENO)
		fcntl(from, F_SETFD, 0);
	else
		dup2(from, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", script, "sh", line, (char *)NULL);
	_exit(127);
}

int gp_pager_begin(void)
{
	int ends_of_pipe[2];
	const char *line = command();
	if (!line || pipe2(ends_of_pipe, O_CLOEXEC) != 0)
		return -1;
	pager = fork();
	if (pager == 0)
		run_pager(line, ends_of_pipe[0]);
	close(ends_of_pipe[0]);
	if (pager < 0) {
		close(ends_of_pipe[1]);
		pager = 0;
		return -1;
	}
	input = ends_of_pipe[1];
	watch_signals();
	return input;
}

void gp_pager_end(void)
{
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	pager = 0;
	for (int k = 0; k < ENDS; k++)
		sigaction(ends[k], &before[k], NULL);
	sigaction(SIGPIPE, &pipe_before, NULL);
}
