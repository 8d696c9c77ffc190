/*
 * Fills gp_cuda and builds the routes: a hash table from each address under which a caller may get
 * a row's function, to the row. A thread that finds no routes builds its own, and the first ones
 * published stay. A fork cannot leave a lock held, since none is used. Never loads the driver.
 */
#include "resolver.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "../../libgpuprof/record/record.h"
#include "elf_lookup.h"
#include "elf_tables.h"
#include "lookup_procaddress.h"
#include "mapped_scope.h"
#include "mapped_symbol.h"
#include "symbol_name.h"

#define DRIVER "libcuda.so.1"
/* A power of two, over four times the possible addresses of GP_CUDA_ROWS rows. */
#define SLOTS 4096u
#define BEHIND_MAX 8u
#define RESOLVERS 2u
#define SOUGHT_MAX (GP_CUDA_ROWS + GP_CUDA_CALLS + RESOLVERS)

struct route {
	_Atomic uintptr_t real;
	const struct gp_cuda_wrapper *_Atomic row; /* stored after `real`: NULL for a moment */
};

/* One function that a build looks for. */
struct sought {
	const struct gp_cuda_wrapper *row;
	uint32_t hash;
	void *exported; /* by the driver */
	void *linked;	/* to which a reference of the program would be bound without us */
};

struct routes {
	struct gp_elf_range driver;
	struct gp_elf_range behind[BEHIND_MAX]; /* other interposers, between us and the driver */
	_Atomic unsigned behinds;
	bool is_from_start;	/* the driver was loaded at the start, so it stays */
	_Atomic bool is_pinned; /* it cannot be unloaded any more */
	_Atomic bool is_learning;
	struct sought sought[SOUGHT_MAX];
	struct route slot[SLOTS];
};

static struct routes *_Atomic published;

static const struct gp_cuda_wrapper resolvers[RESOLVERS] = {
	{ "cuGetProcAddress", (void *)gp_lookup_get_proc_address,
	  (void **)&gp_real_get_proc_address },
	{ "cuGetProcAddress_v2", (void *)gp_lookup_get_proc_address_v2,
	  (void **)&gp_real_get_proc_address_v2 },
};

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

/* Called by one thread at a time. */
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

static void seek_all(struct sought *sought)
{
	for (unsigned i = 0; i < SOUGHT_MAX; i++) {
		const struct gp_cuda_wrapper *row =
			i < GP_CUDA_ROWS ? &gp_cuda_wrappers[i] :
			i < GP_CUDA_ROWS + GP_CUDA_CALLS ?
					   &gp_cuda_calls[i - GP_CUDA_ROWS] :
					   &resolvers[i - GP_CUDA_ROWS - GP_CUDA_CALLS];
		sought[i] = (struct sought){ .row = row, .hash = gp_elf_hash(row->symbol) };
	}
}

