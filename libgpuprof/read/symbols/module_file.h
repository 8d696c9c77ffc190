/*
 * The files of a module of a recording: the mapped file, proved by its build id, and its debug
 * file. Searches this machine only, never debuginfod. Files are mapped and closed at once. Any of
 * them may be missing, truncated or damaged.
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
	size_t bytes; /* 0: there is none */
	unsigned char byte[GP_BUILD_ID_MAX];
};

/* One ELF file in memory. `elf` NULL: none. */
struct gp_elf {
	Elf *elf;
	void *map;
	size_t bytes;
	bool is_unpacked;	  /* the image is from malloc */
	uint64_t changed_unix_ns; /* change of its content or its name, whichever was later */
	struct gp_build_id build_id;
};

/*
 * `why` is GP_SYMBOL_NAMED if one of the files may have names, else the problem with the file at
 * the path. `main` is that file, if it has the expected build id. Without an expected id, the file
 * must be unchanged since it was mapped. A debug file with the recorded build id may exist without
 * `main`. `debug` has debug information or a full symbol table. `mini` is the contents of
 * .gnu_debugdata, a symbol table.
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

/* The offset from link addresses to addresses, if the module's lowest byte is mapped at `base`. */
uint64_t gp_module_file_bias(const struct gp_module_file *file, uint64_t base);
/*
 * Opens the file in .gnu_debugaltlink, which has debug information of several modules. Finds it by
 * its build id below `debug_root`, else at an absolute `path`. False: no regular file with that
 * build id was found. The caller closes it with gp_elf_close.
 */
bool gp_elf_open_shared(struct gp_elf *shared, const char *path, const struct gp_build_id *id,
			const char *debug_root);
void gp_elf_close(struct gp_elf *elf);
/* As gp_elf.changed_unix_ns. */
struct stat;
uint64_t gp_stat_changed_ns(const struct stat *status);

#endif
