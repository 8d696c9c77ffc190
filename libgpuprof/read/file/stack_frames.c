/*
 * Merges native and Python frames. From CPython 3.11 on, the recorder marks each native frame at
 * which a run of Python frames stands: one _PyEval_EvalFrameDefault runs all Python functions that
 * Python calls. Up to 3.10 each call runs one frame, found by its name. If the numbers of both
 * differ although the native chain is whole, the order is not guessed: the Python frames follow the
 * native ones, and the stack has the reason.
 */
#include "stack_frames.h"

#include <stdlib.h>
#include <string.h>

#include "../frames/frame_names.h"
#include "recording.h"

#define CHAIN_MAX 256u
#define INLINED_MAX 32u

const char *gp_stack_missing(enum gp_stack_why native, enum gp_stack_why python)
{
	if (native == GP_WHY_TABLE_FULL || python == GP_WHY_TABLE_FULL)
		return "no room for more stacks";
	if (native == GP_WHY_TRUNCATED || python == GP_WHY_TRUNCATED)
		return "deeper frames are left out";
	if (python == GP_WHY_FINALIZING)
		return "no Python frames: the interpreter is ending";
	if (native == GP_WHY_GATE)
		return "no native frames: the process was forking, or was forked while it looked "
		       "code up";
	if (native == GP_WHY_NO_RULE)
		return "native frames end where unwind tables are missing";
	if (native == GP_WHY_BROKEN)
		return "native frames end where the stack makes no sense";
	return NULL;
}

/* ---- one kind after the other ---- */

struct merger {
	const struct gp_call_stack *stack;
	const struct gp_native_frame *native;
	const struct gp_python_frame *python;
	struct gp_symbolizer *symbolizer;
	struct gp_frame *out;
	size_t most, frames, pythons; /* pythons: put so far */
};

static void stack_frames_put(struct merger *m, const struct gp_frame *frame)
{
	if (m->frames < m->most)
		m->out[m->frames++] = *frame;
}

static void put_python(struct merger *m)
{
	const struct gp_python_frame *p = &m->python[m->pythons++];
	stack_frames_put(
		m, &(struct gp_frame){ .function = p->name,
				       .file = p->file,
				       .line = p->line,
				       .unknown = p->name ? NULL : "its definition is missing",
				       .is_python = true,
				       .is_user = gp_python_is_user(p->file) });
}

/* The run that stands at one native frame. */
static void put_run(struct merger *m)
{
	while (m->pythons < m->stack->pythons) {
		put_python(m);
		if (m->python[m->pythons - 1].is_entry)
			break;
	}
}

static void put_native(struct merger *m, const struct gp_native_frame *native)
{
	struct gp_symbol symbol[INLINED_MAX];
	size_t n = m->symbolizer ?
			   gp_symbolizer_find(m->symbolizer, native->pc, symbol, INLINED_MAX) :
			   0;
	if (n == 0)
		stack_frames_put(
			m, &(struct gp_frame){ .address = native->pc, .unknown = "not looked up" });
	for (size_t k = 0; k < n; k++) {
		const struct gp_symbol *s = &symbol[k];
		stack_frames_put(
			m,
			&(struct gp_frame){
				.function = s->function,
				.file = s->file,
				.line = s->line,
				.module = s->module,
				.module_offset = s->module_offset,
				.address = native->pc,
				.unknown = s->function ? NULL : gp_symbol_why_text(s->why),
				.is_inlined = s->is_inlined,
				.is_interpreter = gp_frame_is_interpreter(s->function, s->module),
			});
	}
}

/* Outer native frames were left out. */
static bool is_cut(const struct gp_call_stack *s)
{
	return s->why_native == GP_WHY_TRUNCATED || s->why_native == GP_WHY_UP_TO_PYTHON;
}

/* ---- CPython up to 3.10 ---- */

