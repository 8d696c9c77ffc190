/*
 * The names that a recording stores of its native frames, by module and offset: what look-ups found
 * on some machine, so that the recording can be read where its libraries are not. The table is one
 * stretch of bytes (docs/FORMAT.md, 9) and is checked as a whole when it is opened. Not for tools/:
 * their contract is gpuprof.h.
 */
#ifndef GP_NAME_TABLE_H
#define GP_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../format/status.h"
#include "symbolize.h"

/* What a table may take: a million frames with names of 200 bytes fit. */
#define GP_NAME_TABLE_MAX ((size_t)256 << 20)
/* What it may take in memory for the bytes that it takes in the file: names seldom reach 15. */
#define GP_NAME_TABLE_BASE ((size_t)16 << 20)
#define GP_NAME_TABLE_TIMES 64u
/* Frames at one address: all but the last inlined. */
#define GP_NAME_FRAMES_MAX 64u

struct gp_name_table;
/*
 * Takes `bytes` over, which came from malloc. On failure it is freed, and `what` says what was
 * expected when they are damaged.
 */
enum gp_status gp_name_table_open(unsigned char *bytes, size_t count, struct gp_name_table **out,
				  const char **what);
void gp_name_table_close(struct gp_name_table *table);
const unsigned char *gp_name_table_bytes(const struct gp_name_table *table, size_t *count);

/* Different native frames of the recording, and of how many of them the table has the function. */
uint64_t gp_name_table_frames(const struct gp_name_table *table);
uint64_t gp_name_table_named(const struct gp_name_table *table);

/* A module as the table knows it. */
struct gp_name_module {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_bytes;
};
/*
 * What is stored of the return address that lies `offset` bytes behind the module's lowest one: at
 * most `most` frames, 0: nothing. Texts hold until the table is closed; `module` is the caller's.
 */
size_t gp_name_table_find(const struct gp_name_table *table, const struct gp_name_module *module,
			  uint64_t offset, struct gp_symbol *out, size_t most);

/* How much an answer says: more is better. 0: it was not looked for to the end. */
#define GP_SYMBOL_RANK_NAMED 3u
unsigned gp_symbol_rank(const struct gp_symbol *frame, size_t count);

/* ---- making one ---- */

struct gp_name_builder;
struct gp_name_builder *gp_name_builder_open(void); /* NULL: no memory */
void gp_name_builder_close(struct gp_name_builder *sheet);
/* The number of a module, the same for the same one; false: no memory. */
bool gp_name_builder_module(struct gp_name_builder *sheet, const struct gp_name_module *module,
			    uint32_t *number);
/* Copies. One row a module and offset. False: no memory, or the bound is reached. */
bool gp_name_builder_add(struct gp_name_builder *sheet, uint32_t module, uint64_t offset,
			 const struct gp_symbol *frame, size_t count);
/* `frames` and `nowhere` as in the table's head. *out is from malloc. */
enum gp_status gp_name_builder_encode(struct gp_name_builder *sheet, uint64_t frames,
				      uint64_t nowhere, unsigned char **out, size_t *count);

#endif
