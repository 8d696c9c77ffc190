/*
 * Roles of memory. Each rule has evidence with which it decides, and evidence that differs in one
 * point, with which it must not. Lives come from small recordings written as lines. Names of
 * frames are those of PyTorch.
 */
#include "range_records.h"
#include "stack_records.h"

#include "analyze/roles/role_rules.h"
#include "analyze/roles/roles.h"

#define TORCH "/opt/venv/lib/python3.12/site-packages/torch/"

/* ---- rules ---- */

#define SHOWS(word) .words = 1u << GP_SHOWS_##word
#define LIFE(born_in, ...) .life = { .is_recorded = 1, .born = GP_LIFE_##born_in, __VA_ARGS__ }
#define ENDS(phase) .end = GP_LIFE_ENDED_IN + GP_LIFE_##phase
#define BLOCK .is_block = true, .has_phases = true
#define LASTS BLOCK, .is_outliving = true
#define TRAINED .has_backward = true

static const struct {
	const char *rule;
	struct gp_role_evidence does, does_not;
} decided[] = {
	{ "graph_segment",
	  { .is_segment = true, .life.is_captured = 1 },
	  { .is_block = true, .life.is_captured = 1 } },
	{ "segment", { .is_segment = true }, { .is_segment = true, .life.is_captured = 1 } },
	{ "network", { SHOWS(NCCL) }, { SHOWS(STACK) } },
	{ "library", { SHOWS(LIBRARY), .is_driver = true }, { SHOWS(LIBRARY), .is_block = true } },
	{ "driver_memory",
	  { SHOWS(MOVE), .is_driver = true },
	  { SHOWS(MOVE), .is_driver = true, .is_block = true } },
	{ "kept_for_library", { BLOCK, SHOWS(WORKSPACE) }, { BLOCK, SHOWS(STACK) } },
	{ "bucket_of_gradients",
	  { BLOCK, SHOWS(BUCKET), TRAINED },
	  { BLOCK, SHOWS(BUCKET), TRAINED, .has_gradients = true } },
	{ "bucket", { BLOCK, SHOWS(BUCKET), TRAINED, .has_gradients = true }, { BLOCK, TRAINED } },
	{ "gathered", { BLOCK, SHOWS(UNSHARDED) }, { BLOCK, SHOWS(GATHER) } },
	{ "gather", { BLOCK, SHOWS(GATHER) }, { BLOCK, SHOWS(REDUCE) } },
	{ "reduced", { LASTS, SHOWS(REDUCE) }, { BLOCK, SHOWS(REDUCE) } },
	{ "reduce", { BLOCK, SHOWS(REDUCE) }, { LASTS, SHOWS(REDUCE) } },
	{ "named_cache",
	  { LASTS, SHOWS(KV), LIFE(FORWARD, .is_kept = 1) },
	  { BLOCK, SHOWS(KV), LIFE(FORWARD, .end = GP_LIFE_SAME) } },
	{ "moved", { BLOCK, SHOWS(MOVE) }, { BLOCK, SHOWS(CALL) } },
	{ "constructed",
	  { BLOCK, SHOWS(MAKE) },
	  { BLOCK, SHOWS(MAKE), LIFE(OUTSIDE, .end = GP_LIFE_SAME) } },
	{ "loaded",
	  { BLOCK, SHOWS(LOAD), LIFE(OUTSIDE, .is_kept = 1) },
	  { BLOCK, SHOWS(LOAD), LIFE(OUTSIDE, ENDS(OUTSIDE)) } },
	{ "restored_state",
	  { BLOCK, SHOWS(RESTORE), LIFE(OUTSIDE, .is_kept = 1) },
	  { BLOCK, SHOWS(RESTORE), LIFE(OUTSIDE, .end = GP_LIFE_SAME) } },
	{ "optimizer_state",
	  { LASTS, LIFE(OPTIMIZER, .is_kept = 1) },
	  { BLOCK, LIFE(OPTIMIZER, .end = GP_LIFE_SAME) } },
	{ "older_state",
	  { LASTS, SHOWS(OPTIMIZER), LIFE(OLDER, .is_early = 1, .is_kept = 1) },
	  { LASTS, SHOWS(OPTIMIZER), LIFE(OLDER, .is_early = 1, ENDS(OUTSIDE)) } },
	{ "older_gradient",
	  { LASTS, SHOWS(BACKWARD), LIFE(OLDER, .is_early = 1, ENDS(ZERO_GRAD)) },
	  { LASTS, SHOWS(BACKWARD), LIFE(OLDER, .is_early = 1, ENDS(BACKWARD)) } },
	{ "saved_for_backward",
	  { LASTS, SHOWS(CALL), LIFE(OLDER, .is_early = 1, ENDS(BACKWARD)) },
	  { LASTS, SHOWS(STACK), LIFE(OLDER, .is_early = 1, ENDS(BACKWARD)) } },
	{ "root",
	  { LASTS, SHOWS(ROOT), LIFE(BACKWARD, ENDS(OUTSIDE)) },
	  { LASTS, SHOWS(STACK), LIFE(BACKWARD, ENDS(OUTSIDE)) } },
	{ "gradient",
	  { LASTS, SHOWS(STACK), LIFE(BACKWARD, ENDS(ZERO_GRAD)) },
	  { LASTS, SHOWS(STACK), LIFE(BACKWARD, ENDS(BACKWARD)) } },
	{ "gradient", /* without a stack it may be a workspace */
	  { LASTS, LIFE(BACKWARD, .is_kept = 1), .has_early_twin = true },
	  { LASTS, LIFE(BACKWARD, .is_kept = 1) } },
	{ "reused",
	  { LASTS, LIFE(FORWARD, ENDS(ZERO_GRAD), .is_reused = 1), .has_early_twin = true },
	  { LASTS, LIFE(FORWARD, ENDS(ZERO_GRAD), .is_reused = 1) } },
	{ "data_loader",
	  { LASTS, LIFE(DATA, ENDS(OUTSIDE)) },
	  { BLOCK, LIFE(DATA, .end = GP_LIFE_SAME) } },
	{ "copied_from_host",
	  { LASTS, LIFE(FORWARD, .is_filled = 1, ENDS(FORWARD)), .has_copies = true },
	  { LASTS, SHOWS(CALL), LIFE(FORWARD, .is_filled = 1, ENDS(FORWARD)),
	    .has_copies = true } },
	{ "copied_from_host", /* and not what was there before the first step, and stays */
	  { LASTS, LIFE(OUTSIDE, .is_filled = 1, .is_early = 1, ENDS(FORWARD)) },
	  { LASTS, LIFE(OUTSIDE, .is_filled = 1, .is_early = 1, .is_kept = 1) } },
	{ "copied_again",
	  { LASTS, SHOWS(CLONE), LIFE(OUTSIDE, .is_after_filled = 1, ENDS(OUTSIDE)) },
	  { LASTS, SHOWS(CAT), LIFE(OUTSIDE, .is_after_filled = 1, ENDS(OUTSIDE)) } },
	{ "copied_again", /* and not a copy of the model's own output */
	  { LASTS, SHOWS(COPY), LIFE(OUTSIDE, .is_after_filled = 1, ENDS(BACKWARD)) },
	  { LASTS, SHOWS(COPY), LIFE(OUTSIDE, ENDS(BACKWARD)), .has_copies = true } },
	{ "copied",
	  { LASTS, SHOWS(COPY), LIFE(OUTSIDE, ENDS(OUTSIDE)) },
	  { LASTS, SHOWS(COPY), LIFE(OUTSIDE, ENDS(OUTSIDE)), .has_copies = true } },
	{ "generated",
	  { LASTS, SHOWS(FILL), LIFE(OUTSIDE, ENDS(OUTSIDE)) },
	  { LASTS, SHOWS(FILL), LIFE(OUTSIDE, .is_early = 1, .is_kept = 1) } },
	{ "grown_cache",
	  { LASTS, SHOWS(CAT), LIFE(FORWARD, ENDS(FORWARD)) },
	  { LASTS, SHOWS(CAT), LIFE(FORWARD, ENDS(FORWARD)), TRAINED } },
	{ "like_gradient",
	  { LASTS, LIFE(OUTSIDE, .is_early = 1, .is_kept = 1), .has_gradient_twin = true },
	  { LASTS, LIFE(OUTSIDE, .is_early = 1, .is_kept = 1) } },
	{ "saved_for_backward",
	  { LASTS, LIFE(FORWARD, ENDS(BACKWARD)) },
	  { BLOCK, LIFE(FORWARD, .end = GP_LIFE_SAME) } },
	{ "freed_in_backward",
	  { LASTS, LIFE(OUTSIDE, ENDS(BACKWARD)) },
	  { LASTS, LIFE(OUTSIDE, ENDS(OPTIMIZER)) } },
	{ "result",
	  { LASTS, LIFE(FORWARD, ENDS(FORWARD), .backwards = 1), TRAINED },
	  { LASTS, LIFE(FORWARD, ENDS(FORWARD), .backwards = 2), TRAINED } },
	{ "result", /* a table that a forward makes once is kept */
	  { LASTS, LIFE(FORWARD, ENDS(OUTSIDE)) },
	  { LASTS, LIFE(FORWARD, .is_kept = 1) } },
	{ "cut_short", { BLOCK, LIFE(FORWARD) }, { BLOCK, LIFE(BACKWARD) } },
	{ "within_phase",
	  { BLOCK, LIFE(FORWARD, .end = GP_LIFE_SAME) },
	  { .is_block = true, LIFE(OUTSIDE, .end = GP_LIFE_SAME) } },
	{ "within_backward",
	  { LASTS, LIFE(BACKWARD, ENDS(BACKWARD)) },
	  { LASTS, LIFE(OPTIMIZER, ENDS(BACKWARD)) } },
	{ "graph_keeps",
	  { LASTS, SHOWS(NATIVE), LIFE(OUTSIDE, .is_captured = 1, .is_kept = 1) },
	  { LASTS, SHOWS(NATIVE), LIFE(OUTSIDE, .is_kept = 1) } },
	{ "graph_keeps", /* and not what may be a workspace: cuBLAS gets its own in a capture */
	  { LASTS, SHOWS(NATIVE), LIFE(FORWARD, .is_captured = 1, .is_kept = 1) },
	  { LASTS, SHOWS(STACK), LIFE(FORWARD, .is_captured = 1, .is_kept = 1) } },
	{ "none",
	  { LASTS, LIFE(UNCLEAR, .is_kept = 1) },
	  { LASTS, LIFE(FORWARD, ENDS(BACKWARD)) } },
};

