/*
 * Phases of a job without ranges, read from stacks. Tested are loops written as lines, random
 * histories against counts by hand, threads of the engine, and stacks without a phase. Also which
 * source is used.
 */
#include "range_records.h"
#include "stack_records.h"

#include <dlfcn.h>
#include <time.h>

#include "read/frames/frame_phase.h"
#include "torch_stacks.h"

/* ---- frames ---- */

#define TORCH "/opt/venv/lib/python3.12/site-packages/torch/"

/* The frames of a letter. */
static const struct shown {
	char letter;
	const char *file, *function;
} shown[] = {
	{ 'd', TORCH "utils/data/dataloader.py", "_BaseDataLoaderIter.__next__" },
	{ 'z', TORCH "optim/optimizer.py", "Optimizer.zero_grad" },
	{ 'f', TORCH "nn/modules/module.py", "Module._call_impl" },
	{ 'b', TORCH "autograd/__init__.py", "backward" },
	{ 'o', TORCH "optim/optimizer.py", "Optimizer.profile_hook_step.<locals>.wrapper" },
	{ 'u', "/srv/job/train.py", "step" },
};
#define LETTERS (sizeof shown / sizeof *shown)

static void frames_begin_phases(void **state)
{
	(void)state;
	static const struct {
		const char *file, *function;
		enum gp_frame_phase phase;
	} rows[] = {
		{ TORCH "utils/data/dataloader.py", "__next__", GP_FRAME_DATA },
		{ TORCH "utils/data/dataloader.py", "DataLoader.__iter__", GP_FRAME_NONE },
		{ TORCH "nn/modules/module.py", "Module._wrapped_call_impl", GP_FRAME_FORWARD },
		{ TORCH "nn/modules/module.py", "Module.__call__", GP_FRAME_FORWARD },
		{ TORCH "nn/modules/module.py", "Module.to", GP_FRAME_NONE },
		{ "/srv/job/module.py", "Module._call_impl", GP_FRAME_NONE },
		{ TORCH "optim/lr_scheduler.py", "LRScheduler.step", GP_FRAME_NONE },
		{ TORCH "optim/optimizer.py", "wrapper", GP_FRAME_OPTIMIZER },
		{ TORCH "autograd/graph.py", "_engine_run_backward", GP_FRAME_BACKWARD },
		{ TORCH "autograd/function.py", "BackwardCFunction.apply", GP_FRAME_BACKWARD },
		{ TORCH "autograd/function.py", "Function.apply", GP_FRAME_NONE },
		{ TORCH "autograd/function.py", NULL, GP_FRAME_NONE },
		{ NULL, "Module._call_impl", GP_FRAME_NONE },
		{ NULL, "torch::autograd::Engine::evaluate_function", GP_FRAME_BACKWARD },
		{ NULL, "torch::autograd::generated::AddmmBackward0::apply", GP_FRAME_BACKWARD },
		{ NULL, "torch::autograd::Engine::thread_init", GP_FRAME_ENGINE_THREAD },
		{ NULL, "torch::autograd::python::PythonEngine::thread_init",
		  GP_FRAME_ENGINE_THREAD },
		{ NULL, "torch::autograd::THPVariable_linear", GP_FRAME_NONE },
		{ NULL, "torch::optim::Adam::step", GP_FRAME_OPTIMIZER },
		{ NULL, "torch::optim::Optimizer::zero_grad", GP_FRAME_ZERO_GRAD },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		const struct gp_frame frame = { .function = rows[k].function,
						.file = rows[k].file,
						.is_python = rows[k].file != NULL };
		assert_int_equal(gp_frame_phase(&frame), rows[k].phase);
	}
	assert_string_equal(gp_frame_phase_name(GP_FRAME_ZERO_GRAD), "zero_grad");
	assert_null(gp_frame_phase_name(GP_FRAME_ENGINE_THREAD));
	assert_null(gp_frame_phase_name(GP_FRAME_PHASES));
}

