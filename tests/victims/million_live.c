/* Keeps a million blocks alive and continues: neither growth nor checkpoints may stall it. */
#include "victim.h"

int main(int argc, char **argv)
{
	unsigned long number = count_argument(argc, argv, 1000000);
	const struct fake_c10 *c10 = need_c10();
	void **block = calloc(number, sizeof *block);
	must(block);
	for (unsigned long i = 0; i < number; i++) {
		must(block[i] = c10->allocate(0, 512));
		work_for(1000);
	}
	for (unsigned long i = 0; i < number; i++) {
		c10->release(block[i]);
		must(block[i] = c10->allocate(0, 512));
		work_for(2000);
	}
	for (unsigned long i = 0; i < number; i++) {
		c10->release(block[i]);
		work_for(1000);
	}
	claim("block_alloc", number * 2);
	claim("block_free", number * 2);
	claim_peaks(c10, 0);
	claim("mismatches", 0);
	printf("%lu live\n", number);
	free(block);
	return 0;
}
