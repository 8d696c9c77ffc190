/* Ends by _exit, as every forked worker of Python's multiprocessing does. */
#include "victim.h"

int main(void)
{
	struct driver driver = need_driver(DOOR_PROC_ADDRESS);
	alloc_and_free(&driver, 1000);
	claim("alloc", 1000);
	claim("free", 1000);
	claim("complete", 1);
	claim_recordings(1);
	printf("leaving\n");
	fflush(stdout);
	_exit(7);
}