static const char *rule_of(const struct gp_role_evidence *e)
{
	return gp_role_rule(1 + gp_role_decide(e))->name;
}

static void each_rule_decides_and_does_not(void **state)
{
	(void)state;
	const struct gp_role_rule *rules;
	const size_t count = gp_role_rules(&rules);
	assert_true(count < UINT8_MAX);
	for (size_t k = 0; k < sizeof decided / sizeof *decided; k++) {
		assert_string_equal(rule_of(&decided[k].does), decided[k].rule);
		assert_string_not_equal(rule_of(&decided[k].does_not), decided[k].rule);
	}
	for (size_t k = 0; k < count; k++) {
		size_t at = 0;
		while (at < sizeof decided / sizeof *decided &&
		       strcmp(decided[at].rule, rules[k].name) != 0)
			at++;
		assert_true(at < sizeof decided / sizeof *decided);
		assert_true(rules[k].role < GP_MEMORY_ROLES && strlen(rules[k].why) > 10);
	}
}

/* ---- frames and names ---- */

#define WORD(word) (1u << GP_SHOWS_##word)
static const struct {
	const char *file, *function;
	uint32_t words;
} frames[] = {
	{ TORCH "nn/modules/module.py", "Module._apply", WORD(MOVE) },
	{ TORCH "nn/modules/module.py", "Module.to", 0 },
	{ "/srv/job/module.py", "Module._apply", 0 },
	{ TORCH "nn/modules/module.py", "Module._call_impl", WORD(CALL) },
	{ TORCH "nn/modules/linear.py", "Linear.__init__", WORD(MAKE) },
	{ "/srv/job/model.py", "GPT.__init__", 0 },
	{ TORCH "nn/parameter.py", "Parameter.__new__", WORD(MAKE) },
	{ TORCH "nn/parameter.py", "Parameter.__deepcopy__", WORD(MAKE) },
	{ TORCH "nn/parameter.py", "UninitializedTensorMixin.materialize", WORD(MAKE) },
	{ TORCH "distributed/fsdp/_fully_shard/_fsdp_param.py", "FSDPParam._init_sharded_param",
	  WORD(MAKE) },
	{ TORCH "distributed/fsdp/_fully_shard/_fsdp_param.py", "FSDPParam.init_all_gather_outputs",
	  WORD(UNSHARDED) },
	{ TORCH "distributed/fsdp/_flat_param.py",
	  "FlatParamHandle._alloc_padded_unsharded_flat_param", WORD(UNSHARDED) },
	{ TORCH "distributed/fsdp/_fully_shard/_fsdp_collectives.py", "foreach_all_gather",
	  WORD(GATHER) },
	{ TORCH "distributed/fsdp/_fully_shard/_fsdp_collectives.py", "foreach_reduce",
	  WORD(REDUCE) },
	{ TORCH "distributed/fsdp/_runtime_utils.py", "_reduce_grad", WORD(REDUCE) },
	{ "/srv/job/reduce.py", "foreach_reduce", 0 },
	{ "/opt/site-packages/accelerate/utils/modeling.py", "set_module_tensor_to_device",
	  WORD(LOAD) },
	{ "/opt/site-packages/transformers/modeling_utils.py", "PreTrainedModel.from_pretrained",
	  WORD(LOAD) },
	{ "/srv/job/serve.py", "Worker.load_model", WORD(LOAD) },
	{ "/srv/job/serve.py", "load_weights", WORD(LOAD) },
	{ "/srv/job/serve.py", "reload", 0 },
	{ TORCH "optim/optimizer.py", "Optimizer.load_state_dict", WORD(RESTORE) },
	{ TORCH "optim/optimizer.py", "Optimizer.step", 0 },
	{ TORCH "optim/optimizer.py", "Optimizer.profile_hook_step.<locals>.wrapper",
	  WORD(OPTIMIZER) },
	{ TORCH "autograd/__init__.py", "_make_grads", WORD(ROOT) | WORD(BACKWARD) },
	{ TORCH "autograd/__init__.py", "backward", WORD(BACKWARD) },
	{ NULL, "torch::autograd::Engine::thread_init", WORD(NATIVE) | WORD(BACKWARD) },
	{ TORCH "utils/data/_utils/collate.py", "default_collate", WORD(LOADER) },
	{ TORCH "utils/checkpoint.py", "checkpoint", 0 },
	{ "/opt/site-packages/transformers/cache_utils.py", "DynamicLayer.update", WORD(KV) },
	{ "/srv/vllm/v1/worker/gpu_model_runner.py", "GPUModelRunner.initialize_kv_cache",
	  WORD(KV) },
	{ "/srv/job/cache.py", "allocate_kv_cache_tensors", WORD(KV) },
	{ "/srv/job/cache.py", "ModelRunner.init_memory_pool", WORD(KV) },
	{ "/srv/job/cache.py", "KVCache.__init__", WORD(KV) },
	{ "/srv/job/cache.py", "Cache.__init__", 0 },
	{ NULL, "c10d::Reducer::initialize_buckets(std::vector<unsigned long> >)",
	  WORD(NATIVE) | WORD(BUCKET) },
	{ NULL, "c10d::Reducer::initialize_local_used_map()", WORD(NATIVE) | WORD(BUCKET) },
	{ NULL, "c10d::Reducer::Reducer()", WORD(NATIVE) },
	{ NULL, "foreach_reduce", WORD(NATIVE) },
	{ NULL, NULL, 0 },
	{ TORCH "nn/modules/module.py", NULL, 0 },
};

