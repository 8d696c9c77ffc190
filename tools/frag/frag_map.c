/*
 * Segments as text: pool by pool, by address. Each begins a line, and a long one continues on the
 * next. The bytes of a cell are chosen so that the map fills about forty lines.
 */
#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../report/report.h"
#include "../report/use_print.h"
#include "frag_report.h"

#define LINES 40u
#define LABEL 17u /* "  0x7f1234567890 " */
#define CELL_LEAST (UINT64_C(128) << 10)

enum fill { FREE, SOME, HALF, MOST, FULL, PENDING, FILLS };
static const char *const glyphs[2][FILLS] = {
	{ "·", "░", "▒", "▓", "█", "▚" },
	{ ".", "-", "+", "*", "#", "%" },
};

struct map {
	const struct gp_frag_report *r;
	uint64_t cell; /* bytes */
	unsigned width, used;
};

/*
 * How blocks fill the bytes [from, to) of their segment. *block moves past blocks that end before.
 */
static enum fill fill_of(const struct gp_memory *m, const struct gp_memory_segment *s,
			 size_t *block, uint64_t from, uint64_t to)
{
	uint64_t used = 0, pending = 0;
	while (m->block[*block].address + m->block[*block].bytes <= from)
		++*block;
	for (size_t k = *block; k < s->first + s->blocks && m->block[k].address < to; k++) {
		const struct gp_memory_block *b = &m->block[k];
		uint64_t low = b->address > from ? b->address : from;
		uint64_t high = b->address + b->bytes < to ? b->address + b->bytes : to;
		used += b->state != GP_STATE_FREE ? high - low : 0;
		pending += b->state == GP_STATE_PENDING ? high - low : 0;
	}
	uint64_t bytes = to - from;
	if (pending && pending >= used - pending)
		return PENDING;
	return used == 0	 ? FREE :
	       used == bytes	 ? FULL :
	       used <= bytes / 4 ? SOME :
	       used <= bytes / 2 ? HALF :
				   MOST;
}

static void end_line(struct map *map)
{
	if (map->used)
		fputc('\n', map->r->out);
	map->used = 0;
}

static void begin_at(struct map *map, uint64_t address)
{
	if (map->used == map->width)
		end_line(map);
	if (!map->used)
		fprintf(map->r->out, "  0x%-12" PRIx64 " ", address);
}

static void print_segment(struct map *map, const struct gp_memory_segment *s)
{
	const struct gp_memory *m = &map->r->memory;
	size_t block = s->first;
	uint64_t end = s->address + s->bytes;
	for (uint64_t at = s->address; at < end;) {
		uint64_t to = end - at < map->cell + map->cell / 2 ? end : at + map->cell;
		begin_at(map, at);
		fputs(glyphs[map->r->is_ascii][fill_of(m, s, &block, at, to)], map->r->out);
		map->used++;
		at = to;
	}
	/* the bar is a delimiter without bytes */
	if (map->used < map->width) {
		fputs(map->r->is_ascii ? "|" : "▏", map->r->out);
		map->used++;
	}
	end_line(map);
}

static void print_pool(struct map *map, const struct gp_frag *f, const struct gp_frag_pool *p)
{
	fprintf(map->r->out, "%s: %s of %s allocated in %s\n",
		gp_frag_place(&f->memory->arena[p->arena], p->is_small).s,
		gp_bytes_text(p->allocated_bytes).s, gp_bytes_text(p->reserved_bytes).s,
		gp_plural(p->segments, "segment").s);
	for (size_t k = 0; k < f->device->segments; k++) {
		const struct gp_memory_segment *s =
			&f->memory->segment[f->device->first_segment + k];
		if (s->arena == p->arena && s->is_small == p->is_small)
			print_segment(map, s);
	}
}

static void frag_map_print_device(const struct gp_frag_report *r, const struct gp_frag *f)
{
	struct map map = { .r = r, .cell = CELL_LEAST, .width = r->columns - LABEL };
	uint64_t cells = (uint64_t)map.width * LINES;
	while (f->reserved_bytes / cells > map.cell)
		map.cell *= 2;
	gp_use_device_print(r->out, r->info, f->device->device);
	fprintf(r->out, ", %s: one character = %s\n", gp_frag_moment(r).s,
		gp_bytes_text(map.cell).s);
	for (size_t k = 0; k < f->pools; k++)
		print_pool(&map, f, &f->pool[k]);
}

void gp_frag_map_print(const struct gp_frag_report *r)
{
	const char *const *g = glyphs[r->is_ascii];
	gp_headline_print(r->out, r->info);
	for (size_t k = 0; k < r->devices; k++)
		frag_map_print_device(r, &r->device[k].frag);
	bool has_segments = false;
	for (size_t k = 0; k < r->devices; k++)
		has_segments |= r->device[k].frag.reserved_bytes != 0;
	if (!has_segments)
		fputs("no segments: PyTorch has reserved no memory\n", r->out);
	else
		fprintf(r->out,
			"  %s free  %s%s%s a quarter, half, most allocated  %s all  %s pending\n",
			g[FREE], g[SOME], g[HALF], g[MOST], g[FULL], g[PENDING]);
	gp_frag_note_print(r);
	gp_frag_next_print(r, "-o map.svg");
}
