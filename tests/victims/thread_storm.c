/*
 * Threads pass addresses to each other: one allocates, another frees, and the driver reuses the
 * address.
 */
#include "victim.h"

#include <stdatomic.h>

#define PAIRS_MAX 16
#define SLOTS 64

/* one producer, one consumer, no lock: an address is freed nanoseconds after its allocation */
struct handover {
	_Alignas(64) _Atomic CUdeviceptr slot[SLOTS];
	pthread_t producer, consumer;
};

static struct driver driver;
static struct handover handover[PAIRS_MAX];
static unsigned long each;

static void *produce(void *argument)
{
	struct handover *h = argument;
	must(driver_use(&driver, 0));
	for (unsigned long i = 0; i < each; i++) {
		CUdeviceptr address = must_alloc(&driver, 512);
		while (atomic_load_explicit(&h->slot[i % SLOTS], memory_order_relaxed))
			sched_yield();
		atomic_store_explicit(&h->slot[i % SLOTS], address, memory_order_release);
		work_for(2000);
	}
	return NULL;
}

static void *consume(void *argument)
{
	struct handover *h = argument;
	must(driver_use(&driver, 0));
	for (unsigned long i = 0; i < each; i++) {
		CUdeviceptr address;
		while (!(address = atomic_load_explicit(&h->slot[i % SLOTS], memory_order_acquire)))
			sched_yield();
		atomic_store_explicit(&h->slot[i % SLOTS], 0, memory_order_relaxed);
		must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long events = count_argument(argc, argv, 1000000);
	unsigned pairs = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
	must(pairs >= 1 && pairs <= PAIRS_MAX);
	driver = need_driver(FROM_PROC_ADDRESS);
	each = events / 2 / pairs;
	for (unsigned i = 0; i < pairs; i++) {
		must(pthread_create(&handover[i].producer, NULL, produce, &handover[i]) == 0);
		must(pthread_create(&handover[i].consumer, NULL, consume, &handover[i]) == 0);
	}
	for (unsigned i = 0; i < pairs; i++) {
		pthread_join(handover[i].producer, NULL);
		pthread_join(handover[i].consumer, NULL);
	}
	claim("alloc", each * pairs);
	claim("free", each * pairs);
	claim("anomalies", 0);
	printf("%lu events\n", each * pairs * 2);
	return 0;
}
