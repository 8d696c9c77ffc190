/*
 * Prints a recording as gpuprof does, from docs/FORMAT.md alone. It reads the tables of kinds and
 * spaces from that page itself, so that the page is tested with them.
 *   golden_replay FORMAT.md RECORDING         each event, as `gpuprof dump --json --bare`
 *   golden_replay --sums FORMAT.md RECORDING  the lines of `info --json` and `timeline --json` that
 *                                             it can compute
 * Exits with 1 when the recording is damaged, or a checkpoint differs from the events before it.
 */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GPU = 1,
	KERNEL,
	THREAD = 4,
	FACT = 6,
	ALLOC = 16,
	FREE,
	FREE_FAILED,
	MAP = 20,
	UNMAP,
	BLOCK_ALLOC = 32,
	BLOCK_FREE,
	BLOCK_COMPLETED = 36,
	RESOURCE = 42,
	RESOURCE_GONE,
	LAUNCH = 64,
	COPY = 97,
	RANGE_NAME = 13,
	RANGE_PUSH = 78,
	RANGE_START = 80,
	MARK = 82,
	RANGE_RESUMED,
	RANGE_STARTED = 85
};
enum { LOST = 112, LIVE, CURVE, COUNT, KINDS = 128 };
enum { PHYSICAL = 7, MAPPED = 9, BLOCK_SPACE = 14, SEGMENT_SPACE, RESOURCE_SPACE, GONE };
enum { DEVICES = 256 };
enum { RELEASED = 0x4000, ORPHAN = 0x2000, PENDING = 0x1000 }; // flags of LIVE

static struct kind {
	char name[24];
	char fields[5][24], definitions[5][12]; // [4]: aux
} kinds[KINDS];
static char space_names[256][16];
static char space_counts[256];

static void read_page(const char *name)
{
	char line[1000], cells[7][40], meaning[8];
	unsigned id;
	FILE *in = fopen(name, "r");
	need(in != NULL, "the page cannot be opened");
	while (fgets(line, sizeof line, in)) {
		if (sscanf(line, "| %u | %23s | %39[^|]| %39[^|]| %39[^|]| %39[^|]| %39[^|]|", &id,
			   cells[0], cells[6], cells[2], cells[3], cells[4], cells[5]) == 7 &&
		    id < KINDS) {
			strcpy(kinds[id].name, cells[0]);
			for (int i = 0; i < 5; i++)
				sscanf(cells[2 + i], "%23[a-z_]: %11s", kinds[id].fields[i],
				       kinds[id].definitions[i]);
		} else if (sscanf(line, "| %u | %15s | %7[a-z] |", &id, cells[0], meaning) == 3 &&
			   id < 256 && (!strcmp(meaning, "yes") || !strcmp(meaning, "no"))) {
			strcpy(space_names[id], cells[0]);
			space_counts[id] = *meaning == 'y';
		}
	}
	fclose(in);
}

// --- printing

static const struct record **named; // names of kernels and of ranges, by their definitions
static size_t n_named;

static void add_name(const struct record *definition)
{
	named = grown(named, n_named, sizeof *named);
	named[n_named++] = definition;
}

// The last definition of `kind` whose field `field` is `key`.
static const struct record *name_of(int kind, int field, uint64_t key)
{
	size_t i = n_named;
	while (i && (named[i - 1]->kind != kind || named[i - 1]->v[field] != key))
		i--;
	return i ? named[i - 1] : NULL;
}

static void print_name(const struct record *r)
{
	const struct record *name = NULL;
	if (r->kind == LAUNCH)
		name = name_of(KERNEL, 0, r->v[0]);
	else if (r->kind == RANGE_PUSH || r->kind == RANGE_START || r->kind == MARK ||
		 r->kind == RANGE_RESUMED || r->kind == RANGE_STARTED)
		name = name_of(RANGE_NAME, 4, r->v[4]);
	if (name) {
		printf(", \"name\": ");
		print_text(name->text, name->text_bytes);
	} else if (r->kind == LAUNCH) {
		printf(", \"name\": null");
	}
	if (r->kind == LAUNCH) // the variant is above the three lengths of the block
		printf(", \"captured\": %s", r->v[3] >> 48 & 0x8000 ? "true" : "false");
}

