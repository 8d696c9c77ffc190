/* The training loop with segments that grow and shrink through the virtual memory functions. */
#include "training.h"

int main(int argc, char **argv)
{
	struct training t;
	unsigned long steps = count_argument(argc, argv, 20);
	const struct fake_c10 *c10 = need_c10();
	c10->use_expandable_segments(true);
	training_init(&t, c10);
	for (unsigned long i = 0; i < steps; i++) {
		training_step(&t);
		if (i % 4 == 3)
			c10->empty_cache(0);
	}
	training_print(&t);
	return 0;
}
