/*
 * Finds the interpreter and walks the frames. One loop for frames that are objects (to 3.10), one
 * for the others (since 3.11).
 */
#include "python_walk.h"
#include "python_object.h"

#define SLOTS 4u

_Atomic(struct gp_python *) gp_python_found GP_HOT_DATA;

/* Each finder fills a slot of its own: threads do not wait, and a child forked meanwhile works. */
static struct gp_python slots[SLOTS] GP_HOT_DATA;
static _Atomic uint32_t slots_used;

struct finder {
	void *(*lookup)(void *context, const char *name);
	void *context;
};

static void *python_walk_find(const struct finder *finder, const char *name)
{
	return finder->lookup(finder->context, name);
}

static void find_symbols(const struct finder *finder, struct gp_python_symbols *s)
{
	s->main_interpreter = (void *(*)(void))python_walk_find(finder, "PyInterpreterState_Main");
	s->is_finalizing = (int (*)(void))python_walk_find(finder, "Py_IsFinalizing");
	if (!s->is_finalizing)
		s->is_finalizing = (int (*)(void))python_walk_find(finder, "_Py_IsFinalizing");
	s->version_text = (const char *(*)(void))python_walk_find(finder, "Py_GetVersion");
	s->version = python_walk_find(finder, "Py_Version");
	s->runtime = python_walk_find(finder, "_PyRuntime");
	s->code_type = python_walk_find(finder, "PyCode_Type");
	s->frame_type = python_walk_find(finder, "PyFrame_Type");
	s->text_type = python_walk_find(finder, "PyUnicode_Type");
	s->bytes_type = python_walk_find(finder, "PyBytes_Type");
	s->cell_type = python_walk_find(finder, "PyCell_Type");
}

bool gp_python_find(void *(*lookup)(void *, const char *name), void *context)
{
	if (gp_python_get())
		return true;
	const struct finder finder = { lookup, context };
	struct gp_python_symbols symbols = { .thread_state = (void *(*)(void))python_walk_find(
						     &finder, "PyGILState_GetThisThreadState") };
	if (!symbols.thread_state)
		return false;
	uint32_t slot = atomic_fetch_add(&slots_used, 1);
	if (slot >= SLOTS)
		return gp_python_get() != NULL;
	struct gp_python *python = &slots[slot], *none = NULL;
	find_symbols(&finder, &symbols);
	python->symbols = symbols;
	const char *why = gp_python_layout_find(&symbols, &python->layout);
	if (!why)
		why = gp_python_count_code_frees(python);
	if (why)
		gp_python_switch_off(python, why);
	/* partner of the acquire in gp_python_get */
	atomic_compare_exchange_strong_explicit(&gp_python_found, &none, python,
						memory_order_release, memory_order_relaxed);
	return true;
}

static _Atomic uintptr_t object_from, object_to = UINTPTR_MAX;

void gp_python_object(uintptr_t from, uintptr_t to)
{
	atomic_store(&object_from, from);
	atomic_store(&object_to, to);
}

bool gp_python_may_run(uintptr_t pc)
{
	return pc >= atomic_load_explicit(&object_from, memory_order_relaxed) &&
	       pc < atomic_load_explicit(&object_to, memory_order_relaxed);
}

/* Fills frames[0..most), and counts one more. */
struct writer {
	struct gp_python_frame *frames;
	unsigned most, n, in_run; /* in_run: frames since the last entry */
	struct gp_python_walk *walk;
};

/* The run of frames of one _PyEval_EvalFrameDefault ends here; `loop` lies in its C frame. */
GP_HOT void end_run(struct writer *w, const void *loop)
{
	if (w->n > w->most)
		return;
	struct gp_python_frame *last = w->n ? &w->frames[w->n - 1] : NULL;
	if (w->in_run) {
		last->is_entry = true;
		last->loop = loop;
	} else if (!last) {
		w->walk->bare_entries++;
	} else if (last->bare_entries < UINT8_MAX) {
		last->bare_entries++;
	}
	w->in_run = 0;
}