static void print_field(const char *name, const char *meaning, uint64_t v)
{
	unsigned long long x = v;
	if (!*name)
		return;
	printf(", \"%s\": ", name);
	if (!strcmp(meaning, "grid"))
		printf("[%llu, %llu, %llu]", x & 0xffffffff, x >> 32 & 0xffff, x >> 48);
	else if (!strcmp(meaning, "block"))
		printf("[%llu, %llu, %llu]", x & 0xffff, x >> 16 & 0xffff, x >> 32 & 0xffff);
	else if (!strcmp(meaning, "address") || !strcmp(meaning, "handle") ||
		 !strcmp(meaning, "word"))
		printf("\"0x%llx\"", x);
	else
		printf("%llu", x);
}

// 0 is an unknown duration.
static void print_took(const struct record *r, const char *name, uint64_t took)
{
	took = took < r->time ? took : r->time;
	if (took)
		printf(", \"%s_ns\": %lld", name,
		       (long long)(nanoseconds(r->time) - nanoseconds(r->time - took)));
	else
		printf(", \"%s_ns\": null", name);
}

// A duration below 2^22 ticks is exact, others are mantissa << exponent.
static void print_call(const struct record *r)
{
	static const char *const copies[8] = { "unified",	 "host_to_device",
					       "device_to_host", "device_to_device",
					       "peer",		 "fill",
					       "host_to_host",	 "prefetch" };
	static const char *const waits[8] = { "stream",	     "event",	    "context",
					      "free",	     "free_host",   "unregister",
					      "event_query", "stream_query" };
	uint64_t call = r->v[4], took = (call & 0x3fffff) << (call >> 22 & 31);
	took = took < r->time ? took : r->time;
	printf(", \"call\": \"%s\"", (r->kind == COPY ? copies : waits)[call >> 29 & 7]);
	printf(", \"async\": %s", call >> 28 & 1 ? "true" : "false");
	printf(", \"call_captured\": %s", call >> 27 & 1 ? "true" : "false");
	printf(", \"took_ns\": %lld",
	       (long long)(nanoseconds(r->time) - nanoseconds(r->time - took)));
}

static void print_record(const struct record *r)
{
	const struct kind *k = &kinds[r->kind < KINDS ? r->kind : 0];
	if (!*k->name)
		return;
	printf("{\"at_ns\": %lld, \"order\": %llu, \"thread\": %u, \"kind\": \"%s\", \"device\": ",
	       (long long)nanoseconds(r->time), (unsigned long long)r->order, r->thread, k->name);
	if (r->device == 255 || r->kind == THREAD || r->kind == FACT) // kinds without such a field
		printf("null");
	else
		printf("%d", r->device);
	if (*space_names[r->space])
		printf(", \"space\": \"%s\"", space_names[r->space]);
	else
		printf(", \"space\": null");
	int is_timed = r->kind == ALLOC || r->kind == MAP; // its code is a duration
	printf(", \"code\": %d", is_timed ? 0 : r->code);
	if (!strcmp(k->definitions[4], "call"))
		print_call(r);
	else
		print_field(k->fields[4], k->definitions[4], r->v[4]);
	for (int i = 0; i < 4; i++)
		if (!strcmp(k->definitions[i], "ticks"))
			print_took(r, k->fields[i], r->v[i]);
		else
			print_field(k->fields[i], k->definitions[i], r->v[i]);
	if (is_timed)
		print_took(r, "took", (uint64_t)(r->code & 0x7ff) << (r->code >> 11));
	print_name(r);
	if (r->text) {
		printf(", \"text\": ");
		print_text(r->text, r->text_bytes);
	}
	if (r->stack) {
		printf(", \"stack\": ");
		print_stack(r->stack);
	}
	puts("}");
}

// --- replaying

struct curve {
	uint64_t now, peak, peak_time;
};

static struct curve curves[DEVICES][3]; // driver, reserved, allocated
static uint64_t counts[512], caveat_until;
static char devices[DEVICES]; // devices on which memory was ever held

// All that was ever live, by place. A place is an address, a handle of physical memory, a block of
// the framework or a mapping. Physical memory is free again when it is neither held nor mapped.
struct piece {
	uint64_t address, bytes, birth, freed_by;
	size_t next, target; // target: the mapped handle
	uint32_t maps;
	uint8_t group, device, live, counts, is_physical, is_pending;
};
static struct piece *pieces;
static size_t n_pieces, buckets[1 << 16];

