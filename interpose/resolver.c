/*
 * Fills gp_cuda and builds the routes: a hash table from every address under which a caller may get
 * a row's function to the row. Each thread that finds none builds its own and the first one
 * published stays: no lock that a fork could leave held. Never loads the driver.
 */
#include "resolver.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../libgpuprof/record/stack_take.h"
#include "door_procaddress.h"
#include "elf_lookup.h"
#include "elf_tables.h"
#include "mapped_scope.h"
#include "mapped_symbol.h"

#define DRIVER "libcuda.so.1"
/* A power of two, over four times the addresses that GP_CUDA_ROWS rows can have. */
#define SLOTS 4096u
#define BEHIND_MAX 8u
#define RESOLVERS 2u
#define WANTED (GP_CUDA_ROWS + GP_CUDA_CALLS + RESOLVERS)

struct route {
	_Atomic uintptr_t real;
	const struct gp_cuda_wrapper *_Atomic row; /* stored after `real`: NULL for a moment */
};

/* One function that a build looks for. */
struct wanted {
	const struct gp_cuda_wrapper *row;
	uint32_t hash;
	void *exported; /* by the driver */
	void *linked;	/* what a reference of the program would be bound to if we were not there */
};

struct routes {
	struct gp_elf_range driver;
	struct gp_elf_range behind[BEHIND_MAX]; /* other interposers, between us and the driver */
	_Atomic unsigned behinds;
	bool is_from_start;	/* the driver is: it stays */
	_Atomic bool is_pinned; /* it cannot be unloaded any more */
	_Atomic bool is_learning;
	struct wanted wanted[WANTED];
	struct route slot[SLOTS];
};

struct gp_cuda gp_cuda;
gp_dlsym_function *gp_next_dlsym;
gp_get_proc_address *gp_real_get_proc_address;
gp_get_proc_address_v2 *gp_real_get_proc_address_v2;
bool gp_doors_open GP_HOT_DATA;
unsigned gp_objects_at_start;

gp_dlsym_function *gp_libc_dlsym;
static struct routes *_Atomic published;

static const struct gp_cuda_wrapper resolvers[RESOLVERS] = {
	{ "cuGetProcAddress", (void *)gp_door_get_proc_address,
	  (void **)&gp_real_get_proc_address },
	{ "cuGetProcAddress_v2", (void *)gp_door_get_proc_address_v2,
	  (void **)&gp_real_get_proc_address_v2 },
};

/* ---- the next dlsym ---- */

/* A C library without any dlsym that we know: look-ups fail, nothing crashes. */
static void *no_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

/*
 * Read from the mapped object: for a preload behind us may carry dlsym under libc's versions, as we
 * do, and one before us may need dlsym for its first malloc, where the loader's own look-ups would
 * call that malloc again. ThreadSanitizer's runtime has functions in front of libc's, which jump to
 * NULL until it has looked the originals up, and its first look-up already comes here. So this path
 * calls no function that a sanitizer intercepts.
 */
void gp_dlsym_find(void)
{
	void *found = gp_mapped_symbol("libc.so", "dlsym", NULL, 0);
	if (!found) /* before glibc 2.34 */
		found = gp_mapped_symbol("libdl", "dlsym", NULL, 0);
	gp_dlsym_function *libc = found ? (gp_dlsym_function *)found : no_dlsym;
	void *next = gp_mapped_next((const void *)&gp_cuda, UINT32_MAX, "dlsym");
	/* the same values from every thread */
	__atomic_store_n(&gp_libc_dlsym, libc, __ATOMIC_RELAXED);
	__atomic_store_n(&gp_next_dlsym, next ? (gp_dlsym_function *)next : libc, __ATOMIC_RELEASE);
}

/* ---- routes ---- */

static unsigned slot_of(uintptr_t real)
{
	return (unsigned)((real >> 4) * 0x9e3779b97f4a7c15u >> 52) & (SLOTS - 1);
}

