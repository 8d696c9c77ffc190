/* NVTX as a library of the job has it: its own copy of header code. Skipped without the headers. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include "victim.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#define HAVE_NVTX 1
#include <nvtx3/nvToolsExt.h>
#else
#define HAVE_NVTX 0
static inline int no_nvtx(void)
{
	fprintf(stderr, "no NVTX headers here\n");
	return VICTIM_SKIPPED;
}
#endif

#endif