static void frames_give_words(void **state)
{
	(void)state;
	uint32_t all = 0;
	for (size_t k = 0; k < sizeof frames / sizeof *frames; k++) {
		const struct gp_frame f = { .function = frames[k].function,
					    .file = frames[k].file,
					    .is_python = frames[k].file != NULL };
		assert_int_equal(gp_role_frame_words(&f), frames[k].words);
		all |= frames[k].words;
	}
	/* each word of the table */
	for (unsigned word = GP_SHOWS_MOVE; word <= GP_SHOWS_REDUCE; word++)
		assert_true(all >> word & 1);
}

static void names_give_words(void **state)
{
	(void)state;
	static const struct {
		struct gp_names names;
		int word; /* beside STACK; -1: none */
	} rows[] = { { { .library = "NCCL" }, GP_SHOWS_NCCL },
		     { { .library = "cuDNN" }, GP_SHOWS_LIBRARY }, { { .library = "PyTorch" }, -1 },
		     { { .library = "JAX/XLA" }, -1 }, { { .library = "CuPy" }, -1 },
		     { { .library = "train", .is_own = true }, -1 },
		     { { .library = "PyTorch", .workspace = "cuBLAS" }, GP_SHOWS_WORKSPACE },
		     { { .operator= "aten::_to_copy" }, GP_SHOWS_COPY },
		       { { .operator= "aten::clone" }, GP_SHOWS_CLONE },
			 { { .operator= "aten::cat" }, GP_SHOWS_CAT },
			   { { .operator= "aten::concat" }, -1 },
			     { { .operator= "aten::randint.low" }, GP_SHOWS_FILL },
			       { { .operator= "aten::full" }, GP_SHOWS_FILL },
				 {
					 { .operator= "aten::full_like" }, -1 },
			       };
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		assert_int_equal(gp_role_name_words(&rows[k].names) & ~(1u << GP_SHOWS_STACK),
				 rows[k].word >= 0 ? 1u << rows[k].word : 0);
}

