/* NVTX as a library of the job has it: its own copy of header code. Skipped without the headers. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include "victim.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#define HAVE_NVTX 1
#include <nvtx3/nvToolsExt.h>

/*
 * With "await COMMAND" as the last arguments, returns when the command succeeds: GPU time is
 * collected once the recording has a GPU_TIME event.
 */
static inline void await_collection(int argc, char **argv)
{
	if (argc < 3 || strcmp(argv[argc - 2], "await") != 0)
		return;
	while (system(argv[argc - 1]) != 0)
		usleep(10000);
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
