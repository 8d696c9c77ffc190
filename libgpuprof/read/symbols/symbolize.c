/* Finds modules by address and time, opens their files on first use, and caches the results. */
#include "symbolize.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"
#include "../tables/text_store.h"
#include "demangle.h"
#include "module_map.h"
#include "module_pool.h"
#include "name_table.h"
#include "work_limit.h"

#define NAME_BYTES_MAX ((size_t)512 << 20)
#define INLINED_MAX 64u
/* modules open at once; each symbol costs 32 bytes */
#define OPEN_MAX 256u
/* The bound of cached frames, about 300 MiB. A full cache costs time, not answers. */
#define CACHED_MAX 4000000u

/* The result of a look-up: a run of the symbolizer's frames. */
struct cached {
	uint64_t pc;
	size_t module;
	uint32_t first, count;
};

/* Frames without a name, by module and reason. */
struct unnamed {
	uint64_t key;
	struct gp_unnamed is;
};

struct opened {
	struct gp_module_names is;
	uint64_t bias, used_at;
	bool is_open, is_whole;
};

struct gp_symbolizer {
	struct gp_module_map modules;
	struct opened *opened; /* by index of the module */
	size_t opened_room;
	size_t open[OPEN_MAX], open_count; /* indexes of the open modules */
	uint64_t clock, at;
	struct gp_text_store names;
	struct gp_row_table cached; /* of struct cached */
	struct gp_symbol *frame;
	size_t frames, frame_room;
	struct gp_work_limit limit;
	struct gp_row_table unnamed;	    /* of struct unnamed */
	const struct gp_name_table *stored; /* NULL: none */
	const char *debug_root;
};

struct gp_symbolizer *gp_symbolizer_open(void)
{
	struct gp_symbolizer *s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	s->names.most_bytes = NAME_BYTES_MAX;
	s->at = GP_ANY_TIME;
	s->debug_root = "/usr/lib/debug";
	return s;
}

static void shut(struct gp_symbolizer *s, size_t at)
{
	struct opened *o = &s->opened[s->open[at]];
	const struct gp_mapped_module *module = &s->modules.module[s->open[at]];
	if (o->is_whole && o->is.file.why == GP_SYMBOL_NAMED && !s->limit.was_over)
		gp_module_pool_give(module->is.path, &module->build_id, s->debug_root, &o->is);
	else
		gp_module_names_close(&o->is);
	o->is_open = o->is_whole = false;
	s->open[at] = s->open[--s->open_count];
}

void gp_symbolizer_close(struct gp_symbolizer *s)
{
	if (s == NULL)
		return;
	while (s->open_count > 0)
		shut(s, 0);
	free(s->opened);
	gp_row_table_release(&s->unnamed);
	gp_row_table_release(&s->cached);
	free(s->frame);
	gp_module_map_release(&s->modules);
	gp_text_store_release(&s->names);
	free(s);
}

bool gp_symbolizer_add_module(struct gp_symbolizer *s, const struct gp_module *module)
{
	struct gp_module kept = *module;
	kept.path = gp_text_store_keep(&s->names, module->path);
	return kept.path != NULL && gp_module_map_add(&s->modules, &kept);
}

void gp_symbolizer_set_time(struct gp_symbolizer *s, uint64_t at)
{
	s->at = at;
}

void gp_symbolizer_set_limit(struct gp_symbolizer *s, bool (*is_over)(void *context), void *context)
{
	s->limit = (struct gp_work_limit){ .is_over = is_over, .context = context };
}

void gp_symbolizer_set_stored(struct gp_symbolizer *s, const struct gp_name_table *table)
{
	s->stored = table;
}

void gp_symbolizer_set_debug_root(struct gp_symbolizer *s, const char *path)
{
	const char *kept = gp_text_store_keep(&s->names, path);
	if (kept != NULL)
		s->debug_root = kept;
}

/*
 * Closes module `index` if it is open, to open it again. Else, at the bound, closes the least
 * recently used one.
 */
