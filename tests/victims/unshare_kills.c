/*
 * A filter of system calls kills any caller of unshare or process_vm_readv. In a child it also
 * fails close_range, so the recorder has no descriptor table of its own. With arguments it runs
 * these as a command under the filter.
 */
#include "victim.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Gives `number` this result (SECCOMP_RET_...) from now on; false: filters are not available. */
static bool refuse_call(unsigned number, unsigned answer)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void record(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 1000);
	claim("alloc", 1000);
	claim("complete", 1);
}

int main(int argc, char **argv)
{
	if (!refuse_call(SYS_unshare, SECCOMP_RET_KILL_PROCESS)) {
		fprintf(stderr, "no filters of system calls here\n");
		return VICTIM_SKIPPED;
	}
	must(refuse_call(SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS));
	if (argc > 1) {
		execvp(argv[1], argv + 1);
		must(false);
	}
	const pid_t child = fork();
	if (child == 0) {
		must(refuse_call(SYS_close_range, SECCOMP_RET_ERRNO | EPERM));
		record();
		exit(0);
	}
	must(wait_for(child) == 0);
	record();
	claim_recordings(2);
	printf("not killed\n");
	return 0;
}
