/*
 * Learns rules from libunwind 1.1 to 1.8 on x86-64 (native_learn.h). Uses its exported functions
 * alone. Where its header is installed, assertions compare it with the structures assumed here.
 */
#include "native_learn.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../hot.h"
#include "../process/fork_gate.h"
#include "../record.h"
#include "native_bounds.h"
#include "walking_stack.h"

#if __has_include(<libunwind.h>)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#define HAVE_HEADER
#endif

/* ---- the loader's count of objects ---- */

static const uint64_t never;
const volatile uint64_t *gp_native_loads = &never;
_Atomic uint64_t gp_native_loads_seen GP_HOT_DATA;
static _Atomic uint64_t unloads_seen;

#define CANDIDATES 8u
static const uint64_t *candidates[CANDIDATES];
static unsigned candidates_used;

static int read_counts(struct dl_phdr_info *info, size_t size, void *context)
{
	struct gp_native_objects *counts = context;
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
		*counts = (struct gp_native_objects){ info->dlpi_adds, info->dlpi_subs };
	return 1;
}

static struct gp_native_objects count_modules(void)
{
	struct gp_native_objects counts = { 0, 0 };
	dl_iterate_phdr(read_counts, &counts);
	return counts;
}

void gp_native_watch_loader(const void *state, size_t bytes)
{
	const uint64_t *word = state;
	const uint64_t loads = count_modules().loaded;
	candidates_used = 0;
	/*
	 * glibc's state begins with its first namespace: a list, then the number of objects that
	 * are loaded now. Both words are skipped: that number is the same after an unload and a
	 * load.
	 */
	for (size_t i = 2; state && loads && i < bytes / sizeof *word; i++)
		if (word[i] == loads && candidates_used < CANDIDATES)
			candidates[candidates_used++] = &word[i];
}

/* Libunwind was loaded meanwhile. Exactly one of the candidates must have counted that. */
static void choose_candidate(void)
{
	struct gp_native_objects counts = count_modules();
	const uint64_t *chosen = NULL;
	unsigned left = 0;
	for (unsigned i = 0; i < candidates_used; i++)
		if (*candidates[i] == counts.loaded) {
			chosen = candidates[i];
			left++;
		}
	atomic_store(&unloads_seen, counts.unloaded);
	atomic_store(&gp_native_loads_seen, left == 1 ? counts.loaded : 0);
	if (left == 1)
		gp_native_loads = chosen;
}

bool gp_native_has_load_counter(void)
{
	return gp_native_loads != &never;
}

bool gp_native_count_objects(struct gp_native_objects *objects)
{
	uint64_t signals;
	if (!gp_fork_gate_enter(&signals))
		return false;
	*objects = count_modules();
	gp_fork_gate_leave(&signals);
	return true;
}

bool gp_native_check_modules(void)
{
	uint64_t signals;
	if (!gp_fork_gate_enter(&signals))
		return false;
	const uint64_t loads = *gp_native_loads;
	const uint64_t unloads = count_modules().unloaded;
	gp_fork_gate_leave(&signals);
	if (unloads != atomic_load(&unloads_seen)) {
		gp_native_rules_forget();
		atomic_store(&unloads_seen, unloads);
	} else if (loads != atomic_load(&gp_native_loads_seen)) {
		gp_native_rules_forget_none();
	}
	/* partner: acquire in native_walk.c */
	atomic_store_explicit(&gp_native_loads_seen, loads, memory_order_release);
	return true;
}

/* ---- libunwind's interface ---- */

#define CURSOR_WORDS 512u /* versions had up to 127 */
#define PROC_INFO_WORDS 32u
enum { REGISTER_FRAME = 6, REGISTER_STACK = 7, REGISTER_IP = 16 };

typedef int access_mem(void *space, uint64_t at, uint64_t *value, int is_write, void *context);

/* The first fields of unw_accessors_t. */
struct accessors {
	void *find_proc_info, *put_unwind_info, *get_dyn_info_list_addr;
	access_mem *access_mem;
};

static struct {
	int (*init_local)(uint64_t *cursor, ucontext_t *context);
	int (*step)(uint64_t *cursor);
	int (*get_reg)(uint64_t *cursor, int number, uint64_t *value);
	int (*get_proc_info_by_ip)(void *space, uint64_t ip, uint64_t *info, void *context);
	int (*set_caching_policy)(void *space, int policy);
	struct accessors *(*get_accessors)(void *space);
	void **local_space;
} unwind;