/* The outermost phase of a stack. */
static void stacks_of_pytorch_show_theirs(void **state)
{
	(void)state;
	static const struct {
		const char *stack;
		enum gp_frame_phase phase;
	} rows[] = {
		{ linear_forward, GP_FRAME_FORWARD },
		{ matmul_copies, GP_FRAME_FORWARD },
		{ embedding_forward, GP_FRAME_FORWARD },
		{ adam_state, GP_FRAME_OPTIMIZER },
		{ module_to, GP_FRAME_NONE },
		{ addmm_backward_mat1, GP_FRAME_ENGINE_THREAD },
		{ addmm_backward_mat2, GP_FRAME_ENGINE_THREAD },
		{ embedding_backward, GP_FRAME_ENGINE_THREAD },
		{ engine_reduces, GP_FRAME_ENGINE_THREAD },
		{ engine_reduces_scratch, GP_FRAME_ENGINE_THREAD },
		{ cublas_workspace, GP_FRAME_ENGINE_THREAD },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct gp_frame frame[GP_FRAMES_MAX];
		char *text;
		enum gp_frame_phase phase = GP_FRAME_NONE;
		size_t frames = read_stack(rows[k].stack, frame, &text);
		while (frames > 0 && phase == GP_FRAME_NONE)
			phase = gp_frame_phase(&frame[--frames]);
		assert_int_equal(phase, rows[k].phase);
		free(text);
	}
}

/* ---- recordings ---- */

static struct {
	char word[16];
	uint32_t id;
} stack_of[64];
static uint32_t ids;
static uint64_t address;

static uint32_t define_frame(struct writer *w, uint32_t parent, const char *file, const char *name)
{
	char text[256];
	const uint32_t code = ++ids, frame = ++ids;
	const int n = snprintf(text, sizeof text, "%s%c%s", file, 0, name);
	put_text(w, (struct gp_record){ .kind = GP_PYTHON_CODE, .aux = code }, text, (size_t)n);
	put(w, 0,
	    (struct gp_record){
		    .kind = GP_PYTHON_FRAME,
		    .aux = frame,
		    .python_frame = {
			    .parent = parent, .python_code = code, .line = 7, .place = 1 } });
	return frame;
}

/* Outermost first: letters, after "~" if outer frames are missing. */
static uint32_t stack_get(struct writer *w, const char *word)
{
	size_t k = 0;
	while (stack_of[k].id != 0 && strcmp(stack_of[k].word, word) != 0)
		k++;
	if (stack_of[k].id != 0)
		return stack_of[k].id;
	const bool is_cut = *word == '~';
	uint32_t frame = is_cut ? 0 : define_frame(w, 0, "/srv/job/train.py", "<module>");
	for (const char *at = word + is_cut; *at != '\0'; at++)
		for (size_t i = 0; i < LETTERS; i++)
			if (shown[i].letter == *at)
				frame = define_frame(w, frame, shown[i].file, shown[i].function);
	strcpy(stack_of[k].word, word);
	stack_of[k].id = ++ids;
	put(w, 0,
	    (struct gp_record){
		    .kind = GP_CALL_STACK,
		    .aux = ids,
		    .call_stack = { .python = frame,
				    .why_native = GP_WHY_OFF,
				    .why_python = is_cut ? GP_WHY_TRUNCATED : GP_WHY_WHOLE } });
	flush(w, 0);
	return ids;
}

/* The first frame of the engine's threads, in this program. */
void thread_init(void) __asm__("_ZN5torch8autograd6Engine11thread_initEi");
void thread_init(void)
{
	__asm__ volatile("nop; nop");
}

/* A complete native stack of it. The recording starts after the program was built. */
static uint32_t define_native(struct writer *w)
{
	struct gp_record module[8] = { { .kind = GP_MODULE, .aux = 1 } };
	unsigned char header[GP_FILE_HEADER];
	w->header.start_unix_ns = ((uint64_t)time(NULL) + 1) * 1000000000u;
	gp_file_header_encode(&w->header, header);
	assert_int_equal(pwrite(w->fd, header, sizeof header, 0), sizeof header);
	char program[300] = " ";
	Dl_info info;
	assert_int_not_equal(dladdr((void *)(uintptr_t)thread_init, &info), 0);
	const uint64_t base = (uint64_t)(uintptr_t)info.dli_fbase;
	assert_true(readlink("/proc/self/exe", program + 1, sizeof program - 2) > 0);
	module[0].module.base = base;
	module[0].module.bytes = 64 << 20;
	fill_text(module, program);
	put_records(w, GP_BLOCK_DEFINE, 0, GP_THREAD_NONE, &w->none_sequence, module,
		    1u + module->extra);
	put(w, 0,
	    (struct gp_record){ .kind = GP_NATIVE_FRAME,
				.aux = ++ids,
				.native_frame = { .pc = (uint64_t)(uintptr_t)thread_init + 1 } });
	put(w, 0,
	    (struct gp_record){ .kind = GP_CALL_STACK,
				.aux = ids + 1,
				.call_stack = { .native = ids, .why_python = GP_WHY_NO_THREAD } });
	flush(w, 0);
	return ++ids;
}

