/*
 * Signals arrive at a descriptor, so that no handler runs and a wait misses none. The alternate
 * screen keeps the lines that were there before.
 */
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "monotonic.h"

static const char enter_screen[] = "\033[?1049h\033[?25l", leave_screen[] = "\033[?25h\033[?1049l";

static struct keys {
	bool is_open, has_keys;
	struct termios before;
	sigset_t mask;
	int signals;
	pid_t child; /* 0: none */
	char text[64];
	size_t at, bytes;
} keys;

static void keys_write(const char *text)
{
	/* a terminal that is gone shows at the next read */
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		return;
}

static void keys_enter(void)
{
	struct termios raw = keys.before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (keys.has_keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	keys_write(enter_screen);
}

static void keys_leave(void)
{
	keys_write(leave_screen);
	if (keys.has_keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &keys.before);
}

bool gp_keys_open(void)
{
	static const int numbers[] = { SIGINT,	SIGTERM, SIGHUP,   SIGQUIT,
				       SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD };
	const char *terminal = getenv("TERM");
	sigset_t set;
	if (!isatty(STDOUT_FILENO) || !terminal || strcmp(terminal, "dumb") == 0)
		return false;
	sigemptyset(&set);
	for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
		sigaddset(&set, numbers[k]);
	keys = (struct keys){ .signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) };
	if (keys.signals < 0)
		return false;
	sigprocmask(SIG_BLOCK, &set, &keys.mask);
	keys.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &keys.before) == 0;
	keys.is_open = true;
	keys_enter();
	return true;
}

void gp_keys_close(void)
{
	if (!keys.is_open)
		return;
	keys.is_open = false;
	keys_leave();
	close(keys.signals);
	sigprocmask(SIG_SETMASK, &keys.mask, NULL);
}

/* ---- signals ---- */

static void keys_stop(void)
{
	keys_leave();
	raise(SIGSTOP);
	keys_enter();
}

static int keys_signal(void)
{
	struct signalfd_siginfo info;
	if (read(keys.signals, &info, sizeof info) != sizeof info)
		return GP_KEY_DRAW;
	const int number = (int)info.ssi_signo;
	switch (number) {
	case SIGTSTP:
		keys_stop();
		return GP_KEY_DRAW;
	case SIGCONT:
		keys_enter(); /* whoever stopped it may have changed the terminal */
		return GP_KEY_DRAW;
	case SIGWINCH:
		return GP_KEY_DRAW;
	case SIGCHLD:
		return GP_KEY_CHILD;
	default:
		gp_keys_close();
		raise(number);
		return GP_KEY_END; /* the program was started with the signal ignored */
	}
}

/* ---- keys ---- */

/* Takes an escape sequence as one key, of which only Shift-Tab is known. */
static int keys_take(void)
{
	const char *text = keys.text + keys.at;
	const size_t left = keys.bytes - keys.at;
	if (*text != '\033') {
		keys.at++;
		return (unsigned char)*text;
	}
	size_t n = 1;
	if (n < left && (text[n] == '[' || text[n] == 'O'))
		for (n++; n < left && (unsigned char)text[n] < '@'; n++)
			;
	keys.at += n < left ? n + 1 : left;
	return n < left && text[n] == 'Z' ? GP_KEY_BACK : GP_KEY_DRAW;
}

static int keys_read(void)
{
	const ssize_t n = read(STDIN_FILENO, keys.text, sizeof keys.text);
	if (n < 0 && errno == EINTR)
		return GP_KEY_DRAW;
	keys.at = 0;
	keys.bytes = n > 0 ? (size_t)n : 0;
	return n > 0 ? keys_take() : GP_KEY_END;
}

int gp_keys_wait(int64_t until_ns, int process)
{
	if (keys.at < keys.bytes)
		return keys_take();
	struct pollfd ready[] = { { .fd = keys.signals, .events = POLLIN },
				  { .fd = keys.has_keys ? STDIN_FILENO : -1, .events = POLLIN },
				  { .fd = process, .events = POLLIN } };
	const int64_t left_ms = (until_ns - gp_monotonic_ns()) / 1000000 + 1;
	if (poll(ready, 3, left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : (int)left_ms) <= 0)
		return GP_KEY_NONE;
	if (ready[0].revents)
		return keys_signal();
	return ready[1].revents ? keys_read() : GP_KEY_NONE;
}

/* ---- a child ---- */

bool gp_keys_start(char *const *words)
{
	extern char **environ;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &keys.mask);
	errno = posix_spawn(&keys.child, "/proc/self/exe", &files, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return errno == 0;
}

bool gp_keys_child(int *exit_status)
{
	int status;
	if (keys.child == 0 || waitpid(keys.child, &status, WNOHANG) != keys.child)
		return false;
	keys.child = 0;
	*exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return true;
}
