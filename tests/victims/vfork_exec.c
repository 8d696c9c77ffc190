/*
 * Starts programs with vfork. The child runs in the parent's memory, exits there, and must not end
 * the parent's recording.
 */
#include "victim.h"

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	for (int i = 0; i < 50; i++) {
		alloc_and_free(&driver, 10);
		pid_t child = vfork();
		must(child >= 0);
		if (child == 0) {
			if (i % 2)
				execl("/bin/true", "true", (char *)NULL);
			_exit(9);
		}
		must(wait_for(child) == (i % 2 ? 0 : 9));
	}
	alloc_and_free(&driver, 10);
	claim("alloc", 510);
	claim("free", 510);
	claim("complete", 1);
	claim_recordings(1);
	printf("50 children\n");
	return 0;
}
