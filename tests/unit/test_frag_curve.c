/*
 * Gaps that are updated event by event, against a new computation from the whole state after each
 * event. Inputs: random histories of segments, pages, blocks and pending frees, and real
 * recordings.
 */
#include "recording_writer.h"

#include <glob.h>

#include "analyze/frag/gap_follow.h"
#include "analyze/memory/memory_view.h"

#define MIB (UINT64_C(1) << 20)

static void look_anew(struct gp_recording *r, uint64_t *free_bytes, uint64_t *largest)
{
	struct gp_memory m = { 0 };
	struct gp_memory_view view = { .recording = r, .out = &m };
	assert_int_equal(gp_memory_list(&view), GP_OK);
	assert_int_equal(gp_memory_list_segments(&view), GP_OK);
	assert_int_equal(gp_memory_tile(&view), GP_OK);
	memset(free_bytes, 0, GP_DEVICES * sizeof *free_bytes);
	memset(largest, 0, GP_DEVICES * sizeof *largest);
	for (size_t i = 0; i < m.segments; i++)
		for (size_t k = 0; k < m.segment[i].blocks; k++) {
			const struct gp_memory_block *b = &m.block[m.segment[i].first + k];
			unsigned device = m.segment[i].device;
			if (b->state != GP_STATE_FREE || device >= GP_DEVICES)
				continue;
			free_bytes[device] += b->bytes;
			if (b->bytes > largest[device])
				largest[device] = b->bytes;
		}
	gp_memory_view_release(&view);
	gp_memory_free(&m);
}

/*
 * Compares after each event that may change the gaps. Returns the number of comparisons; `most`:
 * the largest gap.
 */
static uint64_t compare_all(const char *path, uint64_t *most)
{
	struct gp_recording *r;
	struct gp_gap_follow *f = malloc(sizeof *f);
	uint64_t free_bytes[GP_DEVICES], largest[GP_DEVICES], compared = 0;
	enum gp_status status = gp_recording_open(path, &r, NULL);
	*most = 0;
	assert_int_equal(status, GP_OK);
	status = gp_gap_follow_begin(f, r);
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		bool is_memory = gp_event_infos[record->kind].class == GP_CLASS_MEMORY;
		gp_gap_follow_before(f, record);
		status = gp_recording_apply(r, record);
		if (status == GP_OK)
			status = gp_gap_follow_after(f, record);
		assert_int_equal(status, GP_OK);
		if (!is_memory)
			continue;
		look_anew(r, free_bytes, largest);
		for (unsigned d = 0; d < GP_DEVICES; d++) {
			assert_int_equal(f->map[d].free_bytes, free_bytes[d]);
			assert_int_equal(gp_gap_map_largest(&f->map[d]), largest[d]);
			*most = largest[d] > *most ? largest[d] : *most;
		}
		compared++;
	}
	assert_int_equal(status, GP_END);
	gp_gap_follow_release(f);
	free(f);
	gp_recording_close(r);
	return compared;
}

static void recordings(void **state)
{
	(void)state;
	glob_t found;
	uint64_t most, with_gaps = 0;
	const char *data = getenv("TEST_DATA"); /* set by run_units.sh */
	char pattern[512];
	snprintf(pattern, sizeof pattern, "%s/*.gpr", data ? data : "tests/data");
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t k = 0; k < found.gl_pathc; k++) {
		assert_true(compare_all(found.gl_pathv[k], &most) > 0);
		with_gaps += most > 0;
	}
	assert_true(with_gaps >= 6);
	globfree(&found);
}

/* ---- random histories ---- */

enum { UNITS_MOST = 40, BLOCKS_MOST = 300 };

struct range {
	uint64_t address, bytes; /* mapped in a reservation: its pages */
	uint64_t page;
	bool is_whole, is_reported, page_is_mapped[64];
	unsigned device;
};
struct block {
	uint64_t address, bytes;
	bool is_pending;
	unsigned device;
};
struct history {
	struct writer w;
	struct range range[UNITS_MOST];
	struct block block[BLOCKS_MOST];
	size_t ranges, blocks;
	uint64_t seed, next;
	bool is_reported;
};

