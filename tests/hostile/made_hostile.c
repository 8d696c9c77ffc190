/*
 * Writes hostile recordings that are well formed: few bytes that make much work, numbers at the end
 * of their range, texts with terminal control sequences. Uses only the codec.
 *	made_hostile FAMILY COUNT FILE
 */
#include "hostile_dense.h"
#include "hostile_gpu.h"
#include "hostile_graphs.h"
#include "hostile_hashes.h"
#include "hostile_writer.h"

/*
 * A text that rings the bell, sets the title, changes the colour and returns to the line's start.
 * It ends an element, reverses the direction and hides a letter (U+E0041). It has a character that
 * is not XML (U+FFFE) and a byte that is not UTF-8, and ends within a sequence. A page that runs it
 * sets `canary`; U+2028 ends a line of JavaScript.
 */
#define HARM                                                                         \
	"\x1b]0;title\x07\x1b[31m\r<script>\"'&\\\xff\xc2\x9b"                       \
	"1m\xe2\x80\xae\xd8\x9c\xe2\x80\x8b\xf3\xa0\x81\x81\xef\xbf\xbe\n$(touch x)" \
	"\xe2\x80\xa8</script><script>canary=1</script><img src=x onerror=canary=1>\xe2\x80"
static const char harm[] = HARM;

/* ---- numbers at the end of their range ---- */

/* The last event comes some 292 years after the first. */
static void late_time(uint64_t before_end)
{
	struct gp_record r = memory(GP_BLOCK_ALLOC, 0, HEAP, 512);
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 1 << 20));
	r.time = START + INT64_MAX - before_end;
	r.block_alloc.allocated = 512;
	r.block_alloc.reserved = 1 << 20;
	add(r);
}

/* A segment with a block but no bytes; and one that goes beyond the last address. */
static void odd_segments(uint64_t count)
{
	uint64_t last = UINT64_MAX - (2u << 20) + 1;
	for (uint64_t k = 0; k < count; k++) {
		add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 4096, 0));
		add(memory(GP_BLOCK_ALLOC, 0, HEAP + k * 4096, 512));
	}
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, last, 4u << 20));
	add(memory(GP_BLOCK_ALLOC, 0, last, 512));
	add(memory(GP_SEGMENT_MAP, 0, last, UINT64_MAX));
	add(memory(GP_UNMAP, 0, last, 4u << 20));
}

/* Allocations in undefined spaces. */
static void odd_spaces(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_ALLOC, (enum gp_space)(GP_SPACES + k % (256 - GP_SPACES)),
			   HEAP + k * 4096, 4096));
}

/* ---- few bytes that make much work ---- */

/* Each page: create, map, release; the driver reuses the handle while the page is mapped. */
static void remapped(uint64_t count)
{
	const uint64_t page = 2 << 20, handle = 7;
	add(memory(GP_ALLOC, GP_SPACE_RESERVATION, HEAP, count * page));
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record map = memory(GP_MAP, GP_SPACE_MAPPED, HEAP + k * page, page);
		map.map.handle = handle;
		add(memory(GP_ALLOC, GP_SPACE_PHYSICAL, handle, page));
		add(map);
		add(memory(GP_FREE, GP_SPACE_PHYSICAL, handle, 0));
	}
}

/* Allocates and frees one block again and again. */
static void repeats(uint64_t count)
{
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 512));
	size_t length = write_block(GP_BLOCK_EVENTS, 1, 0);
	for (uint64_t k = 1; k < count; k++)
		write_again(length, 1);
}

/* As many threads as blocks, all at the same time. */
static void threads_at_once(uint64_t count)
{
	for (unsigned k = 0; k < SLOTS - 1; k++)
		add((struct gp_record){ .kind = GP_LAUNCH, .time = START });
	size_t length = write_block(GP_BLOCK_EVENTS, 1, 0);
	for (uint64_t k = 1; k < count; k++)
		write_again(length, (uint32_t)k + 1);
}

/* As many threads as blocks: their events alternate, one of each thread at a time. */
static void threads_in_turn(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++) {
		for (uint64_t i = 0; i < SLOTS - 1; i++)
			add((struct gp_record){ .kind = GP_LAUNCH, .time = START + i * count + k });
		write_block(GP_BLOCK_EVENTS, (uint32_t)k + 1, 0);
	}
}

