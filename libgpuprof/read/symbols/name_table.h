/*
 * The stored names of native frames, by module and offset. They are the results of look-ups on some
 * machine, so that the recording can be read where its libraries are missing. The key of a frame is
 * its module (path and build id) and offset: mapping times and places do not matter. The names are
 * definitions in separate blocks (docs/FORMAT.md, 9), read as a whole. Not for tools/: their
 * contract is gpuprof.h.
 */
#ifndef GP_NAME_TABLE_H
#define GP_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../format/block.h"
#include "symbolize.h"

/* Frames at one address; all but the last are inlined. */
#define GP_NAME_FRAMES_MAX 64u
/* The bound of stored frames, 60 bytes each in memory: jobs have about 10,000. */
#define GP_NAMES_MAX (1u << 21)
#define GP_NAME_MODULES_MAX 65536u	      /* the numbers are lower than this */
#define GP_NAME_BYTES_MAX ((size_t)256 << 20) /* of the blocks: GP_NAMES_MAX frames of 128 bytes */

struct gp_name_table;
/*
 * Reads `count` bytes of blocks. GP_E_DAMAGED: `what` is what was expected. GP_E_VERSION: a gpuprof
 * before minor 9 stored them. GP_E_MEMORY.
 */
enum gp_status gp_name_table_open(const unsigned char *blocks, size_t count,
				  struct gp_name_table **out, const char **what);
void gp_name_table_close(struct gp_name_table *table);

/*
 * The number of different native frames of the recording, and how many of them have a function in
 * the table.
 */
uint64_t gp_name_table_frames(const struct gp_name_table *table);
uint64_t gp_name_table_named(const struct gp_name_table *table);

/* A module as the table identifies it. */
struct gp_name_module {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_bytes;
};
/* For qsort: by path, then build id. */
int gp_name_module_order(const struct gp_name_module *a, const struct gp_name_module *b);
/*
 * The stored frames of the return address at `offset` from the module's lowest byte: at most
 * `most`, 0: none. Texts are valid until the table is closed; the caller owns `module`.
 */
size_t gp_name_table_find(const struct gp_name_table *table, const struct gp_name_module *module,
			  uint64_t offset, struct gp_symbol *out, size_t most);

/* The quality of an answer: higher is better. 0: the look-up was not completed. */
#define GP_SYMBOL_RANK_NAMED 3u
unsigned gp_symbol_rank(const struct gp_symbol *frame, size_t count);

/*
 * Writes the text of a MODULE record: build id in hexadecimal or "-", a blank, path. False: too
 * long.
 */
#define GP_MODULE_TEXT_MAX 4096u
bool gp_name_module_text(const struct gp_name_module *module, char out[GP_MODULE_TEXT_MAX]);

/* ---- building the blocks of a table ---- */

struct gp_name_builder;
/* `last`: the clocks for the blocks. `frames`: see gp_name_table_frames. NULL: out of memory. */
struct gp_name_builder *gp_name_builder_open(const struct gp_block_header *last, uint64_t frames);
void gp_name_builder_close(struct gp_name_builder *builder);
/*
 * Sets the module of the frames that are added from now on. GP_E_SPACE: its path is too long, or a
 * bound is reached; add no frame until another module is set. GP_E_MEMORY: each later call returns
 * it too.
 */
enum gp_status gp_name_builder_module(struct gp_name_builder *builder,
				      const struct gp_name_module *module);
/* Add each offset once. GP_E_SPACE: a bound is reached, or `count` is 0. GP_E_MEMORY, as above. */
enum gp_status gp_name_builder_add(struct gp_name_builder *builder, uint64_t offset,
				   const struct gp_symbol *frame, size_t count);
/* The blocks, owned by the builder. NULL: out of memory, now or before. */
const unsigned char *gp_name_builder_blocks(struct gp_name_builder *builder, size_t *bytes);

#endif
