/*
 * fork, exec, wait. Signals are blocked and taken with sigtimedwait, so that none is lost between
 * fork and wait. A signal of the terminal (Ctrl-C) reaches the whole process group, so only signals
 * sent to this process alone are forwarded. A supervisor may send a signal twice, to the group and
 * to this process. The second one may arrive after the command's end and must not suppress the
 * summary.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../io/message.h"
#include "library_file.h"

static const int forwarded[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				 SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP };

static bool is_readable(const char *path)
{
	return access(path, R_OK) == 0;
}

static bool library_named(const char *path, char *out, size_t capacity)
{
	char whole[PATH_MAX];
	if (!realpath(path, whole)) {
		gp_error("cannot open '%s': %s", path, gp_cause(errno));
		return false;
	}
	return snprintf(out, capacity, "%s", whole) < (int)capacity;
}

static bool library_near(char *out, size_t capacity)
{
	static const char *const places[] = { "libgpuprof.so", "../lib/libgpuprof.so",
					      "../lib/gpuprof/libgpuprof.so" };
	char self[PATH_MAX], whole[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return false;
	self[n] = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
		if (snprintf(out, capacity, "%s%s", self, places[k]) < (int)capacity &&
		    is_readable(out) && realpath(out, whole))
			return snprintf(out, capacity, "%s", whole) < (int)capacity;
	}
	return false;
}

bool gp_library_find(const char *chosen, char *out, size_t capacity)
{
	const char *named = chosen ? chosen : getenv("GPUPROF_LIB");
	bool is_named = named && *named;
	if (is_named ? !library_named(named, out, capacity) : !library_near(out, capacity)) {
		if (!is_named)
			gp_error("cannot find 'libgpuprof.so' beside the program or in ../lib");
		gp_hint("set GPUPROF_LIB to the path of the library");
		return false;
	}
	const char *flaw = gp_library_flaw(out);
	if (flaw) {
		gp_error("cannot preload '%s': %s", out, flaw);
		gp_hint("set GPUPROF_LIB to the path of the library");
		return false;
	}
	if (strpbrk(out, " :\t")) {
		gp_error("cannot preload '%s': blanks and colons end a name in LD_PRELOAD", out);
		gp_hint("link it to another path, and set GPUPROF_LIB to that");
		return false;
	}
	return true;
}

/* Beside the library, or in the folder that distributions use for private libraries. */
bool gp_library_add(char *library, size_t capacity)
{
	static const char *const names[] = { "libgpuprof-cupti.so", "gpuprof/libgpuprof-cupti.so" };
	char second[PATH_MAX];
	const int folder = (int)(strrchr(library, '/') + 1 - library);
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		if (snprintf(second, sizeof second, "%.*s%s", folder, library, names[k]) >=
			    (int)sizeof second ||
		    !is_readable(second))
			continue;
		const char *flaw = gp_library_flaw(second);
		if (flaw) {
			gp_error("cannot preload '%s': %s", second, flaw);
			return false;
		}
		const size_t length = strlen(library);
		return snprintf(library + length, capacity - length, ":%s", second) <
		       (int)(capacity - length);
	}
	gp_error("cannot find 'libgpuprof-cupti.so' beside 'libgpuprof.so'");
	gp_hint("--gpu-time and --metrics need both libraries");
	return false;
}

/* VARIABLE=TEXT, placed before the user's value. */
static bool prepended_set(const char *variable, const char *text)
{
	const char *before = getenv(variable);
	char *whole;
	if (!before || !*before)
		return setenv(variable, text, 1) == 0;
	if (asprintf(&whole, "%s:%s", text, before) < 0)
		return false;
	bool is_set = setenv(variable, whole, 1) == 0;
	free(whole);
	return is_set;
}

/*
 * AddressSanitizer's runtime does not start after another preload. It must come first only if the
 * preload defines functions that it intercepts, and this library defines none. ThreadSanitizer's
 * runtime ends a child that starts a thread if its parent had several threads, as each recorded
 * process has.
 */