#ifdef HAVE_HEADER
_Static_assert(sizeof(unw_cursor_t) <= CURSOR_WORDS * 8, "cursor");
_Static_assert(sizeof(unw_proc_info_t) <= PROC_INFO_WORDS * 8, "proc info");
_Static_assert(sizeof(unw_context_t) == sizeof(ucontext_t), "context");
_Static_assert(offsetof(unw_accessors_t, access_mem) == offsetof(struct accessors, access_mem),
	       "accessors");
_Static_assert((int)UNW_X86_64_RBP == REGISTER_FRAME && (int)UNW_X86_64_RSP == REGISTER_STACK &&
		       (int)UNW_X86_64_RIP == REGISTER_IP && (int)UNW_CACHE_NONE == 0,
	       "numbers");
#endif

/* ---- a region whose words show how they were read ---- */

/*
 * libunwind steps from registers that point into a region of our own: the stack pointer to
 * BASE_STACK, the frame pointer to BASE_FRAME. The word at an address near a base holds that
 * address + LEVEL. So a register that libunwind computes shows from which base, at which offset and
 * through how many words it was read.
 *
 * libunwind reads saved registers through read_word, which computes the words. It reads expressions
 * of unwind information directly, so the words near the bases exist. All other words of the region
 * hold BASE_OTHER, an address from which no rule follows: expressions that follow pointers stay
 * inside. Registers that we do not follow hold BASE_OTHER, too.
 */
#define WINDOW (INT64_C(4) << 20)
#define REACH (WINDOW / 2)
#define LEVEL (2 * (uint64_t)WINDOW)
#define LEVELS 3
#define REGION (8 * (uint64_t)WINDOW)
#define PIECE (UINT64_C(256) << 10)
#define FILLED 4096u /* bytes on either side of a base; a signal's registers lie within */

static uint64_t region;
#define BASE_STACK (region + WINDOW)
#define BASE_FRAME (region + 2 * WINDOW)
#define BASE_OTHER (region + 7 * WINDOW)