static void route_add(struct routes *routes, const void *real, const struct gp_cuda_wrapper *row)
{
	if (!real || !row->wrapper)
		return;
	for (unsigned i = slot_of((uintptr_t)real);; i = (i + 1) & (SLOTS - 1)) {
		uintptr_t none = 0;
		if (atomic_compare_exchange_strong(&routes->slot[i].real, &none, (uintptr_t)real))
			/* partner: the acquire load in route_find */
			atomic_store_explicit(&routes->slot[i].row, row, memory_order_release);
		/* several names may share one address: the first keeps it */
		if (none == 0 || none == (uintptr_t)real)
			return;
	}
}

static const struct gp_cuda_wrapper *route_find(const struct routes *routes, const void *real)
{
	for (unsigned i = slot_of((uintptr_t)real);; i = (i + 1) & (SLOTS - 1)) {
		uintptr_t at = atomic_load_explicit(&routes->slot[i].real, memory_order_relaxed);
		if (at == 0)
			return NULL;
		if (at == (uintptr_t)real)
			/* partner: the release store in route_add */
			return atomic_load_explicit(&routes->slot[i].row, memory_order_acquire);
	}
}

static bool is_behind(const struct routes *routes, const void *address)
{
	if (gp_elf_has(&routes->driver, address))
		return true;
	/* partner: the release store in behind_add */
	unsigned n = atomic_load_explicit(&routes->behinds, memory_order_acquire);
	for (unsigned i = 0; i < n; i++)
		if (gp_elf_has(&routes->behind[i], address))
			return true;
	return false;
}

/* By one thread at a time. */
static void behind_add(struct routes *routes, const struct gp_elf_range *range)
{
	unsigned n = atomic_load_explicit(&routes->behinds, memory_order_relaxed);
	if (n == BEHIND_MAX || is_behind(routes, (const void *)range->from))
		return;
	routes->behind[n] = *range;
	/* partner: the acquire load in is_behind */
	atomic_store_explicit(&routes->behinds, n + 1, memory_order_release);
}

/* ---- building ---- */

struct build {
	struct routes *routes;
	unsigned position;
	bool is_past_us, has_driver, has_any;
};

static void want_all(struct wanted *wanted)
{
	for (unsigned i = 0; i < WANTED; i++) {
		const struct gp_cuda_wrapper *row =
			i < GP_CUDA_ROWS ? &gp_cuda_wrappers[i] :
			i < GP_CUDA_ROWS + GP_CUDA_CALLS ?
					   &gp_cuda_calls[i - GP_CUDA_ROWS] :
					   &resolvers[i - GP_CUDA_ROWS - GP_CUDA_CALLS];
		wanted[i] = (struct wanted){ .row = row, .hash = gp_elf_hash(row->symbol) };
	}
}

static void take_object(struct build *build, const struct gp_elf_tables *tables, bool is_driver,
			bool is_next)
{
	bool is_linked = false;
	for (unsigned i = 0; i < WANTED; i++) {
		struct wanted *w = &build->routes->wanted[i];
		void *found =
			gp_elf_find_symbol(tables, GP_ELF_FUNCTION, w->row->symbol, w->hash, NULL);
		if (found && is_driver)
			w->exported = found;
		if (found && is_next && !w->linked) {
			w->linked = found;
			is_linked = true;
		}
		build->has_any |= found != NULL;
	}
	const struct gp_elf_range range = gp_elf_range_of(tables->object);
	if (is_driver)
		build->routes->driver = range;
	else if (is_linked)
		behind_add(build->routes, &range);
}

/*
 * References of the program are bound to the first object behind us, of those that it started with:
 * a later library with such names (XLA's stubs) does not interpose.
 */
static int build_object(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct build *build = context;
	struct gp_elf_tables tables;
	const bool is_ours = gp_elf_is_mapped(object, &gp_cuda, 1);
	const bool is_from_start = build->position++ < gp_objects_at_start;
	const bool is_next = build->is_past_us && is_from_start;
	build->is_past_us |= is_ours;
	if (is_ours || !gp_elf_tables_read(object, &tables))
		return 0;
	const bool is_driver = !build->has_driver && gp_elf_is_named(&tables, DRIVER);
	if (is_driver) {
		build->has_driver = true;
		build->routes->is_from_start = is_from_start;
	}
	if (is_driver || is_next)
		take_object(build, &tables, is_driver, is_next);
	return 0;
}

