/*
 * Looks functions up through one entry point, which its argument names, and prints what it found.
 * The output must not depend on whether the recorder is preloaded. With PROBE_OURS set, the probe
 * also checks the owner of each function: with "1" every row must be the recorder's, with "0" none.
 */
#include "entry_probe.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int get_proc_address_v2(const char *, void **, int, unsigned long long, int *);
typedef int get_proc_address(const char *, void **, int, unsigned long long);

/* The main program defines these: RTLD_NEXT from here must not find them. */
int cuTool(void);
int ompt_start_tool(void);
int cuTool(void)
{
	return 3;
}
int ompt_start_tool(void)
{
	return 4;
}

static const char *const names[] = {
	"cuInit",
	"cuMemAlloc_v2",
	"cuMemAlloc",
	"cuLaunchKernel",
	"cuGetProcAddress_v2",
	"cuGetProcAddress",
	"cuDoesNotExist",
	"cudnnCreate",
	"cuTool",
	"ompt_start_tool",
	"cu",
	"",
};

/* For the result of one look-up: a reported error must be of this look-up. */
static void print_found(const char *how, const char *name, const void *found)
{
	const char *error = dlerror();
	printf("%s %s: %s %s\n", how, name, found ? "found" : "nothing", error ? error : "-");
	if (found && getenv("PROBE_OURS") && is_row(name))
		MUST(is_ours(found) == (atoi(getenv("PROBE_OURS")) == 1), "%s %s", how, name);
}

static void *open_driver(int mode)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | mode);
	MUST(driver, "%s", dlerror());
	return driver;
}

static void probe_names(void)
{
	void *main_program = dlopen(NULL, RTLD_LAZY);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		print_found("default", names[i], dlsym(RTLD_DEFAULT, names[i]));
		print_found("next", names[i], dlsym(RTLD_NEXT, names[i]));
		print_found("main", names[i], dlsym(main_program, names[i]));
	}
}

/* Looks the names up from a library that is not in the global scope. */
static void probe_library(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	MUST(library, "%s", dlerror());
	void *(*find_default)(const char *), *(*find_next)(const char *);
	*(void **)&find_default = dlsym(library, "entry_find_default");
	*(void **)&find_next = dlsym(library, "entry_find_next");
	static const char *const more[] = { "cuEntryLocal", "entry_local" };
	for (size_t i = 0; i < 2; i++) {
		print_found("library default", more[i], find_default(more[i]));
		print_found("library next", more[i], find_next(more[i]));
		print_found("handle", more[i], dlsym(library, more[i]));
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		print_found("library default", names[i], find_default(names[i]));
		print_found("library next", names[i], find_next(names[i]));
		print_found("handle", names[i], dlsym(library, names[i]));
	}
}

static void probe_driver(void)
{
	void *driver = open_driver(RTLD_LOCAL);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		print_found("driver", names[i], dlsym(driver, names[i]));
	/* a success clears the error of an earlier failure that was not read */
	dlsym(driver, "cuDoesNotExist");
	print_found("driver after a failure", "cuMemAlloc_v2", dlsym(driver, "cuMemAlloc_v2"));
}

/* ---- every row, by its exact name ---- */

static void check_symbol(const char *symbol, void *driver, bool ours)
{
	const void *found = dlsym(driver, symbol);
	struct place place = place_of(found);
	printf("%s %s\n", symbol, place.symbol);
	if (!found)
		return;
	MUST(strcmp(place.symbol, symbol) == 0, "%s is answered with %s of %s", symbol,
	     place.symbol, place.file);
	if (getenv("PROBE_OURS"))
		MUST(is_ours(found) == (ours && atoi(getenv("PROBE_OURS")) == 1), "%s of %s",
		     symbol, place.file);
}

static void probe_rows(void)
{
	void *driver = open_driver(RTLD_LOCAL);
#define CUDA(symbol, parameters, arguments, hook) check_symbol(#symbol, driver, true);
#define CALL(symbol, parameters) check_symbol(#symbol, driver, false);
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL
	check_symbol("cuGetProcAddress", driver, true);
	check_symbol("cuGetProcAddress_v2", driver, true);
	check_symbol("cuInit", driver, false);
}

