/*
 * Fills gp_cuda and builds the routes: a hash table from every address under which somebody may get
 * a row's function to the row's wrapper. Each thread that finds none builds its own and the first
 * one published stays: no lock that a fork could leave held. Promises never to load the driver;
 * keeps it loaded once it is there, for its addresses are in the table.
 */
#include "resolver.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../libgpuprof/record/stack_take.h"
#include "door_procaddress.h"
#include "door_unwind.h"
#include "elf_lookup.h"
#include "mapped_symbol.h"
#include "symbol_name.h"

/* A power of two, over four times the addresses that GP_CUDA_ROWS rows can have. */
#define SLOTS 4096u
#define BEHIND_MAX 8u

struct route {
	uintptr_t real;
	void *wrapper;
};

struct routes {
	void *handle; /* the driver's, never closed */
	struct gp_elf_range driver;
	struct gp_elf_range behind[BEHIND_MAX]; /* other interposers, between us and the driver */
	unsigned behinds;
	struct route slot[SLOTS];
};

/* What one build works on: `symbol` is a row's or one of the two resolvers'. */
struct build {
	struct routes *routes;
	void *driver;
};

struct gp_cuda gp_cuda;
gp_dlsym_function *gp_next_dlsym;
gp_get_proc_address *gp_real_get_proc_address;
gp_get_proc_address_v2 *gp_real_get_proc_address_v2;
bool gp_doors_open;
unsigned gp_objects_at_start;

gp_dlsym_function *gp_libc_dlsym;
static struct routes *_Atomic published;
/* the loader, or an interposer behind us, comes back to our doors while this thread resolves */
static _Thread_local uint32_t is_resolving __attribute__((tls_model("initial-exec")));

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
 * call that malloc again.
 */
void gp_dlsym_find(void)
{
	void *found = gp_mapped_symbol("libc.so", "dlsym", NULL, 0);
	if (!found) /* before glibc 2.34 */
		found = gp_mapped_symbol("libdl", "dlsym", NULL, 0);
	gp_dlsym_function *libc = found ? (gp_dlsym_function *)found : no_dlsym;
	void *volatile next = libc(RTLD_NEXT, "dlsym"); /* no tail call: the caller must be us */
	/* the same values from every thread */
	__atomic_store_n(&gp_libc_dlsym, libc, __ATOMIC_RELAXED);
	__atomic_store_n(&gp_next_dlsym, next ? (gp_dlsym_function *)next : libc, __ATOMIC_RELEASE);
}

/* What an ELF reference of the program would be bound to if we were not there: the driver's own,
 * or another preload's. A later library with such names (XLA's stubs) is no interposer. */
static void *elf_next(const char *symbol)
{
	void *volatile found = gp_libc_dlsym(RTLD_NEXT, symbol); /* no tail call */
	return found && gp_elf_position(found) < gp_objects_at_start ? found : NULL;
}

/* ---- building ---- */

static unsigned slot_of(uintptr_t real)
{
	return (unsigned)((real >> 4) * 0x9e3779b97f4a7c15u >> 52) & (SLOTS - 1);
}

static void route_add(struct routes *routes, const void *real, void *wrapper)
{
	if (!real)
		return;
	unsigned i = slot_of((uintptr_t)real);
	while (routes->slot[i].real != 0 && routes->slot[i].real != (uintptr_t)real)
		i = (i + 1) & (SLOTS - 1);
	if (routes->slot[i].real == 0) /* several names may share one address: the first keeps it */
		routes->slot[i] = (struct route){ (uintptr_t)real, wrapper };
}

static void *route_find(const struct routes *routes, const void *real)
{
	for (unsigned i = slot_of((uintptr_t)real); routes->slot[i].real != 0;
	     i = (i + 1) & (SLOTS - 1))
		if (routes->slot[i].real == (uintptr_t)real)
			return routes->slot[i].wrapper;
	return NULL;
}

static bool is_behind(const struct routes *routes, const void *address)
{
	if (gp_elf_has(&routes->driver, address))
		return true;
	for (unsigned i = 0; i < routes->behinds; i++)
		if (gp_elf_has(&routes->behind[i], address))
			return true;
	return false;
}

static void behind_add(struct routes *routes, const void *address)
{
	struct gp_elf_range range;
	if (address && !is_behind(routes, address) && routes->behinds < BEHIND_MAX &&
	    gp_elf_find(address, &range))
		routes->behind[routes->behinds++] = range;
}

/*
 * The function behind `symbol` as a caller without us would get it, and routes from all its
 * addresses. An interposer behind us goes before the driver's own: it wants to see the calls.
 */
static void *build_symbol(const struct build *build, const char *symbol, void *wrapper)
{
	void *exported = build->driver ? gp_libc_dlsym(build->driver, symbol) : NULL;
	void *looked_up = build->driver ? gp_next_dlsym(build->driver, symbol) : NULL;
	void *linked = elf_next(symbol);
	if (wrapper) {
		route_add(build->routes, exported, wrapper);
		route_add(build->routes, looked_up, wrapper);
		route_add(build->routes, linked, wrapper);
	}
	behind_add(build->routes, looked_up);
	behind_add(build->routes, linked);
	if (linked && linked != exported)
		return linked;
	return looked_up ? looked_up : exported;
}

