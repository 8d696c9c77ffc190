/*
 * Invents the recording of a job with a caching allocator, and writes the expected contents of its
 * snapshot. The allocator is a minimal one with streams, private pools, expandable segments and
 * frees that wait for other streams. Beside it, another library allocates from the driver.
 *	write_history RECORDING EXPECTED SEED EVENTS [a|b|late]
 * a: the allocator makes only its reports; late: the other events begin in the middle. EXPECTED
 * gets one JSON object a line, {"device": .., "action": ..} in order, and at last {"segments":
 * [..]}.
 */
#include "../unit/recording_writer.h"

#define DEVICES 2u
#define ARENAS 5u
#define SEGMENTS 64u
#define BLOCKS 4096u
#define OUTSIDES 16u
#define MIB (1ull << 20)
#define PAGE (2 * MIB)

struct arena {
	uint64_t stream, pool, user_pool;
	bool is_expandable;
	uint64_t reservation, next; /* expandable: address of the next page */
};
static const struct arena models[ARENAS] = {
	{ 0, 0, 0, false, 0, 0 }, { 0x55d0c4b01230, 0, 0, false, 0, 0 }, { 0, 0, 1, false, 0, 0 },
	{ 0, 0, 0, true, 0, 0 },  { 0x55d0c4b01230, 7, 0, true, 0, 0 },
};

/* Memory of the allocator: a segment, or a page of an expandable one. */
struct segment {
	uint64_t address, bytes, handle;
	unsigned device, arena;
};
struct block {
	uint64_t address, bytes, requested;
	unsigned device, arena;
	bool is_pending;
};
struct outside {
	uint64_t address, bytes, reservation;
	unsigned device;
	uint8_t space;
};

static struct writer w;
static FILE *expected;
static uint64_t state, addresses = 0x7f0000000000, handles = 0x1000;
/* adjacent reservations of the allocator: viewers join them with each other only */
static uint64_t reservations = 0x7e0000000000;
static struct arena arena[DEVICES][ARENAS];
static struct segment segment[DEVICES * SEGMENTS];
static struct block block[BLOCKS];
static struct outside outside[OUTSIDES];
static size_t segments, blocks, outsides;
static uint64_t allocated[DEVICES], reserved[DEVICES];
static bool is_reported, has_all;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static void expect_act(unsigned device, const char *action, uint64_t address, uint64_t size,
		       const struct arena *of)
{
	if (!has_all)
		return;
	fprintf(expected,
		"{\"device\": %u, \"action\": \"%s\", \"addr\": %llu, \"size\": %llu, "
		"\"stream\": %llu, \"pool_id\": [%llu, %llu]}\n",
		device, action, (unsigned long long)address, (unsigned long long)size,
		(unsigned long long)of->stream, (unsigned long long)of->pool,
		(unsigned long long)of->user_pool);
}

/* ---- the driver ---- */

static void driver_alloc(unsigned thread, unsigned device, unsigned space, uint64_t address,
			 uint64_t bytes)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = (uint8_t)space,
				.device = (uint8_t)device,
				.alloc = { .address = address, .bytes = bytes } });
}

static void driver_free(unsigned thread, unsigned space, uint64_t address)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_FREE,
				.space = (uint8_t)space,
				.device = GP_DEVICE_UNKNOWN,
				.free.address = address });
}

static void driver_map(unsigned thread, uint64_t address, uint64_t bytes, uint64_t handle)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_MAP,
				.space = GP_SPACE_MAPPED,
				.device = GP_DEVICE_UNKNOWN,
				.map = { .address = address, .bytes = bytes, .handle = handle } });
}

static void driver_unmap(unsigned thread, uint64_t address, uint64_t bytes)
{
	put(&w, thread,
	    (struct gp_record){ .kind = GP_UNMAP,
				.space = GP_SPACE_MAPPED,
				.device = GP_DEVICE_UNKNOWN,
				.unmap = { .address = address, .bytes = bytes } });
}

/* ---- the allocator ---- */

static unsigned number_of(unsigned device, unsigned a)
{
	return is_reported ? device * ARENAS + a + 1 : 0;
}

static const struct arena *shown(unsigned device, unsigned a)
{
	static const struct arena unknown;
	return is_reported ? &arena[device][a] : &unknown;
}

static void tell(unsigned kind, unsigned thread, unsigned device, unsigned a, uint64_t address,
		 uint64_t bytes, const char *action)
{
	if (is_reported)
		put(&w, thread,
		    (struct gp_record){ .kind = (uint16_t)kind,
					.device = (uint8_t)device,
					.code = (uint16_t)number_of(device, a),
					.segment_alloc = { .address = address, .bytes = bytes } });
	expect_act(device, action, address, bytes, shown(device, a));
}