/* The words around one base. False: no memory. */
static bool native_learn_fill(uint64_t base)
{
	uint64_t *words = mmap((void *)(base - FILLED), 2 * (size_t)FILLED, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (words == MAP_FAILED)
		return false;
	for (uint64_t at = base - FILLED; at < base + FILLED; at += 8)
		*words++ = at + LEVEL;
	return mprotect((void *)(base - FILLED), 2 * (size_t)FILLED, PROT_READ) == 0;
}

/*
 * Fills the region with BASE_OTHER: each piece of it maps the same memory. That memory is not a
 * file of our own, because a job may limit the size of files (RLIMIT_FSIZE), and a memfd counts as
 * one. If the kernel refuses, the words are zeros: expressions that follow two pointers then end
 * the job. All 32 MiB of addresses count against RLIMIT_MEMLOCK. An expression that reads address
 * 0, or one computed from constants, leaves the region and ends the job; no compiler emits one.
 */
static void fill_all(void)
{
	uint64_t *words =
		mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (words == MAP_FAILED)
		return;
	/* if the job locks its memory, each mapping of the piece would be filled otherwise */
	munlock(words, PIECE);
	for (size_t i = 0; i < PIECE / sizeof *words; i++)
		words[i] = BASE_OTHER;
	/* an old size of 0 makes a second mapping of shared memory, with the same rights */
	if (mprotect(words, PIECE, PROT_READ) == 0)
		for (uint64_t at = region; at < region + REGION; at += PIECE)
			mremap(words, 0, PIECE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at);
	munmap(words, PIECE);
}

/* False: no memory. */
static bool open_region(void)
{
	if (region)
		return true;
	void *pages = gp_pages_inherited(REGION);
	if (!pages)
		return false;
	region = (uintptr_t)pages;
	fill_all();
	for (uint64_t level = 0; level < LEVELS - 1; level++)
		if (!native_learn_fill(BASE_STACK + level * LEVEL) ||
		    !native_learn_fill(BASE_FRAME + level * LEVEL))
			return false;
	return true;
}

/*
 * How a value was computed: level 0 is a base + offset, level 1 the word there, level 2 the word at
 * the address that this word holds.
 */
struct place {
	bool is_known; /* it is an address of the region, near a base */
	bool is_frame; /* of BASE_FRAME, else of BASE_STACK */
	int level;
	int64_t offset;
};

static struct place native_learn_place_of(uint64_t value)
{
	const int64_t from = (int64_t)(value - region) - REACH;
	const int64_t window = from / WINDOW; /* 0: stack, 1: frame, 2: stack of level 1, ... */
	if (from < 0 || window >= 2 * LEVELS)
		return (struct place){ 0 };
	return (struct place){ true, window & 1, (int)(window / 2),
			       from - window * WINDOW - REACH };
}

/*
 * Replaces libunwind's access_mem. A job that uses the same copy calls it, too: outside of the
 * region it tests whether an address is readable.
 */
static int read_word(void *space, uint64_t at, uint64_t *value, int is_write, void *context)
{
	(void)space;
	(void)context;
	struct place place = native_learn_place_of(at);
	if (place.is_known && place.level < LEVELS - 1 && !is_write) {
		*value = at + LEVEL;
		return 0;
	}
	if (place.is_known || at % 8 || !gp_native_is_readable(at))
		return -1;
	if (is_write)
		*(uint64_t *)at = *value; /* only by unw_set_reg, which we never call */
	else
		*value = gp_native_word(at);
	return 0;
}

/* ---- from registers to a rule ---- */

/* The registers after one step. */
struct outcome {
	int stepped; /* as unw_step returns: > 0 a frame, 0 the last one, < 0 an error */
	struct place stack, frame, ip;
	bool has_frame; /* the frame pointer was not lost */
};

/* The code at `ip` has unwind information. */
static bool has_information(uint64_t ip)
{
	uint64_t info[PROC_INFO_WORDS] = { 0 };
	if (unwind.get_proc_info_by_ip(*unwind.local_space, ip, info, NULL) < 0)
		return false;
	return info[0] <= ip && ip < info[1]; /* start_ip, end_ip */
}

/* A cursor at `key` whose registers point to the bases. */
static bool init(uint64_t *cursor, ucontext_t *context, uintptr_t key)
{
	memset(context, 0, sizeof *context);
	for (int i = REG_R8; i <= REG_RSP; i++)
		context->uc_mcontext.gregs[i] = (greg_t)BASE_OTHER;
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)key;
	context->uc_mcontext.gregs[REG_RSP] = (greg_t)BASE_STACK;
	context->uc_mcontext.gregs[REG_RBP] = (greg_t)BASE_FRAME;
	return unwind.init_local(cursor, context) == 0;
}

/* Leaves the frame of `key`. False: libunwind cannot. */
static bool step_from(uintptr_t key, struct outcome *out)
{
	ucontext_t context;
	uint64_t cursor[CURSOR_WORDS];
	uint64_t stack = 0, frame = 0, ip = 0;
	if (!init(cursor, &context, key))
		return false;
	out->stepped = unwind.step(cursor);
	if (out->stepped <= 0)
		return out->stepped == 0;
	if (unwind.get_reg(cursor, REGISTER_STACK, &stack) < 0 ||
	    unwind.get_reg(cursor, REGISTER_IP, &ip) < 0)
		return false;
	out->has_frame = unwind.get_reg(cursor, REGISTER_FRAME, &frame) == 0;
	out->stack = native_learn_place_of(stack);
	out->ip = native_learn_place_of(ip);
	out->frame = native_learn_place_of(frame);
	return true;
}

static bool is_at(struct place p, int level, bool is_frame, int64_t offset)
{
	return p.is_known && p.level == level && p.is_frame == is_frame && p.offset == offset;
}

/* Where the kernel puts the registers in the frame of a signal handler. */
#define SIGNAL_REGISTER(number) \
	((int64_t)(offsetof(ucontext_t, uc_mcontext.gregs) + 8 * (size_t)(number)))

static bool is_signal_frame(const struct outcome *o)
{
	return is_at(o->stack, 1, false, SIGNAL_REGISTER(REG_RSP)) &&
	       is_at(o->ip, 1, false, SIGNAL_REGISTER(REG_RIP)) &&
	       is_at(o->frame, 1, false, SIGNAL_REGISTER(REG_RBP));
}

