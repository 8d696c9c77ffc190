/*
 * Jobs as recordings: training and inference loops of many kinds, made of the launches and blocks
 * that such loops have. The true values are kept beside: when each step began and ended its own
 * work, and the blocks that are kept for ever. All numbers are drawn from one seed.
 */
#ifndef JOB_MODEL_H
#define JOB_MODEL_H

#include "stack_records.h"

#define JOB_STEPS_MAX 2048u
#define JOB_CELLS 65536u
#define JOB_CELL_BYTES (4ull << 20)
#define JOB_STACKS 512u
#define JOB_KERNELS 64u
#define CACHE_MOST 128u
#define LEAK_STACK 200u
#define SPREAD_STACK 220u /* this one and higher ones */

enum kernel {
	K_EMBED = 1,
	K_NORM,
	K_GEMM_A,
	K_ATTEND,
	K_ADD,
	K_GELU,
	K_GEMM_B,
	K_HEAD,
	K_LOSS,
	K_LOSS_BACK,
	K_GEMM_A_BACK,
	K_GEMM_B_BACK,
	K_ATTEND_BACK,
	K_NORM_BACK,
	K_EMBED_BACK,
	K_ACCUMULATE,
	K_NORM_GRADS, /* from here on, the kernel names show their purpose */
	K_ADAM,
	K_ADAM_ROOT,
	K_UNSCALE,
	K_CLIP,
	K_AVERAGE,
	K_ZERO, /* from here on, they do not */
	K_ARGMAX,
	K_EQUAL,
	K_SUM,
	K_TUNE,
	K_CONVOLVE,
	K_CONVOLVE_BACK,
	K_TANH,
	K_TANH_BACK,
	K_CELL,
	K_CELL_BACK,
	K_PREFILL,
	K_DECODE,
	K_SAMPLE,
	K_SCALE,
	K_LERP,
	K_SQUARE,
	K_ROOT,
	K_DIVIDE,
	K_COPY,
	K_ROUTE,
	K_NOISE,
	K_FUSED, /* from here on: kernels of a compiler */
};

/* The frames that the stacks of a spread leak have in common. */
enum job_spread {
	SPREAD_NOT,    /* the leak has one stack; all stacks of the job are of one line, too */
	SPREAD_HELPER, /* a line of the user's code that many others call */
	SPREAD_LINES,  /* only the owner */
};

struct truth {
	uint64_t begin, first, last; /* ticks: of the loop's turn, and of its own work */
};

struct job {
	struct writer w;
	uint64_t random;
	unsigned layers, width; /* width: KiB of an activation */
	unsigned thread;
	bool has_stacks, has_launches, has_blocks;
	bool is_named; /* the optimizer's kernels */
	uint32_t cell[JOB_CELLS];
	size_t cells; /* free ones */
	uint64_t bytes[JOB_CELLS];
	struct truth step[JOB_STEPS_MAX];
	size_t steps;
	bool is_capturing;   /* launches are captured and do not run */
	bool is_core;	     /* the next work is the step's own */
	uint64_t set_up;     /* time of the last work that the first step may not have; 0: none */
	uint32_t kept[4096]; /* activations of the pass under way */
	size_t keeps;
	uint32_t grad[256], state[512];
	size_t grads, states;
	/* memory that a job keeps longer than a step */
	unsigned caches; /* their size; 0: it has none */
	uint32_t table[CACHE_MOST], ring[CACHE_MOST], heap[CACHE_MOST];
	bool is_in_table[CACHE_MOST];
	size_t rings, heaps;
	/* from turn leaks_from on (0: none) one in leaks_every (0: each) keeps a block for ever */
	size_t leaks_from, leaks_every;
	uint64_t leaked_at; /* the first time */
	enum job_spread spread;
	unsigned spread_stacks; /* each leaked block has one of so many stacks */
};

static uint64_t job_draw(struct job *j, uint64_t below)
{
	j->random ^= j->random << 13;
	j->random ^= j->random >> 7;
	j->random ^= j->random << 17;
	return (j->random >> 11) % below;
}

/* ---- events ---- */

static void job_put(struct job *j, struct gp_record r)
{
	put(&j->w, j->thread, r);
	bool is_work = j->has_launches ? r.kind == GP_LAUNCH || r.kind == GP_GRAPH_LAUNCH :
					 r.kind == GP_BLOCK_ALLOC;
	if (!j->is_core || j->steps == 0 || !is_work)
		return;
	struct truth *step = &j->step[j->steps - 1];
	step->first = step->first == 0 ? j->w.time : step->first;
	step->last = j->w.time;
}

