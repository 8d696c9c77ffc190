/*
 * The library that the scripts of this directory load with ctypes: it prints the recorder's walk of
 * Python frames, so that a script can compare it with the interpreter's own frames. Calls through
 * CDLL run without the GIL, through PyDLL with it.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "../../libgpuprof/record/python/python_memo.h"

#define DEEPEST 2048

static void *look_up(void *context, const char *name)
{
	(void)context;
	return dlsym(RTLD_DEFAULT, name);
}

int witness_find(void)
{
	return gp_python_find(look_up, NULL);
}

/* A symbol look-up that returns `instead` for one name. */
struct lie {
	const char *name;
	void *instead;
};

static void *look_up_wrong(void *context, const char *name)
{
	const struct lie *lie = context;
	return strcmp(name, lie->name) == 0 ? lie->instead : dlsym(RTLD_DEFAULT, name);
}

int witness_find_wrong(const char *name, void *instead)
{
	return gp_python_find(look_up_wrong, &(struct lie){ name, instead });
}

const char *witness_why_off(void)
{
	return gp_python_why_off();
}

struct page {
	char *at, *end;
};

__attribute__((format(printf, 2, 3))) static void put(struct page *page, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(page->at, (size_t)(page->end - page->at), format, arguments);
	va_end(arguments);
	if (n < 0 || n >= page->end - page->at)
		abort();
	page->at += n;
}

static void put_frame(struct page *page, const struct gp_python_frame *frame)
{
	char file_bytes[8192], name_bytes[8192];
	struct gp_python_text file = { file_bytes, sizeof file_bytes, 0, false };
	struct gp_python_text name = { name_bytes, sizeof name_bytes, 0, false };
	int32_t first_line;
	if (!gp_python_describe(frame->code, &file, &name, &first_line)) {
		put(page, "not described: %s\n", gp_python_why_off());
		return;
	}
	put(page, "%.*s\t%.*s\t%d\t%d\t%d\n", (int)file.size, file.bytes, (int)name.size,
	    name.bytes, first_line, gp_python_line(frame->code, frame->offset), frame->offset);
}

/* A walk as the memo's caller keeps it; its index in `kept` is its id. */
struct kept_walk {
	unsigned frames;
	enum gp_python_reason reason;
	struct gp_python_frame *frame;
	uint64_t *identity;
};
static _Thread_local struct kept_walk kept[512];
static _Thread_local unsigned kept_walks;
static _Thread_local struct gp_python_memo *memo;
static _Atomic uint64_t memo_hits;

uint64_t witness_memo_hits(void)
{
	return memo_hits;
}

static void forget_all(void)
{
	while (kept_walks) {
		free(kept[--kept_walks].frame);
		free(kept[kept_walks].identity);
	}
	gp_python_memo_forget(memo);
}

static bool is_kept(const struct kept_walk *w, const struct gp_python_frame *frames, unsigned n,
		    enum gp_python_reason reason)
{
	if (w->frames != n || w->reason != reason)
		return false;
	for (unsigned k = 0; k < n; k++) {
		const struct gp_python_frame *a = &w->frame[k], *b = &frames[k];
		if (a->code != b->code || a->offset != b->offset || a->is_entry != b->is_entry ||
		    a->bare_entries != b->bare_entries || a->code_frees != b->code_frees ||
		    w->identity[k] != gp_python_identity(b->code))
			return false;
	}
	return true;
}

static uint32_t id_of(const struct gp_python_frame *frames, unsigned n,
		      enum gp_python_reason reason)
{
	for (unsigned k = 0; k < kept_walks; k++)
		if (is_kept(&kept[k], frames, n, reason))
			return k + 1;
	if (kept_walks == sizeof kept / sizeof *kept)
		forget_all();
	struct kept_walk *w = &kept[kept_walks++];
	*w = (struct kept_walk){ n, reason, malloc(n * sizeof *w->frame),
				 malloc(n * sizeof *w->identity) };
	memcpy(w->frame, frames, n * sizeof *frames);
	for (unsigned k = 0; k < n; k++)
		w->identity[k] = gp_python_identity(frames[k].code);
	return kept_walks;
}