/* ---- lives ---- */

static uint32_t ids;
static const struct shown {
	char letter;
	const char *file, *function;
} shown[] = {
	{ 'u', "/srv/job/train.py", "step" },
	{ 'f', TORCH "nn/modules/module.py", "Module._call_impl" },
	{ 'b', TORCH "autograd/__init__.py", "backward" },
	{ 'o', TORCH "optim/optimizer.py", "Optimizer.profile_hook_step.<locals>.wrapper" },
	{ 'm', TORCH "nn/modules/module.py", "Module._apply" },
	{ 'd', TORCH "utils/data/dataloader.py", "_BaseDataLoaderIter.__next__" },
};
static uint32_t stack_of[26];

static void define_stack(struct writer *w, const struct shown *s)
{
	char text[256];
	const uint32_t code = ++ids, frame = ++ids;
	const int n = snprintf(text, sizeof text, "%s%c%s", s->file, 0, s->function);
	put_text(w, (struct gp_record){ .kind = GP_PYTHON_CODE, .aux = code }, text, (size_t)n);
	put(w, 0,
	    (struct gp_record){ .kind = GP_PYTHON_FRAME,
				.aux = frame,
				.python_frame = { .python_code = code, .line = 7, .place = 1 } });
	put(w, 0,
	    (struct gp_record){ .kind = GP_CALL_STACK,
				.aux = stack_of[s->letter - 'a'] = ++ids,
				.call_stack = { .python = frame, .why_native = GP_WHY_OFF } });
	flush(w, 0);
}

