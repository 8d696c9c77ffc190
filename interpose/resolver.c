/*
 * Fills gp_cuda and builds the routes: a hash table from every address under which somebody may get a row's function
 * to the row's wrapper. Each thread that finds none builds its own and the first one published stays: no lock that a
 * fork could leave held. Promises never to load the driver; keeps it loaded once it is there, for its addresses are in
 * the table.
 */
#include "resolver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "door_procaddress.h"
#include "elf_lookup.h"

#define SLOTS 4096u /* a power of two, over four times the addresses that GP_CUDA_ROWS rows can have */
#define BEHIND_MAX 8u

struct route {
	uintptr_t real;
	void *wrapper;
};

struct routes {
	struct gp_elf_range driver;
	struct gp_elf_range behind[BEHIND_MAX]; /* objects after us that stand before the driver: other interposers */
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

gp_dlsym_function *gp_libc_dlsym;
static struct routes *_Atomic published;
static _Atomic uint64_t misses;
/* the loader, or an interposer behind us, comes back to our doors while this thread resolves */
static _Thread_local uint32_t is_resolving __attribute__((tls_model("initial-exec")));

/* ---- the next dlsym ---- */

/* A C library without any dlsym that we know: look-ups fail, nothing crashes. */
static void *no_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

void gp_dlsym_find(void)
{
	static const char *const versions[] = { "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34" };
	void *found = NULL;
	for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
		found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	gp_dlsym_function *libc = found ? (gp_dlsym_function *)found : no_dlsym;
	void *volatile next = libc(RTLD_NEXT, "dlsym");
	/* the same values from every thread */
	__atomic_store_n(&gp_libc_dlsym, libc, __ATOMIC_RELAXED);
	__atomic_store_n(&gp_next_dlsym, next ? (gp_dlsym_function *)next : libc, __ATOMIC_RELEASE);
}

/* What an ELF reference would be bound to if we were not there. */
static void *elf_next(const char *symbol)
{
	void *volatile found = gp_libc_dlsym(RTLD_NEXT, symbol); /* no tail call: the caller must be us */
	return found;
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
	for (unsigned i = slot_of((uintptr_t)real); routes->slot[i].real != 0; i = (i + 1) & (SLOTS - 1))
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
 * The function behind `symbol` as a caller without us would get it, and routes from all its addresses. An interposer
 * behind us goes before the driver's own: it wants to see the calls.
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
		__atomic_store_n(w->real, build_symbol(build, w->symbol, w->wrapper), __ATOMIC_RELAXED);
	}
	for (const struct gp_cuda_wrapper *call = gp_cuda_calls; call->symbol; call++)
		__atomic_store_n(call->real, build_symbol(build, call->symbol, NULL), __ATOMIC_RELAXED);
	void *v1 = build_symbol(build, "cuGetProcAddress", gp_door_get_proc_address);
	void *v2 = build_symbol(build, "cuGetProcAddress_v2", gp_door_get_proc_address_v2);
	__atomic_store_n(&gp_real_get_proc_address, (gp_get_proc_address *)v1, __ATOMIC_RELAXED);
	__atomic_store_n(&gp_real_get_proc_address_v2, (gp_get_proc_address_v2 *)v2, __ATOMIC_RELAXED);
}

/* ---- self-check: does the driver's resolver answer with the addresses that dlsym gives? ---- */

struct parsed {
	char base[96];
	int variant; /* 1 for no suffix */
	bool is_per_thread;
};

static bool parse_symbol(const char *symbol, struct parsed *out)
{
	size_t bytes = strlen(symbol);
	if (bytes >= sizeof out->base)
		return false;
	memcpy(out->base, symbol, bytes + 1);
	out->is_per_thread = bytes > 5 && (strcmp(symbol + bytes - 5, "_ptsz") == 0 || strcmp(symbol + bytes - 5, "_ptds") == 0);
	if (out->is_per_thread)
		out->base[bytes -= 5] = '\0';
	out->variant = 1;
	if (bytes > 3 && out->base[bytes - 3] == '_' && out->base[bytes - 2] == 'v') {
		out->variant = out->base[bytes - 1] - '0';
		out->base[bytes - 3] = '\0';
	}
	return true;
}

