/* Replaces itself by exec: one pid, two programs, two recordings. */
#include "victim.h"

int main(int argc, char **argv)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 30);
	if (argc == 1) {
		printf("first\n");
		fflush(stdout);
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		return 71;
	}
	printf("second\n");
	/* both programs together */
	claim("alloc", 60);
	claim("free", 60);
	claim_recordings(2);
	return 0;
}
