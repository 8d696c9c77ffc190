/*
 * Frees that wait tens of milliseconds for the GPU while another thread allocates. A free must not
 * hold an unwritten order number meanwhile.
 */
#include "victim.h"

#include <stdatomic.h>

static struct driver driver;
static _Atomic bool is_over;

static void *free_slowly(void *argument)
{
	(void)argument;
	must(driver_use(&driver, 0));
	for (int i = 0; i < 20; i++) {
		CUdeviceptr address = must_alloc(&driver, 1 << 20);
		must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
	}
	is_over = true;
	return NULL;
}

int main(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	/*
	 * the fake driver's own switch: from now on each free takes this long in threads that
	 * request it
	 */
	void (*delay_frees)(unsigned) = NULL;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	*(void **)&delay_frees = library ? dlsym(library, "fake_cuda_delay_frees") : NULL;
	if (!delay_frees) {
		fprintf(stderr, "this driver cannot delay frees\n");
		return VICTIM_SKIPPED;
	}
	delay_frees(30000);
	unsigned long number = 0, kept = 0;
	CUdeviceptr address[1000];
	pthread_t thread;
	must(pthread_create(&thread, NULL, free_slowly, NULL) == 0);
	while (!is_over) {
		CUdeviceptr one = must_alloc(&driver, 4096);
		number++;
		if (kept < 1000)
			address[kept++] = one;
		usleep(20);
	}
	pthread_join(thread, NULL);
	delay_frees(0);
	for (unsigned long i = 0; i < kept; i++)
		must(driver.cuMemFree_v2(address[i]) == CUDA_SUCCESS);
	claim("alloc", number + 20);
	claim("free", kept + 20);
	claim("anomalies", 0);
	printf("20 slow frees\n");
	return 0;
}
