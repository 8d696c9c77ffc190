/* Checks errno after every call: files that the recorder opens inside a call must not change it. */
#include "victim.h"

static int changed;

static void check(const char *what)
{
	if (errno != 4242) {
		printf("%s changed errno\n", what);
		changed++;
	}
	errno = 4242;
}

int main(void)
{
	const struct fake_c10 *c10 = need_c10();
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	errno = 4242;
	for (int i = 0; i < 100; i++) {
		CUdeviceptr address = must_alloc(&driver, 4096);
		check("cuMemAlloc");
		must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
		check("cuMemFree");
		must(dlsym(RTLD_DEFAULT, "getpid"));
		check("dlsym");
		void *block = c10->allocate(0, 4096);
		check("a block");
		c10->release(block);
		check("a block's release");
	}
	printf("errno changed %d times\n", changed);
	return changed != 0;
}
