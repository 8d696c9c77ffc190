/*
 * The parts of a driver symbol: cuStreamBeginCapture_v2_ptsz is the second cuStreamBeginCapture,
 * per thread.
 */
#ifndef GP_SYMBOL_NAME_H
#define GP_SYMBOL_NAME_H

#include <stdbool.h>
#include <string.h>

struct gp_symbol_name {
	char base[96];	  /* the name that cuGetProcAddress gets */
	int variant;	  /* 1 without "_vN" */
	const char *twin; /* "_ptsz", "_ptds", or "" */
};

/* False: longer than any symbol of the driver. */
static inline bool gp_symbol_parse(const char *symbol, struct gp_symbol_name *out)
{
	size_t bytes = strlen(symbol);
	if (bytes >= sizeof out->base)
		return false;
	memcpy(out->base, symbol, bytes + 1);
	out->variant = 1;
	out->twin = symbol + bytes;
	if (bytes > 5 && (strcmp(symbol + bytes - 5, "_ptsz") == 0 ||
			  strcmp(symbol + bytes - 5, "_ptds") == 0)) {
		bytes -= 5;
		out->twin = symbol + bytes;
		out->base[bytes] = '\0';
	}
	if (bytes > 3 && out->base[bytes - 3] == '_' && out->base[bytes - 2] == 'v') {
		out->variant = out->base[bytes - 1] - '0';
		out->base[bytes - 3] = '\0';
	}
	return true;
}

#endif