/* The memo must find the result of a walk, or no entry. */
static bool is_memo_right(const struct gp_python_frame *frames, unsigned n, unsigned most,
			  enum gp_python_reason reason)
{
	struct gp_python_start start;
	enum gp_python_reason found;
	const void *loop[DEEPEST];
	unsigned loops = 0;
	static _Thread_local struct gp_thread_pieces pieces;
	static _Thread_local unsigned asked_for;
	if (!memo) {
		memo = malloc(sizeof *memo);
		gp_python_memo_init(memo, &pieces);
	}
	if (asked_for != most)
		forget_all();
	asked_for = most;
	const struct gp_python_stack *s = gp_python_memo_find(memo, memo->last, &start, &found);
	if (n == 0 || found != GP_PYTHON_COMPLETE)
		return !s;
	const unsigned before = kept_walks;
	const uint32_t id = id_of(frames, n, reason);
	if (kept_walks < before)
		s = NULL; /* forgotten a moment ago */
	for (unsigned k = 0; k < n; k++)
		if (frames[k].loop)
			loop[loops++] = frames[k].loop;
	if (s)
		memo_hits++;
	else if (!(s = gp_python_memo_add(
			   memo, &start,
			   &(struct gp_python_walked){ most, reason, id, 0, loops, loop, NULL })))
		return true;
	if (s->id == id && s->loops == loops &&
	    memcmp(gp_python_loops(s), loop, loops * sizeof *loop) == 0)
		return true;
	/* another thread may have freed a code object with the same hash */
	struct gp_python_frame again[DEEPEST];
	struct gp_python_walk walk;
	const unsigned n_again = gp_python_walk(again, most < DEEPEST ? most : DEEPEST, &walk);
	for (unsigned k = 0; k < n && k < n_again; k++)
		if (again[k].code_frees != frames[k].code_frees)
			return true;
	return false;
}

/* One line a frame: file, name, first line, line, offset; "reason N" unless it has all. */
size_t witness_walk(char *out, size_t room, unsigned most)
{
	static _Thread_local struct gp_python_frame frames[DEEPEST];
	struct gp_python_walk walk;
	struct page page = { out, out + room };
	unsigned n = gp_python_walk(frames, most < DEEPEST ? most : DEEPEST, &walk);
	for (unsigned k = 0; k < n; k++)
		put_frame(&page, &frames[k]);
	if (walk.reason != GP_PYTHON_COMPLETE)
		put(&page, "reason %d\n", (int)walk.reason);
	for (unsigned k = 0; k < 5; k++) /* seen, remembered, its own follower, found twice */
		if (!is_memo_right(frames, n, most, walk.reason))
			put(&page, "the memo finds another stack\n");
	return (size_t)(page.at - out);
}

