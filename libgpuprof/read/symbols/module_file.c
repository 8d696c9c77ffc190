/* Finds files and proves that they belong together. */
#include "module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <lzma.h>
#include <zlib.h>

#include "../regular_file.h"
#include "bus_guard.h"

#define MINI_MAX ((size_t)256 << 20)

void gp_elf_close(struct gp_elf *elf)
{
	if (elf->elf != NULL)
		elf_end(elf->elf);
	if (elf->is_unpacked)
		free(elf->map);
	else if (elf->map != NULL) {
		gp_bus_guard_remove(elf->map);
		munmap(elf->map, elf->bytes);
	}
	*elf = (struct gp_elf){ 0 };
}

/* Takes ownership of elf->map, also on failure. */
static bool parse(struct gp_elf *elf)
{
	elf_version(EV_CURRENT);
	elf->elf = elf_memory(elf->map, elf->bytes);
	size_t sections, segments;
	if (elf->elf == NULL || elf_kind(elf->elf) != ELF_K_ELF ||
	    elf_getshdrnum(elf->elf, &sections) != 0 || elf_getphdrnum(elf->elf, &segments) != 0) {
		gp_elf_close(elf);
		return false;
	}
	const void *id = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf->elf, &id);
	if (bytes > 0 && (size_t)bytes <= sizeof elf->build_id.byte) {
		elf->build_id.bytes = (size_t)bytes;
		memcpy(elf->build_id.byte, id, (size_t)bytes);
	}
	return true;
}

static uint64_t ns_of(const struct timespec *t)
{
	return t->tv_sec > 0 ? (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec : 0;
}

uint64_t gp_stat_changed_ns(const struct stat *status)
{
	const uint64_t modified = ns_of(&status->st_mtim), changed = ns_of(&status->st_ctim);
	return modified > changed ? modified : changed;
}

/* Returns GP_SYMBOL_NAMED on success. */
static enum gp_symbol_why map_file(struct gp_elf *elf, const char *path)
{
	*elf = (struct gp_elf){ 0 };
	/*
	 * The recorder stores absolute paths: a file in the current directory is a different one.
	 */
	if (path[0] != '/')
		return GP_SYMBOL_NO_FILE;
	int fd = gp_regular_open(path, O_RDONLY);
	if (fd < 0)
		return errno == EINVAL ? GP_SYMBOL_UNREADABLE : GP_SYMBOL_NO_FILE;
	struct stat status;
	enum gp_symbol_why why = GP_SYMBOL_UNREADABLE;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < EI_NIDENT)
		goto out;
	elf->bytes = (size_t)status.st_size;
	elf->changed_unix_ns = gp_stat_changed_ns(&status);
	/* libelf may write into the image of a file with the other byte order */
	void *map =
		mmap(NULL, elf->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED)
		goto out;
	if (!gp_bus_guard_add(map, elf->bytes)) {
		munmap(map, elf->bytes);
		goto out;
	}
	elf->map = map;
	if (parse(elf))
		why = GP_SYMBOL_NAMED;
out:
	close(fd);
	return why;
}

static bool module_file_is_same(const struct gp_build_id *a, const struct gp_build_id *b)
{
	return a->bytes == b->bytes && memcmp(a->byte, b->byte, a->bytes) == 0;
}

/* The section with its contents; NULL: none. */
static Elf_Scn *section_of(Elf *elf, const char *name, GElf_Shdr *header)
{
	size_t strings;
	if (elf_getshdrstrndx(elf, &strings) != 0)
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
		if (gelf_getshdr(section, header) == NULL)
			continue;
		const char *is = elf_strptr(elf, strings, header->sh_name);
		if (is != NULL && strcmp(is, name) == 0)
			return header->sh_type != SHT_NOBITS ? section : NULL;
	}
	return NULL;
}

static bool has_names(Elf *elf)
{
	GElf_Shdr header;
	return section_of(elf, ".debug_info", &header) != NULL ||
	       section_of(elf, ".zdebug_info", &header) != NULL ||
	       section_of(elf, ".symtab", &header) != NULL;
}

static bool open_by_id(struct gp_elf *debug, const struct gp_build_id *id, const char *root)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/.build-id/%02x/", root, id->byte[0]);
	if (id->bytes < 2 || n < 0 || (size_t)n + 2 * id->bytes + sizeof ".debug" > sizeof path)
		return false;
	char *end = path + n;
	for (size_t i = 1; i < id->bytes; i++)
		end += sprintf(end, "%02x", id->byte[i]);
	strcpy(end, ".debug");
	if (map_file(debug, path) != GP_SYMBOL_NAMED)
		return false;
	if (module_file_is_same(&debug->build_id, id) && has_names(debug->elf))
		return true;
	gp_elf_close(debug);
	return false;
}

bool gp_elf_open_shared(struct gp_elf *shared, const char *path, const struct gp_build_id *id,
			const char *debug_root)
{
	GElf_Shdr header;
	bool is_found =
		open_by_id(shared, id, debug_root) || (map_file(shared, path) == GP_SYMBOL_NAMED &&
						       module_file_is_same(&shared->build_id, id));
	/* libdw would open the file that this section refers to */
	if (is_found && section_of(shared->elf, ".gnu_debugaltlink", &header) == NULL)
		return true;
	gp_elf_close(shared);
	return false;
}