static void make_room(struct gp_symbolizer *s, size_t index)
{
	size_t oldest = 0;
	for (size_t i = 0; i < s->open_count; i++) {
		if (s->open[i] == index) {
			shut(s, i);
			return;
		}
		if (s->opened[s->open[i]].used_at < s->opened[s->open[oldest]].used_at)
			oldest = i;
	}
	if (s->open_count == OPEN_MAX)
		shut(s, oldest);
}

/* Reads debug information only if all symbols of the module were read. */
static void read_names(struct gp_symbolizer *s, struct opened *o)
{
	if (!gp_elf_symbols_read(&o->is.symbols, &o->is.file, &s->limit))
		return;
	if (o->is.file.debug.elf != NULL)
		o->is.dwarf = gp_dwarf_open(o->is.file.debug.elf, s->debug_root, &s->limit);
	if (o->is.dwarf == NULL && o->is.file.main.elf != NULL)
		o->is.dwarf = gp_dwarf_open(o->is.file.main.elf, s->debug_root, &s->limit);
	o->is_whole = !gp_work_is_over(&s->limit);
}

static struct opened *open_module(struct gp_symbolizer *s, size_t index)
{
	if (!gp_array_reach(&s->opened, &s->opened_room, index, sizeof *s->opened))
		return NULL;
	struct opened *o = &s->opened[index];
	o->used_at = ++s->clock;
	if (o->is_open && o->is_whole)
		return o;
	make_room(s, index);
	const struct gp_mapped_module *module = &s->modules.module[index];
	const bool is_kept =
		gp_module_pool_take(module->is.path, &module->build_id, s->debug_root, &o->is);
	if (!is_kept)
		gp_module_file_open(&o->is.file, module->is.path, &module->build_id,
				    gp_module_map_ns(&s->modules, index), s->debug_root);
	o->is_open = true;
	s->open[s->open_count++] = index;
	o->bias = gp_module_file_bias(&o->is.file, module->is.base);
	o->is_whole = is_kept || o->is.file.why != GP_SYMBOL_NAMED;
	if (!o->is_whole)
		read_names(s, o);
	return o;
}

static const char *keep_demangled(struct gp_symbolizer *s, const char *mangled)
{
	char plain[GP_DEMANGLED_MAX];
	if (mangled == NULL || mangled[0] == 0)
		return NULL;
	gp_demangle(mangled, plain, sizeof plain);
	return gp_text_store_keep(&s->names, plain);
}

static const char *keep_scoped(struct gp_symbolizer *s, const char *scope, const char *name)
{
	char full[GP_DEMANGLED_MAX];
	if (scope[0] == 0 || name == NULL)
		return keep_demangled(s, name);
	int n = snprintf(full, sizeof full, "%s%s", scope, name);
	return gp_text_store_keep(&s->names, n > 0 && (size_t)n < sizeof full ? full : name);
}

static const char *keep_path(struct gp_symbolizer *s, const char *directory, const char *file)
{
	char full[PATH_MAX];
	if (file == NULL || directory == NULL || file[0] == '/')
		return gp_text_store_keep(&s->names, file);
	int n = snprintf(full, sizeof full, "%s/%s", directory, file);
	return gp_text_store_keep(&s->names, n > 0 && (size_t)n < sizeof full ? full : file);
}

static bool is_mangled(const char *name)
{
	return name != NULL && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* `out` has room for INLINED_MAX. */
static size_t fill_names(struct gp_symbolizer *s, struct opened *o, const struct gp_symbol *blank,
			 const struct gp_elf_symbol *symbol, uint64_t address,
			 struct gp_symbol *out)
{
	struct gp_dwarf_frame frame[INLINED_MAX];
	size_t count = 0;
	if (o->is.dwarf != NULL)
		count = gp_dwarf_find(o->is.dwarf, address, &s->limit, frame, INLINED_MAX);
	if (count == 0) {
		*out = *blank;
		out->function = blank->symbol;
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		out[i] = *blank;
		out[i].function = keep_scoped(s, frame[i].scope, frame[i].function);
		out[i].file = keep_path(s, frame[i].directory, frame[i].file);
		out[i].line = out[i].file != NULL ? frame[i].line : 0;
		out[i].is_inlined = i + 1 < count;
	}
	/*
	 * Two cases use the symbol: lines without functions, or a local name with less information
	 * (a lambda).
	 */
	struct gp_symbol *last = &out[count - 1];
	bool is_better = symbol != NULL && is_mangled(symbol->name) &&
			 !is_mangled(frame[count - 1].function);
	if (last->function == NULL || is_better)
		last->function = blank->symbol;
	return count;
}

static void add_reason(struct gp_symbolizer *s, size_t refused, struct gp_symbol *out, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		out[i].why = out[i].function != NULL ? GP_SYMBOL_NAMED : GP_SYMBOL_NO_NAME;
		if (s->limit.was_over)
			out[i].why = GP_SYMBOL_TIME_UP;
		else if (s->names.refused != refused)
			out[i].why = GP_SYMBOL_NO_MEMORY;
	}
}

