/* Is ended by SIGTERM, as SLURM and Kubernetes do it. */
#include "victim.h"

#include <signal.h>

int main(void)
{
	claim_thousand("going");
	raise(SIGTERM);
	return 71;
}
