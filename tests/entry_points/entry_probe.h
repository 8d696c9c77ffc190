/* Shared by the probes: finds the owner of a function, and ends the probe when a check fails. */
#ifndef ENTRY_PROBE_H
#define ENTRY_PROBE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(holds, ...)                                                                    \
	do {                                                                                \
		if (!(holds)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #holds); \
			fprintf(stderr, __VA_ARGS__);                                       \
			fputc('\n', stderr);                                                \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

/* The file (without its directory) and the symbol that an address belongs to. */
struct place {
	char file[64];
	char symbol[96];
};

static inline struct place place_of(const void *address)
{
	struct place place = { "", "" };
	Dl_info info;
	if (!address || !dladdr(address, &info))
		return place;
	const char *slash = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
	snprintf(place.file, sizeof place.file, "%s", slash ? slash + 1 : "");
	if (info.dli_sname && info.dli_saddr == address)
		snprintf(place.symbol, sizeof place.symbol, "%s", info.dli_sname);
	return place;
}

static inline bool is_ours(const void *address)
{
	return strcmp(place_of(address).file, "libgpuprof.so") == 0;
}

/* One of the rows of cuda_api.def. */
static inline bool is_row(const char *symbol)
{
	static const char *const rows[] = {
#define CUDA(row, parameters, arguments, hook) #row,
#define CALL(row, parameters)
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL
		"cuGetProcAddress",
		"cuGetProcAddress_v2",
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i], symbol) == 0)
			return true;
	return false;
}

#endif