/* Opened, closed and opened again: the driver's functions are routed at its new address, too. */
static void probe_reopen(void)
{
	for (int i = 0; i < 3; i++) {
		void *driver = open_driver(RTLD_LOCAL);
		check_symbol("cuMemAlloc_v2", driver, true);
		dlclose(driver);
	}
}

/* ---- the requests of the CUDA runtime ---- */

/*
 * Prints the answer to a request and checks who owns it; `exact` is NULL where the driver may lack
 * the function.
 */
static void check_request(const char *name, int version, int flags, const char *exact, int result,
			  const void *found, int status)
{
	struct place place = place_of(found);
	printf("%s %d %d: %d %d %s\n", name, version, flags, result, status, place.symbol);
	if (!found)
		return;
	if (exact)
		MUST(strcmp(place.symbol, exact) == 0, "%s %d %d is answered with %s, expected %s",
		     name, version, flags, place.symbol, exact);
	if (getenv("PROBE_OURS"))
		MUST(is_ours(found) == (is_row(place.symbol) && atoi(getenv("PROBE_OURS")) == 1),
		     "%s of %s", place.symbol, place.file);
}

static const struct request {
	const char *name;
	int version, flags;
	const char *symbol;
} requests[] = {
#define REQUEST(name, version, flags, symbol) { name, version, flags, symbol },
#include "cudart_requests.def"
#undef REQUEST
};

static void probe_requests(bool is_exact)
{
	void *driver = open_driver(RTLD_LOCAL);
	get_proc_address_v2 *get = NULL;
	get_proc_address *get_old = NULL;
	*(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
	*(void **)&get_old = dlsym(driver, "cuGetProcAddress");
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		const struct request *r = &requests[i];
		const char *exact = is_exact ? r->symbol : NULL;
		void *found = NULL, *found_old = NULL;
		int status = -1;
		if (get) {
			int result = get(r->name, &found, r->version, (unsigned)r->flags, &status);
			check_request(r->name, r->version, r->flags, exact, result, found, status);
			MUST(get(r->name, &found, r->version, (unsigned)r->flags, NULL) == result,
			     "%s without status", r->name);
		}
		if (get_old) {
			int result = get_old(r->name, &found_old, r->version, (unsigned)r->flags);
			check_request(r->name, r->version, r->flags, exact, result, found_old, -1);
		}
		MUST(!get || !get_old || found == found_old, "%s: the two resolvers differ",
		     r->name);
	}
	/* the driver decides what it returns to a wrong caller */
	void *found = &found;
	if (get) {
		printf("too new: %d\n", get("cuMemAlloc", &found, 99000, 0, NULL));
		printf("no place: %d\n", get("cuMemAlloc", NULL, 3020, 0, NULL));
		printf("no name: %d\n", get(NULL, &found, 3020, 0, NULL));
		printf("strange flags: %d\n", get("cuMemAlloc", &found, 3020, 77, NULL));
	}
}

/*
 * The runtime requests the resolver from the resolver. It must get the recorder's resolver again,
 * with the right number of arguments.
 */