/* False: that was one too many. */
GP_HOT bool add_frame(struct writer *w, const void *frame, const void *code, int32_t offset,
		      bool is_entry)
{
	if (gp_unlikely(w->n++ == w->most))
		return false;
	w->frames[w->n - 1] =
		(struct gp_python_frame){ code, offset, is_entry, 0, gp_python_code_frees(code),
					  NULL, frame };
	w->in_run++;
	return true;
}

static void walk_objects(const struct gp_python_layout *l, const void *frame, struct writer *w)
{
	const int previous = l->frame_previous, code = l->frame_code, at = l->frame_instruction;
	const int scale = l->scale;
	for (; frame; frame = gp_pointer_at(frame, previous)) {
		int32_t unit = gp_int_at(frame, at);
		int32_t offset = unit < 0 ? -1 : unit * scale;
		if (!add_frame(w, frame, gp_pointer_at(frame, code), offset, true))
			return;
	}
}

/* The shims since 3.12 are variables of their loop; in 3.11 so is the _PyCFrame. */
static void walk_records(const struct gp_python_layout *l, const void *frame, const void *cframe,
			 struct writer *w)
{
	const int previous = l->frame_previous, code_at = l->frame_code, owner_at = l->frame_owner;
	const int instruction = l->frame_instruction, bytecode = l->code_bytecode;
	const int traceable = l->code_traceable, entry_at = l->frame_entry;
	const int first_shim = l->first_shim_owner >= 0 ? l->first_shim_owner : UINT8_MAX + 1;
	for (; frame; frame = gp_pointer_at(frame, previous)) {
		int owner = gp_byte_at(frame, owner_at);
		if (owner >= first_shim) {
			end_run(w, frame);
			continue;
		}
		const char *code = gp_untagged(gp_pointer_at(frame, code_at));
		ptrdiff_t offset =
			(const char *)gp_pointer_at(frame, instruction) - code - bytecode;
		/*
		 * Python also hides a frame that has not reached its first traceable instruction,
		 * as the trampoline of class calls in 3.13
		 */
		bool is_begun = owner == GP_PYTHON_GENERATOR ||
				offset >= 2 * (ptrdiff_t)gp_int_at(code, traceable);
		if (gp_likely(is_begun) && !add_frame(w, frame, code, (int32_t)offset, false))
			return;
		if (entry_at < 0 || !gp_byte_at(frame, entry_at))
			continue;
		end_run(w, cframe);
		cframe = cframe ? gp_pointer_at(cframe, l->cframe_previous) : NULL;
	}
}

GP_HOT_TEXT unsigned gp_python_walk_from(const struct gp_python_start *start,
					 struct gp_python_frame *frames, unsigned most,
					 struct gp_python_walk *walk)
{
	const struct gp_python_layout *l = &gp_python_get()->layout;
	*walk = (struct gp_python_walk){ GP_PYTHON_COMPLETE, 0 };
	struct writer w = { frames, most, 0, 0, walk };
	if (l->minor < 11)
		walk_objects(l, start->frame, &w);
	else
		walk_records(l, start->frame, start->cframe, &w);
	if (w.n == 0)
		walk->reason = GP_PYTHON_NO_FRAMES;
	if (w.n <= most)
		return w.n;
	walk->reason = GP_PYTHON_TRUNCATED;
	return most;
}

unsigned gp_python_walk(struct gp_python_frame *frames, unsigned most, struct gp_python_walk *walk)
{
	struct gp_python_start start;
	*walk = (struct gp_python_walk){ gp_python_begin(gp_python_get(), &start), 0 };
	if (walk->reason != GP_PYTHON_COMPLETE)
		return 0;
	return gp_python_walk_from(&start, frames, most, walk);
}

uint32_t gp_python_version(void)
{
	const struct gp_python *p = gp_python_get();
	return p && p->layout.minor ? 3u << 8 | p->layout.minor : 0;
}

const char *gp_python_why_off(void)
{
	struct gp_python *p = gp_python_get();
	return p ? atomic_load(&p->why_off) : NULL;
}