enum { NVTX_FORWARD = 11, TORCH_STEP, TORCH_ZERO };
static struct gp_record made[26];

static void define_all(struct writer *w)
{
	define_name(w, NVTX_FORWARD, "forward");
	define_name(w, TORCH_STEP, "Optimizer.step#SGD.step");
	define_name(w, TORCH_ZERO, "Optimizer.zero_grad#SGD.zero_grad");
	define_thread(w, 3, "pt_autograd_0");
	for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
		define_stack(w, &shown[k]);
}

static void start_in(struct writer *w, uint32_t slots, uint64_t slot_bytes)
{
	ids = 0;
	memset(depth_of, 0, sizeof depth_of);
	memset(made, 0, sizeof made);
	writer_open(w, "roles.gpr", slots, slot_bytes);
	define_all(w);
}

static void put_block(struct writer *w, unsigned thread, enum gp_kind kind, const char *word)
{
	const char name = word[1], size = word[2], stack = word[3];
	struct gp_record *r = &made[name - 'a'];
	*r = (struct gp_record){ .kind = (uint16_t)kind,
				 .aux = kind == GP_BLOCK_EXISTING, /* nothing was rounded */
				 .stack = stack != 0 ? stack_of[stack - 'a'] : 0,
				 .order = w->order,
				 .block_alloc = { .address = 0x100000u +
							     (uint64_t)(name - 'a') * 0x10000,
						  .bytes = 512u * (uint64_t)(size - '0') } };
	put(w, thread, *r);
	r->time = w->time;
	r->kind = GP_BLOCK_ALLOC; /* as its entry is made */
}

static void put_block_free(struct writer *w, unsigned thread, char name)
{
	put(w, thread,
	    (struct gp_record){
		    .kind = GP_BLOCK_FREE,
		    .block_free = { .address = 0x100000u + (uint64_t)(name - 'a') * 0x10000,
				    .bytes = made[name - 'a'].block_alloc.bytes } });
}

static void put_copy(struct writer *w, char name, enum gp_call kind)
{
	put(w, 1,
	    (struct gp_record){ .kind = GP_COPY,
				.aux = gp_call_pack(kind, 0, 1),
				.copy = { .to = made[name - 'a'].block_alloc.address,
					  .from = 0x7f0000000000,
					  .bytes = 512 } });
}

/*
 * Words: "+a3u" allocates block a of 3 * 512 bytes with a stack of letter u; the letter may be
 * missing. "=" has such a block from before. "-a" frees it. After E: on a thread of the engine.
 * "ca" copies host memory into it, "va" device memory. "F(" "B(" "O(" "Z(" open ranges, the letter
 * with ")" closes. "!" is an OOM, "{" and "}" are a capture.
 */
