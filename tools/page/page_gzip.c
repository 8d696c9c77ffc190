/* Compresses what is written to a stream, as browsers read it: gzip. */
#include <stdlib.h>
#include <zlib.h>

#include "page.h"

#define GZIP_WINDOW (15 + 16) /* of 32 KiB, with the head of gzip */
#define GZIP_MEMORY 8	      /* zlib's default */
/* A third of the default level's time, for 3 to 7% more bytes of lives. */
#define GZIP_LEVEL 4

struct gp_page_deflate {
	z_stream z;
	FILE *out;
};

static bool gzip_put(struct gp_page_gzip *gzip, const void *bytes, size_t count, int flush)
{
	unsigned char some[65536];
	z_stream *z = &gzip->deflate->z;
	z->next_in = (Bytef *)(uintptr_t)bytes;
	z->avail_in = (uInt)count; /* of a stream's buffer */
	do {
		z->next_out = some;
		z->avail_out = sizeof some;
		if (deflate(z, flush) == Z_STREAM_ERROR)
			return false;
		const size_t made = sizeof some - z->avail_out;
		if (fwrite(some, 1, made, gzip->deflate->out) != made)
			return false;
	} while (z->avail_out == 0);
	gzip->count_in += count;
	return true;
}

static ssize_t gzip_take(void *context, const char *bytes, size_t count)
{
	return gzip_put(context, bytes, count, Z_NO_FLUSH) ? (ssize_t)count : 0;
}

bool gp_page_gzip_begin(struct gp_page_gzip *gzip)
{
	*gzip = (struct gp_page_gzip){ .deflate = calloc(1, sizeof *gzip->deflate) };
	if (!gzip->deflate)
		return false;
	gzip->deflate->out = open_memstream((char **)&gzip->bytes, &gzip->count);
	if (gzip->deflate->out &&
	    deflateInit2(&gzip->deflate->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) == Z_OK)
		gzip->in = fopencookie(gzip, "w", (cookie_io_functions_t){ .write = gzip_take });
	if (!gzip->in)
		gp_page_gzip_release(gzip);
	return gzip->in;
}

size_t gp_page_gzip_so_far(struct gp_page_gzip *gzip)
{
	return fflush(gzip->in) == 0 ? gzip->deflate->z.total_out : 0;
}

bool gp_page_gzip_end(struct gp_page_gzip *gzip)
{
	bool is_whole = fclose(gzip->in) == 0;
	gzip->in = NULL;
	is_whole = is_whole && gzip_put(gzip, NULL, 0, Z_FINISH);
	is_whole = fclose(gzip->deflate->out) == 0 && is_whole;
	gzip->deflate->out = NULL;
	deflateEnd(&gzip->deflate->z);
	free(gzip->deflate);
	gzip->deflate = NULL;
	return is_whole;
}

void gp_page_gzip_release(struct gp_page_gzip *gzip)
{
	if (gzip->in)
		fclose(gzip->in);
	if (gzip->deflate) {
		if (gzip->deflate->out)
			fclose(gzip->deflate->out);
		deflateEnd(&gzip->deflate->z);
		free(gzip->deflate);
	}
	free(gzip->bytes);
	*gzip = (struct gp_page_gzip){ 0 };
}