/* The driver has no later variant of this function than the row's: then the resolver must answer with the row's. */
static bool is_newest(const struct build *build, const struct parsed *p, const char *symbol)
{
	char later[112];
	for (int variant = p->variant + 1; variant <= p->variant + 2; variant++) {
		snprintf(later, sizeof later, "%s_v%d%s", p->base, variant,
			 p->is_per_thread ? symbol + strlen(symbol) - 5 : "");
		if (gp_libc_dlsym(build->driver, later))
			return false;
	}
	return gp_libc_dlsym(build->driver, symbol) != NULL;
}

/* Learns the resolver's address for a row where it differs from dlsym's: another interposer, or a driver to come. */
static void check_row(const struct build *build, const struct gp_cuda_wrapper *w, int version)
{
	struct parsed p;
	void *answer = NULL;
	int status = 0;
	if (!parse_symbol(w->symbol, &p) || !is_newest(build, &p, w->symbol))
		return;
	cuuint64_t flags = p.is_per_thread ? 2 : 1;
	if (gp_real_get_proc_address_v2(p.base, &answer, version, flags, &status) != CUDA_SUCCESS || !answer ||
	    route_find(build->routes, answer))
		return;
	/* ("cuGraphInstantiate", 12000) is another function: an answer inside the driver is believed when it is a row's
	 * only, one outside is an interposer's */
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
	if (!gp_real_get_proc_address_v2 || !get_version || get_version(&version) != CUDA_SUCCESS || version == 0)
		return;
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++)
		check_row(build, &gp_cuda_wrappers[row], version);
}

/* ---- resolving ---- */

static struct routes *build_routes(void *driver)
{
	struct routes *routes = mmap(NULL, sizeof *routes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (routes == MAP_FAILED)
		return NULL;
	struct build build = { routes, driver };
	static const char *const landmarks[] = { "cuInit", "cuDriverGetVersion", "cuGetProcAddress_v2" };
	for (size_t i = 0; driver && routes->driver.to == 0 && i < sizeof landmarks / sizeof *landmarks; i++) {
		void *inside = gp_libc_dlsym(driver, landmarks[i]);
		if (inside)
			gp_elf_find(inside, &routes->driver);
	}
	if (gp_next_dlsym != gp_libc_dlsym)
		behind_add(routes, (void *)gp_next_dlsym);
	build_rows(&build);
	check_rows(&build);
	return routes;
}

static bool resolve_now(void)
{
	if (!gp_next_dlsym)
		gp_dlsym_find();
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	if (!driver && !elf_next("cuInit"))
		return false;
	struct routes *routes = build_routes(driver), *none = NULL;
	if (!routes)
		return false;
	/* without the driver itself these are an interposer's, or a linked stub's, and are built again when it comes */
	if (!driver) {
		munmap(routes, sizeof *routes);
		return true;
	}
	/* partner: acquire load in gp_route, gp_is_resolved */
	if (!atomic_compare_exchange_strong_explicit(&published, &none, routes, memory_order_acq_rel, memory_order_acquire))
		munmap(routes, sizeof *routes);
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
	bool is_there = resolve_now();
	dlerror();
	is_resolving = 0;
	errno = kept;
	return is_there;
}

void *gp_route(void *real)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	void *wrapper = routes && real && !is_resolving && gp_doors_open ? route_find(routes, real) : NULL;
	return wrapper ? wrapper : real;
}

bool gp_is_behind_us(const void *caller)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	return is_resolving || (routes && is_behind(routes, caller));
}

/* ---- the count of what passed by ---- */

uint64_t gp_route_misses(void)
{
	return atomic_load_explicit(&misses, memory_order_relaxed);
}

void gp_route_check(const char *name, void *real)
{
	const struct routes *routes = atomic_load_explicit(&published, memory_order_acquire);
	if (!routes || !real || !name || !gp_doors_open || route_find(routes, real))
		return;
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++) {
		struct parsed p;
		if (parse_symbol(gp_cuda_wrappers[row].symbol, &p) &&
		    (strcmp(p.base, name) == 0 || strcmp(gp_cuda_wrappers[row].symbol, name) == 0)) {
			atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed);
			return;
		}
	}
}