/* An interposer behind us goes before the driver's own: it expects to see the calls. */
static void fill_calls(struct routes *routes)
{
	for (unsigned i = 0; i < WANTED; i++) {
		const struct wanted *w = &routes->wanted[i];
		route_add(routes, w->exported, w->row);
		route_add(routes, w->linked, w->row);
		__atomic_store_n(w->row->real, w->linked ? w->linked : w->exported,
				 __ATOMIC_RELAXED);
	}
}

/* The first build needs no memory of the kernel's: no failure of it can keep us from the driver. */
static struct routes first_routes;
static _Atomic bool is_first_taken;

/* Empty ones, or NULL. */
static struct routes *routes_new(void)
{
	if (!atomic_exchange_explicit(&is_first_taken, true, memory_order_acquire))
		return &first_routes;
	void *routes = mmap(NULL, sizeof first_routes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return routes == MAP_FAILED ? NULL : routes;
}

/* They were not published. */
static void routes_drop(struct routes *routes)
{
	if (routes != &first_routes) {
		munmap(routes, sizeof *routes);
		return;
	}
	memset(routes, 0, sizeof *routes);
	atomic_store_explicit(&is_first_taken, false, memory_order_release);
}

/*
 * Publishes routes in the place of `old`. Without the driver itself the pointers are an
 * interposer's, or a linked stub's, and are built again when it comes.
 */
static bool build_routes(struct routes *old)
{
	struct routes *routes = routes_new();
	struct build build = { .routes = routes };
	if (!routes)
		return false;
	want_all(routes->wanted);
	gp_mapped_walk(build_object, &build);
	struct gp_elf_range other;
	if (gp_next_dlsym != gp_libc_dlsym && gp_elf_find((const void *)gp_next_dlsym, &other))
		behind_add(routes, &other);
	if (build.has_any && atomic_load(&published) == old)
		fill_calls(routes);
	/* partner: the acquire loads of `published` */
	if (!build.has_driver ||
	    !atomic_compare_exchange_strong_explicit(&published, &old, routes, memory_order_acq_rel,
						     memory_order_acquire))
		routes_drop(routes);
	return build.has_any;
}

bool gp_is_resolved(void)
{
	return atomic_load_explicit(&published, memory_order_acquire) != NULL;
}

bool gp_resolve(void)
{
	if (gp_is_resolved())
		return true;
	int kept = errno;
	gp_start();
	bool is_there = build_routes(NULL);
	errno = kept;
	return is_there;
}

struct one {
	struct build build;
	struct wanted wanted;
};

/* With GPUPROF=off: one function, where a build has all. */
static int find_one(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct one *one = context;
	struct gp_elf_tables tables;
	const bool is_ours = gp_elf_is_mapped(object, &gp_cuda, 1);
	const bool is_next = one->build.is_past_us && one->build.position < gp_objects_at_start;
	one->build.position++;
	one->build.is_past_us |= is_ours;
	if (is_ours || !gp_elf_tables_read(object, &tables) ||
	    !(is_next || gp_elf_is_named(&tables, DRIVER)))
		return 0;
	one->wanted.linked = gp_elf_find_symbol(&tables, GP_ELF_FUNCTION, one->wanted.row->symbol,
						one->wanted.hash, NULL);
	return one->wanted.linked != NULL;
}

static bool pass_on(const char *symbol, void **real)
{
	const struct gp_cuda_wrapper row = { symbol, NULL, real };
	struct one one = { .wanted = { .row = &row, .hash = gp_elf_hash(symbol) } };
	int kept = errno;
	gp_mapped_walk(find_one, &one);
	__atomic_store_n(real, one.wanted.linked, __ATOMIC_RELAXED);
	errno = kept;
	return one.wanted.linked != NULL;
}

bool gp_resolve_call(const char *symbol, void **real)
{
	gp_start();
	if (!gp_doors_open)
		return pass_on(symbol, real);
	return gp_resolve() && __atomic_load_n(real, __ATOMIC_RELAXED) != NULL;
}

/*
 * Keeps a driver that was loaded late from being unloaded. Called where a caller enters the loader
 * itself. Not covered: a driver that came with a library linked with it, in a process that looks no
 * function up by name. If that comes back at another address, calls reach the old one.
 */
void gp_resolver_pin(void)
{
	struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	if (!routes || routes->is_from_start || atomic_load(&routes->is_pinned))
		return;
	const int kept = errno;
	const struct link_map *map = NULL;
	/* the handle is never closed */
	void *driver = dlopen(DRIVER, RTLD_NOLOAD | RTLD_LAZY);
	if (driver && dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0 &&
	    gp_elf_has(&routes->driver, map->l_ld))
		atomic_store(&routes->is_pinned, true);
	else
		build_routes(routes);
	dlerror(); /* the program must not find our failure */
	errno = kept;
}

/* ---- what the doors ask ---- */

const struct gp_cuda_wrapper *gp_row_of(const void *real)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return routes && real ? route_find(routes, real) : NULL;
}