static struct piece *piece(uint64_t address, uint8_t space)
{
	int has_own = space == BLOCK_SPACE || space == RESOURCE_SPACE || space == PHYSICAL ||
		      space == MAPPED;
	uint8_t group = has_own ? space : 0;
	size_t *bucket = &buckets[(address * 0x9e3779b97f4a7c15 + group) >> 48];
	for (size_t i = *bucket; i; i = pieces[i - 1].next)
		if (pieces[i - 1].address == address && pieces[i - 1].group == group)
			return &pieces[i - 1];
	pieces = grown(pieces, n_pieces, sizeof *pieces);
	pieces[n_pieces] = (struct piece){ .address = address, .group = group, .next = *bucket };
	*bucket = ++n_pieces;
	return &pieces[n_pieces - 1];
}

static void move_curve(uint8_t device, int which, uint64_t now, uint64_t time)
{
	struct curve *c = &curves[device][which];
	devices[device] = 1;
	c->now = now;
	if (now > c->peak) {
		c->peak = now;
		c->peak_time = time;
	}
}

static struct piece *physical_born_at(uint64_t birth)
{
	for (size_t i = n_pieces; i; i--)
		if (pieces[i - 1].is_physical && pieces[i - 1].birth == birth)
			return &pieces[i - 1];
	need(0, "a mapping of memory that is not there");
	return NULL;
}

static struct piece *begin(const struct record *r, uint8_t space)
{
	struct piece *p = piece(r->v[0], space);
	if (space == PHYSICAL && p->bytes) { // the handle was released and reused
		p->group = GONE;
		p = piece(r->v[0], space);
	}
	p->bytes = r->v[1];
	p->birth = r->order;
	p->device = r->device;
	p->live = 1;
	p->is_pending = 0;
	p->is_physical = space == PHYSICAL;
	p->counts = space == BLOCK_SPACE || space_counts[space];
	return p;
}

static void map(struct piece *mapping, struct piece *target)
{
	mapping->target = (size_t)(target - pieces);
	target->maps++;
}

static void end_mappings(struct record *r)
{
	for (struct piece *p = pieces; p < pieces + n_pieces; p++) {
		if (p->group != MAPPED || !p->live || p->address - r->v[0] >= r->v[1])
			continue;
		struct piece *target = &pieces[p->target];
		if (r->device == 255)
			r->device = p->device;
		p->live = 0;
		if (!--target->maps && !target->live)
			move_curve(target->device, 0, curves[target->device][0].now - target->bytes,
				   r->time);
	}
}

static void end_or_undo(const struct record *r, int which)
{
	struct piece *p = piece(r->v[0], which ? BLOCK_SPACE : r->space);
	if (r->kind == BLOCK_FREE && !p->live) { // where events were lost
		p->bytes = r->v[1];
		p->device = r->device;
		p->live = p->counts = 1;
	}
	if (r->kind == FREE_FAILED ? p->live || p->freed_by != r->v[1] : !p->live)
		return;
	p->live = !p->live;
	p->is_pending = r->kind == BLOCK_FREE && r->v[4];
	p->freed_by = r->order;
	if (p->maps || !p->counts)
		return;
	uint64_t now = curves[p->device][which].now;
	move_curve(p->device, which, p->live ? now + p->bytes : now - p->bytes, r->time);
}

// A free may lack its device: the allocation has it, and for an unmap the mappings have it.
static void name_device(struct record *r)
{
	if (r->device == 255 && r->kind == FREE) {
		const struct piece *p = piece(r->v[0], r->space);
		r->device = p->live ? p->device : 255;
	}
}

static uint64_t last_total[DEVICES], last_of_driver;

static void replay(struct record *r)
{
	int which = r->kind == BLOCK_ALLOC || r->kind == BLOCK_FREE ? 2 : 0;
	counts[r->kind < KINDS ? r->kind : 0]++;
	name_device(r);
	if (r->kind == LOST) {
		if (r->v[0] && r->order + r->v[4] > caveat_until)
			caveat_until = r->order + r->v[4];
		for (int i = 0; i < 4; i++)
			counts[256 + i] += r->v[i];
	} else if (r->kind == MAP) {
		size_t target = (size_t)(piece(r->v[2], PHYSICAL) - pieces);
		struct piece *mapping = begin(r, MAPPED);
		map(mapping, &pieces[target]);
	} else if (r->kind == UNMAP) {
		end_mappings(r);
	} else if (r->kind == RESOURCE && r->v[0]) {
		begin(r, RESOURCE_SPACE);
	} else if (r->kind == RESOURCE_GONE) {
		piece(r->v[0], RESOURCE_SPACE)->live = 0;
	} else if (r->kind == BLOCK_COMPLETED) {
		piece(r->v[0], BLOCK_SPACE)->is_pending = 0;
	} else if (r->kind == BLOCK_ALLOC || r->kind == ALLOC) {
		begin(r, which ? BLOCK_SPACE : r->space);
		if (which || space_counts[r->space])
			move_curve(r->device, which, curves[r->device][which].now + r->v[1],
				   r->time);
	} else if (r->kind == BLOCK_FREE || r->kind == FREE || r->kind == FREE_FAILED) {
		end_or_undo(r, which);
	}
	if (r->kind >= ALLOC && r->kind < BLOCK_ALLOC)
		last_of_driver = r->order;
	if (which) {
		last_total[r->device] = r->order;
		move_curve(r->device, 1, r->v[3], r->time);
		counts[260]++;
		if (r->order < caveat_until)
			move_curve(r->device, 2, r->v[2], r->time);
		counts[261] += curves[r->device][2].now != r->v[2];
	}
}