static void play(struct writer *w, const char *line)
{
	static const struct {
		char letter;
		uint32_t name;
		unsigned source;
	} ranges[] = { { 'F', NVTX_FORWARD, GP_RANGE_NVTX },
		       { 'B', 0, GP_RANGE_ENGINE },
		       { 'O', TORCH_STEP, GP_RANGE_TORCH },
		       { 'Z', TORCH_ZERO, GP_RANGE_TORCH } };
	char word[16];
	for (int n; sscanf(line, " %15s%n", word, &n) == 1; line += n) {
		const char *at = word + (word[0] == 'E');
		const unsigned thread = word[0] == 'E' ? 3 : 1;
		for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
			if (at[0] != ranges[k].letter)
				continue;
			if (at[1] == '(')
				put_push(w, thread, ranges[k].name, ranges[k].source);
			else
				put_pop(w, thread, ranges[k].source);
			if (at[0] == 'F') /* so that no other forward is derived */
				put_launch(w, thread);
		}
		if (at[0] == '+' || at[0] == '=')
			put_block(w, thread, at[0] == '+' ? GP_BLOCK_ALLOC : GP_BLOCK_EXISTING, at);
		else if (at[0] == '-')
			put_block_free(w, thread, at[1]);
		else if (at[0] == 'c' || at[0] == 'v')
			put_copy(w, at[1], at[0] == 'c' ? GP_COPY_TO_DEVICE : GP_COPY_ON_DEVICE);
		else if (at[0] == '!')
			put(w, thread, (struct gp_record){ .kind = GP_OOM, .oom.bytes = 1 });
		else if (at[0] == '{' || at[0] == '}')
			put(w, thread,
			    (struct gp_record){ .kind = at[0] == '{' ? GP_CAPTURE_BEGIN :
								       GP_CAPTURE_END });
	}
}

