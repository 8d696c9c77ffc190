/*
 * Starts many short processes, of which every tenth is killed, and one that is replaced. The next
 * recorded process removes what they left in memory. All their events are in their recordings.
 */
#include <signal.h>

#include "ring_files.h"

static void live_shortly(const char *self, const char *fate)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 20);
	if (*fate == 'k')
		kill(getpid(), SIGKILL);
	if (*fate == 'r')
		execl("/proc/self/exe", self, "ends", (char *)NULL);
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
	claim_as(pid, "=", "alloc", *fate == 'r' ? 40 : 20);
	claim_as(pid, "=", "free", *fate == 'r' ? 40 : 20);
	return pid;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strchr("ker", *argv[1])) {
		live_shortly(argv[0], argv[1]);
		return *argv[1] == 'r';
	}
	const unsigned long processes = count_argument(argc, argv, 10000);
	pid_t last = 0;
	/* another one, which ends normally */
	for (unsigned long i = 0; i <= processes; i++) {
		const bool is_killed = i % 10 == 9 && i < processes;
		const pid_t before = last;
		last = start("/proc/self/exe", is_killed ? "killed" : "ends");
		/* only the newest may be left; process numbers may wrap around */
		must(before == 0 || ring_files(before, before, NULL) == 0);
		must(ring_files(last, last, NULL) <= is_killed);
	}
	last = start("/proc/self/exe", "replaced");
	must(ring_files(last, last, NULL) == 0);
	claim_recordings(processes + 3);
	printf("%lu processes\n", processes + 1);
	return 0;
}
