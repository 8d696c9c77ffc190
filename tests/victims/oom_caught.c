/* Runs out of memory, catches the error, frees something and continues. */
#include "training.h"

int main(void)
{
	struct training t;
	struct fake_c10_stats before, after;
	training_init(&t, need_c10());
	training_step(&t);
	t.c10->stats(0, &before);
	t.c10->set_limit(0, before.reserved + (64 << 20));
	for (int i = 0; i < 3; i++) {
		void *fits = t.c10->allocate(0, 16 << 20);
		must(fits);
		must(t.c10->allocate(0, 1ull << 40) == NULL);
		t.c10->release(fits);
	}
	t.c10->set_limit(0, 0);
	training_step(&t);
	t.c10->stats(0, &after);
	claim("oom", 3);
	must(after.ooms_forwarded == 3);
	training_print(&t);
	return 0;
}