static size_t symbolize_look_up(struct gp_symbolizer *s, size_t index, uint64_t pc,
				struct gp_symbol *out)
{
	const struct gp_mapped_module *module = &s->modules.module[index];
	struct gp_symbol blank = { .module = module->is.path,
				   .module_offset = pc - module->is.base,
				   .why = GP_SYMBOL_TIME_UP };
	out[0] = blank;
	if (gp_work_is_over(&s->limit))
		return 1;
	struct opened *o = open_module(s, index);
	out[0].why = o == NULL ? GP_SYMBOL_NO_MEMORY : o->is.file.why;
	if (o == NULL || o->is.file.why != GP_SYMBOL_NAMED)
		return 1;
	size_t refused = s->names.refused;
	uint64_t address = pc - o->bias - 1; /* address of the call */
	const struct gp_elf_symbol *symbol = gp_elf_symbols_find(&o->is.symbols, address);
	if (symbol != NULL)
		blank.symbol = keep_demangled(s, symbol->name);
	size_t count = fill_names(s, o, &blank, symbol, address, out);
	add_reason(s, refused, out, count);
	return count;
}

/* `out` has room for INLINED_MAX; 0: there is no stored answer. */
static size_t find_stored(struct gp_symbolizer *s, size_t index, uint64_t pc, struct gp_symbol *out)
{
	const struct gp_mapped_module *m = &s->modules.module[index];
	const struct gp_name_module module = { m->is.path, m->build_id.byte, m->build_id.bytes };
	if (s->stored == NULL)
		return 0;
	size_t count = gp_name_table_find(s->stored, &module, pc - m->is.base, out, INLINED_MAX);
	for (size_t i = 0; i < count; i++) {
		out[i].module = m->is.path;
		out[i].module_offset = pc - m->is.base;
	}
	return count;
}

/*
 * The stored answer; this machine's only if the stored one has no name and this one ranks higher.
 */
static size_t symbolize_answer(struct gp_symbolizer *s, size_t index, uint64_t pc,
			       struct gp_symbol *out)
{
	struct gp_symbol here[INLINED_MAX];
	size_t stored = find_stored(s, index, pc, out);
	unsigned rank = gp_symbol_rank(out, stored);
	if (rank == GP_SYMBOL_RANK_NAMED)
		return stored;
	size_t count = symbolize_look_up(s, index, pc, here);
	if (stored != 0 && gp_symbol_rank(here, count) <= rank)
		return stored;
	memcpy(out, here, count * sizeof *out);
	return count;
}

/*
 * A different file may give this frame a name. The kernel's own code is in no file: its module has
 * a name without a path.
 */
static bool is_mendable(const struct gp_symbol *symbol)
{
	enum gp_symbol_why why = symbol->why;
	bool is_of_file = why == GP_SYMBOL_NO_FILE || why == GP_SYMBOL_UNREADABLE ||
			  why == GP_SYMBOL_MISMATCHED;
	return is_of_file && strchr(symbol->module, '/') != NULL;
}

static void note_unnamed(struct gp_symbolizer *s, const struct gp_symbol *symbol)
{
	/* each path is stored once, so its address is a key */
	const uint64_t key = (uint64_t)(uintptr_t)symbol->module << 4 | symbol->why;
	struct unnamed *row = gp_row_get_key(&s->unnamed, sizeof *row, key);
	if (row == NULL)
		return;
	row->is.module = symbol->module;
	row->is.why = gp_symbol_why_text(symbol->why);
	row->is.frames++;
}