/* The function whose code lies at `pc`, without what was inlined into it. False: no module. */
static bool code_at(struct gp_symbolizer *symbolizer, uint64_t pc, struct gp_symbol *out)
{
	struct gp_symbol symbol[INLINED_MAX];
	size_t n = gp_symbolizer_find(symbolizer, pc, symbol, INLINED_MAX);
	if (n)
		*out = symbol[n - 1];
	return n && out->module;
}

static bool is_loop(const struct gp_symbol *s)
{
	static const char name[] = "_PyEval_EvalFrameDefault";
	return s->function != NULL && strncmp(s->function, name, sizeof name - 1) == 0;
}

/* The native frames that run Python, by their names; how many. */
static size_t find_loops(struct merger *m, bool *is_run)
{
	size_t loops = 0, skip = 0;
	for (size_t k = 0, p = 0; k < m->stack->natives; k++) {
		struct gp_symbol code;
		if (!code_at(m->symbolizer, m->native[k].pc, &code) || !is_loop(&code))
			continue;
		loops++;
		if (skip > 0) {
			skip--;
		} else if (p < m->stack->pythons) {
			is_run[k] = true;
			skip = m->python[p++].bare_entries;
		}
	}
	return loops;
}

/*
 * Compilers may put parts of a function elsewhere, without a name where the file is stripped: such
 * a frame would be a loop that is not counted. None is where all of the interpreter's have names.
 */
static bool has_all_names(struct merger *m)
{
	struct gp_symbol code, loop = { 0 };
	for (size_t k = 0; k < m->stack->natives && !loop.module; k++)
		if (code_at(m->symbolizer, m->native[k].pc, &code) && is_loop(&code))
			loop = code;
	for (size_t k = 0; k < m->stack->natives && loop.module; k++)
		if (code_at(m->symbolizer, m->native[k].pc, &code) && !code.function &&
		    strcmp(code.module, loop.module) == 0)
			return false;
	return true;
}

/* True: `is_run` gives the order. Both chains begin at the same innermost place. */
static bool lay_by_names(struct merger *m, bool *is_run)
{
	const struct gp_call_stack *s = m->stack;
	size_t expected = 0, entries = 0;
	for (size_t k = 0; k < s->pythons; k++) {
		expected += 1u + m->python[k].bare_entries;
		entries += m->python[k].is_entry;
	}
	const size_t loops = find_loops(m, is_run);
	if (loops == expected)
		return true;
	if (loops > expected || !is_cut(s))
		return false;
	/* since 3.11: none is marked, so all of Python lies beyond the end */
	if (entries < s->pythons)
		return loops == 0;
	/* each Python frame has a loop of its own; those of the outer ones lie beyond the end */
	return loops > 0 && has_all_names(m);
}

/* ---- since 3.11 ---- */

/* The last run is deeper than the requested depth: the recorder did not see its end. */
static bool has_cut_run(const struct merger *m)
{
	const size_t n = m->stack->pythons;
	return m->stack->why_python == GP_WHY_TRUNCATED && n && !m->python[n - 1].is_entry;
}

/* It stands at the loop that follows those that are marked. */
static bool lay_cut_run(struct merger *m, bool *is_run)
{
	const struct gp_call_stack *s = m->stack;
	size_t from = 0, whole = s->pythons;
	for (size_t k = 0; k < s->natives; k++)
		from = is_run[k] ? k + 1 : from;
	while (whole > 0 && !m->python[whole - 1].is_entry)
		whole--;
	size_t skip = whole > 0 ? m->python[whole - 1].bare_entries : 0;
	for (size_t k = from; k < s->natives; k++) {
		struct gp_symbol code;
		if (!code_at(m->symbolizer, m->native[k].pc, &code) || !is_loop(&code))
			continue;
		if (skip-- == 0)
			return is_run[k] = has_all_names(m);
	}
	return is_cut(s);
}

/* ---- both ---- */

