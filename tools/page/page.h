/*
 * The page of `gpuprof report`: its JSON, its blocks of data, and the file (docs/PAGE.md).
 */
#ifndef GP_PAGE_H
#define GP_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

/* ---- page_gzip.c ---- */

/* A stream that compresses. The result is in memory. */
struct gp_page_gzip {
	FILE *in; /* write to it; the caller may not close it */
	unsigned char *bytes;
	size_t count;
	uint64_t count_in; /* bytes before compression */
	struct gp_page_deflate *deflate;
};
bool gp_page_gzip_begin(struct gp_page_gzip *gzip);
/* Bytes so far, less what is not yet compressed: at most some 100 KB of input. */
size_t gp_page_gzip_so_far(struct gp_page_gzip *gzip);
/* Sets bytes and count. False: out of memory. */
bool gp_page_gzip_end(struct gp_page_gzip *gzip);
void gp_page_gzip_release(struct gp_page_gzip *gzip);

/* ---- the page ---- */

struct gp_page {
	struct gp_page_gzip
		report; /* the JSON; its last member, `data`, is written with the page */
	struct gp_json json;
	struct gp_page_gzip *data;
	size_t blocks;
	const char *title;
	/* the folder of data beside the page; "": all data is in the page */
	char folder[4096], written[4096];
	bool is_exchanged; /* `written` is the folder that was replaced */
	bool is_left;	   /* `folder` is that of the page before; this one has none */
};

/* ---- page_documents.c ---- */

struct gp_page_documents;
/*
 * Begins to run commands on `recording` in other processes; each command has a process of its own.
 * NULL: errno. `recording` may be used meanwhile.
 */
struct gp_page_documents *gp_page_documents_begin(const char *path, struct gp_recording *recording,
						  const struct gp_info *info);
/*
 * Finds what several commands need (gp_recording_prepare), and begins to run those. Call it once,
 * before other replays of `recording`.
 */
void gp_page_documents_share(struct gp_page_documents *documents);
/* Runs the remaining commands, and waits for all. */
void gp_page_documents_finish(struct gp_page_documents *documents);
/*
 * Members `documents`, `missing` and `commands`. `no_lives`, `no_lanes`: reasons for missing lives
 * and lanes, or NULL.
 */
void gp_page_documents_write(const struct gp_page_documents *documents, struct gp_json *json,
			     const char *no_lives, const char *no_lanes);
/* The text of a document; NULL: it is missing, or out of memory. The caller frees it. */
char *gp_page_documents_text(const struct gp_page_documents *documents, const char *name,
			     size_t *bytes);
void gp_page_documents_free(struct gp_page_documents *documents);

/* ---- page_lives.c ---- */

/* A gp_lives_sink, whose context is the page: adds a block. Remove those of a failure. */
enum gp_status gp_page_data_add(void *page, const unsigned char *bytes, size_t count,
				size_t *number);
void gp_page_data_cut(struct gp_page *page, size_t blocks);

/* Adds the blocks to the page. Free `lives` with gp_lives_free, also after a failure. */
enum gp_status gp_page_lives_build(struct gp_page *page, struct gp_recording *recording,
				   struct gp_lives *lives);
/* `alloc_conf`: gp_info.alloc_conf. */
void gp_page_lives_write(struct gp_json *json, const struct gp_lives *lives,
			 const char *alloc_conf);

/* ---- page_lanes.c ---- */

/*
 * As gp_page_lives_build and gp_page_lives_write. Without GPU time, `gpu` is null, and *why is the
 * reason; else NULL.
 */
enum gp_status gp_page_lanes_build(struct gp_page *page, struct gp_recording *recording,
				   struct gp_lanes *lanes, const char **why);
void gp_page_lanes_write(struct gp_json *json, const struct gp_lanes *lanes);

/* ---- page_ranks.c ---- */

struct gp_page_ranks {
	size_t ranks, rows;
	struct gp_page_rank *rank;
	struct gp_page_rank_row *row; /* a device of a recording */
};
/* Adds a recording, after its documents. False: out of memory. */
bool gp_page_ranks_add(struct gp_page_ranks *ranks, const char *path,
		       struct gp_recording *recording, const struct gp_info *info,
		       const struct gp_page_documents *documents);
/* The member `ranks`; null for less than two recordings. */
void gp_page_ranks_write(const struct gp_page_ranks *ranks, struct gp_json *json);
void gp_page_ranks_release(struct gp_page_ranks *ranks);

/* ---- page_file.c ---- */

/*
 * Writes the page to `out`, and data that would make it too large to NAME_data beside `path`, the
 * file's name. `path` NULL: all data is in the page. Prints its errors. Returns an exit status.
 */
int gp_page_write(struct gp_page *page, FILE *out, const char *path, bool is_forced);
/* After the file has its name, or failed: keeps the folder of data, or removes it. */
void gp_page_settle(struct gp_page *page, bool is_kept);
void gp_page_release(struct gp_page *page);

#endif
