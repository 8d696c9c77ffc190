/* The handler uses only a table and mmap(2). A fault elsewhere ends the process as before. */
#include "bus_guard.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANGES_MAX 1024u /* a symbolizer has a few dozen modules open, with three files each */

static struct range {
	uintptr_t base; /* 0: free */
	size_t bytes;
} ranges[RANGES_MAX];
static struct sigaction before;
static unsigned guarded; /* number of ranges; the handler is installed while it is not 0 */

static void replace_page(int signal, siginfo_t *info, void *context)
{
	(void)context;
	const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)info->si_addr;
	for (unsigned k = 0; k < RANGES_MAX; k++) {
		if (ranges[k].base == 0 || at - ranges[k].base >= ranges[k].bytes)
			continue;
		void *page = (void *)(at & ~(page_bytes - 1));
		if (mmap(page, page_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
			return;
	}
	sigaction(signal, &before, NULL); /* the access is repeated with the old handler */
}

bool gp_bus_guard_add(void *base, size_t bytes)
{
	unsigned k = 0;
	while (k < RANGES_MAX && ranges[k].base != 0)
		k++;
	if (k == RANGES_MAX)
		return false;
	struct sigaction action = { .sa_sigaction = replace_page, .sa_flags = SA_SIGINFO };
	sigemptyset(&action.sa_mask);
	if (guarded == 0 && sigaction(SIGBUS, &action, &before) != 0)
		return false;
	guarded++;
	ranges[k] = (struct range){ (uintptr_t)base, bytes };
	return true;
}

void gp_bus_guard_remove(const void *base)
{
	for (unsigned k = 0; k < RANGES_MAX; k++) {
		if (ranges[k].base != (uintptr_t)base)
			continue;
		ranges[k] = (struct range){ 0 };
		if (--guarded == 0)
			sigaction(SIGBUS, &before, NULL);
	}
}