static void start_nameless(struct writer *w, const char *name)
{
	memset(stack_of, 0, sizeof stack_of);
	ids = 0;
	address = 0x1000;
	begin(w, name);
}

static void start(struct writer *w, const char *name)
{
	start_nameless(w, name);
	define_thread(w, 2, "other");
	define_thread(w, 3, "pt_autograd_0");
}

#define BYTES 100u
static void put_shown(struct writer *w, unsigned thread, uint32_t stack)
{
	put(w, thread,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.stack = stack,
				.alloc = { .address = address += 0x1000, .bytes = BYTES } });
}

/*
 * Words: an allocation with a stack of these letters, on thread 1, or on thread 2 after "2". E: an
 * allocation of a thread of the engine, without a stack if no letter follows. A free of the newest
 * "-" and a launch "x" have no stack.
 */
static void play(struct writer *w, const char *line)
{
	char word[16];
	for (int n; sscanf(line, " %15s%n", word, &n) == 1; line += n) {
		const unsigned thread = word[0] == 'E' ? 3 : word[0] == '2' ? 2 : 1;
		const char *letters = word + (thread != 1);
		if (*letters == 'x')
			put_launch(w, thread);
		else if (*letters == '-')
			put_free(w, thread, address);
		else
			put_shown(w, thread, *letters != '\0' ? stack_get(w, letters) : 0);
	}
}

/* ---- loops ---- */

/* Three times the line, and the phases at a path. */
static const struct loop {
	const char *what, *line, *path;
	unsigned calls, launches;
	unsigned shown, none, unclear;
} loops[] = {
	{ "data", "d d u f x f b E o", "data", 3, 0, 18, 3, 0 },
	{ "forward", "d f x f b E o", "forward", 3, 3, 15, 0, 0 },
	{ "launches on both sides belong to neither", "f x o x", "(outside)", 0, 6, 6, 0, 0 },
	{ "what has no stack ends nothing", "f x - x f o", "forward", 3, 6, 9, 0, 0 },
	{ "the user's own line does", "f u f o", "forward", 6, 0, 9, 3, 0 },
	{ "modules in modules are one", "f ff f fff o", "forward", 3, 0, 15, 0, 0 },
	{ "a step on the user's line", "uf uuf u o", "forward", 3, 0, 9, 3, 0 },
	{ "zero_grad is not the optimizer", "z f b o", "zero_grad", 3, 0, 12, 0, 0 },
	{ "a closure", "o of of ob E o", "optimizer/forward", 3, 0, 15, 0, 0 },
	{ "the backward in it", "o of of ob E Ex E o", "optimizer/backward", 3, 3, 15, 0, 0 },
	{ "it is one step", "o of ob E o d", "optimizer", 3, 0, 15, 0, 0 },
	{ "backward on the caller", "f b x b o", "backward", 3, 3, 12, 0, 0 },
	{ "and on threads of the engine", "f b Ex E Ex E o", "backward", 3, 6, 9, 0, 0 },
	{ "of which nothing is seen on the caller", "f E Ex E o", "backward", 3, 3, 6, 0, 0 },
	{ "what is computed again", "f b E Ef Ex Ef E o", "backward/forward", 3, 3, 15, 0, 0 },
	{ "twice in one backward", "f b Ef Eb Ef o", "backward/forward", 6, 0, 18, 0, 0 },
	{ "on the caller", "f b bf bf b o", "backward/forward", 3, 0, 18, 0, 0 },
	{ "a penalty inside the forward", "f fb fb f b E o", "forward/backward", 3, 0, 18, 0, 0 },
	{ "data that need a model", "d df d f o", "data/forward", 3, 0, 15, 0, 0 },
	{ "a cut stack goes on", "f ~f ~f x f o", "forward", 3, 3, 15, 0, 0 },
	{ "at the end of its path", "b bf ~f b o", "backward/forward", 3, 0, 15, 0, 0 },
	{ "a cut stack begins nothing", "u ~f x ~f u", "(outside)", 0, 3, 0, 6, 6 },
	{ "and ends nothing", "f ~u x f ~o x f", "forward", 1, 6, 9, 0, 6 },
	{ "another thread", "f 2u 2f x 2x f 2f o 2z", "forward", 6, 6, 18, 3, 0 },
};