/* Whether that is how they called each other. */
static bool lay_runs(struct merger *m, bool *is_run)
{
	bool has_runs = false;
	for (size_t k = 0; k < m->stack->natives; k++)
		has_runs |= is_run[k] = m->native[k].runs_python;
	if (!m->stack->pythons || !m->stack->natives)
		return true;
	if (has_cut_run(m))
		return m->symbolizer && lay_cut_run(m, is_run);
	if (has_runs)
		return true;
	if (m->symbolizer && lay_by_names(m, is_run))
		return true;
	memset(is_run, 0, m->stack->natives * sizeof *is_run);
	return false;
}

size_t gp_stack_merge(const struct gp_call_stack *stack, const struct gp_native_frame *native,
		      const struct gp_python_frame *python, struct gp_symbolizer *symbolizer,
		      struct gp_frame *out, size_t most, bool *is_in_order)
{
	struct merger m = { stack, native, python, symbolizer, out, most, 0, 0 };
	bool is_run[CHAIN_MAX];
	*is_in_order = lay_runs(&m, is_run);
	for (size_t k = 0; k < stack->natives; k++) {
		if (is_run[k])
			put_run(&m);
		put_native(&m, &native[k]);
	}
	while (m.pythons < stack->pythons)
		put_python(&m);
	return m.frames;
}

/* A function that starts a program or a thread: _start, or one of the C library. */
static bool is_start(const struct gp_frame *f)
{
	static const char library[] = "libc.so", older[] = "libc-2.";
	const char *slash = f->module ? strrchr(f->module, '/') : NULL;
	const char *file = slash ? slash + 1 : f->module;
	if (f->is_python)
		return false;
	return (f->function && strcmp(f->function, "_start") == 0) ||
	       (file && (strncmp(file, library, sizeof library - 1) == 0 ||
			 strncmp(file, older, sizeof older - 1) == 0));
}

size_t gp_stack_fold(struct gp_frame *frame, size_t frames)
{
	size_t kept = 0;
	for (size_t k = 0; k < frames; k++)
		if (!frame[k].is_interpreter)
			frame[kept++] = frame[k];
	/* below Python's first frame they are left out, like those of the interpreter */
	size_t first = kept;
	while (first > 0 && is_start(&frame[first - 1]))
		first--;
	return first > 0 && frame[first - 1].is_python ? first : kept;
}

/* ---- of a recording ---- */

void gp_stack_naming_release(struct gp_stack_naming *naming)
{
	if (naming->symbolizer)
		gp_symbolizer_close(naming->symbolizer);
	gp_name_table_close(naming->table);
	free(naming->unnamed);
	free(naming->caveat);
	*naming = (struct gp_stack_naming){ 0 };
}

static uint64_t since_start(const struct gp_recording *r, uint64_t ticks)
{
	int64_t ns = gp_tick_ns(&r->tick, ticks);
	return ns > 0 ? (uint64_t)ns : 0;
}

/* Gives the symbolizer the modules that it does not have. */
struct gp_symbolizer *gp_recording_symbolizer(struct gp_recording *r)
{
	const struct gp_module_list *list = gp_defined_modules(r->definitions);
	struct gp_stack_naming *naming = &r->naming;
	if (!naming->symbolizer && gp_recording_load_names(r) == GP_OK) {
		naming->symbolizer = gp_symbolizer_open();
		if (naming->symbolizer)
			gp_symbolizer_set_stored(naming->symbolizer, naming->table);
	}
	if (!naming->symbolizer || naming->modules_known == list->changes)
		return naming->symbolizer;
	for (size_t i = 1; i < list->room; i++) {
		const struct gp_listed_module *m = &list->module[i];
		const struct gp_module module = {
			.number = (uint32_t)i,
			.path = m->path,
			.build_id = m->build_id,
			.build_id_bytes = m->build_id_bytes,
			.base = m->base,
			.bytes = m->bytes,
			.mapped_unix_ns = r->file.header.start_unix_ns + since_start(r, m->since),
			.from = m->since ? since_start(r, m->since) : 0,
			.until = m->until ? since_start(r, m->until) : GP_ANY_TIME,
		};
		if (m->path)
			gp_symbolizer_add_module(naming->symbolizer, &module);
	}
	naming->modules_known = list->changes;
	return naming->symbolizer;
}

