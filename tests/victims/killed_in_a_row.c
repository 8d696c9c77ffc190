/*
 * Starts many short processes, every tenth of which is killed, and one that is replaced: the next
 * that records takes away what these left in memory, and all that they did is in their recordings.
 */
#include <signal.h>

#include "ring_files.h"

static void live_shortly(const char *fate)
{
	struct driver driver = need_driver(DOOR_PROC_ADDRESS);
	alloc_and_free(&driver, 20);
	if (*fate == 'k')
		kill(getpid(), SIGKILL);
}

static pid_t start(const char *self, const char *fate)
{
	const pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		execl(self, self, fate, (char *)NULL);
		_exit(71);
	}
	int status;
	must(waitpid(pid, &status, 0) == pid);
	must(*fate == 'k' ? WIFSIGNALED(status) : status == 0);
	claim_as(pid, "=", "alloc", 20);
	claim_as(pid, "=", "free", 20);
	return pid;
}

int main(int argc, char **argv)
{
	if (argc > 1 && (*argv[1] == 'k' || *argv[1] == 'e')) {
		live_shortly(argv[1]);
		return 0;
	}
	const unsigned long processes = count_argument(argc, argv, 10000);
	pid_t last = 0;
	/* one more, which ends */
	for (unsigned long i = 0; i <= processes; i++) {
		const bool is_killed = i % 10 == 9 && i < processes;
		const pid_t before = last;
		last = start("/proc/self/exe", is_killed ? "killed" : "ends");
		/* the newest alone may be there; process numbers may start again from below */
		must(before == 0 || ring_files(before, before, NULL) == 0);
		must(ring_files(last, last, NULL) <= is_killed);
	}
	claim_recordings(processes + 1);
	printf("%lu processes\n", processes + 1);
	return 0;
}