// A checkpoint begins the first segment; later ones must agree with the events before them.
static void check_or_take(const struct record *r, int take)
{
	if (r->kind == CURVE && r->v[4] < 3) {
		struct curve *c = &curves[r->device][r->v[4]];
		if (take)
			*c = (struct curve){ r->v[0], r->v[1], r->v[2] };
		// gpuprof moves the reserved bytes before the block event
		else if (r->v[4] == 1 && last_total[r->device] < last_of_driver) {
			move_curve(r->device, 1, r->v[1], r->time);
			move_curve(r->device, 1, r->v[0], r->time);
		}
		devices[r->device] |= c->peak != 0;
		need(c->now == r->v[0] && c->peak == r->v[1], "a checkpoint with another curve");
	} else if (r->kind == COUNT && r->v[4] < 512) {
		if (take)
			counts[r->v[4]] = r->v[0];
	} else if (r->kind == LIVE && r->space != SEGMENT_SPACE && !(r->v[4] & ORPHAN)) {
		struct piece *p = take ? begin(r, r->space) : piece(r->v[0], r->space);
		int is_released = r->space == PHYSICAL && r->v[4] & RELEASED;
		if (r->space == PHYSICAL && !take)
			p = physical_born_at(r->order);
		if (is_released) {
			p->live &= !take;
			p->group = GONE;
		}
		if (r->space == MAPPED && take)
			map(p, physical_born_at(r->v[2]));
		int is_pending = r->space == BLOCK_SPACE && r->v[4] & PENDING;
		if (is_pending && take) {
			p->live = 0;
			p->is_pending = 1;
		}
		need(p->live == !(is_released || is_pending) && p->is_pending == is_pending &&
			     p->bytes == r->v[1],
		     "a checkpoint with another live address");
	}
}

// --- all records in order

