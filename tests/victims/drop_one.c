/* Its allocator does not report one of its blocks. */
#include "victim.h"

int main(void)
{
	const struct fake_c10 *c10 = need_c10();
	void *block[50];
	for (int i = 0; i < 50; i++) {
		if (i == 25)
			c10->drop_once();
		block[i] = c10->allocate(0, 4096);
	}
	/* not freed: its free would be a second unexpected event */
	for (int i = 0; i < 50; i++)
		if (i != 25)
			c10->release(block[i]);
	claim("framework_events", 98);
	claim("mismatches", 1);
	printf("dropped one\n");
	return 0;
}
