/* Is ended by SIGTERM, as SLURM and Kubernetes do it. */
#include "victim.h"

#include <signal.h>

int main(void)
{
	struct driver driver = need_driver(DOOR_PROC_ADDRESS);
	alloc_and_free(&driver, 1000);
	claim("alloc", 1000);
	claim("free", 1000);
	claim("complete", 1);
	claim_recordings(1);
	printf("going\n");
	fflush(stdout);
	raise(SIGTERM);
	return 71;
}
