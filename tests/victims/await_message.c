/*
 * Requests a signal for when a message comes (mq_notify). The kernel drops the request when a
 * thread of the process closes any copy of the queue's descriptor. The recording ends before that.
 */
#include "victim.h"

#include <mqueue.h>
#include <signal.h>
#include <sys/syscall.h>

static volatile sig_atomic_t notified;

static void on_message(int signal)
{
	(void)signal;
	notified = 1;
}

static int open_queue(void)
{
	char name[32];
	struct mq_attr attributes = { .mq_maxmsg = 2, .mq_msgsize = 8 };
	snprintf(name, sizeof name, "victim-%d", (int)getpid());
	const long queue = syscall(SYS_mq_open, name, O_CREAT | O_RDWR, 0600, &attributes);
	if (queue >= 0)
		must(syscall(SYS_mq_unlink, name) == 0);
	return (int)queue;
}

int main(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	const int queue = open_queue();
	if (queue < 0) {
		fprintf(stderr, "no message queues here\n");
		return VICTIM_SKIPPED;
	}
	signal(SIGUSR1, on_message);
	must(syscall(SYS_mq_notify, queue, &event) == 0);
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	must(driver.cuProfilerStart() == CUDA_SUCCESS);
	alloc_and_free(&driver, 100);
	must(driver.cuProfilerStop() == CUDA_SUCCESS);
	usleep(200000); /* the recorder's thread ends */
	must(syscall(SYS_mq_timedsend, queue, "x", 1, 0, NULL) == 0);
	must(notified);
	claim("alloc", 100);
	claim_recordings(1);
	printf("notified\n");
	return 0;
}
