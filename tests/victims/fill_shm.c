/*
 * Fills /dev/shm during the run, as another program might. Runs only where /dev/shm is small and
 * private (the tests mount one of 4 MiB).
 */
#include "victim.h"

#include <sys/statvfs.h>

int main(void)
{
	struct statvfs shm;
	static char page[65536];
	if (statvfs("/dev/shm", &shm) != 0 || shm.f_blocks * shm.f_frsize > 64u << 20) {
		fprintf(stderr, "/dev/shm is not a small one of its own\n");
		return VICTIM_SKIPPED;
	}
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 100);
	int file = open("/dev/shm/filler", O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(file >= 0);
	while (write(file, page, sizeof page) > 0)
		alloc_and_free(&driver, 10);
	alloc_and_free(&driver, 20000);
	unlink("/dev/shm/filler");
	close(file);
	alloc_and_free(&driver, 1000);
	printf("survived\n");
	return 0;
}
