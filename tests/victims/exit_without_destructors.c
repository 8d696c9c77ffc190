/* Ends by _exit, as every forked worker of Python's multiprocessing does. */
#include "victim.h"

int main(void)
{
	claim_thousand("leaving");
	_exit(7);
}