static void grow_whole(unsigned thread, unsigned device, unsigned a, uint64_t bytes)
{
	uint64_t size = bytes <= MIB	 ? PAGE :
			bytes < 10 * MIB ? 20 * MIB :
					   (bytes + PAGE - 1) / PAGE * PAGE;
	uint64_t address = addresses;
	addresses += size + (draw(3) ? PAGE : 0);
	driver_alloc(thread, device, GP_SPACE_DEVICE, address, size);
	segment[segments++] = (struct segment){ address, size, 0, device, a };
	reserved[device] += size;
	tell(GP_SEGMENT_ALLOC, thread, device, a, address, size, "segment_alloc");
}

static void grow_expandable(unsigned thread, unsigned device, unsigned a, uint64_t bytes)
{
	struct arena *of = &arena[device][a];
	uint64_t pages = (bytes + PAGE - 1) / PAGE;
	if (of->reservation == 0) {
		of->reservation = of->next = reservations;
		reservations += 1024 * MIB;
		driver_alloc(thread, device, GP_SPACE_RESERVATION, of->reservation, 1024 * MIB);
	}
	/* of another process, whose creation was not recorded */
	bool is_import = draw(5) == 0;
	uint64_t from = of->next;
	for (uint64_t k = 0; k < pages && !is_import; k++)
		driver_alloc(thread, device, GP_SPACE_PHYSICAL, handles + k, PAGE);
	for (uint64_t k = 0; k < pages; k++, of->next += PAGE, handles++) {
		driver_map(thread, of->next, PAGE, handles);
		segment[segments++] =
			(struct segment){ of->next, PAGE, is_import ? 0 : handles, device, a };
		reserved[device] += PAGE;
		if (!is_reported)
			expect_act(device, "segment_map", of->next, PAGE, shown(device, a));
	}
	if (is_reported)
		tell(GP_SEGMENT_MAP, thread, device, a, from, pages * PAGE, "segment_map");
}

/* The lowest free address for `bytes` in the segments of an arena, over adjacent pages; 0: none. */
static uint64_t find_place(unsigned device, unsigned a, uint64_t bytes)
{
	for (size_t k = 0; k < segments; k++) {
		if (segment[k].device != device || segment[k].arena != a)
			continue;
		uint64_t at = segment[k].address, end = at + segment[k].bytes;
		for (bool is_more = arena[device][a].is_expandable; is_more;) {
			is_more = false;
			for (size_t i = 0; i < segments; i++)
				if (segment[i].address == end && segment[i].device == device &&
				    segment[i].arena == a) {
					end += segment[i].bytes;
					is_more = true;
				}
		}
		for (bool is_moved = true; is_moved;) {
			is_moved = false;
			for (size_t i = 0; i < blocks; i++)
				if (block[i].address < at + bytes &&
				    at < block[i].address + block[i].bytes) {
					at = block[i].address + block[i].bytes;
					is_moved = true;
				}
		}
		if (at + bytes <= end)
			return at;
	}
	return 0;
}

static void allocate(unsigned thread, unsigned device, unsigned a)
{
	uint64_t requested = 1 + draw(draw(4) ? 64 << 10 : 6 << 20);
	uint64_t bytes = (requested + 511) / 512 * 512;
	if (blocks == BLOCKS || segments + 4 > sizeof segment / sizeof *segment)
		return;
	uint64_t place = find_place(device, a, bytes);
	if (place == 0 && arena[device][a].is_expandable)
		grow_expandable(thread, device, a, bytes);
	else if (place == 0)
		grow_whole(thread, device, a, bytes);
	if (place == 0)
		place = find_place(device, a, bytes);
	assert_true(place != 0);
	allocated[device] += bytes;
	block[blocks++] =
		(struct block){ place, bytes, is_reported ? requested : bytes, device, a, false };
	put(&w, thread,
	    (struct gp_record){
		    .kind = GP_BLOCK_ALLOC,
		    .device = (uint8_t)device,
		    .code = (uint16_t)number_of(device, a),
		    .aux = is_reported ? (uint32_t)(1 + bytes - requested) : 0,
		    .block_alloc = { place, bytes, allocated[device], reserved[device] } });
	expect_act(device, "alloc", place, is_reported ? requested : bytes, shown(device, a));
}

