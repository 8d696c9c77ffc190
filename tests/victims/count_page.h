/* A page that count_up and the storm share: it counts returned calls and survives a kill. */
#ifndef COUNT_PAGE_H
#define COUNT_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define COUNT_THREADS 8

struct count_page {
	_Atomic uint64_t pid;
	struct {
		_Alignas(64) _Atomic uint64_t allocs, frees;
	} thread[COUNT_THREADS];
};

#endif
