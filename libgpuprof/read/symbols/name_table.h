/*
 * The names that a recording stores of its native frames, by module and offset: what look-ups found
 * on some machine, so that the recording can be read where its libraries are not. Frames are told
 * apart by module (path and build id) and offset, so it does not matter when and where a module was
 * mapped. They are definitions in blocks of their own (docs/FORMAT.md, 9), read as a whole. Not for
 * tools/: their contract is gpuprof.h.
 */
#ifndef GP_NAME_TABLE_H
#define GP_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../format/block.h"
#include "symbolize.h"

/* Frames at one address: all but the last inlined. */
#define GP_NAME_FRAMES_MAX 64u
/* Frames that are stored and kept, 60 bytes each: jobs have some 10,000. */
#define GP_NAMES_MAX (1u << 21)
#define GP_NAME_MODULES_MAX 65536u	      /* their numbers are less */
#define GP_NAME_BYTES_MAX ((size_t)256 << 20) /* of the blocks: so many frames of 128 bytes */

struct gp_name_table;
/*
 * Of `count` bytes of blocks. GP_E_DAMAGED: `what` says what was expected. GP_E_VERSION: a gpuprof
 * before minor 9 stored them. GP_E_MEMORY.
 */
enum gp_status gp_name_table_open(const unsigned char *blocks, size_t count,
				  struct gp_name_table **out, const char **what);
void gp_name_table_close(struct gp_name_table *table);

/* Different native frames of the recording, and of how many of them the table has the function. */
uint64_t gp_name_table_frames(const struct gp_name_table *table);
uint64_t gp_name_table_named(const struct gp_name_table *table);

/* A module as the table knows it. */
struct gp_name_module {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_bytes;
};
/* For qsort: by path, then build id. */
int gp_name_module_order(const struct gp_name_module *a, const struct gp_name_module *b);
/*
 * What is stored of the return address that lies `offset` bytes behind the module's lowest one: at
 * most `most` frames, 0: nothing. Texts hold until the table is closed; `module` is the caller's.
 */
size_t gp_name_table_find(const struct gp_name_table *table, const struct gp_name_module *module,
			  uint64_t offset, struct gp_symbol *out, size_t most);

/* How much an answer says: more is better. 0: it was not looked for to the end. */
#define GP_SYMBOL_RANK_NAMED 3u
unsigned gp_symbol_rank(const struct gp_symbol *frame, size_t count);

/* The text of a MODULE record: build id in hexadecimal or "-", a blank, path. False: too long. */
#define GP_MODULE_TEXT_MAX 4096u
bool gp_name_module_text(const struct gp_name_module *module, char out[GP_MODULE_TEXT_MAX]);

/* ---- making the blocks of one ---- */

struct gp_name_builder;
/*
 * `last`: clocks of the blocks. `frames`: see gp_name_table_frames. NULL: no memory.
 */
struct gp_name_builder *gp_name_builder_open(const struct gp_block_header *last, uint64_t frames);
void gp_name_builder_close(struct gp_name_builder *builder);
/*
 * What is added from now on is of this module. GP_E_SPACE: its path is too long, or a bound is
 * reached; nothing may be added until another module is. GP_E_MEMORY: so is each later answer.
 */
enum gp_status gp_name_builder_module(struct gp_name_builder *builder,
				      const struct gp_name_module *module);
/* Each offset once. GP_E_SPACE: a bound is reached, or `count` is 0. GP_E_MEMORY, as above. */
enum gp_status gp_name_builder_add(struct gp_name_builder *builder, uint64_t offset,
				   const struct gp_symbol *frame, size_t count);
/* The blocks, the builder's own. NULL: no memory, now or before. */
const unsigned char *gp_name_builder_blocks(struct gp_name_builder *builder, size_t *bytes);

#endif