/* With the GIL: also the caller's frame.f_lasti at this moment. */
size_t witness_walk_held(char *out, size_t room, unsigned most, long *offset)
{
	void *(*get_frame)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_GetFrame");
	void *(*get_attribute)(void *, const char *) =
		(void *(*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyObject_GetAttrString");
	long (*as_long)(void *) = (long (*)(void *))dlsym(RTLD_DEFAULT, "PyLong_AsLong");
	void (*drop)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_DecRef");
	size_t size = witness_walk(out, room, most);
	void *number = get_attribute(get_frame(), "f_lasti");
	*offset = as_long(number);
	drop(number);
	return size;
}

/*
 * Finds the C frames of _PyEval_EvalFrameDefault on the native stack, and the native frames in
 * which the entries of the walk lie. Compilers may move parts of a function away, without a symbol.
 * Where no frame has the name, all loops must at least lie in one and the same function.
 */
struct loops {
	uintptr_t start, size; /* of _PyEval_EvalFrameDefault */
	int named;	       /* native frames with its name */
	const void *inside[DEEPEST];
	int entries, placed;
	uintptr_t before,
		function; /* of the native frame before: its stack pointer, its function */
	bool is_named;
	uintptr_t cold; /* the unnamed function that contains loops */
	bool is_wrong;
};

/* Entries with an address in the C frame from loops->before to `end`. */
static void place_loops(struct loops *loops, uintptr_t end)
{
	int here = 0;
	while (loops->placed < loops->entries) {
		uintptr_t loop = (uintptr_t)loops->inside[loops->placed];
		if (loop < loops->before || loop >= end)
			break;
		loops->placed++;
		here++;
	}
	if (here > 1)
		loops->is_wrong = true;
	if (!here || loops->is_named)
		return;
	if (loops->cold && loops->cold != loops->function)
		loops->is_wrong = true;
	loops->cold = loops->function;
}

static _Unwind_Reason_Code count_loop(struct _Unwind_Context *context, void *data)
{
	struct loops *loops = data;
	int is_before = 0;
	uintptr_t at = _Unwind_GetIPInfo(context, &is_before) - !is_before;
	uintptr_t stack = _Unwind_GetCFA(context);
	place_loops(loops, stack);
	loops->is_named = at - loops->start < loops->size;
	loops->named += loops->is_named;
	loops->function = (uintptr_t)_Unwind_FindEnclosingFunction((void *)at);
	loops->before = stack;
	return _URC_NO_REASON;
}

/* The difference between the walk's entries and the native stack; "" if there is none. */
const char *witness_loops(void)
{
	static _Thread_local struct gp_python_frame frames[DEEPEST];
	static _Thread_local struct loops loops;
	static _Thread_local char wrong[128];
	struct gp_python_walk walk;
	unsigned n = gp_python_walk(frames, DEEPEST, &walk);
	int entries = (int)walk.bare_entries, no_place = 0;
	memset(&loops, 0, sizeof loops);
	for (unsigned k = 0; k < n; k++) {
		entries += frames[k].is_entry + frames[k].bare_entries;
		if (frames[k].loop)
			loops.inside[loops.entries++] = frames[k].loop;
		else
			no_place += frames[k].is_entry;
	}
	Dl_info info;
	const ElfW(Sym) *symbol = NULL;
	loops.start = (uintptr_t)dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
	if (dladdr1((void *)loops.start, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
		loops.size = symbol->st_size;
	_Unwind_Backtrace(count_loop, &loops);
	bool has_places = gp_python_version() >= (3 << 8 | 11);
	bool is_right = !loops.is_wrong && loops.placed == loops.entries &&
			(!has_places || no_place == 0) &&
			(loops.named == entries || (has_places && loops.cold));
	snprintf(wrong, sizeof wrong, "%d named, %d entries, %d of %d placed, %d without a place%s",
		 loops.named, entries, loops.placed, loops.entries, no_place,
		 loops.is_wrong ? ", in different functions" : "");
	return is_right ? "" : wrong;
}

/* Address and identity of the caller's code object. */
void witness_identity(uint64_t out[2])
{
	struct gp_python_frame frame;
	struct gp_python_walk walk;
	out[0] = out[1] = 0;
	if (gp_python_walk(&frame, 1, &walk) != 1)
		return;
	out[0] = (uintptr_t)frame.code;
	out[1] = gp_python_identity(frame.code);
}

/* For a code object that is alive and that no other thread can drop. */
uint64_t witness_identity_at(const void *code)
{
	return gp_python_identity(code);
}

/* Calls back into Python. */
int witness_call(int (*function)(int), int argument)
{
	return function(argument);
}

/* A C thread that calls back into Python. */
struct foreign {
	int (*function)(int);
	unsigned before, after; /* reasons of its walks outside Python */
};

static unsigned reason_now(void)
{
	struct gp_python_walk walk;
	struct gp_python_frame frame;
	gp_python_walk(&frame, 1, &walk);
	return walk.reason;
}

static void *foreign_thread(void *argument)
{
	struct foreign *foreign = argument;
	foreign->before = reason_now();
	foreign->function(1);
	foreign->after = reason_now();
	return NULL;
}

/* 10 * reason before + reason after */
unsigned witness_foreign(int (*function)(int))
{
	struct foreign foreign = { function, 0, 0 };
	pthread_t thread;
	if (pthread_create(&thread, NULL, foreign_thread, &foreign) != 0)
		return 0;
	pthread_join(thread, NULL);
	return foreign.before * 10 + foreign.after;
}

/* Compares the line of every instruction (of every `stride`-th unit) with PyCode_Addr2Line: how
 * many were compared, or -1 - offset of the first that differs. To be called with the GIL. */
long witness_lines(void *code, long bytes, long stride)
{
	static int (*reference)(void *, int);
	if (!reference)
		reference = (int (*)(void *, int))dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
	long compared = 0;
	for (long offset = 0; offset < bytes; offset += 2 * stride, compared++)
		if (gp_python_line(code, (int32_t)offset) != reference(code, (int)offset))
			return -1 - offset;
	return compared;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Holds a lock and walks for this long; meanwhile a thread with the GIL waits for the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_held, is_waiting, waited_and_left;

long witness_walk_holding(long ms)
{
	struct gp_python_frame frames[64];
	struct gp_python_walk walk;
	long walks = 0;
	pthread_mutex_lock(&lock);
	is_held = 1;
	while (!is_waiting)
		usleep(100);
	for (uint64_t end = now_ns() + (uint64_t)ms * 1000000; now_ns() < end; walks++)
		if (gp_python_walk(frames, 64, &walk) == 0)
			walks = -1000000000;
	if (waited_and_left)
		walks = -1;
	pthread_mutex_unlock(&lock);
	return walks;
}

void witness_wait_for_lock(void)
{
	is_waiting = 1;
	pthread_mutex_lock(&lock);
	waited_and_left = 1;
	pthread_mutex_unlock(&lock);
}

int witness_is_held(void)
{
	return is_held;
}

/* Walks without a pause until the process is gone. */
static _Atomic unsigned long complete_walks;
static _Atomic uint64_t identities; /* so that the thread's tables exist */

void witness_walk_for_ever(void)
{
	struct gp_python_frame frames[64];
	struct gp_python_walk walk;
	for (;;) {
		unsigned n = gp_python_walk(frames, 64, &walk);
		for (unsigned k = 0; k < n; k++)
			identities = gp_python_identity(frames[k].code);
		complete_walks += walk.reason == GP_PYTHON_COMPLETE;
	}
}

unsigned long witness_walks(void)
{
	return complete_walks;
}

/*
 * Walks during the interpreter's end. A walk reads the thread state, and whether the interpreter is
 * ending; before and after each query is a gate. A walker stops at one of them until the
 * interpreter has ended, and continues before the process is gone.
 */
static void *(*real_thread_state)(void);
static int (*real_is_finalizing)(void);
static _Thread_local unsigned gates_passed, gate_to_stop_at;
static sem_t stopped, ended, judged; /* number of walkers */
static unsigned walkers_stopped;
static _Atomic unsigned refused, whole;

static void await(sem_t *event)
{
	while (sem_wait(event) != 0) /* interrupted */
		;
}

static void pass_gate(void)
{
	if (++gates_passed != gate_to_stop_at)
		return;
	sem_post(&stopped);
	await(&ended);
}

static void *gated_thread_state(void)
{
	pass_gate();
	void *state = real_thread_state();
	pass_gate();
	return state;
}

static int gated_is_finalizing(void)
{
	pass_gate();
	int is_finalizing = real_is_finalizing();
	pass_gate();
	return is_finalizing;
}

static void *look_up_gated(void *context, const char *name)
{
	void *real = look_up(context, name);
	if (real && strcmp(name, "PyGILState_GetThisThreadState") == 0) {
		real_thread_state = (void *(*)(void))real;
		return (void *)gated_thread_state;
	}
	if (real && strstr(name, "Py_IsFinalizing")) {
		real_is_finalizing = (int (*)(void))real;
		return (void *)gated_is_finalizing;
	}
	return real;
}

int witness_find_gated(void)
{
	sem_init(&stopped, 0, 0);
	sem_init(&ended, 0, 0);
	sem_init(&judged, 0, 0);
	return gp_python_find(look_up_gated, NULL);
}

/* How many gates a walk has. */
unsigned witness_gates(void)
{
	gates_passed = 0;
	reason_now();
	return gates_passed;
}

/* A walk that stops at a gate. It must fail, or find the frames of the walk before it. */
void witness_walk_over_end(unsigned gate)
{
	struct gp_python_frame before[64], after[64];
	struct gp_python_walk walk;
	unsigned n_before = gp_python_walk(before, 64, &walk);
	gates_passed = 0;
	gate_to_stop_at = gate;
	unsigned n = gp_python_walk(after, 64, &walk);
	if (walk.reason == GP_PYTHON_FINALIZING || walk.reason == GP_PYTHON_NO_THREAD_STATE)
		refused++;
	else if (walk.reason == GP_PYTHON_COMPLETE && n == n_before &&
		 memcmp(before, after, n * sizeof *before) == 0)
		whole++;
	sem_post(&judged);
	for (;;)
		pause(); /* the interpreter has ended */
}

void witness_await_stopped(unsigned walkers)
{
	for (; walkers_stopped < walkers; walkers_stopped++)
		await(&stopped);
}

__attribute__((destructor)) static void walk_over_end(void)
{
	if (!walkers_stopped)
		return;
	for (unsigned k = 0; k < walkers_stopped; k++)
		sem_post(&ended);
	for (unsigned k = 0; k < walkers_stopped; k++)
		await(&judged);
	dprintf(STDOUT_FILENO, "of %u walks over the end %u were refused, %u were whole\n",
		walkers_stopped, refused, whole);
	if (!refused || !whole || refused + whole != walkers_stopped)
		_exit(1);
}
