/* Its allocator reports totals that are wrong by 512 bytes, once. */
#include "victim.h"

int main(void)
{
	const struct fake_c10 *c10 = need_c10();
	void *block[50];
	for (int i = 0; i < 50; i++) {
		if (i == 25)
			c10->lie_once(512);
		block[i] = c10->allocate(0, 4096);
	}
	for (int i = 0; i < 50; i++)
		c10->release(block[i]);
	claim("framework_events", 100);
	claim("mismatches", 1);
	claim_peaks(c10, 0);
	printf("lied once\n");
	return 0;
}