static void job_wait(struct job *j, uint64_t ns)
{
	j->w.time += ns & ~63ull;
}

#define CAPTURED ((uint64_t)GP_LAUNCH_CAPTURED << 48 | 1)

static void launch(struct job *j, unsigned kernel)
{
	job_wait(j, 2000 + job_draw(j, 2000));
	if (j->has_launches)
		job_put(j, (struct gp_record){
				   .kind = GP_LAUNCH,
				   .launch = { .kernel = 0x1000 + kernel,
					       .grid = 1,
					       .block = j->is_capturing ? CAPTURED : 1 } });
}

static void replay(struct job *j, unsigned graph)
{
	job_wait(j, 20000);
	job_put(j, (struct gp_record){ .kind = GP_GRAPH_LAUNCH, .graph_launch.exec = graph });
}

/* A block; its line is `stack`. */
static uint32_t take(struct job *j, uint32_t stack, uint64_t bytes)
{
	if (!j->has_blocks)
		return 0;
	assert_true(j->cells > 0);
	uint32_t cell = j->cell[--j->cells];
	bytes = (bytes + 511) & ~511ull;
	j->bytes[cell] = bytes;
	uint64_t now = gp_live_device(j->w.live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
	job_put(j,
		(struct gp_record){ .kind = GP_BLOCK_ALLOC,
				    .stack = j->has_stacks ? stack : 0,
				    .block_alloc = { 0x700000000000 + cell * JOB_CELL_BYTES, bytes,
						     now + bytes, JOB_CELLS * JOB_CELL_BYTES } });
	return cell;
}

static void give(struct job *j, uint32_t cell)
{
	if (!j->has_blocks)
		return;
	uint64_t now = gp_live_device(j->w.live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
	job_put(j, (struct gp_record){ .kind = GP_BLOCK_FREE,
				       .block_free = { 0x700000000000 + cell * JOB_CELL_BYTES,
						       j->bytes[cell], now - j->bytes[cell],
						       JOB_CELLS * JOB_CELL_BYTES } });
	j->cell[j->cells++] = cell;
}

/* An operator: its result's block, then its kernel. */
static uint32_t operate(struct job *j, unsigned kernel, uint32_t stack, uint64_t bytes)
{
	uint32_t cell = take(j, stack, bytes);
	launch(j, kernel);
	return cell;
}

static void operate_short(struct job *j, unsigned kernel, uint32_t stack, uint64_t bytes)
{
	give(j, operate(j, kernel, stack, bytes));
}

/* ---- the parts of a step ---- */

static uint64_t job_size(const struct job *j)
{
	return (uint64_t)j->width * 1024;
}

static void job_keep(struct job *j, uint32_t cell)
{
	j->kept[j->keeps++] = cell;
}

static void layer_forward(struct job *j, uint64_t bytes, bool is_training)
{
	uint32_t norm = operate(j, K_NORM, 10, bytes), qkv = operate(j, K_GEMM_A, 11, 3 * bytes);
	uint32_t heads = operate(j, K_ATTEND, 12, bytes), sum = operate(j, K_ADD, 13, bytes);
	uint32_t up = operate(j, K_GEMM_B, 14, 4 * bytes), gelu = operate(j, K_GELU, 15, 4 * bytes);
	uint32_t down = operate(j, K_GEMM_A, 16, bytes), out = operate(j, K_ADD, 17, bytes);
	give(j, down);
	const uint32_t all[] = { norm, qkv, heads, sum, up, gelu, out };
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		is_training ? job_keep(j, all[k]) : give(j, all[k]);
}

static void forward(struct job *j, uint64_t bytes, bool is_training)
{
	uint32_t first = operate(j, K_EMBED, 20, bytes);
	for (unsigned k = 0; k < j->layers; k++)
		layer_forward(j, bytes, is_training);
	uint32_t scores = operate(j, K_HEAD, 21, 8 * bytes);
	is_training ? job_keep(j, first) : give(j, first);
	is_training ? job_keep(j, scores) : give(j, scores);
}

static void give_kept(struct job *j, size_t down_to)
{
	while (j->keeps > down_to)
		give(j, j->kept[--j->keeps]);
}

static void grad_of(struct job *j, unsigned kernel, uint32_t stack, uint64_t bytes, bool is_new)
{
	uint32_t cell = operate(j, kernel, stack, bytes);
	if (is_new) {
		j->grad[j->grads++] = cell;
		return;
	}
	launch(j, K_ACCUMULATE);
	give(j, cell);
}

static void backward(struct job *j, uint64_t bytes, bool is_new)
{
	uint32_t loss = operate(j, K_LOSS, 30, 512);
	operate_short(j, K_LOSS_BACK, 31, 8 * bytes);
	give(j, loss);
	grad_of(j, K_GEMM_A_BACK, 32, 65536, is_new);
	for (unsigned k = 0; k < j->layers; k++) {
		operate_short(j, K_GEMM_B_BACK, 33, 4 * bytes);
		operate_short(j, K_ATTEND_BACK, 34, bytes);
		grad_of(j, K_GEMM_A_BACK, 35, 65536, is_new);
		operate_short(j, K_NORM_BACK, 36, bytes);
		if (j->keeps > 7)
			give_kept(j, j->keeps - 7);
	}
	grad_of(j, K_EMBED_BACK, 37, 65536, is_new);
	give_kept(j, 0);
}

static void drop_grads(struct job *j)
{
	while (j->grads > 0)
		give(j, j->grad[--j->grads]);
}

/* The optimizer's moments are allocated at first use, as PyTorch's optimizers do. */
static void optimize(struct job *j)
{
	if (j->states == 0)
		for (unsigned k = 0; k < 2 * (j->layers + 2); k++)
			j->state[j->states++] = operate(j, K_ZERO, 40, 65536);
	if (!j->is_named) {
		for (unsigned k = 0; k < j->layers + 2; k++)
			launch(j, K_ADD);
		return;
	}
	uint32_t root = take(j, 41, 262144);
	launch(j, K_NORM_GRADS);
	for (unsigned k = 0; k < 3; k++)
		launch(j, K_ADAM);
	launch(j, K_ADAM_ROOT);
	give(j, root);
	launch(j, K_ADAM);
}

static void evaluate(struct job *j, unsigned batches)
{
	bool was_core = j->is_core;
	j->is_core = false;
	for (unsigned k = 0; k < batches; k++) {
		uint32_t batch = take(j, 50, job_size(j));
		forward(j, job_size(j), false);
		operate_short(j, K_ARGMAX, 51, 512);
		operate_short(j, K_EQUAL, 52, 512);
		operate_short(j, K_SUM, 53, 512);
		give(j, batch);
	}
	j->is_core = was_core;
	j->set_up = j->steps == 0 ? j->w.time : j->set_up;
}

/* ---- a job from its begin to its end ---- */

static void begin_turn(struct job *j)
{
	assert_true(j->steps < JOB_STEPS_MAX);
	job_wait(j, 30000 + job_draw(j, 30000));
	j->step[j->steps++] = (struct truth){ .begin = j->w.time };
	j->is_core = true;
}

/* One cache that fills, one of the last results, one that is emptied now and then. */
static void use_caches(struct job *j)
{
	unsigned key = (unsigned)job_draw(j, j->caches);
	if (!j->is_in_table[key])
		j->table[key] = take(j, 210, 4096);
	j->is_in_table[key] = true;
	if (j->rings >= j->caches)
		give(j, j->ring[j->rings % j->caches]);
	j->ring[j->rings++ % j->caches] = take(j, 211, 8192);
	j->heap[j->heaps++] = take(j, 212, 1024);
	if (j->heaps == j->caches)
		for (; j->heaps > 0; j->heaps--)
			give(j, j->heap[j->heaps - 1]);
}

static void end_turn(struct job *j)
{
	j->is_core = false;
	if (j->caches > 0)
		use_caches(j);
	if (j->leaks_from == 0 || j->steps < j->leaks_from ||
	    (j->leaks_every != 0 && j->steps % j->leaks_every != 0))
		return;
	take(j, j->spread ? SPREAD_STACK + (uint32_t)job_draw(j, j->spread_stacks) : LEAK_STACK,
	     512);
	j->leaked_at = j->leaked_at == 0 ? j->w.time : j->leaked_at;
}

static void define_kernels(struct job *j, bool has_names)
{
	for (unsigned k = 1; k < JOB_KERNELS; k++) {
		char name[96];
		bool is_update = j->is_named && k >= K_NORM_GRADS && k <= K_AVERAGE;
		snprintf(name, sizeof name, "void %s<%u>(float*)",
			 is_update ? "at::native::multi_tensor_apply_kernel" : "kernel", k);
		const struct gp_record r = { .kind = GP_KERNEL,
					     .kernel.handle = 0x1000 + k,
					     .order = j->w.order,
					     .time = j->w.time };
		if (has_names)
			put_text(&j->w, r, name, strlen(name));
		else
			put_definition(&j->w, 0, r);
	}
	flush(&j->w, 0);
}

/* Stack k is called from line k of train.py; `spread` selects the callers of the leak's stacks. */
static void define_lines(struct job *j)
{
	static const char train[] = "/srv/job/train.py\0step", keep[] = "/srv/job/keep.py\0keep";
	const struct gp_record code = { .kind = GP_PYTHON_CODE };
	struct gp_record r[] = { code, code };
	for (uint32_t k = 0; k < 2; k++)
		r[k].aux = 1001 + k;
	put_text(&j->w, r[0], train, sizeof train - 1);
	put_text(&j->w, r[1], keep, sizeof keep - 1);
	for (uint32_t k = 1; k < JOB_STACKS; k++) {
		const bool has_inner = k >= SPREAD_STACK && j->spread != SPREAD_LINES;
		const struct gp_record outer = {
			.kind = GP_PYTHON_FRAME,
			.aux = 2000 + 2 * k,
			.python_frame = { .python_code = 1001, .line = k, .place = 1 }
		};
		const struct gp_record inner = { .kind = GP_PYTHON_FRAME,
						 .aux = 2001 + 2 * k,
						 .python_frame = { .parent = 2000 + 2 * k,
								   .python_code = 1002,
								   .line = 12,
								   .place = 1 } };
		put(&j->w, 0, outer);
		if (has_inner)
			put(&j->w, 0, inner);
		put(&j->w, 0,
		    (struct gp_record){ .kind = GP_CALL_STACK,
					.aux = k,
					.call_stack = { .python = 2000 + 2 * k + has_inner,
							.why_native = GP_WHY_OFF } });
	}
	flush(&j->w, 0);
}

static void define_stacks(struct job *j)
{
	put(&j->w, 0,
	    (struct gp_record){ .kind = GP_PYTHON_FRAME,
				.aux = 1000,
				.python_frame = { .python_code = 900, .line = 1, .place = 1 } });
	for (uint32_t k = 1; k < JOB_STACKS; k++)
		put(&j->w, 0,
		    (struct gp_record){ .kind = GP_CALL_STACK,
					.aux = k,
					.call_stack = { .python = 1000, .why_native = 1 } });
	flush(&j->w, 0);
}

/* The caller changes defaults after this call. `slots`: those of a flight recorder, 0: none. */
static struct job *job_open(const char *name, uint64_t seed, uint32_t slots, uint64_t slot_bytes)
{
	struct job *j = calloc(1, sizeof *j);
	assert_non_null(j);
	j->random = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
	for (unsigned k = 0; k < 8; k++)
		job_draw(j, 2);
	writer_open(&j->w, name, slots, slot_bytes);
	j->layers = 2 + (unsigned)job_draw(j, 8);
	j->width = 16u << job_draw(j, 4);
	j->has_stacks = job_draw(j, 2);
	j->has_launches = j->has_blocks = j->is_named = true;
	for (uint32_t k = 0; k < JOB_CELLS; k++)
		j->cell[j->cells++] = JOB_CELLS - 1 - k;
	return j;
}

/* Allocates and fills the parameters. */
static void job_begin(struct job *j)
{
	define_kernels(j, j->w.header.slots == 0);
	if (j->has_stacks && j->spread)
		define_lines(j);
	else if (j->has_stacks)
		define_stacks(j);
	put(&j->w, 0,
	    (struct gp_record){
		    .kind = GP_ALLOC,
		    .space = GP_SPACE_DEVICE,
		    .alloc = { .address = 0x700000000000, .bytes = JOB_CELLS * JOB_CELL_BYTES } });
	for (unsigned k = 0; k < j->layers + 2; k++)
		operate(j, K_ZERO, 60, 65536);
}

#endif