static bool preload_set(const char *library)
{
	return prepended_set("LD_PRELOAD", library) &&
	       prepended_set("ASAN_OPTIONS", "verify_asan_link_order=0") &&
	       prepended_set("TSAN_OPTIONS", "die_after_fork=0");
}

struct start {
	char **argv;
	const char *library;
	const struct gp_setting *setting;
	size_t settings;
	sigset_t mask;
	struct sigaction child_action;
	int report; /* write end: errno of a failed exec */
};

static void start_in_child(const struct start *s)
{
	bool is_set = preload_set(s->library);
	for (size_t k = 0; k < s->settings && is_set; k++)
		is_set = setenv(s->setting[k].variable, s->setting[k].value, 1) == 0;
	if (is_set) {
		sigaction(SIGCHLD, &s->child_action, NULL);
		sigprocmask(SIG_SETMASK, &s->mask, NULL);
		execvp(s->argv[0], s->argv);
	}
	int error = errno;
	ssize_t written = write(s->report, &error, sizeof error);
	_exit(written == sizeof error ? 127 : 126);
}

static bool is_for_child_alone(const siginfo_t *info)
{
	return info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
}

static int wait_for(pid_t child, const sigset_t *set)
{
	int state;
	for (;;) {
		siginfo_t info;
		pid_t ended = waitpid(child, &state, WNOHANG);
		if (ended == child || (ended < 0 && errno != EINTR))
			return ended == child ? state : 0;
		int number = sigwaitinfo(set, &info);
		if (number > 0 && number != SIGCHLD && is_for_child_alone(&info))
			kill(child, number);
		if (number == SIGTSTP)
			raise(SIGSTOP);
	}
}

static void ignore_signal(int number)
{
	(void)number;
}

/*
 * Ignores the first late signal of each kind, which was meant for the command. A second one ends
 * this process.
 */
static void late_signals_ignore(void)
{
	static const int late[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct sigaction old,
		ours = { .sa_handler = ignore_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART };
	sigemptyset(&ours.sa_mask);
	for (size_t k = 0; k < sizeof late / sizeof *late; k++)
		if (sigaction(late[k], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(late[k], &ours, NULL);
}

static struct gp_ending ending_of(int state)
{
	struct gp_ending e = { .is_started = true };
	if (WIFSIGNALED(state)) {
		e.signal = WTERMSIG(state);
		e.exit_status = 128 + e.signal;
	} else {
		e.exit_status = WEXITSTATUS(state);
	}
	return e;
}

static struct gp_ending not_started(const char *command, int error)
{
	gp_error("cannot run '%s': %s", command, gp_cause(error));
	return (struct gp_ending){ .exit_status = error == ENOENT ? 127 : 126 };
}

struct gp_ending gp_launch(char **argv, const char *library, const struct gp_setting *settings,
			   size_t count)
{
	struct start s = {
		.argv = argv, .library = library, .setting = settings, .settings = count
	};
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t set;
	int pipe_ends[2], error = 0;
	if (pipe2(pipe_ends, O_CLOEXEC) != 0)
		return not_started(argv[0], errno);
	s.report = pipe_ends[1];
	sigemptyset(&set);
	for (size_t k = 0; k < sizeof forwarded / sizeof *forwarded; k++)
		sigaddset(&set, forwarded[k]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &s.mask);
	sigaction(SIGCHLD, &by_default, &s.child_action);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		start_in_child(&s);
	close(pipe_ends[1]);
	if (child < 0)
		return not_started(argv[0], errno);
	ssize_t n = read(pipe_ends[0], &error, sizeof error);
	close(pipe_ends[0]);
	int state = wait_for(child, &set);
	late_signals_ignore();
	/* signals until now were meant for the command */
	while (sigtimedwait(&set, NULL, &(struct timespec){ 0 }) > 0)
		;
	sigprocmask(SIG_SETMASK, &s.mask, NULL);
	return n == sizeof error ? not_started(argv[0], error) : ending_of(state);
}

int gp_end_alike(const struct gp_ending *ending)
{
	struct rlimit no_core = { 0, 0 };
	sigset_t one;
	if (!ending->signal)
		return ending->exit_status;
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(ending->signal, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, ending->signal);
	raise(ending->signal);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return ending->exit_status;
}