/* The rule for block a, or for the block of that letter. */
static const struct {
	const char *what, *line, *rule;
	char block;
} stories[] = {
	{ "a weight", "+a1m F( F) B( B) O( O) F( F) B( B)", "moved", 'a' },
	{ "what the user made has a gradient", "+a1u F( F) B( E+g1u B) Z( -g Z) -a",
	  "like_gradient", 'a' },
	{ "static inputs have none", "+a2u F( F) B( E+g1u B) Z( -g Z) -a", "none", 'a' },
	{ "its gradient", "+a1u F( F) B( E+g1u B) Z( -g Z) -a", "gradient", 'g' },
	{ "of the last step", "F( F) B( E+g1u B) O( O) -g", "gradient", 'g' },
	{ "without a stack, of a size", "+a1 F( F) B( E+g1 B) Z( -g Z) -a", "gradient", 'g' },
	{ "without a stack, of no size", "+a1 F( F) B( E+g2 B) O( O) F( F) -a", "none", 'g' },
	{ "for the next node", "F( F) B( E+g1u E-g B)", "within_phase", 'g' },
	{ "what a forward saves", "F( +a1f F) B( E-a B)", "saved_for_backward", 'a' },
	{ "what it does not", "F( +a1f -a F) B( B)", "within_phase", 'a' },
	{ "what the caller drops", "F( +a1f F) B( B) -a", "result", 'a' },
	{ "what a list keeps", "F( +a1f F) B( B) O( O) F( F) B( B) -a F( F)", "none", 'a' },
	{ "state of an optimizer", "B( B) O( +a1o O) B( B) O( O) -a", "optimizer_state", 'a' },
	{ "a vector of its step", "B( B) O( +a1o -a O) B( B)", "within_phase", 'a' },
	{ "a closure's loss", "B( B) O( +a1f B( E-a B) O)", "saved_for_backward", 'a' },
	{ "a gradient in it", "+w1m F( +a1f F) B( E+b1u B) Z( -a Z) F( F)", "reused", 'a' },
	{ "of two backwards", "+w1m F( +a1f F) B( E+b1u B) B( B) Z( -a Z)", "reused", 'a' },
	{ "of one inside", "+w1m F( F) B( E+a1f E+b1u E-b B) Z( -a Z) F( F)", "reused", 'a' },
	{ "no memory moved", "+w1m F( +a1f F) B( B) Z( -a Z) F( F)", "result", 'a' },
	{ "not of its size", "+w2m F( +a1f F) B( E+b3u B) Z( -a Z) F( F)", "result", 'a' },
	{ "no backward", "+w1m F( F) B( B) F( +a1f F) Z( -a Z) B( B)", "result", 'a' },
	{ "a loader's batch", "F( F) +a1d F( F) B( B) -a", "data_loader", 'a' },
	{ "a batch", "F( F) B( B) +a1u ca F( F) B( B) -a F( F) B( B)", "copied_from_host", 'a' },
	{ "the first one", "+a1u ca F( F) B( B) -a F( F) B( B)", "copied_from_host", 'a' },
	{ "not copied by a kernel", "F( F) B( B) +a1u va F( F) B( B) -a F( F) B( B)", "none", 'a' },
	{ "nor copied later", "F( F) B( B) +a1u +b1u ca F( F) B( B) -a F( F) B( B)", "none", 'a' },
	{ "between two phases", "F( F) +a1u -a F( F)", "within_phase", 'a' },
	{ "no phases at all", "+a1u -a", "none", 'a' },
	{ "computed again, saved", "F( F) B( E+a1f E+b1u E-b E-a B)", "saved_for_backward", 'a' },
	{ "computed again, dropped", "F( F) B( E+a1f E-a E+b1u B)", "within_phase", 'a' },
	{ "cut short", "F( F) B( B) F( +a1f", "cut_short", 'a' },
	{ "an OOM in the forward", "F( F) B( B) F( +a1f ! -a F) F( F) B( B)", "cut_short", 'a' },
	{ "an OOM elsewhere", "F( F) B( B) ! F( +a1f -a F) B( B)", "within_phase", 'a' },
	{ "without a name, in a capture", "{ +a1u } F( F) B( B)", "none", 'a' },
	{ "a graph's activation", "{ F( +a1f F) B( E-a B) }", "saved_for_backward", 'a' },
	{ "state from before", "=o1o F( F) B( B) O( O)", "older_state", 'o' },
	{ "a vector from before", "=o1o F( F) -o B( B) O( O)", "none", 'o' },
	/* frames alone */
	{ "frames: saved", "+a1f E+b1b E-a", "saved_for_backward", 'a' },
	{ "frames: not saved", "+a1f +b1f -a E+c1b", "within_phase", 'a' },
	{ "frames: a loss outside of modules", "+a1f +b1u +c1b E-b", "freed_in_backward", 'b' },
	{ "frames: a gradient", "+a1f +b1b E+g1b +c1o -g +d1f", "gradient", 'g' },
	{ "frames: SGD makes nothing", "+a1f +b1b E+g1b -g +d1f", "gradient", 'g' },
	{ "frames: for the next node", "+a1f +b1b E+g1b E-g +d1f", "within_phase", 'g' },
	{ "frames: state", "+a1f +b1b +c1o +d1f +e1b +f1o -c", "optimizer_state", 'c' },
	{ "frames: a vector of the step", "+a1f +b1b +c1o -c +d1f", "within_phase", 'c' },
};

/* Removes the file, which stays open. */
static struct gp_recording *open_played(const char *line)
{
	const struct gp_info *info;
	struct writer w;
	start_in(&w, 0, 0);
	play(&w, line);
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	unlink(w.path);
	return r;
}

static void lives_have_rules(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof stories / sizeof *stories; k++) {
		const char block = stories[k].block;
		struct gp_roles *roles;
		print_message("    %s: %s\n", stories[k].what, stories[k].line);
		struct gp_recording *r = open_played(stories[k].line);
		assert_int_equal(gp_roles_find(r, &roles), GP_OK);
		const struct gp_live_entry e = gp_roles_entry(&made[block - 'a']);
		assert_string_equal(gp_role_rule(gp_roles_rule(roles, &e, GP_ROLES_NOW))->name,
				    stories[k].rule);
		assert_int_equal(gp_roles_status(roles), GP_OK);
		gp_recording_close(r);
	}
}

