/* Is ended by SIGTERM, as SLURM and Kubernetes end a job. */
#include "victim.h"

#include <signal.h>

int main(void)
{
	claim_thousand("going");
	raise(SIGTERM);
	return 71;
}