static void take_object(struct build *build, const struct gp_elf_tables *tables, bool is_driver,
			bool is_next)
{
	bool is_linked = false;
	for (unsigned i = 0; i < SOUGHT_MAX; i++) {
		struct sought *w = &build->routes->sought[i];
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
 * References of the program are bound to the first object after us among those that it started
 * with. A later library with such names (XLA's stubs) does not interpose.
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

/* An interposer after us takes precedence over the driver, since it expects to see the calls. */
static void fill_calls(struct routes *routes)
{
	for (unsigned i = 0; i < SOUGHT_MAX; i++) {
		const struct sought *w = &routes->sought[i];
		route_add(routes, w->exported, w->row);
		route_add(routes, w->linked, w->row);
		__atomic_store_n(w->row->real, w->linked ? w->linked : w->exported,
				 __ATOMIC_RELAXED);
	}
}

/* Static memory for the first build, so that it cannot fail. */
static struct routes first_routes;
static _Atomic bool is_first_taken;

/* Empty routes, or NULL. */
static struct routes *routes_new(void)
{
	if (!atomic_exchange_explicit(&is_first_taken, true, memory_order_acquire))
		return &first_routes;
	void *routes = mmap(NULL, sizeof first_routes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return routes == MAP_FAILED ? NULL : routes;
}

/* Releases routes that were not published. */
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
 * Publishes routes in place of `old`. Without the driver, the pointers are those of an interposer
 * or a linked stub. They are built again when the driver is loaded.
 */
static bool build_routes(struct routes *old)
{
	struct routes *routes = routes_new();
	struct build build = { .routes = routes };
	if (!routes)
		return false;
	seek_all(routes->sought);
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

/* With GPUPROF=off: finds one function, while a build finds all. */
static bool pass_on(const char *symbol, void **real)
{
	void *found = gp_mapped_next(&gp_cuda, gp_objects_at_start, symbol);
	if (!found)
		found = gp_mapped_symbol("libcuda.so", symbol, NULL, 0);
	__atomic_store_n(real, found, __ATOMIC_RELAXED);
	return found != NULL;
}

bool gp_resolve_call(const char *symbol, void **real)
{
	gp_start();
	if (!gp_lookups_open)
		return pass_on(symbol, real);
	return gp_resolve() && __atomic_load_n(real, __ATOMIC_RELAXED) != NULL;
}

/*
 * Keeps a driver that was loaded late from being unloaded. Call it where the caller itself enters
 * the loader. Not covered: a driver that was loaded as a dependency, in a process that looks up no
 * function by name. If it is loaded again at another address, calls reach the old one.
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
	dlerror(); /* hide our failure from the program */
	errno = kept;
}

/* ---- for our dlsym and cuGetProcAddress ---- */

const struct gp_cuda_wrapper *gp_row_of(const void *real)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return routes && real ? route_find(routes, real) : NULL;
}

void *gp_route(void *real)
{
	const struct gp_cuda_wrapper *row = gp_lookups_open ? gp_row_of(real) : NULL;
	return row ? row->wrapper : real;
}

void *gp_route_learn(void *real, const struct gp_cuda_wrapper *row)
{
	struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	struct gp_elf_range range;
	/* if another thread is learning, leave it to the next look-up */
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
	for (unsigned i = SOUGHT_MAX - RESOLVERS; routes && i < SOUGHT_MAX; i++)
		if (strcmp(routes->sought[i].row->symbol, symbol) == 0)
			return routes->sought[i].exported;
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

/* ---- look-ups that bypass us ---- */

static _Atomic uint64_t misses;

static bool is_row_name(const char *name)
{
	if (strcmp(name, "cuGetProcAddress") == 0 || strcmp(name, "cuGetProcAddress_v2") == 0)
		return true;
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++) {
		struct gp_symbol_name parsed;
		if (gp_symbol_parse(gp_cuda_wrappers[row].symbol, &parsed) &&
		    (strcmp(parsed.base, name) == 0 ||
		     strcmp(gp_cuda_wrappers[row].symbol, name) == 0))
			return true;
	}
	return false;
}

/* A preload before us returns its own function, which then calls ours. */
static bool is_before_us(const void *address)
{
	return gp_elf_position(address) < gp_elf_position((const void *)&misses);
}

void gp_misses_write(void)
{
	const uint64_t count = atomic_load_explicit(&misses, memory_order_relaxed);
	if (count != 0)
		gp_define_fact(GP_FACT_ROUTES, count, NULL);
}

void gp_miss_check(const char *name, void *real)
{
	if (!real || !name || !gp_lookups_open || !gp_is_resolved() || gp_row_of(real) ||
	    !is_row_name(name) || is_before_us(real))
		return;
	atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed);
	bool is_recording = atomic_load_explicit(&gp_local->word, memory_order_relaxed) != 0;
	if (is_recording && gp_enter()) {
		gp_misses_write();
		gp_leave();
	}
}