static void complete(unsigned thread, size_t k)
{
	const struct block b = block[k];
	put(&w, thread,
	    (struct gp_record){ .kind = GP_BLOCK_COMPLETED,
				.device = (uint8_t)b.device,
				.code = (uint16_t)number_of(b.device, b.arena),
				.block_completed.address = b.address });
	expect_act(b.device, "free_completed", b.address, b.requested, shown(b.device, b.arena));
	block[k] = block[--blocks];
}

static void release(unsigned thread, size_t k)
{
	const struct block b = block[k];
	bool is_pending = is_reported && draw(3) == 0;
	allocated[b.device] -= b.bytes;
	put(&w, thread,
	    (struct gp_record){ .kind = GP_BLOCK_FREE,
				.device = (uint8_t)b.device,
				.code = (uint16_t)number_of(b.device, b.arena),
				.aux = is_pending,
				.block_free = { b.address, b.bytes, allocated[b.device],
						reserved[b.device] } });
	expect_act(b.device, "free_requested", b.address, b.requested, shown(b.device, b.arena));
	if (is_pending) {
		block[k].is_pending = true;
		return;
	}
	expect_act(b.device, "free_completed", b.address, b.requested, shown(b.device, b.arena));
	block[k] = block[--blocks];
}

static bool is_free_segment(const struct segment *s)
{
	for (size_t i = 0; i < blocks; i++)
		if (block[i].address < s->address + s->bytes &&
		    s->address < block[i].address + block[i].bytes)
			return false;
	return true;
}

/* Empties the cache: segments without blocks go back to the driver. */
static void empty_cache(unsigned thread)
{
	for (size_t k = 0; k < segments;) {
		const struct segment s = segment[k];
		if (!is_free_segment(&s) || draw(4) == 0) {
			k++;
			continue;
		}
		bool is_page = arena[s.device][s.arena].is_expandable;
		if (is_page) {
			driver_unmap(thread, s.address, s.bytes);
			if (s.handle)
				driver_free(thread, GP_SPACE_PHYSICAL, s.handle);
		}
		tell(is_page ? GP_SEGMENT_UNMAP : GP_SEGMENT_FREE, thread, s.device, s.arena,
		     s.address, s.bytes, is_page ? "segment_unmap" : "segment_free");
		if (!is_page)
			driver_free(thread, GP_SPACE_DEVICE, s.address);
		reserved[s.device] -= s.bytes;
		segment[k] = segment[--segments];
	}
}

static void run_out(unsigned thread, unsigned device)
{
	uint64_t bytes = (1 + draw(64)) << 30;
	put(&w, thread,
	    (struct gp_record){ .kind = GP_OOM,
				.device = (uint8_t)device,
				.code = (uint16_t)number_of(device, 1),
				.aux = 1,
				.oom = { bytes, allocated[device], reserved[device], 12345678 } });
	expect_act(device, "oom", 0, bytes, shown(device, 1));
}

static void take_snapshot(unsigned thread, unsigned device)
{
	uint64_t active = 0;
	for (size_t k = 0; k < blocks; k++)
		active += block[k].device == device ? block[k].bytes : 0;
	if (!is_reported)
		return;
	put(&w, thread,
	    (struct gp_record){ .kind = GP_SNAPSHOT,
				.device = (uint8_t)device,
				.snapshot.active_bytes = active });
	expect_act(device, "snapshot", 0, active, shown(DEVICES - 1, 0));
}

/* ---- another library ---- */

static void ask_outside(unsigned device)
{
	static const uint8_t spaces[] = { GP_SPACE_DEVICE, GP_SPACE_ASYNC, GP_SPACE_MANAGED,
					  GP_SPACE_PHYSICAL, GP_SPACE_ARRAY };
	if (outsides == OUTSIDES)
		return;
	struct outside o = { addresses, (1 + draw(40)) * MIB, 0, device, spaces[draw(5)] };
	addresses += 64 * MIB;
	if (o.space == GP_SPACE_PHYSICAL || o.space == GP_SPACE_ARRAY) {
		o.reservation = o.address;
		o.address = handles++;
	}
	if (o.space == GP_SPACE_PHYSICAL)
		driver_alloc(3, device, GP_SPACE_RESERVATION, o.reservation, 64 * MIB);
	driver_alloc(3, device, o.space, o.address, o.bytes);
	if (o.space == GP_SPACE_PHYSICAL)
		driver_map(3, o.reservation, o.bytes, o.address);
	outside[outsides++] = o;
}

