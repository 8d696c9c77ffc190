/*
 * Frees memory in a thread's key destructors, in every round, when its ring may be gone
 * already.
 */
#include "victim.h"

static struct driver driver;
static pthread_key_t key;

struct late {
	CUdeviceptr address;
	int rounds;
};

static void end(void *value)
{
	struct late *late = value;
	must(driver_use(&driver, 0)); /* the driver's own key may have been destroyed before */
	must(driver.cuMemFree_v2(late->address) == CUDA_SUCCESS);
	if (--late->rounds == 0) {
		free(late);
		return;
	}
	late->address = must_alloc(&driver, 512);
	pthread_setspecific(key, late); /* another round */
}

static void *work(void *argument)
{
	(void)argument;
	must(driver_use(&driver, 0));
	struct late *late = malloc(sizeof *late);
	must(late);
	*late = (struct late){ must_alloc(&driver, 512), 3 };
	pthread_setspecific(key, late);
	return NULL;
}

int main(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	must(pthread_key_create(&key, end) == 0);
	for (int i = 0; i < 200; i++) {
		pthread_t thread;
		must(pthread_create(&thread, NULL, work, NULL) == 0);
		pthread_join(thread, NULL);
	}
	claim("alloc", 600);
	claim("free", 600);
	printf("600 late frees\n");
	return 0;
}