/* Modules, each with as many unloadings that were not recorded. */
static void caveats(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = { .kind = GP_MODULE, .aux = (uint32_t)(1 + k % 65535) };
		r.module.since = 1;
		r.module.until = 2;
		define(r, NULL);
	}
	flush(GP_BLOCK_DEFINE);
}

static void define_module(uint64_t number, uint64_t base, uint64_t bytes)
{
	char text[64];
	struct gp_record r = { .kind = GP_MODULE, .aux = (uint32_t)number };
	r.module.base = base;
	r.module.bytes = bytes;
	r.module.since = number;
	r.module.until = number + 1;
	snprintf(text, sizeof text, "- /nonexistent/lib%llu.so", (unsigned long long)number);
	define(r, text);
}

/* Allocations, each from a stack of one frame: `step` bytes behind that of the last. */
static void add_stacks(uint64_t count, uint64_t step)
{
	for (uint32_t k = 1; k <= count; k++) {
		struct gp_record frame = { .kind = GP_NATIVE_FRAME, .aux = 2 * k };
		struct gp_record stack = { .kind = GP_CALL_STACK, .aux = 2 * k + 1 };
		frame.native_frame.pc = HEAP + 256 + k * step;
		stack.call_stack.native = 2 * k;
		define(frame, NULL);
		define(stack, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint32_t k = 1; k <= count; k++) {
		struct gp_record r = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 512, 512);
		r.stack = 2 * k + 1;
		add(r);
	}
}

/* Modules that were loaded and unloaded at one address, and stacks in it. */
static void modules(uint64_t count)
{
	for (uint64_t k = 1; k <= count; k++)
		define_module(k, HEAP, 1 << 28);
	add_stacks(1000, 1);
}

/* Modules side by side, and a stack in each. */
static void modules_apart(uint64_t count)
{
	for (uint64_t k = 1; k <= count; k++)
		define_module(k, HEAP + k * 4096, 4096);
	add_stacks(count, 4096);
}

/* The start of a block, without a block. */
static void false_magic(uint64_t count)
{
	const uint32_t magic = 0x314b4c42;
	for (uint64_t k = 0; k < count; k++)
		write_bytes(&magic, sizeof magic);
}

/* Segment 0 in as many slots as possible, with blocks in each slot that do not decode. */
static void torn_blocks(uint64_t count)
{
	const unsigned char payload[24] = { 1, 2, 3 };
	unsigned char bytes[GP_BLOCK_HEADER];
	header.slots = GP_FILE_SLOTS_MAX;
	header.slot_bytes = GP_BLOCK_HEADER + count * (GP_BLOCK_HEADER + sizeof payload);
	write_header();
	fseek(out, GP_FILE_HEADER, SEEK_SET);
	for (uint32_t part = 0; part < header.slots; part++) {
		struct gp_block_header h = block_header(GP_BLOCK_SEGMENT, GP_THREAD_NONE);
		h.part = part;
		gp_block_header_encode(&h, bytes);
		write_bytes(bytes, sizeof bytes);
		for (uint64_t k = 0; k < count; k++) {
			h = block_header(GP_BLOCK_EVENTS, 1);
			h.part = part;
			h.sequence = part * count + k;
			h.records = 1;
			h.raw_bytes = 60;
			h.stored_bytes = sizeof payload;
			gp_block_header_encode(&h, bytes);
			write_bytes(bytes, sizeof bytes);
			write_bytes(payload, sizeof payload);
		}
	}
	is_sealed = true;
}

/* Stored names of many frames without a name: a byte of the file each. */
static void dense_names(uint64_t count)
{
	begin_names();
	define((struct gp_record){ .kind = GP_MODULE, .aux = 1 }, "- /lib/a.so");
	for (uint64_t k = 0; k < count; k++)
		define((struct gp_record){ .kind = GP_NATIVE_NAME,
					   .aux = 1,
					   .native_name = { k, 0, 6, 0 } },
		       NULL);
	end_names();
}

/* Stored names of one module with many numbers, each of a frame with a long name. */
static void long_names(uint64_t count)
{
	static char text[4000];
	memset(text, 'x', sizeof text - 1);
	begin_names();
	for (uint64_t k = 1; k <= count; k++) {
		define((struct gp_record){ .kind = GP_MODULE, .aux = (uint32_t)k }, "- /lib/a.so");
		snprintf(text + sizeof text - 8, 8, "%07u", (unsigned)k);
		define((struct gp_record){ .kind = GP_NATIVE_NAME,
					   .aux = (uint32_t)k,
					   .native_name = { k, 1, 0, 0 } },
		       text);
	}
	end_names();
}

