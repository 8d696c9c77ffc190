/*
 * The files of a module of a recording: the one that was mapped, proved by its build id, and the
 * debug file that belongs to it, looked for on this machine only (never debuginfod). Files are
 * mapped and closed at once; any of them may be missing, cut short or damaged.
 */
#ifndef GP_MODULE_FILE_H
#define GP_MODULE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

#include "symbolize.h"

#define GP_BUILD_ID_MAX 64u

struct gp_build_id {
	size_t bytes; /* 0: none */
	unsigned char byte[GP_BUILD_ID_MAX];
};

/* One ELF file in memory. `elf` NULL: none. */
struct gp_elf {
	Elf *elf;
	void *map;
	size_t bytes;
	bool is_unpacked;	  /* from malloc */
	uint64_t changed_unix_ns; /* its content or its name, whichever was later */
	struct gp_build_id build_id;
};

/*
 * `why` is GP_SYMBOL_NAMED where one of them may name something, else what is wrong with the file
 * at the path. `main` is that file, if it has the build id that was asked for; where none was, if
 * it was not changed since it was mapped. A debug file found by the recorded build id may be there
 * without it. `debug` carries debug information or a full symbol table; `mini` is what
 * .gnu_debugdata holds, a symbol table.
 */
struct gp_module_file {
	enum gp_symbol_why why;
	struct gp_elf main, debug, mini;
};

/* `mapped_unix_ns`: see struct gp_module. `debug_root`: where <root>/.build-id/ and <root>/<folder
 * of the file>/ are; "/usr/lib/debug". */
void gp_module_file_open(struct gp_module_file *file, const char *path,
			 const struct gp_build_id *build_id, uint64_t mapped_unix_ns,
			 const char *debug_root);
void gp_module_file_close(struct gp_module_file *file);

/* What link addresses are moved by when the module's lowest byte is mapped at `base`. */
uint64_t gp_module_file_bias(const struct gp_module_file *file, uint64_t base);
/*
 * The file that debug information shares with that of other modules, as .gnu_debugaltlink names it:
 * by its build id below `debug_root`, else at a whole `path`. False: none with that build id is a
 * regular file. It is its user's to close, with gp_elf_close.
 */
bool gp_elf_open_shared(struct gp_elf *shared, const char *path, const struct gp_build_id *id,
			const char *debug_root);
void gp_elf_close(struct gp_elf *elf);
/* As gp_elf.changed_unix_ns. */
struct stat;
uint64_t gp_stat_changed_ns(const struct stat *status);

#endif
