/* A list in which a new module replaces the oldest. */
#include "module_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define POOL_MAX 64u /* a job maps a few dozens; the guard has room for 1024 files */

struct kept {
	char *path, *debug_root; /* path NULL: free */
	struct gp_build_id build_id;
	dev_t device;
	ino_t file;
	struct gp_module_names names;
};

static struct kept pool[POOL_MAX];
static size_t next; /* index of the next place to replace */

void gp_module_names_close(struct gp_module_names *names)
{
	gp_dwarf_close(names->dwarf);
	gp_elf_symbols_release(&names->symbols);
	gp_module_file_close(&names->file);
	names->dwarf = NULL;
}

static void kept_release(struct kept *k)
{
	free(k->path);
	free(k->debug_root);
	k->path = k->debug_root = NULL;
}

static bool is_unchanged(const struct gp_elf *elf, const struct stat *now)
{
	return elf->bytes == (size_t)now->st_size &&
	       elf->changed_unix_ns == gp_stat_changed_ns(now);
}

bool gp_module_pool_take(const char *path, const struct gp_build_id *id, const char *debug_root,
			 struct gp_module_names *out)
{
	struct stat now;
	for (size_t k = 0; k < POOL_MAX; k++) {
		struct kept *kept = &pool[k];
		if (kept->path == NULL || kept->build_id.bytes != id->bytes ||
		    memcmp(kept->build_id.byte, id->byte, id->bytes) != 0 ||
		    strcmp(kept->path, path) != 0 || strcmp(kept->debug_root, debug_root) != 0)
			continue;
		const bool is_it = stat(path, &now) == 0 && kept->device == now.st_dev &&
				   kept->file == now.st_ino &&
				   is_unchanged(&kept->names.file.main, &now);
		if (is_it)
			*out = kept->names;
		else
			gp_module_names_close(&kept->names);
		kept_release(kept);
		return is_it;
	}
	return false;
}

void gp_module_pool_give(const char *path, const struct gp_build_id *id, const char *debug_root,
			 struct gp_module_names *names)
{
	struct stat now;
	struct kept kept = { .build_id = *id };
	/* The build ids of the file and its debug file are proved, so their images stay valid. */
	const bool is_proved = id->bytes != 0 && names->file.main.elf != NULL;
	if (!is_proved || stat(path, &now) != 0 || !is_unchanged(&names->file.main, &now)) {
		gp_module_names_close(names);
		return;
	}
	kept.path = strdup(path);
	kept.debug_root = strdup(debug_root);
	if (kept.path == NULL || kept.debug_root == NULL) {
		kept_release(&kept);
		gp_module_names_close(names);
		return;
	}
	kept.device = now.st_dev;
	kept.file = now.st_ino;
	kept.names = *names;
	*names = (struct gp_module_names){ 0 };
	struct kept *place = &pool[next++ % POOL_MAX];
	if (place->path != NULL) {
		gp_module_names_close(&place->names);
		kept_release(place);
	}
	*place = kept;
}