static int by_thread(const void *x, const void *y)
{
	const struct record *a = x, *b = y;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static int before(const struct record *a, const struct record *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->key_time < b->key_time ? -1 : a->key_time > b->key_time;
}

static int by_key(const void *x, const void *y)
{
	int sign = before(x, y);
	return sign ? sign : by_thread(x, y);
}

// Within a thread the order of the file is the order of events.
static void merge(void)
{
	qsort(records, n_records, sizeof *records, by_thread);
	for (size_t i = 0; i < n_records; i++) {
		struct record *r = &records[i];
		r->key_time = r->time;
		if (i && r[-1].thread == r->thread && before(r, r - 1) < 0) {
			r->key = r[-1].key;
			r->key_time = r[-1].key_time;
		}
	}
	qsort(records, n_records, sizeof *records, by_key);
}

struct cut {
	uint64_t order;
	struct record *checkpoint;
	size_t records;
	int is_first, has_late, is_complete;
};

static struct cut *cuts;
static size_t n_cuts;

// Reads all blocks; keeps the checkpoints aside, and of the definitions only those of the first
// segment.
static void read_blocks(void)
{
	struct record *definitions = NULL;
	size_t n_definitions = 0;
	for (size_t i = 0; i < n_blocks; i++) {
		const struct block *b = &blocks[i];
		if (b->type == SEGMENT && b->part == 0) {
			cuts = grown(cuts, n_cuts, sizeof *cuts);
			cuts[n_cuts] = (struct cut){ .order = b->first_order, .is_first = !n_cuts };
			n_cuts++;
		}
		size_t old = n_records;
		struct cut *cut = &cuts[n_cuts - 1];
		read_payload(b);
		cut->has_late |= b->type == EVENTS && b->flags & LATE;
		cut->is_complete |= b->type == CHECKPOINT && b->flags & LAST_CHECKPOINT;
		for (size_t k = old; b->type != EVENTS && k < n_records; k++) {
			if (b->type == CHECKPOINT) {
				cut->checkpoint =
					grown(cut->checkpoint, cut->records, sizeof *records);
				cut->checkpoint[cut->records++] = records[k];
			} else if (b->type == DEFINE) {
				learn_stack_part(&records[k]);
				if (n_cuts > 1)
					continue;
				definitions = grown(definitions, n_definitions, sizeof *records);
				definitions[n_definitions++] = records[k];
			}
		}
		if (b->type != EVENTS)
			n_records = old;
	}
	for (size_t i = 0; i < n_definitions; i++) {
		if (definitions[i].kind == KERNEL || definitions[i].kind == RANGE_NAME)
			add_name(&definitions[i]);
	}
}

static void print_peak(const char *name, const struct curve *c, int is_moment_sure)
{
	printf("\"%s_peak_bytes\": %llu,\n", name, (unsigned long long)c->peak);
	if (c->peak && is_moment_sure)
		printf("\"%s_peak_at_ns\": %lld,\n", name, (long long)nanoseconds(c->peak_time));
	else if (!c->peak)
		printf("\"%s_peak_at_ns\": null,\n", name);
}

static void print_sums(void)
{
	static const char *const names[] = { "driver", "reserved", "allocated" };
	const char *comma = "";
	const struct block *last = n_blocks ? &blocks[n_blocks - 1] : NULL;
	int sealed = last && last->type == END && last->flags & SEALED;
	printf("\"complete\": %s,\n", sealed && !header_has_hole ? "true" : "false");
	printf("\"events\": {");
	for (int i = 0; i <= LOST; i++) {
		if (!counts[i] || !*kinds[i].name)
			continue;
		printf("%s\"%s\": %llu", comma, kinds[i].name, (unsigned long long)counts[i]);
		comma = ", ";
	}
	for (int i = 0; i < 4; i++)
		counts[256 + i] =
			counts[256 + i] > header_lost[i] ? counts[256 + i] : header_lost[i];
	printf("},\n\"lost\": {\"memory\": %llu, \"launch\": %llu, \"other\": %llu},\n",
	       (unsigned long long)counts[256], (unsigned long long)counts[257],
	       (unsigned long long)(counts[258] + counts[259]));
	if (counts[256] || header_has_hole) // later figures are only lower bounds
		return;
	printf("\"self_check\": {\"framework_events\": %llu, \"mismatches\": %llu, \"anomalies\": "
	       "%llu},\n",
	       (unsigned long long)counts[260], (unsigned long long)counts[261],
	       (unsigned long long)counts[262]);
	// here the framework's reserved bytes move at its next event, in gpuprof at the mapping
	for (int i = 0; i < DEVICES * 3; i++)
		if (devices[i / 3])
			print_peak(names[i % 3], &curves[i / 3][i % 3], i % 3 != 1 || !counts[MAP]);
}

// True if the checkpoint covers all events before its cut, without late or lost ones.
static int is_whole(const struct cut *cut)
{
	return cut->is_first || (cut->is_complete && !cut->has_late && !counts[256]);
}

static int is_mapping(const struct record *r)
{
	return r->kind == LIVE && r->space == MAPPED;
}

static void reach_cuts(uint64_t key)
{
	static size_t next;
	for (; next < n_cuts && (next == 0 || key >= 2 * cuts[next].order); next++)
		for (size_t i = 0, n = cuts[next].records; i < 2 * n && is_whole(&cuts[next]); i++)
			if (is_mapping(&cuts[next].checkpoint[i % n]) ==
			    (i >= n)) // lost memory events before them
				check_or_take(&cuts[next].checkpoint[i % n], cuts[next].is_first);
}

int main(int n, char **arguments)
{
	int sums = n == 4 && !strcmp(arguments[1], "--sums");
	need(n == 3 + sums, "usage: golden_replay [--sums] FORMAT.md RECORDING");
	read_page(arguments[1 + sums]);
	open_recording(arguments[2 + sums]);
	read_blocks();
	merge();
	for (size_t i = 0; i < n_records; i++)
		if (records[i].kind == RANGE_NAME) // may be used before its definition
			add_name(&records[i]);
	for (size_t i = 0; i < n_records; i++) {
		struct record *r = &records[i];
		reach_cuts(r->key);
		if (r->kind == KERNEL)
			add_name(r);
		replay(r);
		if (!sums)
			print_record(r);
	}
	reach_cuts(UINT64_MAX);
	if (sums)
		print_sums();
	return 0;
}
