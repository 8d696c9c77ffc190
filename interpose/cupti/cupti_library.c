/* Finding and loading CUPTI (cupti_library.h). The only file here that enters the loader. */
#include "cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "../lookup/elf_tables.h"

#define NAME "libcupti.so"

/* Of one mapped library; the base identifies it. */
struct library {
	struct gp_cupti functions;
	uintptr_t base;
};

struct walk {
	struct library *first;
	uintptr_t skipped;
	unsigned count;
};

/* two: the job's may follow one that we have brought */
static struct library libraries[2];
static const struct gp_cupti *_Atomic current;
static _Atomic bool is_ours, is_filling;
static _Atomic uintptr_t skipped_base;

static void *library_symbol(const struct gp_elf_tables *tables, const char *name)
{
	return gp_elf_find_symbol(tables, GP_ELF_FUNCTION, name, gp_elf_hash(name), NULL);
}

static void library_read(const struct gp_elf_tables *tables, struct library *library)
{
	library->base = tables->object->dlpi_addr;
#define EXPORT(symbol, parameters, arguments) CALL(symbol, parameters)
#define CALL(symbol, parameters) \
	library->functions.symbol = (uint32_t(*) parameters)library_symbol(tables, #symbol);
#include "cupti_exports.def"
#undef EXPORT
#undef CALL
#define CALL(symbol) \
	library->functions.symbol = (uint32_t(*)(void *))library_symbol(tables, #symbol);
#include "../counters/pm_sampling.def"
#include "../counters/range_profiler.def"
#undef CALL
}

static int library_visit(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct walk *walk = context;
	struct gp_elf_tables tables;
	if (strncmp(gp_elf_file_name(object), NAME, sizeof NAME - 1) != 0 ||
	    object->dlpi_addr == walk->skipped || !gp_elf_tables_read(object, &tables) ||
	    !library_symbol(&tables, "cuptiActivityEnable"))
		return 0;
	if (walk->count++ == 0 && walk->first)
		library_read(&tables, walk->first);
	return 0;
}

const struct gp_cupti *gp_cupti_found(void)
{
	return atomic_load_explicit(&current, memory_order_acquire);
}

const struct gp_cupti *gp_cupti_find(void)
{
	const struct gp_cupti *found = gp_cupti_found();
	struct library library;
	struct walk walk = { .first = &library, .skipped = atomic_load(&skipped_base) };
	if (found)
		return found;
	memset(&library, 0, sizeof library);
	dl_iterate_phdr(library_visit, &walk);
	if (walk.count == 0)
		return NULL;
	/* a thread that comes second sees NULL for the moment that the first needs */
	while (atomic_exchange(&is_filling, true))
		if ((found = gp_cupti_found()))
			return found;
	found = gp_cupti_found();
	if (!found) {
		struct library *place = &libraries[walk.skipped != 0];
		*place = library;
		found = &place->functions;
		atomic_store_explicit(&current, found, memory_order_release);
	}
	atomic_store(&is_filling, false);
	return found;
}

unsigned gp_cupti_count(void)
{
	struct walk walk = { 0 };
	dl_iterate_phdr(library_visit, &walk);
	return walk.count;
}

const char *gp_cupti_missing(const struct gp_cupti *cupti)
{
#define NEED(symbol)        \
	if (!cupti->symbol) \
		return #symbol;
	NEED(cuptiActivityRegisterCallbacks)
	NEED(cuptiActivityEnable)
	NEED(cuptiActivityDisable)
	NEED(cuptiActivityFlushAll)
	NEED(cuptiActivityGetNumDroppedRecords)
	NEED(cuptiActivityGetNextRecord)
	NEED(cuptiGetTimestamp)
	NEED(cuptiGetVersion)
#undef NEED
	return NULL;
}

/* The path of the mapped CUPTI, to hold it by. */
static int library_path(struct dl_phdr_info *object, size_t bytes, void *path)
{
	(void)bytes;
	if (strncmp(gp_elf_file_name(object), NAME, sizeof NAME - 1) != 0 ||
	    strlen(object->dlpi_name) >= 4096)
		return 0;
	strcpy(path, object->dlpi_name);
	return 1;
}

/* The newest first. The toolkit's folders are not on the loader's path. */
static const char *const places[] = {
	"libcupti.so.13",
	"libcupti.so.12",
	"/usr/local/cuda/lib64/libcupti.so.13",
	"/usr/local/cuda/lib64/libcupti.so.12",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12",
};

/* A program with the runtime of CUDA 12 gets the CUPTI of CUDA 12. */
static int library_is_runtime(struct dl_phdr_info *object, size_t bytes, void *is_older)
{
	(void)bytes;
	*(bool *)is_older |= strcmp(gp_elf_file_name(object), "libcudart.so.12") == 0;
	return 0;
}

bool gp_cupti_load(void)
{
	char path[4096];
	void *handle = NULL;
	bool is_older = false;
	if (dl_iterate_phdr(library_path, path)) {
		handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		dlerror();
		return gp_cupti_find() != NULL;
	}
	dl_iterate_phdr(library_is_runtime, &is_older);
	for (size_t k = 0; !handle && k < sizeof places / sizeof *places; k++)
		handle = dlopen(places[is_older ? k ^ 1 : k],
				RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	dlerror(); /* hide our failure from the program */
	atomic_store(&is_ours, handle != NULL);
	return handle && gp_cupti_find();
}

bool gp_cupti_load_beside(const char *name)
{
	char path[4096 + 64];
	void *handle = NULL;
	if (dl_iterate_phdr(library_path, path)) {
		char *slash = strrchr(path, '/');
		strcpy(slash ? slash + 1 : path, name);
		handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	}
	if (!handle)
		handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	dlerror();
	return handle != NULL;
}

struct wanted {
	const char *file, *symbol;
	void *found;
};

static int wanted_visit(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct wanted *wanted = context;
	struct gp_elf_tables tables;
	if (strncmp(gp_elf_file_name(object), wanted->file, strlen(wanted->file)) == 0 &&
	    gp_elf_tables_read(object, &tables))
		wanted->found = library_symbol(&tables, wanted->symbol);
	return wanted->found != NULL;
}

void *gp_mapped_function(const char *file, const char *symbol)
{
	struct wanted wanted = { .file = file, .symbol = symbol };
	dl_iterate_phdr(wanted_visit, &wanted);
	return wanted.found;
}

bool gp_cupti_is_loaded_by_us(void)
{
	return atomic_load(&is_ours);
}

void gp_cupti_prefer_job(void)
{
	atomic_store(&skipped_base, libraries[0].base);
	atomic_store(&is_ours, false);
	atomic_store(&current, NULL);
	gp_cupti_find();
}