static void loops_of_all_kinds(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
		const struct loop *l = &loops[k];
		struct writer w;
		struct gp_phases p;
		print_message("    %s: %s\n", l->what, l->line);
		start(&w, "loop.gpr");
		for (unsigned turn = 0; turn < 3; turn++)
			play(&w, l->line);
		struct gp_recording *r = build(&w, &p);
		const struct gp_phase *phase = find(&p, l->path);
		assert_int_equal(phase->calls, l->calls);
		assert_int_equal(phase->launches, l->launches);
		assert_int_equal(phase->open, 0);
		assert_true(p.is_by_frames);
		assert_int_equal(p.frames_shown, l->shown);
		assert_int_equal(p.frames_none, l->none);
		assert_int_equal(p.frames_unclear, l->unclear);
		close_all(r, &p);
		unlink(w.path);
	}
}

static void several_callers_are_ambiguous(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	start(&w, "callers.gpr");
	play(&w, "Ef f 2f Ef b Ef Ex Ef 2b Ex Ef o Ef Ex Ef 2u 2o Ef");
	struct gp_recording *r = build(&w, &p);
	/* before any thread has a phase, with no thread in a backward, with two, and with none */
	assert_int_equal(p.frames_unclear, 1 + 1 + 1 + 1);
	assert_int_equal(find(&p, "(ambiguous)")->launches, 1);
	assert_int_equal(find(&p, "backward")->calls, 2);
	assert_int_equal(find(&p, "backward")->launches, 1 + 1);
	assert_int_equal(find(&p, "backward/forward")->calls, 2);
	close_all(r, &p);
	struct gp_phases_options own = whole;
	own.is_own_thread = true;
	r = build_as(w.path, &own, &p);
	assert_int_equal(find(&p, "backward")->launches, 0);
	close_all(r, &p);
}

static void threads_without_names(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	start_nameless(&w, "nameless.gpr");
	const uint32_t native = define_native(&w);
	play(&w, "f b");
	put_shown(&w, 3, native);
	put_launch(&w, 3);
	play(&w, "2x 2f 2x 2f");
	put_shown(&w, 3, native);
	play(&w, "b 2b b");
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(p.frames_unclear, 0);
	assert_int_equal(find(&p, "backward")->calls, 2); /* one of each caller */
	assert_int_equal(find(&p, "backward")->children, 0);
	assert_int_equal(find(&p, "backward")->allocated_bytes, 6 * BYTES);
	assert_int_equal(find(&p, "backward")->launches, 1);
	assert_int_equal(find(&p, "forward")->calls, 2);
	assert_int_equal(find(&p, "forward")->launches, 1);
	assert_int_equal(find(&p, "(outside)")->launches, 1);
	close_all(r, &p);
}

/* ---- figures ---- */