static uint64_t pick(struct history *h, uint64_t below)
{
	h->seed = h->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (h->seed >> 33) % below;
}

static void put_event(struct history *h, struct gp_record r)
{
	put(&h->w, (unsigned)pick(h, 4), r);
}

static void put_range_event(struct history *h, unsigned kind, unsigned space, uint64_t address,
			    uint64_t bytes, unsigned device)
{
	struct gp_record r = { .kind = (uint16_t)kind,
			       .space = (uint8_t)space,
			       .device = (uint8_t)device,
			       .code = kind >= GP_SEGMENT_ALLOC && kind <= GP_SEGMENT_UNMAP };
	r.alloc.address = address; /* the same place in each record */
	r.alloc.bytes = kind == GP_FREE ? 0 : bytes;
	if (kind == GP_MAP)
		r.map.handle = address;
	put_event(h, r);
}

static bool is_mapped(const struct range *g, uint64_t address, uint64_t bytes)
{
	if (address < g->address || address + bytes > g->address + g->bytes)
		return false;
	for (uint64_t at = address; !g->is_whole && at < address + bytes; at += 512)
		if (!g->page_is_mapped[(at - g->address) / g->page])
			return false;
	return true;
}

static bool is_free(const struct history *h, uint64_t address, uint64_t bytes)
{
	for (size_t k = 0; k < h->blocks; k++)
		if (address < h->block[k].address + h->block[k].bytes &&
		    h->block[k].address < address + bytes)
			return false;
	return true;
}

static void add_range(struct history *h)
{
	if (h->ranges == UNITS_MOST)
		return;
	struct range *g = &h->range[h->ranges++];
	*g = (struct range){ .is_whole = pick(h, 2) != 0,
			     .device = (unsigned)pick(h, 2),
			     .address = h->next,
			     .page = 2 * MIB };
	g->bytes = g->is_whole ? 2 * MIB * (1 + pick(h, 5)) : 10 * g->page;
	/* some ranges touch, and are two ranges even so */
	h->next += g->bytes + (pick(h, 3) ? 0 : 6 * MIB);
	g->is_reported = h->is_reported && pick(h, 3) != 0;
	put_range_event(h, GP_ALLOC, g->is_whole ? GP_SPACE_DEVICE : GP_SPACE_RESERVATION,
			g->address, g->bytes, g->is_whole ? g->device : GP_DEVICE_UNKNOWN);
	if (g->is_whole && g->is_reported)
		put_range_event(h, GP_SEGMENT_ALLOC, 0, g->address, g->bytes, g->device);
}

static void drop_range(struct history *h)
{
	struct range *g = &h->range[pick(h, h->ranges)];
	if (!g->is_whole || !is_free(h, g->address, g->bytes))
		return;
	if (g->is_reported)
		put_range_event(h, GP_SEGMENT_FREE, 0, g->address, g->bytes, g->device);
	put_range_event(h, GP_FREE, g->is_whole ? GP_SPACE_DEVICE : GP_SPACE_RESERVATION,
			g->address, 0, g->device);
	if (pick(h, 9) == 0) {
		struct gp_record r = { .kind = GP_FREE_FAILED, .device = (uint8_t)g->device };
		r.space = GP_SPACE_DEVICE;
		r.free_failed.address = g->address;
		r.free_failed.undoes = h->w.order - 1;
		put_event(h, r);
		if (g->is_reported)
			put_range_event(h, GP_SEGMENT_ALLOC, 0, g->address, g->bytes, g->device);
		return;
	}
	*g = h->range[--h->ranges];
}