/* Stacks of one frame at times that may each lie in one of many uncertain intervals. */
static void uncertain_stacks(uint64_t count)
{
	caveats(65534);
	add_stacks(count, 1);
}

/* ---- ranges of addresses ---- */

/*
 * Allocations of one size that begin close together, and blocks far apart. The oldest is freed
 * first.
 */
static void piled_ranges(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 512, TIB));
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_BLOCK_ALLOC, 0, HEAP + (k % 500000 << 21), 512));
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_FREE, GP_SPACE_DEVICE, HEAP + k * 512, 0));
}

/* Segments that begin close together, and ranges to search behind them. */
static void piled_segments(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_SEGMENT_ALLOC, 0, HEAP + k * 512, TIB));
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_SEGMENT_UNMAP, 0, HEAP + TIB + TIB / 2, TIB / 4));
}

/* Late ranges of a segment, each nearly equal to the one reported before it. */
static void mapped_over(uint64_t count)
{
	add(memory(GP_SEGMENT_MAP, 0, HEAP, 512));
	for (uint64_t k = count; k-- > 1;) {
		next_order = k;
		add(memory(GP_SEGMENT_MAP, 0, HEAP + 2 * k, 512));
	}
}

/* Ends of mappings where none are. */
static void unmapped_holes(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_UNMAP, 0, HEAP, TIB));
}

/* Ends of contexts that own none of the live allocations. */
static void owners_gone(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record alloc = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 512, 512);
		alloc.alloc.owner = 1;
		add(alloc);
	}
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record gone = { .kind = GP_OWNER_GONE };
		gone.owner_gone.owner = 2;
		add(gone);
	}
}

/* Each context ends with one of the live allocations, and each owns some of the framework's. */
static void owners_gone_in_turn(uint64_t count)
{
	const uint64_t mib = 1 << 20;
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record alloc = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * mib, mib);
		alloc.alloc.owner = count - k;
		add(alloc);
		add(memory(GP_BLOCK_ALLOC, 0, HEAP + k * mib, 512));
	}
	for (uint64_t k = 1; k <= count; k++) {
		struct gp_record gone = { .kind = GP_OWNER_GONE };
		gone.owner_gone.owner = k;
		add(gone);
	}
}

/* Segments are made and freed at the lowest address, before all others. */
static void segments_in_front(uint64_t count)
{
	const uint64_t mib = 1 << 20;
	for (uint64_t k = count; k-- > 0;)
		add(memory(GP_SEGMENT_ALLOC, 0, HEAP + k * mib, mib));
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_SEGMENT_FREE, 0, HEAP + k * mib, mib));
}

/* Every second event number is missing at first, and comes late. */
static void late_halves(uint64_t count)
{
	for (unsigned half = 0; half < 2; half++) {
		for (uint64_t k = 0; k < count; k++) {
			next_order = 2 * k + half;
			add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + (half * count + k) * 512,
				   512));
		}
		flush(GP_BLOCK_EVENTS);
	}
}

/* ---- work: see hostile_graphs.h, too ---- */

/* Unmappings that failed in the driver. */
static void refused_unmaps(uint64_t count)
{
	begin_uses(count);
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_UNMAP_FAILED, 0, HEAP, 512));
}

static void add_with_stack(uint64_t k, uint32_t stack)
{
	struct gp_record r = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 512, 512);
	r.stack = stack;
	add(r);
}

/* Modules of one path and address that differ only in length; and a stack. */
static void same_hash_modules(uint64_t count)
{
	for (uint64_t k = 1; k <= count; k++) {
		struct gp_record r = { .kind = GP_MODULE, .aux = (uint32_t)(1 + k % 65535) };
		r.module.base = HEAP;
		r.module.bytes = k << 24;
		r.module.since = k;
		define(r, "- /nonexistent/lib.so");
	}
	add_stacks(1, 1);
}

/* One more module between any two stacks, as many as possible. */
static void modules_between(uint64_t count)
{
	add_stacks(1000, 4096);
	flush(GP_BLOCK_EVENTS);
	define_module(65535, HEAP + (UINT64_C(65535) << 12), 4096);
	for (uint64_t k = 0; k < count; k++) {
		define_module(1 + k % 65535, HEAP + (1 + k % 65535) * 4096, 4096);
		add_with_stack(k, (uint32_t)(3 + 2 * (k % 1000)));
		if (records > SLOTS - 8)
			flush(GP_BLOCK_EVENTS);
	}
}

