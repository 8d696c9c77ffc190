/*
 * Return addresses of a recording to functions, files and lines, after the run, from the files of
 * its modules: debug information with the calls that were inlined, else symbol + offset, else
 * module + offset. What cannot be proved is not named: a file whose build id is not the recorded
 * one names nothing. Looks on this machine only, never asks debuginfod. Not for tools/: their
 * contract is gpuprof.h. One thread at a time.
 */
#ifndef GP_SYMBOLIZE_H
#define GP_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../gpuprof.h"

enum gp_symbol_why {
	GP_SYMBOL_NAMED = 0,
	GP_SYMBOL_NO_MODULE = 1,  /* in no module: made at run time, or a damaged frame */
	GP_SYMBOL_AMBIGUOUS = 2,  /* two modules were mapped there, and when is not known */
	GP_SYMBOL_NO_FILE = 3,	  /* the module's file is gone */
	GP_SYMBOL_UNREADABLE = 4, /* no ELF file, or cut short */
	GP_SYMBOL_MISMATCHED = 5, /* the file was rebuilt or replaced since the run */
	GP_SYMBOL_NO_NAME = 6,	  /* stripped, or between functions */
	GP_SYMBOL_TIME_UP = 7,	  /* the limit was reached: ask again */
	GP_SYMBOL_NO_MEMORY = 8,  /* or the bound on names was reached */
};

struct gp_symbol {
	/* demangled, without parameters; NULL unknown. Debug information, else the symbol */
	const char *function;
	const char *file; /* NULL unknown; as the compiler knew it, absolute if that is known */
	uint32_t line;	  /* 0 unknown */
	bool is_inlined;  /* into the frame that follows */
	enum gp_symbol_why why;
	const char *symbol; /* of the symbol table, demangled; NULL unknown */
	const char *module; /* path; NULL: none */
	uint64_t module_offset;
};

/* Why there is no function, a text that holds for ever; NULL: there is one. */
const char *gp_symbol_why_text(enum gp_symbol_why why);

#define GP_ANY_TIME UINT64_MAX

struct gp_module {
	uint32_t number; /* of the recording; 0: none */
	const char *path;
	const void *build_id;
	size_t build_id_bytes; /* 0: the recording has none */
	uint64_t base, bytes;  /* what was mapped; base: of its lowest byte */
	/* When it was seen to be mapped, 0: not known. Without a build id, a file that was written
	 * or renamed since is taken for another one. */
	uint64_t mapped_unix_ns;
	/* while it was mapped, in any unit that grows; 0 and GP_ANY_TIME: not known */
	uint64_t from, until;
};

struct gp_symbolizer;
struct gp_symbolizer *gp_symbolizer_open(void); /* NULL: no memory */
void gp_symbolizer_close(struct gp_symbolizer *s);

/*
 * Copies `module`. The same one with the same number again changes its times alone. False: no
 * memory, or an empty range.
 */
bool gp_symbolizer_add_module(struct gp_symbolizer *s, const struct gp_module *module);

/*
 * Frames are looked for at this time from now on, in the unit of the modules' `from` and `until`;
 * GP_ANY_TIME, the default: not known.
 */
void gp_symbolizer_set_time(struct gp_symbolizer *s, uint64_t at);

/*
 * `is_over` is asked now and then; once true, only what is at hand is answered, the rest is
 * GP_SYMBOL_TIME_UP. NULL takes the limit away. Without it a look-up ends when it ends: reading
 * one large module takes seconds.
 */
void gp_symbolizer_set_limit(struct gp_symbolizer *s, bool (*is_over)(void *context),
			     void *context);

/* Where debug files are kept; default "/usr/lib/debug". Before the first look-up. */
void gp_symbolizer_set_debug_root(struct gp_symbolizer *s, const char *path);

/*
 * The frames at the call that returns to `pc`, innermost first, all but the last inlined; at
 * most `most` (> 0). At least 1: a frame about which nothing is known says why. Strings hold until
 * close.
 */
size_t gp_symbolizer_find(struct gp_symbolizer *s, uint64_t pc, struct gp_symbol *out, size_t most);

/*
 * Names that a recording stores: they are the first answer, files of this machine the second, for
 * what is not named there. `table` must live as long as `s`; NULL: none.
 */
struct gp_name_table;
void gp_symbolizer_set_stored(struct gp_symbolizer *s, const struct gp_name_table *table);

/*
 * For whoever stores names: the modules, by index, that were ever mapped around the call that
 * returns to `pc`, as gp_module_map_visit tells them.
 */
bool gp_symbolizer_visit(struct gp_symbolizer *s, uint64_t pc,
			 bool (*visit)(void *context, size_t index), void *context, bool *is_whole);
/* As gp_symbolizer_find, of a return address in module `index`, whenever that was mapped. */
size_t gp_symbolizer_find_in(struct gp_symbolizer *s, size_t index, uint64_t pc,
			     struct gp_symbol *out, size_t most);
/* The module as it was added; its texts hold until close. */
const struct gp_module *gp_symbolizer_get(const struct gp_symbolizer *s, size_t index,
					  const void **build_id, size_t *build_id_bytes);

/*
 * Frames that were asked for and have no name because their module's file is gone, another one or
 * not readable, by module, most frames first; once for each address. From malloc; NULL: no memory.
 * Texts hold until close.
 */
struct gp_unnamed *gp_symbolizer_unnamed(const struct gp_symbolizer *s, size_t *modules);
/* Most frames first: for qsort of struct gp_unnamed. */
int gp_unnamed_order(const void *left, const void *right);

#endif