static uint32_t cached_hash(size_t module, uint64_t pc)
{
	return gp_row_hash(gp_hash_number(pc) ^ module);
}

static const struct cached *find_cached(const struct gp_symbolizer *s, size_t module, uint64_t pc)
{
	const struct cached *row = s->cached.row;
	for (uint32_t step = 0, at, hash = cached_hash(module, pc);
	     (at = gp_row_next(&s->cached, hash, &step)) != 0;)
		if (row[at - 1].pc == pc && row[at - 1].module == module)
			return &row[at - 1];
	return NULL;
}

static void keep_found(struct gp_symbolizer *s, size_t module, uint64_t pc,
		       const struct gp_symbol *found, size_t count)
{
	if (s->frames + count > CACHED_MAX ||
	    !gp_array_reserve(&s->frame, &s->frame_room, s->frames, count, sizeof *found))
		return;
	struct cached *row = gp_row_add(&s->cached, sizeof *row, cached_hash(module, pc));
	if (row == NULL)
		return;
	*row = (struct cached){ pc, module, (uint32_t)s->frames, (uint32_t)count };
	memcpy(s->frame + s->frames, found, count * sizeof *found);
	s->frames += count;
}

static size_t find_in(struct gp_symbolizer *s, size_t index, uint64_t pc, struct gp_symbol *out,
		      size_t most)
{
	struct gp_symbol found[INLINED_MAX];
	const struct cached *known = find_cached(s, index, pc);
	if (known != NULL) {
		const size_t frames = known->count < most ? known->count : most;
		memcpy(out, s->frame + known->first, frames * sizeof *out);
		return frames;
	}
	const size_t count = symbolize_answer(s, index, pc, found);
	if (is_mendable(&found[count - 1]))
		note_unnamed(s, &found[count - 1]);
	if (found[0].why != GP_SYMBOL_TIME_UP && found[0].why != GP_SYMBOL_NO_MEMORY)
		keep_found(s, index, pc, found, count);
	memcpy(out, found, (count < most ? count : most) * sizeof *out);
	return count < most ? count : most;
}

struct gp_unnamed *gp_symbolizer_unnamed(const struct gp_symbolizer *s, size_t *modules)
{
	const struct unnamed *row = s->unnamed.row;
	struct gp_unnamed *out = malloc((s->unnamed.rows + 1) * sizeof *out);
	*modules = out != NULL ? s->unnamed.rows : 0;
	for (size_t i = 0; i < *modules; i++)
		out[i] = row[i].is;
	if (*modules > 1)
		qsort(out, *modules, sizeof *out, gp_unnamed_order);
	return out;
}

static size_t unknown(struct gp_symbol *out, enum gp_symbol_why why)
{
	*out = (struct gp_symbol){ .why = why };
	return 1;
}

size_t gp_symbolizer_find(struct gp_symbolizer *s, uint64_t pc, struct gp_symbol *out, size_t most)
{
	size_t index;
	switch (gp_module_map_find(&s->modules, pc - 1, s->at, &index)) {
	case GP_MAP_NONE:
		return unknown(out, GP_SYMBOL_NO_MODULE);
	case GP_MAP_SEVERAL:
		return unknown(out, GP_SYMBOL_AMBIGUOUS);
	case GP_MAP_ONE:
		break;
	}
	return find_in(s, index, pc, out, most);
}

bool gp_symbolizer_visit(struct gp_symbolizer *s, uint64_t pc,
			 bool (*visit)(void *context, size_t index), void *context, bool *is_whole)
{
	return gp_module_map_visit(&s->modules, pc - 1, visit, context, is_whole);
}

size_t gp_symbolizer_find_in(struct gp_symbolizer *s, size_t index, uint64_t pc,
			     struct gp_symbol *out, size_t most)
{
	return find_in(s, index, pc, out, most);
}

const struct gp_module *gp_symbolizer_get(const struct gp_symbolizer *s, size_t index,
					  const void **build_id, size_t *build_id_bytes)
{
	const struct gp_mapped_module *m = &s->modules.module[index];
	*build_id = m->build_id.byte;
	*build_id_bytes = m->build_id.bytes;
	return &m->is;
}