static int compare_caveats(const void *left, const void *right)
{
	const struct gp_caveat_time *a = left, *b = right;
	return (a->since_ns > b->since_ns) - (a->since_ns < b->since_ns);
}

/* Sorts what is known by now. False: out of memory. */
static bool sort_caveats(struct gp_recording *r, const struct gp_module_list *list)
{
	struct gp_stack_naming *n = &r->naming;
	struct gp_caveat_time *sorted = realloc(n->caveat, (list->caveats + 1) * sizeof *sorted);
	if (sorted == NULL)
		return false;
	for (size_t k = 0; k < list->caveats; k++)
		sorted[k] = (struct gp_caveat_time){ gp_tick_ns(&r->tick, list->caveat[k].since),
						     gp_tick_ns(&r->tick, list->caveat[k].until) };
	qsort(sorted, list->caveats, sizeof *sorted, compare_caveats);
	for (size_t k = 1; k < list->caveats; k++)
		if (sorted[k].until_ns < sorted[k - 1].until_ns)
			sorted[k].until_ns = sorted[k - 1].until_ns;
	n->caveat = sorted;
	n->caveats = list->caveats;
	n->caveats_known = list->caveat_changes;
	return true;
}

/* At an uncertain time, an address where two modules have ever been belongs to none. */
static uint64_t time_of(struct gp_recording *r, int64_t at_ns)
{
	const struct gp_module_list *list = gp_defined_modules(r->definitions);
	const struct gp_stack_naming *n = &r->naming;
	if (n->caveats_known != list->caveat_changes && !sort_caveats(r, list))
		return GP_ANY_TIME;
	size_t begun = 0, above = n->caveats;
	while (begun < above) {
		size_t middle = begun + (above - begun) / 2;
		if (n->caveat[middle].since_ns <= at_ns)
			begun = middle + 1;
		else
			above = middle;
	}
	if (begun > 0 && at_ns <= n->caveat[begun - 1].until_ns)
		return GP_ANY_TIME;
	return at_ns > 0 ? (uint64_t)at_ns : 0;
}

/* Python frames stand behind all native ones, because names are missing. */
static const char *out_of_order(const struct gp_call_stack *chains)
{
	return chains->why_native == GP_WHY_TRUNCATED || chains->why_python == GP_WHY_TRUNCATED ?
		       "deeper frames are left out; how native and Python frames alternate is not "
		       "known" :
		       "how native and Python frames alternate is not known";
}

/* Why frames are missing, also for reasons of the whole job; NULL: none are. */
static const char *missing_of(const struct gp_recording *r, const struct gp_call_stack *chains)
{
	const char *text = gp_stack_missing(chains->why_native, chains->why_python);
	if (text)
		return text;
	if (chains->why_python == GP_WHY_OFF && r->info.no_python)
		return r->info.no_python;
	if (chains->why_native == GP_WHY_OFF && r->info.no_native)
		return r->info.no_native;
	if (chains->natives || chains->pythons)
		return NULL;
	if (chains->why_python == GP_WHY_NO_THREAD)
		return "no Python frames: the thread runs no Python";
	if (chains->why_python == GP_WHY_NO_INTERPRETER)
		return "no Python frames: no interpreter was found in this process";
	if (chains->why_python == GP_WHY_NO_FRAMES)
		return "no Python frames: none was running";
	return "no frames could be taken";
}

