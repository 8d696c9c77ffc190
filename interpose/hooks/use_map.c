/*
 * The slow half of the map of used memory, which grows with each allocation of the driver.
 */
#include "use_map.h"

#include <errno.h>
#include <sys/mman.h>

#include "context.h"

struct gp_use_map gp_use_map GP_HOT_DATA;

bool gp_use_map_open(void)
{
	/*
	 * a forked child has its parent's map: clear it in place, since other threads may read it
	 */
	if (gp_use_map.bit)
		return madvise((void *)gp_use_map.bit, GP_USE_MAP_BYTES, MADV_DONTNEED) == 0;
	/* reserved, not committed: a job touches one page for each 64 GiB of addresses */
	void *pages = gp_pages_inherited(GP_USE_MAP_BYTES);
	if (!pages)
		return false;
	atomic_store(&gp_use_map.low, UINT64_MAX);
	atomic_store(&gp_use_map.high, 0);
	atomic_store(&gp_use_map.beyond, 0);
	__atomic_store_n(&gp_use_map.bit, pages, __ATOMIC_RELEASE);
	return true;
}

/* Records the count each time it has doubled, to keep the number of events small. */
static void write_beyond(void)
{
	uint64_t beyond = atomic_fetch_add(&gp_use_map.beyond, 1) + 1;
	if ((beyond & (beyond - 1)) == 0)
		gp_define_fact(GP_FACT_USES_BEYOND, beyond, NULL);
}

static void widen(uint64_t from, uint64_t to)
{
	uint64_t low = atomic_load(&gp_use_map.low), high = atomic_load(&gp_use_map.high);
	while (from < low && !atomic_compare_exchange_weak(&gp_use_map.low, &low, from))
		;
	while (to > high && !atomic_compare_exchange_weak(&gp_use_map.high, &high, to))
		;
}

void gp_use_map_add(uint64_t address, uint64_t bytes)
{
	const uint64_t end = 1ull << GP_USE_ADDRESS_BITS;
	if (!address)
		return;
	if (address >= end || bytes > end - address) {
		int kept = errno;
		write_beyond();
		errno = kept;
		return;
	}
	uint64_t last = (address + (bytes ? bytes - 1 : 0)) >> GP_USE_GRANULE_SHIFT;
	for (uint64_t granule = address >> GP_USE_GRANULE_SHIFT; granule <= last;) {
		uint64_t word = granule / 64, until = last / 64 == word ? last % 64 : 63;
		uint64_t bits = UINT64_MAX << granule % 64 & UINT64_MAX >> (63 - until);
		/* use a locked instruction only for new bits */
		if (~atomic_load_explicit(&gp_use_map.bit[word], memory_order_relaxed) & bits)
			atomic_fetch_or(&gp_use_map.bit[word], bits);
		granule = (word + 1) * 64;
	}
	/* after the bits, since addresses between low and high may be looked up at once */
	widen(address, address + (bytes ? bytes : 1));
}