static void a_call_is_from_its_first_to_its_last_event(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	start(&w, "figures.gpr");
	stack_get(&w, "f"), stack_get(&w, "o"), stack_get(&w, "u");
	play(&w, "u");
	const int64_t before_ns = (int64_t)w.time - 1024;
	play(&w, "x f f - x f - x o o");
	struct gp_recording *r = build(&w, &p);
	const struct gp_phase *forward = find(&p, "forward");
	assert_string_equal(gp_range_source_name(forward->source), "frames");
	assert_int_equal(forward->source, GP_RANGE_FRAMES);
	assert_int_equal(forward->style, GP_PHASE_NESTED);
	assert_int_equal(forward->calls, 1);
	assert_int_equal(forward->time_ns, 4 * 64);
	assert_int_equal(forward->allocated_bytes, 3 * BYTES);
	assert_int_equal(forward->freed_bytes, BYTES);
	/* the third is freed after its end, and counts there */
	assert_int_equal(forward->retained_bytes, 2 * BYTES);
	assert_int_equal(forward->peak_bytes, 3 * BYTES);
	assert_int_equal(forward->launches, 1);
	assert_int_equal(find(&p, "optimizer")->time_ns, 64);
	assert_int_equal(find(&p, "(outside)")->freed_bytes, BYTES);
	assert_int_equal(find(&p, "(outside)")->launches, 2);
	/* when forward has ended; in the optimizer it is 4 * BYTES */
	assert_int_equal(find(&p, "(outside)")->peak_bytes, 3 * BYTES);
	assert_int_equal(find(&p, "optimizer")->peak_bytes, 4 * BYTES);
	assert_int_equal(p.ranges, 2);
	close_all(r, &p);

	struct gp_phases_options part = whole;
	part.from_ns = before_ns + 3 * 64; /* the second of its five events */
	part.to_ns = before_ns + 7 * 64;   /* after the last one, before the next event */
	r = build_as(w.path, &part, &p);
	forward = find(&p, "forward");
	assert_int_equal(forward->calls, 1);
	assert_int_equal(forward->open, 0);
	assert_int_equal(forward->time_ns, 3 * 64);
	assert_int_equal(forward->allocated_bytes, 2 * BYTES);
	close_all(r, &p);
	part.to_ns = before_ns + 4 * 64; /* in the middle of it */
	r = build_as(w.path, &part, &p);
	assert_int_equal(find(&p, "forward")->open, 1);
	assert_int_equal(find(&p, "forward")->time_ns, 64);
	close_all(r, &p);
	part.from_ns = before_ns + 7 * 64; /* it is over */
	part.to_ns = INT64_MAX;
	r = build_as(w.path, &part, &p);
	assert_string_equal(p.phase[0].name, "optimizer");
	close_all(r, &p);
}

/* ---- against counts by hand ---- */

#define WORDS 60u
static const char *const words[] = { "u", "f", "f", "ff", "fb", "b", "bf", "o", "of", "ofb", "d" };
struct event {
	const char *word; /* NULL: a launch */
	uint64_t time;
};

/* "ff" is "f", "u" has no phase. */
static void path_of(const char *word, char *out)
{
	size_t n = 0;
	for (; *word != '\0'; word++)
		if (*word != 'u' && (n == 0 || out[n - 1] != *word))
			out[n++] = *word;
	out[n] = '\0';
}

static bool is_in(const struct event *e, const char *path)
{
	char own[16];
	if (e->word == NULL)
		return false;
	path_of(e->word, own);
	return strncmp(own, path, strlen(path)) == 0;
}

struct counted {
	uint64_t calls, launches, allocated, time_ns;
};

static struct counted count_by_hand(const struct event *event, size_t events, const char *path)
{
	struct counted c = { 0 };
	uint64_t first = 0, last = 0, launches = 0;
	for (size_t k = 0; k <= events; k++) {
		if (k < events && event[k].word == NULL) {
			launches++;
		} else if (k < events && is_in(&event[k], path)) {
			c.calls += first == 0;
			c.launches += first != 0 ? launches : 0;
			c.allocated += BYTES;
			launches = 0;
			last = event[k].time;
			first = first != 0 ? first : last;
		} else {
			c.time_ns += last - first;
			first = last = 0;
		}
	}
	return c;
}

static void compare(const struct gp_phases *p, const struct event *event, size_t events)
{
	static const char *const paths[] = { "d", "f", "fb", "b", "bf", "o", "of", "ofb" };
	static const char *const names[] = { "data",
					     "forward",
					     "forward/backward",
					     "backward",
					     "backward/forward",
					     "optimizer",
					     "optimizer/forward",
					     "optimizer/forward/backward" };
	uint64_t calls = 0;
	for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
		const struct counted c = count_by_hand(event, events, paths[k]);
		calls += c.calls;
		if (c.calls == 0)
			continue;
		const struct gp_phase *phase = find(p, names[k]);
		assert_int_equal(phase->calls, c.calls);
		assert_int_equal(phase->launches, c.launches);
		assert_int_equal(phase->allocated_bytes, c.allocated);
		assert_int_equal(phase->time_ns, c.time_ns);
	}
	assert_int_equal(p->ranges, calls);
}

