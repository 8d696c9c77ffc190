/*
 * Does to a Python process what py-spy does, which make check cannot install. It stops every thread
 * with ptrace, reads the interpreter's state with process_vm_readv, and continues the threads.
 *	stop_and_read PID ROUNDS
 * Prints the number of rounds that could read it; exits with 77 where ptrace is not allowed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_THREADS 64

/* The first writable mapping of the interpreter, which contains its static state; 0: not found. */
static unsigned long interpreter_data(int pid)
{
	char path[64], line[512], rights[5];
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "r");
	unsigned long from = 0, found = 0;
	while (maps && !found && fgets(line, sizeof line, maps))
		if (strstr(line, "python") && sscanf(line, "%lx-%*x %4s", &from, rights) == 2 &&
		    rights[1] == 'w')
			found = from;
	if (maps)
		fclose(maps);
	return found;
}

static unsigned threads_stop(int pid, pid_t *stopped)
{
	char path[64];
	unsigned count = 0;
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	for (struct dirent *task; tasks && (task = readdir(tasks)) && count < MOST_THREADS;) {
		pid_t thread = atoi(task->d_name);
		int status;
		if (thread == 0 || ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
			continue;
		if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0 &&
		    waitpid(thread, &status, __WALL) == thread)
			stopped[count++] = thread;
	}
	if (tasks)
		closedir(tasks);
	return count;
}

int main(int argc, char **argv)
{
	int pid = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 1, read = 0;
	unsigned long from = interpreter_data(pid);
	for (int k = 0; k < rounds; k++) {
		pid_t stopped[MOST_THREADS];
		char bytes[4096];
		struct iovec here = { bytes, sizeof bytes };
		struct iovec there = { (char *)0 + from, sizeof bytes };
		unsigned count = threads_stop(pid, stopped);
		if (count == 0) {
			fprintf(stderr, "cannot stop %d: %s\n", pid, strerror(errno));
			return errno == EPERM ? 77 : 1;
		}
		read += process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof bytes;
		while (count)
			ptrace(PTRACE_DETACH, stopped[--count], NULL, NULL);
		usleep(1000);
	}
	printf("read %d of %d times\n", read, rounds);
	return read != rounds;
}