/* ---- texts ---- */

static void define_harm(enum gp_kind kind, uint32_t number, uint64_t handle, const char *text)
{
	struct gp_record r = { .kind = (uint16_t)kind, .aux = number };
	r.kernel.handle = handle;
	define(r, text);
}

/* Every text has control sequences. One alone: also the text of the captured range. */
static void texts(uint64_t count)
{
	char path[sizeof harm + 16];
	struct gp_record frame = { .kind = GP_NATIVE_FRAME, .aux = 2 };
	struct gp_record code = { .kind = GP_PYTHON_CODE, .aux = 3 };
	struct gp_record python = { .kind = GP_PYTHON_FRAME, .aux = 5 };
	struct gp_record stack = { .kind = GP_CALL_STACK, .aux = 4 };
	snprintf(header.command, sizeof header.command, "%s", harm);
	memcpy(header.hostname, harm, sizeof header.hostname - 1);
	write_header();
	for (uint32_t k = 1; k <= GP_FACT_RANK; k++)
		if (k != GP_FACT_ALLOC_CONF && (k != GP_FACT_SCOPE || count == 1))
			define_harm(GP_FACT, k, 0, harm);
	/* the output quotes a word of it */
	define_harm(GP_FACT, GP_FACT_ALLOC_CONF, 0, "PYTORCH_CUDA_ALLOC_CONF=backend:" HARM);
	snprintf(path, sizeof path, "- /%s.so", harm);
	struct gp_record module = { .kind = GP_MODULE, .aux = 1 };
	module.module.base = HEAP;
	module.module.bytes = 4096;
	define(module, path);
	define_harm(GP_GPU, 0, UINT64_C(1) << 37, harm);
	define_harm(GP_KERNEL, 0, 100, harm);
	define_harm(GP_GPU_FUNCTION, 0, 0, harm);
	define_harm(GP_THREAD, 1, 77, harm);
	define_harm(GP_CONTEXT, 0, 5, harm);
	define_harm(GP_RANGE_NAME, 1, 0, harm);
	frame.native_frame.pc = HEAP + 256;
	stack.call_stack.native = 2;
	define(frame, NULL);
	define_bytes(code, HARM "\0" HARM, 2 * sizeof harm - 1);
	python.python_frame.python_code = 3;
	stack.call_stack.python = 5;
	stack.call_stack.why_python = UINT64_C(7) << GP_WHY_MODULE_SHIFT;
	define(python, NULL);
	define_bytes((struct gp_record){ .kind = GP_TORCH_MODULE, .aux = 6 }, "\0" HARM,
		     sizeof harm);
	define_bytes((struct gp_record){ .kind = GP_TORCH_MODULE, .aux = 7, .torch_module = { 6 } },
		     HARM "\0" HARM, 2 * sizeof harm - 1);
	define(stack, NULL);
	flush(GP_BLOCK_DEFINE);
	struct gp_record push = { .kind = GP_RANGE_PUSH, .aux = 1 };
	push.range_push.source = GP_RANGE_NVTX;
	add(push);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 4096, 4096);
		r.stack = k % 2 ? 4 : 0;
		add(r);
		struct gp_record launch = { .kind = GP_LAUNCH };
		launch.launch.kernel = 100;
		add(launch);
		add((struct gp_record){ .kind = GP_GPU_KERNEL, .gpu_kernel.launch = k });
	}
	struct gp_record oom = { .kind = GP_OOM };
	oom.oom.bytes = 1 << 20;
	add(oom);
}

/* Each module is in the one before; each has a stack of its own, and a block. Memory runs out. */
static void deep_modules(uint64_t count)
{
	write_header();
	for (uint32_t k = 1; k <= count; k++) {
		struct gp_record module = { .kind = GP_TORCH_MODULE, .aux = k };
		struct gp_record stack = { .kind = GP_CALL_STACK, .aux = (uint32_t)count + k };
		module.torch_module.within = k - 1;
		stack.call_stack.why_python = (uint64_t)k << GP_WHY_MODULE_SHIFT;
		define_bytes(module, "a\0A", 3);
		define(stack, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++) {
		struct gp_record r = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 4096, 4096);
		r.stack = (uint32_t)(count + 1 + k);
		add(r);
		r.kind = GP_BLOCK_ALLOC;
		add(r);
	}
	struct gp_record push = { .kind = GP_RANGE_PUSH };
	push.range_push.source = GP_RANGE_NVTX;
	add(push);
	for (uint64_t k = 1; k <= 3; k++)
		add((struct gp_record){ .kind = GP_OOM, .oom.bytes = k << 20 });
}

