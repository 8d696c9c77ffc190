/* Allocates blocks of the framework until its memory is full, and never launches a kernel. */
#include <stdlib.h>

#include "victim.h"

#define BLOCK_BYTES (64u << 20)
#define LIMIT_BYTES (640ull << 20)
#define BLOCKS_MAX 64

int main(void)
{
	must(setenv("FAKE_TORCH_COPIES", "off", 1) == 0);
	const struct fake_c10 *c10 = need_c10();
	void *block[BLOCKS_MAX];
	int count = 0;
	c10->set_limit(0, LIMIT_BYTES);
	while (count < BLOCKS_MAX && (block[count] = c10->allocate(0, BLOCK_BYTES - 100)))
		count++;
	must(count > 1 && count < BLOCKS_MAX);
	c10->set_limit(0, 0);
	claim("mismatches", 0);
	claim("oom", 1);
	claim_peaks(c10, 0);
	while (count)
		c10->release(block[--count]);
	return 0;
}