static void random_histories_by_hand(void **state)
{
	(void)state;
	srand(5);
	for (unsigned turn = 0; turn < 100; turn++) {
		struct event event[WORDS];
		struct writer w;
		struct gp_phases p;
		start(&w, "random.gpr");
		for (size_t k = 0; k < WORDS; k++) {
			const bool is_launch = rand() % 3 == 0;
			const char *word = words[(size_t)rand() % (sizeof words / sizeof *words)];
			play(&w, is_launch ? "x" : word);
			event[k] = (struct event){ is_launch ? NULL : word, w.time };
		}
		struct gp_recording *r = build(&w, &p);
		compare(&p, event, WORDS);
		close_all(r, &p);
		unlink(w.path);
	}
}

/* ---- the source in use ---- */

static void recorded_ranges_come_first(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	struct gp_phases_options asked = whole;
	start(&w, "told.gpr");
	put_push(&w, 1, STEP, GP_RANGE_NVTX);
	play(&w, "f f o");
	put_pop(&w, 1, GP_RANGE_NVTX);
	const struct gp_info *info;
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_false(info->has_backward);
	assert_false(p.is_by_frames);
	assert_int_equal(p.ranges, 1);
	assert_int_equal(find(&p, "step")->allocated_bytes, 3 * BYTES);
	close_all(r, &p);
	asked.is_by_frames = true;
	r = build_as(w.path, &asked, &p);
	assert_true(p.is_by_frames);
	assert_int_equal(p.ranges, 2);
	for (size_t k = 0; k < p.phases; k++)
		assert_true(p.phase[k].source == GP_RANGE_FRAMES || p.phase[k].source == 0);
	close_all(r, &p);
}

static void backward_alone_is_not_enough(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	struct gp_phases_options asked = whole;
	start(&w, "unknown.gpr");
	play(&w, "f b");
	put_push(&w, 1, BACKWARD, GP_RANGE_ENGINE);
	play(&w, "E E");
	put_pop(&w, 1, GP_RANGE_ENGINE);
	play(&w, "o");
	struct gp_recording *r = build(&w, &p);
	assert_true(p.is_by_frames);
	assert_int_equal(p.ranges, 3);
	assert_int_equal(find(&p, "backward")->source, GP_RANGE_FRAMES);
	assert_int_equal(find(&p, "backward")->allocated_bytes, 3 * BYTES);
	close_all(r, &p);
	asked.is_recorded_only = true;
	r = build_as(w.path, &asked, &p);
	assert_false(p.is_by_frames);
	assert_int_equal(find(&p, "backward")->source, GP_RANGE_ENGINE);
	assert_int_equal(find(&p, "backward")->allocated_bytes, 2 * BYTES);
	close_all(r, &p);
}

static void range_stacks_see_them_too(void **state)
{
	(void)state;
	struct writer w;
	struct gp_groups groups;
	char text[64];
	start(&w, "groups.gpr");
	play(&w, "f b E Ef o u");
	struct gp_recording *r = fixture_read(&w);
	struct gp_peak peak;
	assert_int_equal(gp_peak_build_with(r, GP_AT_PEAK, 0, GP_WITH_RANGES, &peak), GP_OK);
	const struct gp_grouping how = { .by = GP_BY_RANGE };
	assert_int_equal(gp_groups_build(r, peak.holder[0].use, peak.holder[0].uses, &how, &groups),
			 GP_OK);
	assert_int_equal(groups.groups, 5);
	for (size_t k = 0; k < groups.groups; k++)
		if (groups.group[k].use.range->up != NULL) {
			gp_range_path_text(groups.group[k].use.range, text, sizeof text);
			assert_string_equal(text, "backward > forward (frames)");
			assert_true(gp_range_path_has(groups.group[k].use.range, "backward"));
			assert_int_equal(groups.group[k].use.bytes, BYTES);
		}
	gp_groups_free(&groups);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_begin_phases),
		cmocka_unit_test(stacks_of_pytorch_show_theirs),
		cmocka_unit_test(loops_of_all_kinds),
		cmocka_unit_test(several_callers_are_ambiguous),
		cmocka_unit_test(threads_without_names),
		cmocka_unit_test(a_call_is_from_its_first_to_its_last_event),
		cmocka_unit_test(random_histories_by_hand),
		cmocka_unit_test(recorded_ranges_come_first),
		cmocka_unit_test(backward_alone_is_not_enough),
		cmocka_unit_test(range_stacks_see_them_too),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