/* Which blocks replaced one with memory of the host, before a phase used that. */
static void blocks_after_filled_ones(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool is_b, is_c;
	} rows[] = {
		{ "F( F) +a1u ca +b1u -a F( F)", true, false },
		{ "F( F) +a1u ca +b1u -a +c1u -b F( F)", true, true },
		{ "F( F) +a1u va +b1u -a F( F)", false, false },
		{ "F( F) +a1u ca -a +b1u F( F)", false, false },
		{ "F( F) +a1u ca +b1u +c1u -a F( F)", false, true },
		{ "F( F) +a1u ca F( F) +b1u -a F( F)", false, false },
		{ "F( F) +a1u ca E+b1u -a F( F)", false, false },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct gp_role_lives lives;
		struct gp_recording *r = open_played(rows[k].line);
		struct gp_analysis analysis;
		assert_int_equal(gp_role_lives_analysis(r, &lives, &analysis), GP_OK);
		assert_int_equal(gp_analyse(r, &analysis, 1), GP_OK);
		free(analysis.context);
		assert_int_equal(gp_role_life(&lives, made[1].order).is_after_filled, rows[k].is_b);
		if (made[2].order != 0)
			assert_int_equal(gp_role_life(&lives, made[2].order).is_after_filled,
					 rows[k].is_c);
		gp_role_lives_release(&lives);
		gp_recording_close(r);
	}
}

/* Before the end of the backward it is an activation, in `top` always. */
static void roles_change_with_time(void **state)
{
	(void)state;
	struct gp_role_timeline t;
	struct gp_roles *roles;
	struct gp_recording *r = open_played("+w1m F( +a1f F) B( E+b1u E-b B) +c1u Z( -a Z) F( F)");
	assert_int_equal(gp_roles_find(r, &roles), GP_OK);
	assert_int_equal(gp_recording_rewind(r), GP_OK);
	const struct gp_live_entry e = gp_roles_entry(&made[0]);
	enum gp_status status = GP_OK;
	uint32_t thread;
	unsigned seen = 0;
	size_t place = 0;
	for (const struct gp_record *at; (at = gp_recording_step(r, &thread, &status)) != NULL;) {
		if (gp_event_infos[at->kind].class != GP_CLASS_MEMORY || at->order < e.order)
			continue;
		/* from the last event in the backward on, the free of b */
		const bool is_gradient = at->order > made[1].order;
		assert_string_equal(gp_role_rule(gp_roles_rule(roles, &e, GP_ROLES_NOW))->name,
				    is_gradient ? "reused" : "saved_for_backward");
		assert_string_equal(gp_role_rule(gp_roles_rule(roles, &e, GP_ROLES_MADE))->name,
				    "saved_for_backward");
		const struct gp_live_entry *changed = gp_roles_changed(roles, &place);
		assert_int_equal(changed != NULL, at->order == made[1].order + 1);
		seen++;
	}
	assert_int_equal(seen, 5);
	assert_int_equal(gp_role_timeline_build(r, 1, INT64_MIN, INT64_MAX, &t), GP_OK);
	assert_int_equal(t.device->top[GP_HOLDS_GRADIENTS].bytes, 512);
	assert_int_equal(t.device->top[GP_HOLDS_ACTIVATIONS].bytes, 512);
	gp_role_timeline_free(&t);
	gp_recording_close(r);
}

/* A flight recorder that has overwritten the first segment, with the births of a, g, o and s. */
static void older_allocations_by_stack(void **state)
{
	(void)state;
	static const struct {
		char block;
		const char *rule;
	} rows[] = { { 'a', "saved_for_backward" }, { 'g', "older_gradient" }, { 'm', "moved" },
		     { 'o', "older_state" },	    { 'w', "like_gradient" },  { 'x', "none" } };
	const struct gp_info *info;
	struct gp_roles *roles;
	struct writer w;
	start_in(&w, 2, 1 << 20);
	play(&w, "+m1m +w3u +x2u F( +a1f F) B( +g3b B) O( +o1o O) F( F)");
	for (unsigned k = 0; k < 2; k++) {
		next_segment(&w);
		ids = 0;
		define_all(&w);
	}
	play(&w, "B( E-a E+h3u B) Z( -g Z) F( F) B( B) O( O)");
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->kept_from_ns > 0);
	assert_int_equal(gp_roles_find(r, &roles), GP_OK);
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		const struct gp_live_entry e = gp_roles_entry(&made[rows[k].block - 'a']);
		assert_string_equal(gp_role_rule(gp_roles_rule(roles, &e, GP_ROLES_NOW))->name,
				    rows[k].rule);
	}
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_decides_and_does_not),
		cmocka_unit_test(frames_give_words),
		cmocka_unit_test(names_give_words),
		cmocka_unit_test(lives_have_rules),
		cmocka_unit_test(blocks_after_filled_ones),
		cmocka_unit_test(roles_change_with_time),
		cmocka_unit_test(older_allocations_by_stack),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
