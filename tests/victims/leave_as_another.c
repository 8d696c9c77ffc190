/*
 * Becomes another user, or gets another root, before it ends, and may then lack the right to remove
 * its shared memory. With another root it still removes it; as another user it leaves one page.
 */
#include "ring_files.h"

#define UNPRIVILEGED 65534

static pid_t live(int (*leave)(void))
{
	const pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		struct driver driver = need_driver(FROM_PROC_ADDRESS);
		alloc_and_free(&driver, 20);
		must(leave() == 0);
		exit(0);
	}
	int status;
	must(waitpid(pid, &status, 0) == pid && status == 0);
	claim_as(pid, "=", "alloc", 20);
	claim_as(pid, "=", "free", 20);
	claim_as(pid, "=", "complete", 1);
	return pid;
}

static int change_root(void)
{
	return chroot("/proc");
}

static int change_user(void)
{
	return setuid(UNPRIVILEGED);
}

int main(void)
{
	unsigned long long bytes = 0;
	if (geteuid() != 0) {
		fprintf(stderr, "needs root\n");
		return VICTIM_SKIPPED;
	}
	const pid_t rooted = live(change_root);
	must(ring_files(rooted, rooted, NULL) == 0);
	const pid_t other = live(change_user);
	ring_files(other, other, &bytes);
	must(bytes <= 8192);
	const pid_t next = live(change_root);
	must(ring_files(other, next, NULL) == 0);
	printf("left\n");
	return 0;
}