bool gp_recording_stack(struct gp_recording *r, uint32_t id, int64_t at_ns, enum gp_stack_how how,
			struct gp_stack *out, struct gp_frame *frame, size_t most)
{
	struct gp_native_frame native[CHAIN_MAX];
	struct gp_python_frame python[CHAIN_MAX];
	struct gp_call_stack chains;
	if (!gp_call_stacks_get(gp_defined_stacks(r->definitions), id, &chains, native, python,
				CHAIN_MAX))
		return false;
	struct gp_symbolizer *symbolizer = how == GP_STACK_BARE ? NULL : gp_recording_symbolizer(r);
	if (symbolizer)
		gp_symbolizer_set_time(symbolizer, time_of(r, at_ns));
	bool is_in_order;
	size_t frames =
		gp_stack_merge(&chains, native, python, symbolizer, frame, most, &is_in_order);
	*out = (struct gp_stack){
		.frames = how == GP_STACK_FOLDED ? gp_stack_fold(frame, frames) : frames,
		.missing =
			symbolizer && !is_in_order ? out_of_order(&chains) : missing_of(r, &chains),
		.is_native_whole = chains.why_native == GP_WHY_WHOLE,
		.is_python_off = chains.why_python == GP_WHY_OFF && r->info.no_python,
		.is_python_whole = chains.why_python == GP_WHY_WHOLE,
		.has_native = chains.natives > 0,
		.has_python = chains.pythons > 0,
		.module = chains.module,
	};
	out->missing_native = out->missing;
	if (!out->missing && chains.why_native == GP_WHY_UP_TO_PYTHON)
		out->missing_native = "native frames below the innermost Python function are "
				      "left out (--stacks=all records them)";
	return true;
}

void gp_recording_names(struct gp_recording *r, const struct gp_frame *frame, size_t frames,
			struct gp_names *out)
{
	struct gp_name_frame named[GP_FRAMES_MAX];
	const struct gp_module_list *list = gp_defined_modules(r->definitions);
	size_t n = frames < GP_FRAMES_MAX ? frames : GP_FRAMES_MAX;
	for (size_t k = 0; k < n; k++)
		named[k] = (struct gp_name_frame){ frame[k].function, frame[k].module,
						   frame[k].is_python ? frame[k].file : NULL,
						   frame[k].is_python };
	gp_names_of(named, n, list->room > 1 ? list->module[1].path : NULL, out);
}

uint32_t gp_recording_stack_module(struct gp_recording *r, uint32_t stack)
{
	struct gp_call_stack chains;
	const bool is_known = gp_call_stacks_get(gp_defined_stacks(r->definitions), stack, &chains,
						 NULL, NULL, 0);
	return is_known ? chains.module : 0;
}

bool gp_recording_module(struct gp_recording *r, uint32_t id, struct gp_torch_module *out)
{
	return gp_call_stacks_module(gp_defined_stacks(r->definitions), id, out);
}

/* Writes `text` in front of *at, or as much of its end as fits. */
static void put_before(char **at, const char *begin, const char *text)
{
	size_t n = strlen(text), room = (size_t)(*at - begin);
	if (n > room) {
		text += n - room;
		n = room;
	}
	*at = memcpy(*at - n, text, n);
}

void gp_recording_module_path(struct gp_recording *r, uint32_t id, char *out, size_t room)
{
	struct gp_torch_module m = { 0 };
	char *at = out + room - 1;
	*at = '\0';
	/* each turn writes at least one byte, so that a long chain ends */
	while (gp_recording_module(r, id, &m) && m.within != 0 && at > out) {
		if (*at != '\0')
			put_before(&at, out, ".");
		put_before(&at, out, m.name[0] ? m.name : "?");
		id = m.within;
	}
	if (m.id == id && id != 0 && at > out) {
		const bool is_main =
			id == gp_call_stacks_main_root(gp_defined_stacks(r->definitions));
		if (!is_main) {
			put_before(&at, out, *at != '\0' ? ")." : ")");
			put_before(&at, out, m.class);
			put_before(&at, out, "(");
		} else if (*at == '\0') {
			put_before(&at, out, "(root)");
		}
	}
	memmove(out, at, strlen(at) + 1);
}
