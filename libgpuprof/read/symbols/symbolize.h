/*
 * Converts return addresses of a recording to functions, files and lines, after the run, from the
 * files of its modules. Uses debug information with inlined calls, else symbol + offset, else
 * module + offset. Unproved names are omitted: a file with a different build id gives no names.
 * Searches this machine only, never debuginfod. Not for tools/: their contract is gpuprof.h. One
 * thread at a time.
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
	GP_SYMBOL_AMBIGUOUS = 2,  /* two modules were mapped there at unknown times */
	GP_SYMBOL_NO_FILE = 3,	  /* the module's file is gone */
	GP_SYMBOL_UNREADABLE = 4, /* not an ELF file, or truncated */
	GP_SYMBOL_MISMATCHED = 5, /* the file was rebuilt or replaced since the run */
	GP_SYMBOL_NO_NAME = 6,	  /* stripped, or between functions */
	GP_SYMBOL_TIME_UP = 7,	  /* the limit was reached: repeat the look-up */
	GP_SYMBOL_NO_MEMORY = 8,  /* or the bound on names was reached */
};

struct gp_symbol {
	/* Demangled, without parameters; NULL unknown. From debug information, else the symbol. */
	const char *function;
	const char *file; /* NULL unknown; absolute if its directory is known */
	uint32_t line;	  /* 0 unknown */
	bool is_inlined;  /* into the next frame */
	enum gp_symbol_why why;
	const char *symbol; /* from the symbol table, demangled; NULL unknown */
	const char *module; /* path; NULL: none */
	uint64_t module_offset;
};

/* Why there is no function, a static text; NULL: there is one. */
const char *gp_symbol_why_text(enum gp_symbol_why why);

#define GP_ANY_TIME UINT64_MAX

struct gp_module {
	uint32_t number; /* in the recording; 0: none */
	const char *path;
	const void *build_id;
	size_t build_id_bytes; /* 0: the recording has none */
	uint64_t base, bytes;  /* the mapped range; base: its lowest byte */
	/*
	 * When it was first seen mapped; 0: unknown. Without a build id, a file that was written or
	 * renamed after that does not count as the same file.
	 */
	uint64_t mapped_unix_ns;
	/* The interval of its mapping, in any unit that increases; 0 and GP_ANY_TIME: unknown. */
	uint64_t from, until;
};

struct gp_symbolizer;
struct gp_symbolizer *gp_symbolizer_open(void); /* NULL: no memory */
void gp_symbolizer_close(struct gp_symbolizer *s);

/*
 * Copies `module`. Adding an equal module with the same number changes its times only. False: out
 * of memory, or an empty range.
 */
bool gp_symbolizer_add_module(struct gp_symbolizer *s, const struct gp_module *module);

/*
 * Sets the time of the next look-ups, in the unit of the modules' `from` and `until`. GP_ANY_TIME,
 * the default: unknown.
 */
void gp_symbolizer_set_time(struct gp_symbolizer *s, uint64_t at);

/*
 * Calls `is_over` now and then. Once it returns true, only cached answers are returned, the others
 * are GP_SYMBOL_TIME_UP. NULL removes the limit. Without a limit the time is unbounded: reading one
 * large module takes seconds.
 */
void gp_symbolizer_set_limit(struct gp_symbolizer *s, bool (*is_over)(void *context),
			     void *context);

/* The folder of debug files; default "/usr/lib/debug". Call it before the first look-up. */
void gp_symbolizer_set_debug_root(struct gp_symbolizer *s, const char *path);

/*
 * The frames at the call that returns to `pc`, innermost first, all but the last inlined; at most
 * `most` (> 0). Returns at least 1: a frame without a name has its reason in `why`. Strings are
 * valid until close.
 */
size_t gp_symbolizer_find(struct gp_symbolizer *s, uint64_t pc, struct gp_symbol *out, size_t most);

/*
 * Sets the stored names of a recording. They are the first answer. Files of this machine are the
 * second, for frames without a stored name. `table` must live as long as `s`; NULL: none.
 */
struct gp_name_table;
void gp_symbolizer_set_stored(struct gp_symbolizer *s, const struct gp_name_table *table);

/*
 * For code that stores names: visits by index the modules that were ever mapped around the call
 * that returns to `pc`, as gp_module_map_visit does.
 */
bool gp_symbolizer_visit(struct gp_symbolizer *s, uint64_t pc,
			 bool (*visit)(void *context, size_t index), void *context, bool *is_whole);
/* As gp_symbolizer_find, for a return address in module `index`, at any time. */
size_t gp_symbolizer_find_in(struct gp_symbolizer *s, size_t index, uint64_t pc,
			     struct gp_symbol *out, size_t most);
/* The module as it was added; its texts are valid until close. */
const struct gp_module *gp_symbolizer_get(const struct gp_symbolizer *s, size_t index,
					  const void **build_id, size_t *build_id_bytes);

/*
 * The looked-up frames that have no name because the file of their module is gone, a different one
 * or unreadable. By module, most frames first; each address counts once. From malloc; NULL: out of
 * memory. Texts are valid until close.
 */
struct gp_unnamed *gp_symbolizer_unnamed(const struct gp_symbolizer *s, size_t *modules);
/* Most frames first: for qsort of struct gp_unnamed. */
int gp_unnamed_order(const void *left, const void *right);

#endif
