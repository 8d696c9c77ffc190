/*
 * Reports live blocks again with unchanged totals, as PyTorch does when it restores a checkpoint of
 * a graph's pool.
 */
#include "victim.h"

int main(void)
{
	const struct fake_c10 *c10 = need_c10();
	void *block[20];
	struct fake_c10_stats s;
	for (int i = 0; i < 20; i++)
		block[i] = c10->allocate(0, 8192);
	for (int i = 0; i < 20; i += 2)
		c10->report_again(block[i]);
	for (int i = 0; i < 20; i++)
		c10->release(block[i]);
	claim("block_alloc", 20);
	/* one more where the allocator lists its earlier blocks: the first block */
	claim_as(getpid(), ">=", "block_existing", 10);
	claim_as(getpid(), "<=", "block_existing", 11);
	claim("block_free", 20);
	claim("mismatches", 0);
	claim_peaks(c10, 0);
	c10->stats(0, &s);
	printf("%lu reports, %lu arrived\n", (unsigned long)s.reports, (unsigned long)s.forwarded);
	return s.reports != s.forwarded;
}