/* If both sides have build ids they decide, and no CRC of gigabytes is needed. */
static bool open_linked(struct gp_elf *debug, const struct gp_elf *main, const char *path,
			uint32_t crc)
{
	if (map_file(debug, path) != GP_SYMBOL_NAMED)
		return false;
	bool is_ours = debug->bytes != main->bytes || memcmp(debug->map, main->map, main->bytes);
	if (main->build_id.bytes != 0 && debug->build_id.bytes != 0)
		is_ours = is_ours && module_file_is_same(&main->build_id, &debug->build_id);
	else
		is_ours = is_ours && crc32_z(0, debug->map, debug->bytes) == crc;
	if (is_ours && has_names(debug->elf))
		return true;
	gp_elf_close(debug);
	return false;
}

/* the same three places as GDB's */
static bool open_by_link(struct gp_elf *debug, const struct gp_elf *main, const char *path,
			 const char *root)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(main->elf, &crc);
	char real[PATH_MAX], folder[PATH_MAX], full[PATH_MAX];
	if (name == NULL || name[0] == 0 || strchr(name, '/') != NULL ||
	    realpath(path, real) == NULL)
		return false;
	strcpy(folder, dirname(real));
	const char *const place[][3] = { { "", folder, "" },
					 { "", folder, "/.debug" },
					 { root, folder, "" } };
	for (size_t i = 0; i < sizeof place / sizeof place[0]; i++) {
		int n = snprintf(full, sizeof full, "%s%s%s/%s", place[i][0], place[i][1],
				 place[i][2], name);
		if (n > 0 && (size_t)n < sizeof full && open_linked(debug, main, full, crc))
			return true;
	}
	return false;
}

/*
 * The symbol table that RPM distributions leave in stripped files: an ELF file compressed by xz.
 * Returns memory from malloc; NULL: not xz, damaged, or larger than MINI_MAX.
 */
static void *unpack(const Elf_Data *packed, size_t *bytes)
{
	/* the section does not have the unpacked size; symbol tables compress about 1:4 */
	for (size_t room = packed->d_size * 8; room != 0 && room <= MINI_MAX; room *= 4) {
		void *out = malloc(room);
		uint64_t limit = MINI_MAX;
		size_t in_at = 0;
		*bytes = 0;
		if (out == NULL)
			return NULL;
		lzma_ret status = lzma_stream_buffer_decode(&limit, 0, NULL, packed->d_buf, &in_at,
							    packed->d_size, out, bytes, room);
		if (status == LZMA_OK && *bytes != 0)
			return out;
		free(out);
		if (status != LZMA_BUF_ERROR)
			return NULL;
	}
	return NULL;
}

static void open_mini(struct gp_module_file *file)
{
	GElf_Shdr header;
	Elf_Scn *section = section_of(file->main.elf, ".gnu_debugdata", &header);
	Elf_Data *packed = section != NULL ? elf_rawdata(section, NULL) : NULL;
	if (packed == NULL || packed->d_buf == NULL)
		return;
	file->mini.map = unpack(packed, &file->mini.bytes);
	file->mini.is_unpacked = true;
	if (file->mini.map != NULL)
		parse(&file->mini);
}

void gp_module_file_open(struct gp_module_file *file, const char *path,
			 const struct gp_build_id *build_id, uint64_t mapped_unix_ns,
			 const char *debug_root)
{
	*file = (struct gp_module_file){ 0 };
	file->why = map_file(&file->main, path);
	const bool is_other =
		build_id->bytes != 0 ?
			!module_file_is_same(&file->main.build_id, build_id) :
			mapped_unix_ns != 0 && file->main.changed_unix_ns > mapped_unix_ns;
	if (file->why == GP_SYMBOL_NAMED && is_other) {
		file->why = GP_SYMBOL_MISMATCHED;
		gp_elf_close(&file->main);
	}
	const struct gp_build_id *id = build_id->bytes ? build_id : &file->main.build_id;
	bool has_debug = open_by_id(&file->debug, id, debug_root);
	if (has_debug)
		file->why = GP_SYMBOL_NAMED;
	if (file->main.elf == NULL)
		return;
	GElf_Shdr header;
	bool is_stripped = section_of(file->main.elf, ".symtab", &header) == NULL;
	if (!has_debug)
		has_debug = open_by_link(&file->debug, &file->main, path, debug_root);
	if (!has_debug && is_stripped)
		open_mini(file);
}

void gp_module_file_close(struct gp_module_file *file)
{
	gp_elf_close(&file->mini);
	gp_elf_close(&file->debug);
	gp_elf_close(&file->main);
}

uint64_t gp_module_file_bias(const struct gp_module_file *file, uint64_t base)
{
	Elf *elf = file->main.elf != NULL ? file->main.elf : file->debug.elf;
	GElf_Ehdr header;
	size_t segments;
	if (elf == NULL || gelf_getehdr(elf, &header) == NULL || header.e_type == ET_EXEC ||
	    elf_getphdrnum(elf, &segments) != 0)
		return elf == NULL ? base : 0;
	uint64_t lowest = UINT64_MAX;
	for (size_t i = 0; i < segments; i++) {
		GElf_Phdr segment;
		if (gelf_getphdr(elf, (int)i, &segment) != NULL && segment.p_type == PT_LOAD &&
		    segment.p_vaddr < lowest)
			lowest = segment.p_vaddr;
	}
	if (lowest == UINT64_MAX)
		return base;
	/* the mapping begins at a page: both addresses have the same offset in it */
	return base - (lowest & ~(uint64_t)4095);
}
