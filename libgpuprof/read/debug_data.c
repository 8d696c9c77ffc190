/* One function of liblzma, whose prototype is its stable interface of 5.x. */
#include "debug_data.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

enum { LZMA_OK = 0, LZMA_BUF_ERROR = 10 };

typedef int unpack_function(uint64_t *memory_limit, uint32_t flags, const void *allocator,
			    const uint8_t *in, size_t *in_at, size_t in_bytes, uint8_t *out,
			    size_t *out_at, size_t out_bytes);

static unpack_function *find(void)
{
	static unpack_function *function;
	if (function == NULL) {
		void *library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
		if (library != NULL)
			*(void **)&function = dlsym(library, "lzma_stream_buffer_decode");
	}
	return function;
}

void *gp_debug_data_unpack(const void *packed, size_t packed_bytes, size_t *bytes)
{
	unpack_function *unpack = find();
	if (unpack == NULL || packed_bytes == 0)
		return NULL;
	/* the section does not say how large its contents are; symbol tables pack 1:4 or so */
	for (size_t room = packed_bytes * 8; room <= GP_DEBUG_DATA_MAX; room *= 4) {
		uint8_t *out = malloc(room);
		if (out == NULL)
			return NULL;
		uint64_t limit = GP_DEBUG_DATA_MAX;
		size_t in_at = 0;
		*bytes = 0;
		int status =
			unpack(&limit, 0, NULL, packed, &in_at, packed_bytes, out, bytes, room);
		if (status == LZMA_OK && *bytes != 0)
			return out;
		free(out);
		if (status != LZMA_BUF_ERROR)
			return NULL;
	}
	return NULL;
}