/* ---- the families ---- */

static const struct {
	const char *name;
	void (*write)(uint64_t count);
} families[] = {
	{ "deep_modules", deep_modules },
	{ "late_time", late_time },
	{ "odd_segments", odd_segments },
	{ "odd_spaces", odd_spaces },
	{ "remapped", remapped },
	{ "same_hash_entries", same_hash_entries },
	{ "same_hash_definitions", same_hash_definitions },
	{ "repeats", repeats },
	{ "threads_at_once", threads_at_once },
	{ "threads_in_turn", threads_in_turn },
	{ "doubts", caveats },
	{ "modules", modules },
	{ "modules_apart", modules_apart },
	{ "false_magic", false_magic },
	{ "torn_blocks", torn_blocks },
	{ "dense_names", dense_names },
	{ "long_names", long_names },
	{ "piled_ranges", piled_ranges },
	{ "piled_segments", piled_segments },
	{ "mapped_over", mapped_over },
	{ "unmapped_holes", unmapped_holes },
	{ "owners_gone", owners_gone },
	{ "owners_gone_in_turn", owners_gone_in_turn },
	{ "segments_in_front", segments_in_front },
	{ "late_halves", late_halves },
	{ "uncertain_stacks", uncertain_stacks },
	{ "same_hash_stacks", same_hash_stacks },
	{ "same_hash_kernels", same_hash_kernels },
	{ "same_hash_threads", same_hash_threads },
	{ "same_hash_ranges", same_hash_ranges },
	{ "same_hash_frames", same_hash_frames },
	{ "same_hash_phases", same_hash_phases },
	{ "same_hash_modules", same_hash_modules },
	{ "unseen_uses", unseen_uses },
	{ "unseen_launches", unseen_launches },
	{ "graph_launches", graph_launches },
	{ "graph_moves", graph_moves },
	{ "graph_loop", graph_loop },
	{ "graph_execs", graph_execs },
	{ "graph_children", graph_children },
	{ "captures_at_once", captures_at_once },
	{ "broken_captures", broken_captures },
	{ "pools_of_captures", pools_of_captures },
	{ "refused_unmaps", refused_unmaps },
	{ "modules_between", modules_between },
	{ "dense_blocks", dense_blocks },
	{ "dense_live", dense_live },
	{ "peaks_up", peaks_up },
	{ "dense_callstacks", dense_callstacks },
	{ "dense_reservations", dense_reservations },
	{ "dense_maps", dense_maps },
	{ "dense_waits", dense_waits },
	{ "dense_starts", dense_starts },
	{ "dense_launches", dense_launches },
	{ "dense_ranges", dense_ranges },
	{ "dense_depths", dense_depths },
	{ "dense_started", dense_started },
	{ "dense_born", dense_born },
	{ "dense_list_ends", dense_list_ends },
	{ "dense_streams", dense_streams },
	{ "dense_definitions", dense_definitions },
	{ "old_launches", old_launches },
	{ "old_blocks", old_blocks },
	{ "old_live", old_live },
	{ "gpu_moved", gpu_moved },
	{ "gpu_unlike", gpu_unlike },
	{ "gpu_windows", gpu_windows },
	{ "gpu_optional", gpu_optional },
	{ "gpu_streams", gpu_streams },
	{ "gpu_allocations", gpu_allocations },
	{ "gpu_one_graph", gpu_one_graph },
	{ "gpu_functions", gpu_functions },
	{ "gpu_uses", gpu_uses },
	{ "gpu_ranges", gpu_ranges },
	{ "gpu_nested", gpu_nested },
	{ "nccl_calls", nccl_calls },
	{ "gpu_started", gpu_started },
	{ "gpu_counters", gpu_counters },
	{ "gpu_samples", gpu_samples },
	{ "texts", texts },
};

int main(int argc, char **argv)
{
	size_t count = sizeof families / sizeof *families, k = 0;
	while (argc == 4 && k < count && strcmp(argv[1], families[k].name) != 0)
		k++;
	if (argc != 4 || k == count)
		return 2;
	open_writer(argv[3]);
	families[k].write(strtoull(argv[2], NULL, 10));
	return !close_writer();
}