static void turn_page(struct history *h)
{
	struct range *g = &h->range[pick(h, h->ranges)];
	uint64_t page = pick(h, 10), address = g->address + page * g->page;
	if (g->is_whole || !is_free(h, address, g->page))
		return;
	bool is_there = g->page_is_mapped[page] = !g->page_is_mapped[page];
	struct gp_record physical = { .kind = is_there ? GP_ALLOC : GP_FREE,
				      .space = GP_SPACE_PHYSICAL,
				      .device = (uint8_t)g->device };
	physical.alloc.address = address + 7; /* a handle */
	physical.alloc.bytes = is_there ? g->page : 0;
	if (is_there)
		put_event(h, physical);
	struct gp_record r = { .kind = is_there ? GP_MAP : GP_UNMAP,
			       .space = GP_SPACE_MAPPED,
			       .device = (uint8_t)g->device };
	r.map.address = address;
	r.map.bytes = g->page;
	r.map.handle = is_there ? address + 7 : 0;
	put_event(h, r);
	if (!is_there)
		put_event(h, physical);
	if (g->is_reported)
		put_range_event(h, is_there ? GP_SEGMENT_MAP : GP_SEGMENT_UNMAP, 0, address,
				g->page, g->device);
}

static struct gp_record block_event(struct history *h, unsigned kind, const struct block *b,
				    int64_t change)
{
	const struct gp_curve_state *curve = gp_live_device(h->w.live, b->device)->curve;
	struct gp_record r = { .kind = (uint16_t)kind,
			       .device = (uint8_t)b->device,
			       .code = h->is_reported };
	r.block_alloc.address = b->address;
	r.block_alloc.bytes = b->bytes;
	r.block_alloc.allocated = curve[GP_CURVE_ALLOCATED].now_bytes + (uint64_t)change;
	r.block_alloc.reserved = curve[GP_CURVE_RESERVED].now_bytes;
	return r;
}

static void add_block(struct history *h)
{
	const struct range *g = &h->range[pick(h, h->ranges)];
	struct block b = { .bytes = 512 * (1 + pick(h, pick(h, 5) ? 500 : 9000)),
			   .device = g->device };
	b.address = g->address + 512 * pick(h, g->bytes / 512);
	/* mostly at the begin of its gap */
	while (pick(h, 50) && b.address > g->address && is_free(h, b.address - 512, 512))
		b.address -= 512;
	if (h->blocks == BLOCKS_MOST || !is_mapped(g, b.address, b.bytes) ||
	    !is_free(h, b.address, b.bytes))
		return;
	put_event(h, block_event(h, GP_BLOCK_ALLOC, &b, (int64_t)b.bytes));
	h->block[h->blocks++] = b;
}

static void end_block(struct history *h)
{
	struct block *b = &h->block[pick(h, h->blocks)];
	if (b->is_pending) {
		struct gp_record r = { .kind = GP_BLOCK_COMPLETED, .device = (uint8_t)b->device };
		r.block_completed.address = b->address;
		put_event(h, r);
	} else {
		struct gp_record r = block_event(h, GP_BLOCK_FREE, b, -(int64_t)b->bytes);
		b->is_pending = h->is_reported && pick(h, 4) == 0;
		r.aux = b->is_pending;
		put_event(h, r);
		if (b->is_pending)
			return;
	}
	*b = h->block[--h->blocks];
}

/* The allocator reports all that it has; from here on it reports changes as well. */
static void report_all(struct history *h)
{
	h->is_reported = true;
	for (size_t k = 0; k < h->ranges; k++) {
		struct range *g = &h->range[k];
		for (uint64_t at = 0; at < g->bytes; at += g->is_whole ? g->bytes : g->page) {
			struct gp_record r = { .kind = GP_SEGMENT_ALLOC,
					       .device = (uint8_t)g->device,
					       .code = 1,
					       .aux = 1 };
			if (!g->is_whole && !g->page_is_mapped[at / g->page])
				continue;
			r.kind = g->is_whole ? GP_SEGMENT_ALLOC : GP_SEGMENT_MAP;
			r.segment_alloc.address = g->address + at;
			r.segment_alloc.bytes = g->is_whole ? g->bytes : g->page;
			put_event(h, r);
		}
		g->is_reported = true;
	}
	for (size_t k = 0; k < h->blocks; k++) {
		struct gp_record r = block_event(h, GP_BLOCK_EXISTING, &h->block[k], 0);
		r.aux = 1;
		put_event(h, r);
	}
}

