/* The pool (cupti_buffers.h): a table of states, changed without locks. */
#include "cupti_buffers.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define ALONE_MOST 64u /* 64 MiB */
#define KEPT 8u
#define SHARED_MOST 256u /* torch.profiler takes up to 128 MiB, we take twice that */

enum buffer_state { BUFFER_NONE, BUFFER_FREE, BUFFER_OUT };

static struct {
	_Atomic uint32_t state;
	uint8_t *_Atomic start;
} buffers[SHARED_MOST];
static _Atomic uint32_t out;

static bool buffer_claim(unsigned k, uint32_t from)
{
	return atomic_compare_exchange_strong(&buffers[k].state, &from, BUFFER_OUT);
}

static uint8_t *buffer_map(unsigned k)
{
	const int error = errno;
	void *start = mmap(NULL, GP_CUPTI_BUFFER_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = error;
	if (start == MAP_FAILED) {
		atomic_store(&buffers[k].state, BUFFER_NONE);
		return NULL;
	}
	atomic_store(&buffers[k].start, start);
	return start;
}

uint8_t *gp_cupti_buffer_take(bool is_shared)
{
	const unsigned most = is_shared ? SHARED_MOST : ALONE_MOST;
	uint8_t *start = NULL;
	for (unsigned k = 0; k < most && !start; k++)
		if (buffer_claim(k, BUFFER_FREE))
			start = atomic_load(&buffers[k].start);
	for (unsigned k = 0; k < most && !start; k++)
		if (buffer_claim(k, BUFFER_NONE) && !(start = buffer_map(k)))
			return NULL;
	if (start)
		atomic_fetch_add(&out, 1);
	return start;
}

static unsigned buffer_find(const uint8_t *buffer)
{
	unsigned k = 0;
	while (k < SHARED_MOST && atomic_load(&buffers[k].start) != buffer)
		k++;
	return k;
}

bool gp_cupti_buffer_is_ours(const uint8_t *buffer)
{
	return buffer && buffer_find(buffer) < SHARED_MOST;
}

void gp_cupti_buffer_give(uint8_t *buffer, size_t used)
{
	uint32_t from = BUFFER_OUT;
	const unsigned k = buffer_find(buffer);
	/* those of a burst go back to the kernel, which also clears them */
	if (k < KEPT || madvise(buffer, GP_CUPTI_BUFFER_BYTES, MADV_DONTNEED) != 0)
		memset(buffer, 0, used);
	if (k < SHARED_MOST &&
	    atomic_compare_exchange_strong(&buffers[k].state, &from, BUFFER_FREE))
		atomic_fetch_sub(&out, 1);
}

unsigned gp_cupti_buffers_out(void)
{
	return atomic_load(&out);
}