static void probe_self(void)
{
	void *driver = open_driver(RTLD_LOCAL), *first = NULL, *second = NULL, *third = NULL;
	get_proc_address_v2 *get;
	*(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
	MUST(get && get("cuGetProcAddress", &first, 12000, 0, NULL) == 0 && first, "version 12000");
	MUST(get("cuGetProcAddress", &second, 11030, 0, NULL) == 0 && second, "version 11030");
	MUST(strcmp(place_of(first).symbol, "cuGetProcAddress_v2") == 0, "%s",
	     place_of(first).symbol);
	MUST(strcmp(place_of(second).symbol, "cuGetProcAddress") == 0, "%s",
	     place_of(second).symbol);
	*(void **)&get = first;
	MUST(get("cuMemAlloc", &third, 3020, 0, NULL) == 0 && third,
	     "through the resolver of the resolver");
	if (getenv("PROBE_OURS"))
		MUST(is_ours(first) && is_ours(second) && is_ours(third),
		     "a self-lookup leads past us");
}

/*
 * When the driver looks itself up, it must not get the recorder's function: it would call itself
 * through the recorder in an endless loop.
 */
static void probe_inside(void)
{
	void *driver = open_driver(RTLD_LOCAL);
	void *(*look_up)(const char *);
	*(void **)&look_up = dlsym(driver, "fake_cuda_look_up");
	MUST(look_up, "not the fake driver");
	dlsym(driver, "cuMemAlloc_v2");
	MUST(!is_ours(look_up("cuMemAlloc_v2")), "the driver was given our function");
	MUST(!is_ours(look_up("cuGetProcAddress_v2")), "the driver was given our resolver");
}

/*
 * A library with stubs in front of the driver: the recorder must see its allocation exactly once.
 */
static void probe_stubs(void)
{
	void *stubs = dlopen("libentry_stubs.so", RTLD_NOW | RTLD_GLOBAL);
	MUST(stubs, "%s", dlerror());
	int (*alloc)(void);
	void **found = dlsym(stubs, "entry_stub_found");
	*(void **)&alloc = dlsym(stubs, "entry_stub_alloc");
	int result = alloc();
	printf("stub allocation %d\n", result);
	if (*found && getenv("PROBE_OURS"))
		MUST(is_ours(*found), "the stub leads past us");
}

/* ---- many threads at once, and forks among them ---- */

#define THREADS 8
static pthread_barrier_t barrier;

static void *race(void *argument)
{
	(void)argument;
	pthread_barrier_wait(&barrier);
	void *driver = open_driver(RTLD_LOCAL);
	static const char *const raced[] = { "cuMemAlloc_v2", "cuLaunchKernel", "cuMemFree_v2",
					     "cuGetProcAddress_v2" };
	for (size_t i = 0; i < sizeof raced / sizeof *raced; i++)
		MUST(is_ours(dlsym(driver, raced[i])), "%s is not ours in a race", raced[i]);
	return NULL;
}

/*
 * A child that is forked during the other threads' first look-ups can still look up. It has the
 * driver open already or opens it. The recorder cannot know whether glibc's own lock was held at
 * the fork, so the parent forks without a lock of its own.
 */
static void probe_race(void)
{
	pthread_t thread[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, race, NULL) == 0, "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 4; i++) {
		pid_t child = fork();
		if (child == 0) {
			alarm(100);
			pthread_barrier_init(&barrier, NULL, 1);
			race(NULL);
			_exit(0);
		}
		int status;
		MUST(waitpid(child, &status, 0) == child && status == 0, "a child ended with %x",
		     status);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "names") == 0)
		probe_names();
	else if (strcmp(what, "names_with_local_driver") == 0)
		open_driver(RTLD_LOCAL), probe_names();
	else if (strcmp(what, "names_with_global_driver") == 0)
		open_driver(RTLD_GLOBAL), probe_names();
	else if (strcmp(what, "library") == 0)
		probe_library("libentry.so");
	else if (strcmp(what, "library_with_local_driver") == 0)
		open_driver(RTLD_LOCAL), probe_library("libentry.so");
	else if (strcmp(what, "library_with_global_driver") == 0)
		open_driver(RTLD_GLOBAL), probe_library("libentry.so");
	else if (strcmp(what, "library_that_needs_the_driver") == 0)
		probe_library("libentry_needing.so");
	else if (strcmp(what, "driver") == 0)
		probe_driver();
	else if (strcmp(what, "rows") == 0)
		probe_rows();
	else if (strcmp(what, "reopen") == 0)
		probe_reopen();
	else if (strcmp(what, "requests") == 0)
		probe_requests(true);
	else if (strcmp(what, "requests_of_any_driver") == 0)
		probe_requests(false);
	else if (strcmp(what, "self") == 0)
		probe_self();
	else if (strcmp(what, "inside") == 0)
		probe_inside();
	else if (strcmp(what, "stubs") == 0)
		probe_stubs();
	else if (strcmp(what, "race") == 0)
		probe_race();
	else
		return 2;
	return 0;
}
