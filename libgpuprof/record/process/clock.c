/* Reads which clock the kernel trusts, and the three clocks at one moment. */
#include "clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool gp_clock_is_tsc GP_HOT_DATA;

void gp_clock_init(void)
{
	char name[16] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = read(fd, name, sizeof name - 1);
	close(fd);
	gp_clock_is_tsc = n >= 3 && memcmp(name, "tsc", 3) == 0;
}

struct gp_clock_triple gp_clock_triple(void)
{
	struct gp_clock_triple best = { 0 };
	uint64_t best_span = UINT64_MAX;
	for (int attempt = 0; attempt < 5; attempt++) {
		uint64_t before = gp_clock_now();
		uint64_t mono = gp_now_ns();
		uint64_t wall = gp_clock_raw_ns(CLOCK_REALTIME);
		uint64_t span = gp_clock_now() - before;
		if (span < best_span) {
			best_span = span;
			best = (struct gp_clock_triple){ before + span / 2, mono, wall };
		}
	}
	return best;
}

uint64_t gp_clock_ticks_per_second(void)
{
	static uint64_t known;
	if (known)
		return known;
	if (!gp_clock_is_tsc)
		return known = 1000000000u;
	struct gp_clock_triple a = gp_clock_triple(), b;
	do
		b = gp_clock_triple();
	while (b.mono_ns - a.mono_ns < 1000000u);
	double ratio = (double)(b.ticks - a.ticks) / (double)(b.mono_ns - a.mono_ns);
	return known = (uint64_t)(ratio * 1e9);
}