void *gp_route(void *real)
{
	const struct gp_cuda_wrapper *row = gp_doors_open ? gp_row_of(real) : NULL;
	return row ? row->wrapper : real;
}

void *gp_route_learn(void *real, const struct gp_cuda_wrapper *row)
{
	struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	struct gp_elf_range range;
	/* another thread learns: the next look-up does */
	if (!routes || atomic_exchange(&routes->is_learning, true))
		return row->wrapper;
	if (gp_elf_find(real, &range))
		behind_add(routes, &range);
	route_add(routes, real, row);
	if (gp_elf_has(&routes->driver, *row->real))
		__atomic_store_n(row->real, real, __ATOMIC_RELAXED);
	atomic_store(&routes->is_learning, false);
	return row->wrapper;
}

void *gp_driver_resolver(const char *symbol)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	for (unsigned i = WANTED - RESOLVERS; routes && i < WANTED; i++)
		if (strcmp(routes->wanted[i].row->symbol, symbol) == 0)
			return routes->wanted[i].exported;
	return NULL;
}

bool gp_is_in_driver(const void *address)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return routes && gp_elf_has(&routes->driver, address);
}

bool gp_is_behind_us(const void *caller)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return routes && is_behind(routes, caller);
}

static int count_loads(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	*(unsigned long long *)context = object->dlpi_adds;
	return 1;
}

static void *in_process(void *context, const char *name)
{
	(void)context;
	return gp_mapped_any(name);
}

struct extent {
	uintptr_t inside, from, to;
};

static int find_extent(struct dl_phdr_info *object, size_t bytes, void *context)
{
	struct extent *e = context;
	(void)bytes;
	if (!gp_elf_is_mapped(object, (const void *)e->inside, 1))
		return 0;
	e->from = UINTPTR_MAX;
	for (unsigned k = 0; k < object->dlpi_phnum; k++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[k];
		const uintptr_t at = object->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		e->from = at < e->from ? at : e->from;
		e->to = at + segment->p_memsz > e->to ? at + segment->p_memsz : e->to;
	}
	return 1;
}

static bool find_interpreter(void)
{
	struct extent e = { .inside = (uintptr_t)gp_mapped_any("PyInterpreterState_Main") };
	if (!gp_stack_find(in_process, NULL))
		return false;
	if (e.inside && gp_mapped_walk(find_extent, &e))
		gp_stack_found(e.from, e.to);
	return true;
}

void gp_find_python(void)
{
	static _Atomic unsigned long long loads_seen;
	static _Atomic bool is_found;
	unsigned long long loads = 0;
	if (!gp_settings.has_python || atomic_load_explicit(&is_found, memory_order_relaxed))
		return;
	gp_mapped_walk(count_loads, &loads);
	if (loads == atomic_load_explicit(&loads_seen, memory_order_relaxed))
		return;
	atomic_store_explicit(&is_found, find_interpreter(), memory_order_relaxed);
	atomic_store_explicit(&loads_seen, loads, memory_order_relaxed);
}
