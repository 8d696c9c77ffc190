/*
 * Frees blocks while other streams use them, has a pool of its own, and runs out of memory. It uses
 * plain and expandable segments. One step of each, so that a person can read the recording.
 */
#include <string.h>

#include "victim.h"

#define STREAM 0x51
#define USER_POOL 9

static const struct fake_c10 *c10;

static void use_two_streams(void)
{
	void *kept = c10->allocate(0, 1000); /* before the trackers were attached */
	void *first = c10->allocate(0, 1000);
	void *second = c10->allocate_in(0, 3000000, STREAM, 0);
	c10->use_elsewhere(second);
	c10->release(second); /* pending */
	c10->snapshot(0, 0);
	c10->release(first); /* completed at once */
	c10->finish_uses(0);
	void *third = c10->allocate_in(0, 3000000, STREAM, 0);
	must(third == second);
	c10->release(third);
	c10->release(kept);
}

static void use_a_pool(void)
{
	void *block = c10->allocate_in(0, 5000, 0, USER_POOL);
	c10->snapshot(0, 0);
	c10->snapshot(0, USER_POOL);
	c10->snapshot(1, 0);
	c10->report_again(block);
	c10->release(block);
	c10->empty_cache(0);
}

static void run_out(void)
{
	c10->set_limit(0, 2ull << 30);
	must(c10->allocate_in(0, 3ull << 30, STREAM, USER_POOL) == NULL);
	c10->set_limit(0, 0);
}

int main(int argc, char **argv)
{
	c10 = need_c10();
	if (argc > 1 && strcmp(argv[1], "expandable") == 0)
		c10->use_expandable_segments(true);
	use_two_streams();
	/* with "fork", the rest runs in a child, whose allocator still has the trackers */
	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		pid_t child = fork();
		must(child >= 0);
		if (child)
			return wait_for(child);
	}
	use_a_pool();
	run_out();
	claim("mismatches", 0);
	claim("oom", 1);
	claim_peaks(c10, 0);
	return 0;
}
