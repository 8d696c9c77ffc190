/*
 * Threads pass blocks to each other, each on a stream and in a pool of its own, on two devices. One
 * allocates, another frees; every third block is still used by another stream when it is freed.
 */
#include "victim.h"

#include <stdatomic.h>

#define PAIRS 4
#define SLOTS 16
#define FINISH_EVERY 64

struct handover {
	_Alignas(64) void *_Atomic slot[SLOTS];
	int number;
	pthread_t producer, consumer;
};

static const struct fake_c10 *c10;
static struct handover handover[PAIRS];
static unsigned long each;

static void *produce(void *argument)
{
	struct handover *h = argument;
	for (unsigned long i = 0; i < each; i++) {
		void *block = c10->allocate_in(h->number % 2, 400 + i % 7 * 100000,
					       (uint64_t)h->number, i % 3);
		must(block);
		if (i % 3 == 0)
			c10->use_elsewhere(block);
		if (i % FINISH_EVERY == 0)
			c10->finish_uses(h->number % 2);
		while (atomic_load_explicit(&h->slot[i % SLOTS], memory_order_relaxed))
			sched_yield();
		atomic_store_explicit(&h->slot[i % SLOTS], block, memory_order_release);
		work_for(2000);
	}
	return NULL;
}

static void *consume(void *argument)
{
	struct handover *h = argument;
	for (unsigned long i = 0; i < each; i++) {
		void *block;
		while (!(block = atomic_load_explicit(&h->slot[i % SLOTS], memory_order_acquire)))
			sched_yield();
		atomic_store_explicit(&h->slot[i % SLOTS], NULL, memory_order_relaxed);
		c10->release(block);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long events = count_argument(argc, argv, 1000000);
	c10 = need_c10();
	each = events / 2 / PAIRS;
	for (int i = 0; i < PAIRS; i++) {
		handover[i].number = i;
		must(pthread_create(&handover[i].producer, NULL, produce, &handover[i]) == 0);
		must(pthread_create(&handover[i].consumer, NULL, consume, &handover[i]) == 0);
	}
	for (int i = 0; i < PAIRS; i++) {
		pthread_join(handover[i].producer, NULL);
		pthread_join(handover[i].consumer, NULL);
	}
	claim("framework_events", each * PAIRS * 2);
	claim("mismatches", 0);
	claim("anomalies", 0);
	claim_peaks(c10, 0);
	claim_peaks(c10, 1);
	printf("%lu events\n", each * PAIRS * 2);
	return 0;
}
