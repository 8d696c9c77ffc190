/* NVTX as a library of the job has it: its own copy of header code. Skipped without the headers. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include "victim.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#define HAVE_NVTX 1
#include <nvtx3/nvToolsExt.h>

/*
 * Returns when GPU time is collected, if the last argument is "await". The thread of
 * libgpuprof-cupti.so enables kernels twice: to try CUPTI, and to collect.
 */
static inline void await_collection(int argc, char **argv)
{
	const _Atomic uint32_t *enables = NULL;
	if (strcmp(argv[argc - 1], "await") != 0)
		return;
	while (enables == NULL) {
		void *cupti = dlopen("libcupti.so.13", RTLD_NOLOAD | RTLD_NOW);
		enables = cupti ? dlsym(cupti, "fake_cupti_enables") : NULL;
		usleep(1000);
	}
	while (*enables < 2)
		usleep(1000);
}
#else
#define HAVE_NVTX 0
static inline int no_nvtx(void)
{
	fprintf(stderr, "no NVTX headers here\n");
	return VICTIM_SKIPPED;
}
#endif

#endif