/* The CFA is a base + offset. */
static uint32_t rule_by_register(struct place cfa, struct place saved, bool is_kept)
{
	const enum gp_native_kind kind = cfa.is_frame ? GP_NATIVE_BY_FRAME : GP_NATIVE_BY_STACK;
	if (is_kept)
		return gp_native_rule(kind, cfa.offset, 0);
	if (saved.level != 1 || saved.is_frame != cfa.is_frame)
		return 0;
	return gp_native_rule(kind, cfa.offset, saved.offset - cfa.offset);
}

/* The stack was realigned: gcc keeps the CFA in a word below the frame pointer. */
static uint32_t rule_by_word(struct place cfa, struct place saved, bool is_kept)
{
	if (cfa.level != 1 || !cfa.is_frame || is_kept || saved.level != 1 || !saved.is_frame)
		return 0;
	return gp_native_rule(GP_NATIVE_BY_FRAME_AT, cfa.offset, saved.offset - cfa.offset);
}

/* 0: no kind of rule describes it. */
static uint32_t rule_of(const struct outcome *o)
{
	const struct place cfa = o->stack, saved = o->frame;
	if (is_signal_frame(o))
		return gp_native_rule(GP_NATIVE_SIGNAL, 0, 0);
	/* the return address lies below the CFA */
	if (!cfa.is_known || !is_at(o->ip, cfa.level + 1, cfa.is_frame, cfa.offset - 8))
		return 0;
	/* the frame pointer is still in its register; or lost: a rule that needs it detects that */
	const bool is_kept = !o->has_frame || is_at(saved, 0, true, 0);
	if (!is_kept && !saved.is_known)
		return 0;
	return cfa.level == 0 ? rule_by_register(cfa, saved, is_kept) :
				rule_by_word(cfa, saved, is_kept);
}

struct lesson {
	uintptr_t key;
	uint32_t rule; /* 0: none */
};

static void learn_rule(void *lesson)
{
	struct lesson *l = lesson;
	struct outcome outcome = { 0 };
	/* without information libunwind would assume a frame pointer */
	if (has_information(l->key - 1) && step_from(l->key, &outcome))
		l->rule = outcome.stepped == 0 ? gp_native_rule(GP_NATIVE_OUTERMOST, 0, 0) :
						 rule_of(&outcome);
}

uint32_t gp_native_learn(uintptr_t key)
{
	const int error = errno;
	const uint32_t epoch = atomic_load(&gp_native_epoch);
	struct lesson lesson = { key, 0 };
	uint64_t signals;
	if (!gp_fork_gate_enter(&signals))
		return 0;
	const bool has_run = gp_walking_stack_run(learn_rule, &lesson);
	gp_fork_gate_leave(&signals);
	errno = error;
	if (!has_run)
		return 0;
	if (lesson.rule == 0)
		lesson.rule = gp_native_rule(GP_NATIVE_NONE, 0, 0);
	gp_native_rule_add(key, lesson.rule);
	if (atomic_load(&gp_native_epoch) != epoch) /* its library may be unloaded by now */
		gp_native_rules_forget();
	return lesson.rule;
}

/* ---- opening ---- */

/* False: one is missing. */
static bool find_functions(void *(*lookup)(void *, const char *), void *context)
{
	const struct {
		const char *names[2];
		void *to;
	} functions[] = {
		{ { "_ULx86_64_init_local", NULL }, &unwind.init_local },
		{ { "_ULx86_64_step", NULL }, &unwind.step },
		{ { "_ULx86_64_get_reg", NULL }, &unwind.get_reg },
		{ { "_ULx86_64_get_proc_info_by_ip", NULL }, &unwind.get_proc_info_by_ip },
		{ { "_ULx86_64_set_caching_policy", NULL }, &unwind.set_caching_policy },
		{ { "_ULx86_64_get_accessors", "_Ux86_64_get_accessors" }, &unwind.get_accessors },
		{ { "_ULx86_64_local_addr_space", NULL }, &unwind.local_space },
	};
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *found = NULL;
		for (unsigned k = 0; k < 2 && !found && functions[i].names[k]; k++)
			found = lookup(context, functions[i].names[k]);
		if (!found)
			return false;
		memcpy(functions[i].to, &found, sizeof found);
	}
	return true;
}