static void random_history(unsigned seed)
{
	struct history *h = calloc(1, sizeof *h);
	uint64_t most;
	h->seed = seed;
	h->is_reported = seed % 2 != 0;
	h->next = UINT64_C(0x7f0000000000);
	writer_open(&h->w, "curve.gpr", 0, 0);
	for (unsigned k = 0; k < 2500; k++) {
		uint64_t what = pick(h, 100);
		if (k == 1200 && seed % 4 == 2)
			report_all(h);
		if (what < 4 || h->ranges == 0)
			add_range(h);
		else if (what < 6)
			drop_range(h);
		else if (what < 20)
			turn_page(h);
		else if (what < 60 || h->blocks == 0)
			add_block(h);
		else
			end_block(h);
		if (pick(h, 700) == 0)
			next_segment(&h->w);
	}
	writer_close(&h->w, true);
	assert_true(compare_all(h->w.path, &most) > 500);
	assert_true(most > 0);
	free(h);
}

static void random_histories(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++)
		random_history(seed);
}

/* ---- since when ---- */

static void block(struct writer *w, bool is_alloc, uint64_t offset, uint64_t bytes)
{
	struct gp_record r = { .kind = is_alloc ? GP_BLOCK_ALLOC : GP_BLOCK_FREE };
	const struct gp_curve_state *curve = gp_live_device(w->live, 0)->curve;
	r.block_alloc.address = 0x7000000000 + offset;
	r.block_alloc.bytes = bytes;
	r.block_alloc.allocated = curve[GP_CURVE_ALLOCATED].now_bytes + (is_alloc ? bytes : -bytes);
	r.block_alloc.reserved = 64 * MIB;
	put(w, 0, r);
}

/*
 * Fragmented, whole again, then fragmented for good: a block stays in the middle of the freed
 * memory.
 */
static void it_is_born_where_it_never_recovers(void **state)
{
	(void)state;
	struct writer w;
	struct gp_memory m;
	struct gp_frag_born born = { .device = 0 };
	struct gp_moment_of end = { .when = GP_WHEN_END };
	writer_open(&w, "born.gpr", 0, 0);
	struct gp_record segment = { .kind = GP_ALLOC, .space = GP_SPACE_DEVICE };
	segment.alloc.address = 0x7000000000;
	segment.alloc.bytes = 64 * MIB;
	put(&w, 0, segment);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned k = 0; k < 8; k++)
			block(&w, true, k * 8 * MIB, 8 * MIB);
		for (unsigned k = 0; k < 8; k++)
			if (k != 4 || round < 2)
				block(&w, false, k * 8 * MIB, 8 * MIB);
	}
	/*
	 * the gap of four blocks before it stays; the gap of one, two and three blocks after it is
	 * stranded
	 */
	uint64_t born_order = w.order - 2;
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_memory_build(r, &end, &m), GP_OK);
	born.fit_bytes = 0;
	assert_int_equal(gp_frag_find_born(r, &m, &born, 1), GP_OK);
	assert_int_equal(born.stranded_bytes, 24 * MIB);
	assert_true(born.is_known);
	assert_int_equal(born.order, born_order);
	/* a gap of 40 MiB existed until the fourth block of the last round */
	born.fit_bytes = 40 * MIB;
	assert_int_equal(gp_frag_find_born(r, &m, &born, 1), GP_OK);
	assert_true(born.is_known && born.is_by_fit);
	assert_int_equal(born.order, w.order - 7 - 5);
	/* a gap of 32 MiB exists */
	born.fit_bytes = 32 * MIB;
	assert_int_equal(gp_frag_find_born(r, &m, &born, 1), GP_OK);
	assert_false(born.is_by_fit);
	assert_int_equal(born.order, born_order);
	/* a gap of 80 MiB never existed */
	born.fit_bytes = 80 * MIB;
	assert_int_equal(gp_frag_find_born(r, &m, &born, 1), GP_OK);
	assert_false(born.is_by_fit);
	gp_memory_free(&m);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings),
		cmocka_unit_test(random_histories),
		cmocka_unit_test(it_is_born_where_it_never_recovers),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