static void build_rows(const struct build *build)
{
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++) {
		const struct gp_cuda_wrapper *w = &gp_cuda_wrappers[row];
		__atomic_store_n(w->real, build_symbol(build, w->symbol, w->wrapper),
				 __ATOMIC_RELAXED);
	}
	for (const struct gp_cuda_wrapper *call = gp_cuda_calls; call->symbol; call++)
		__atomic_store_n(call->real, build_symbol(build, call->symbol, NULL),
				 __ATOMIC_RELAXED);
	void *v1 = build_symbol(build, "cuGetProcAddress", gp_door_get_proc_address);
	void *v2 = build_symbol(build, "cuGetProcAddress_v2", gp_door_get_proc_address_v2);
	__atomic_store_n(&gp_real_get_proc_address, (gp_get_proc_address *)v1, __ATOMIC_RELAXED);
	__atomic_store_n(&gp_real_get_proc_address_v2, (gp_get_proc_address_v2 *)v2,
			 __ATOMIC_RELAXED);
}

/* ---- self-check: does the driver's resolver answer with the addresses that dlsym gives? ---- */

/* The driver has no later variant of this function than the row's: then the resolver must answer
 * with the row's. */
static bool is_newest(const struct build *build, const struct gp_symbol_name *name,
		      const char *symbol)
{
	char later[112];
	for (int variant = name->variant + 1; variant <= name->variant + 2; variant++) {
		snprintf(later, sizeof later, "%s_v%d%s", name->base, variant, name->twin);
		if (gp_libc_dlsym(build->driver, later))
			return false;
	}
	return gp_libc_dlsym(build->driver, symbol) != NULL;
}

/* Learns the resolver's address for a row where it differs from dlsym's: another interposer, or a
 * driver to come. */
static void check_row(const struct build *build, const struct gp_cuda_wrapper *w, int version)
{
	struct gp_symbol_name name;
	void *answer = NULL;
	int status = 0;
	if (!gp_symbol_parse(w->symbol, &name) || !is_newest(build, &name, w->symbol))
		return;
	cuuint64_t flags = *name.twin ? 2 : 1;
	if (gp_real_get_proc_address_v2(name.base, &answer, version, flags, &status) !=
		    CUDA_SUCCESS ||
	    !answer || route_find(build->routes, answer))
		return;
	/* ("cuGraphInstantiate", 12000) is another function: an answer inside the driver is
	 * believed when it is a row's only, one outside is an interposer's */
	if (gp_elf_has(&build->routes->driver, answer))
		return;
	behind_add(build->routes, answer);
	route_add(build->routes, answer, w->wrapper);
	if (gp_elf_has(&build->routes->driver, *w->real))
		__atomic_store_n(w->real, answer, __ATOMIC_RELAXED);
}

static void check_rows(const struct build *build)
{
	int version = 0;
	CUresult (*get_version)(int *) = gp_cuda.cuDriverGetVersion;
	if (!gp_real_get_proc_address_v2 || !get_version || get_version(&version) != CUDA_SUCCESS ||
	    version == 0)
		return;
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++)
		check_row(build, &gp_cuda_wrappers[row], version);
}

/* ---- resolving ---- */

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

static void build_routes(struct routes *routes, void *driver)
{
	const struct build build = { routes, driver };
	const struct link_map *map = NULL;
	routes->handle = driver;
	if (driver && dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0)
		gp_elf_find(map->l_ld, &routes->driver);
	if (gp_next_dlsym != gp_libc_dlsym)
		behind_add(routes, (void *)gp_next_dlsym);
	build_rows(&build);
	check_rows(&build);
}

static bool resolve_now(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	if (!driver && !elf_next("cuInit"))
		return false;
	struct routes *routes = routes_new(), *none = NULL;
	if (!routes)
		return false;
	build_routes(routes, driver);
	/* Without the driver itself these are an interposer's, or a linked stub's, and are built
	 * again when it comes. Partner: acquire load in gp_route, gp_is_resolved. */
	if (!driver ||
	    !atomic_compare_exchange_strong_explicit(&published, &none, routes,
						     memory_order_acq_rel, memory_order_acquire))
		routes_drop(routes);
	return true;
}

bool gp_is_resolved(void)
{
	return atomic_load_explicit(&published, memory_order_acquire) != NULL;
}

bool gp_resolve(void)
{
	if (gp_is_resolved())
		return true;
	if (is_resolving)
		return false;
	int kept = errno;
	is_resolving = 1;
	gp_start();
	bool is_there = resolve_now();
	if (is_there && gp_doors_open)
		gp_find_stacks();
	dlerror();
	is_resolving = 0;
	errno = kept;
	return is_there;
}

void *gp_driver_find(const char *symbol)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return routes ? gp_libc_dlsym(routes->handle, symbol) : NULL;
}

void *gp_route(void *real)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	void *wrapper =
		routes && real && !is_resolving && gp_doors_open ? route_find(routes, real) : NULL;
	return wrapper ? wrapper : real;
}

bool gp_is_routed(const void *real)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return routes && route_find(routes, real) != NULL;
}

bool gp_is_behind_us(const void *caller)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return is_resolving || (routes && is_behind(routes, caller));
}

static void *in_process(void *context, const char *name)
{
	(void)context;
	void *found = gp_libc_dlsym(RTLD_DEFAULT, name);
	if (!found)
		dlerror(); /* the program must not find our failure */
	return found;
}

void gp_find_stacks(void)
{
	static _Atomic bool is_opened;
	gp_stack_find(in_process, NULL);
	if (!gp_settings.has_native || atomic_load_explicit(&is_opened, memory_order_relaxed) ||
	    atomic_exchange(&is_opened, true))
		return;
	const char *why = gp_unwind_open(gp_settings.stack_depth, gp_settings.has_frame_pointers);
	if (why)
		gp_stack_native_refused(why);
	else
		gp_stack_native_opened();
}