static void drop_outside(size_t k)
{
	const struct outside o = outside[k];
	bool is_physical = o.space == GP_SPACE_PHYSICAL, is_early = draw(2);
	if (is_physical && is_early)
		driver_free(3, o.space, o.address);
	if (is_physical) {
		driver_unmap(3, o.reservation, o.bytes);
		driver_free(3, GP_SPACE_RESERVATION, o.reservation);
	}
	if (!is_physical || !is_early)
		driver_free(3, o.space, o.address);
	outside[k] = outside[--outsides];
}

/* ---- the job ---- */

static void define(struct gp_record r, const char *text)
{
	struct gp_record slots[4] = { r };
	fill_text(slots, text);
	flush(&w, 0);
	slots[0].order = w.order;
	slots[0].time = w.time += 64;
	for (unsigned k = 0; k <= slots[0].extra; k++)
		w.buffer[0][w.buffered[0]++] = slots[k];
	flush(&w, 0);
}

static void begin_details(void)
{
	is_reported = true;
	put(&w, 0,
	    (struct gp_record){
		    .kind = GP_FACT, .aux = GP_FACT_ALLOCATOR_DETAILS, .fact.value = 1 });
	for (unsigned device = 0; device < DEVICES; device++)
		for (unsigned a = 0; a < ARENAS; a++)
			put(&w, 0,
			    (struct gp_record){ .kind = GP_ARENA,
						.device = (uint8_t)device,
						.aux = device * ARENAS + a + 1,
						.arena = { arena[device][a].stream,
							   arena[device][a].pool,
							   arena[device][a].user_pool, 1 } });
}

static void work(unsigned thread)
{
	unsigned device = (unsigned)draw(DEVICES), what = (unsigned)draw(200);
	if (what < 90 || blocks == 0) {
		allocate(thread, device, (unsigned)draw(ARENAS));
	} else if (what < 180) {
		size_t k = draw(blocks);
		if (block[k].is_pending)
			complete(thread, k);
		else
			release(thread, k);
	} else if (what < 186) {
		ask_outside(device);
	} else if (what < 192) {
		if (outsides > 0)
			drop_outside(draw(outsides));
	} else if (what < 194) {
		empty_cache(thread);
	} else if (what < 195) {
		run_out(thread, device);
	} else if (what < 196) {
		take_snapshot(thread, device);
	} else {
		put(&w, thread, (struct gp_record){ .kind = GP_LAUNCH, .launch.kernel = 0xabc });
	}
}

static void expect_end(void)
{
	fprintf(expected, "{\"blocks\": [");
	for (size_t k = 0; k < blocks; k++)
		fprintf(expected, "%s[%u, %llu, %llu, %llu, \"%s\"]", k ? ", " : "",
			block[k].device, (unsigned long long)block[k].address,
			(unsigned long long)block[k].bytes, (unsigned long long)block[k].requested,
			block[k].is_pending ? "active_pending_free" : "active_allocated");
	fprintf(expected, "], \"reserved\": [%llu, %llu], \"outside\": [",
		(unsigned long long)reserved[0], (unsigned long long)reserved[1]);
	for (size_t k = 0; k < outsides; k++)
		fprintf(expected, "%s[%u, %llu]", k ? ", " : "", outside[k].device,
			(unsigned long long)outside[k].bytes);
	fprintf(expected, "]}\n");
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	const char *mode = argc > 5 ? argv[5] : "b";
	uint64_t events = strtoull(argv[4], NULL, 10);
	state = strtoull(argv[3], NULL, 10) * 2654435761u + 88172645463325252u;
	expected = fopen(argv[2], "w");
	if (expected == NULL)
		return 2;
	snprintf(directory, sizeof directory, ".");
	unlink(argv[1]);
	writer_open(&w, argv[1], 0, 0);
	for (unsigned device = 0; device < DEVICES; device++)
		memcpy(arena[device], models, sizeof models);
	define((struct gp_record){ .kind = GP_GPU, .gpu.total_bytes = 80ull << 30 }, "GPU A");
	define((struct gp_record){ .kind = GP_GPU, .device = 1, .gpu.total_bytes = 80ull << 30 },
	       "GPU B");
	define((struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_ALLOC_CONF },
	       "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128,"
	       "roundup_power2_divisions:[256:1,512:2,>:8],garbage_collection_threshold:0.6");
	has_all = strcmp(mode, "late") != 0;
	if (strcmp(mode, "b") == 0)
		begin_details();
	for (uint64_t k = 0; k < events; k++) {
		if (k == events / 2 && !has_all)
			begin_details();
		work((unsigned)draw(3));
	}
	expect_end();
	writer_close(&w, true);
	return fclose(expected) == 0 ? 0 : 2;
}