/* The writable segment of the object that contains `inside`. */
struct segment {
	const void *inside;
	const int *from;
	size_t bytes;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *context)
{
	struct segment *s = context;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) ||
		    (uintptr_t)s->inside - from >= p->p_memsz)
			continue;
		from = (from + 3) & ~(uintptr_t)3;
		s->from = (const int *)from;
		s->bytes = (p->p_memsz - 3) & ~(size_t)3;
		return 1;
	}
	return 0;
}

/* They are two ends of one pipe. */
static bool is_pipe(int first, int second)
{
	struct statx a, b;
	if (first < 0 || second < 0 || first == second ||
	    statx(first, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &a) != 0 ||
	    statx(second, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &b) != 0)
		return false;
	return S_ISFIFO(a.stx_mode) && S_ISFIFO(b.stx_mode) && a.stx_ino == b.stx_ino &&
	       a.stx_dev_minor == b.stx_dev_minor;
}

/*
 * libunwind's first use opens a pipe and stores its two ends side by side in its data. Closes the
 * two words that are a pipe now and held other values before.
 */
static void close_pipe(const struct segment *s, const int *was)
{
	for (size_t i = 0; i + 1 < s->bytes / sizeof *was; i++) {
		if (s->from[i] == was[i] || s->from[i + 1] == was[i + 1] ||
		    !is_pipe(s->from[i], s->from[i + 1]))
			continue;
		close(s->from[i]);
		close(s->from[i + 1]);
		return;
	}
}

/* A copy of the segment; MAP_FAILED: no memory, or the segment was not found. */
static int *copy_segment(struct segment *s)
{
	int *copy = MAP_FAILED;
	if (dl_iterate_phdr(find_segment, s))
		copy = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	if (copy != MAP_FAILED)
		memcpy(copy, s->from, s->bytes);
	return copy;
}

/*
 * Makes libunwind's address space and replaces its reader. False: the functions use the space of
 * another copy, the program's, which comes first in the order of symbols.
 */
static bool open_space(void)
{
	ucontext_t registers;
	uint64_t cursor[CURSOR_WORDS] = { 0 };
	const bool is_used = init(cursor, &registers, (uintptr_t)read_word + 1);
	bool is_ours = false;
	for (unsigned i = 0; is_used && i < 8; i++) /* the cursor begins with its space */
		is_ours |= cursor[i] == (uintptr_t)*unwind.local_space;
	if (!is_ours)
		return false;
	unwind.get_accessors(*unwind.local_space)->access_mem = read_word;
	unwind.set_caching_policy(*unwind.local_space, 0);
	unwind.step(cursor);
	return true;
}

/* The first use, without the pipe that it opens. False: see open_space. */
static bool first_use(void)
{
	struct segment s = { .inside = unwind.local_space };
	int *was = copy_segment(&s);
	const bool is_ours = open_space();
	if (was != MAP_FAILED) {
		close_pipe(&s, was);
		munmap(was, s.bytes);
	}
	return is_ours;
}

struct trial {
	bool is_ours, is_proven;
};

/* The test: at the begin of a function, the return address lies on top of the stack. */
static void try_first_use(void *trial)
{
	struct trial *t = trial;
	struct lesson lesson = { (uintptr_t)read_word + 1, 0 };
	t->is_ours = first_use();
	if (t->is_ours)
		learn_rule(&lesson);
	t->is_proven = lesson.rule == gp_native_rule(GP_NATIVE_BY_STACK, 8, 0);
}

const char *gp_native_learn_open(void *(*lookup)(void *, const char *), void *context)
{
	const int error = errno;
	struct trial trial = { false, false };
	if (!find_functions(lookup, context))
		return "libunwind lacks a function that is needed";
	if (!open_region() || !gp_native_rules_open() || !gp_fork_gate_open())
		return "no memory is left for native stacks";
	choose_candidate();
	const bool is_tried = gp_walking_stack_run(try_first_use, &trial);
	errno = error;
	if (!is_tried)
		return "no memory is left for native stacks";
	if (!trial.is_ours)
		return "the program has a libunwind of its own that stands before ours";
	return trial.is_proven ? NULL : "libunwind does not do what it should";
}
