/*
 * Names of native frames that a recording stores. Reads them once; finds and writes them for a
 * finished recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../symbols/name_table.h"
#include "../tables/array.h"
#include "../tables/row_rank.h"
#include "name_area.h"
#include "recording.h"

enum gp_status gp_recording_load_names(struct gp_recording *r)
{
	struct gp_stack_naming *naming = &r->naming;
	unsigned char *bytes = NULL;
	size_t count;
	const char *what = "expected 256 MiB of them at most, behind the header";
	if (naming->has_read_table || r->file.header.names_bytes == 0)
		return GP_OK;
	enum gp_status status = gp_name_area_read(&r->file, &bytes, &count);
	if (status == GP_E_TRUNCATED)
		what = "the file is too short";
	if (status == GP_E_IO)
		what = "the stored names cannot be read";
	if (status == GP_OK) {
		status = gp_name_table_open(bytes, count, &naming->table, &what);
		free(bytes);
	}
	naming->has_read_table = status != GP_E_MEMORY;
	naming->has_old_table = status == GP_E_VERSION;
	if (status == GP_OK || status == GP_E_MEMORY)
		return status;
	if (naming->has_old_table)
		return GP_OK;
	naming->damage.offset = r->file.header.names_offset;
	snprintf(naming->damage.what, sizeof naming->damage.what, "%s", what);
	return GP_OK;
}

/* ---- the frames of the recording ---- */

/*
 * A job maps few modules at one address, one after the other. A damaged file can list thousands. So
 * the pairs of a frame and a module to look up are limited: this base number, plus some for each
 * frame.
 */
#define PLACES_FREE (UINT64_C(1) << 18)
#define PLACES_A_FRAME 4u

/* A frame to look up, in module `index` of the symbolizer. */
struct place {
	struct gp_name_module module;
	uint64_t offset, pc;
	uint64_t file_bytes; /* of the module; small files come first */
	size_t index;
};

struct work {
	struct gp_recording *recording;
	struct gp_symbolizer *symbolizer;
	struct gp_name_builder *builder;
	const struct gp_symbolizing *how;
	struct gp_symbolized *out;
	uint64_t *file_bytes; /* by module of the symbolizer, 1 + the size; 0: not known yet */
	size_t modules;
	struct place *place;
	size_t places, room;
	uint64_t *nowhere; /* addresses outside of all modules */
	size_t nowheres, nowhere_room;
	uint64_t pc, met, done; /* met: number of addresses */
	uint64_t changes;	/* rows that are new or differ from the stored table */
	bool has_met, is_out_of_memory;
	enum gp_status module_status; /* result of adding the newest module */
};

/* Gets the size of a module's file. False: out of memory. */
static bool measure(struct work *w, size_t index, const char *path, uint64_t *bytes)
{
	struct stat st;
	if (!gp_array_reach(&w->file_bytes, &w->modules, index, sizeof *w->file_bytes))
		return false;
	if (w->file_bytes[index] == 0)
		w->file_bytes[index] = 1 + (stat(path, &st) == 0 ? (uint64_t)st.st_size : 0);
	*bytes = w->file_bytes[index];
	return true;
}

static bool add_place(void *context, size_t index)
{
	struct work *w = context;
	w->has_met = true;
	if (w->places >= PLACES_FREE + PLACES_A_FRAME * w->met)
		return false;
	const void *build_id;
	size_t bytes;
	const struct gp_module *m = gp_symbolizer_get(w->symbolizer, index, &build_id, &bytes);
	struct place place = { .module = { m->path, build_id, bytes },
			       .offset = w->pc - m->base,
			       .pc = w->pc,
			       .index = index };
	if (!measure(w, index, m->path, &place.file_bytes) ||
	    !gp_array_reserve(&w->place, &w->room, w->places, 1, sizeof *w->place)) {
		w->is_out_of_memory = true;
		return false;
	}
	w->place[w->places++] = place;
	return true;
}

static void add_frame(void *context, uint64_t pc)
{
	struct work *w = context;
	bool is_whole;
	w->pc = pc;
	w->has_met = false;
	w->met++;
	w->is_out_of_memory |= !gp_symbolizer_visit(w->symbolizer, pc, add_place, w, &is_whole);
	w->out->waiting += !is_whole;
	if (w->has_met || w->is_out_of_memory)
		return;
	if (gp_array_reserve(&w->nowhere, &w->nowhere_room, w->nowheres, 1, sizeof *w->nowhere))
		w->nowhere[w->nowheres++] = pc;
	else
		w->is_out_of_memory = true;
}

static int by_work(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->file_bytes != b->file_bytes)
		return a->file_bytes < b->file_bytes ? -1 : 1;
	const int order = gp_name_module_order(&a->module, &b->module);
	return order != 0 ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

static enum gp_status learn(void *context, const struct gp_record *record)
{
	return gp_defined_add(context, record);
}

/* Modules that were mapped after the cut have records between events. */
static enum gp_status learn_module(void *context, const struct gp_record *record)
{
	return record->kind == GP_MODULE ? gp_defined_add(context, record) : GP_OK;
}

static enum gp_status pass(void *context, const struct gp_record *record)
{
	(void)context;
	(void)record;
	return GP_OK;
}

static enum gp_status refuse(struct gp_symbolized *out, enum gp_status status, const char *obstacle)
{
	out->obstacle = obstacle;
	return status;
}

/* If definitions are lost, the new table would omit stored names. */
static enum gp_status refuse_damage(struct gp_recording *r, struct gp_symbolized *out)
{
	const struct gp_damage *first = r->index.damage;
	char *text = r->naming.obstacle;
	if (r->index.damages == 0)
		return GP_OK;
	snprintf(text, sizeof r->naming.obstacle, "it is damaged");
	if (first != NULL)
		snprintf(text, sizeof r->naming.obstacle, "it is damaged at byte %" PRIu64 ": %s",
			 first->offset, first->what);
	return refuse(out, GP_E_DAMAGED, text);
}

/* Decodes every block: only that finds all damage. */
static enum gp_status learn_all(struct gp_recording *r, struct gp_symbolized *out)
{
	enum gp_status status = GP_OK;
	for (size_t i = 0; i < r->index.segments && status == GP_OK; i++) {
		bool is_old = i < r->first;
		status = gp_merge_visit(r->merge, i, GP_BLOCK_DEFINE, is_old ? pass : learn,
					r->definitions);
		if (status == GP_OK)
			status = gp_merge_visit(r->merge, i, GP_BLOCK_CHECKPOINT, pass, NULL);
		/* The replay has read all modules and keeps them. */
		if (status == GP_OK)
			status = gp_merge_visit(r->merge, i, GP_BLOCK_EVENTS,
						is_old || r->has_info ? pass : learn_module,
						r->definitions);
	}
	return status == GP_OK ? refuse_damage(r, out) : status;
}

/*
 * Collects different frames, module after module. Frames outside of all modules are only counted.
 */
static enum gp_status collect(struct work *w)
{
	struct gp_recording *r = w->recording;
	enum gp_status status = learn_all(r, w->out);
	w->symbolizer = status == GP_OK ? gp_recording_symbolizer(r) : NULL;
	if (status != GP_OK || w->symbolizer == NULL)
		return status != GP_OK ? status : GP_E_MEMORY;
	gp_call_stacks_visit_native(gp_defined_stacks(r->definitions), add_frame, w);
	if (w->is_out_of_memory)
		return GP_E_MEMORY;
	size_t kept = 0;
	if (w->places != 0)
		qsort(w->place, w->places, sizeof *w->place, by_work);
	for (size_t i = 0; i < w->places; i++)
		if (kept == 0 || by_work(&w->place[kept - 1], &w->place[i]) != 0)
			w->place[kept++] = w->place[i];
	w->places = kept;
	if (w->nowheres != 0)
		qsort(w->nowhere, w->nowheres, sizeof *w->nowhere, gp_row_order);
	for (size_t i = 0; i < w->nowheres; i++)
		w->out->nowhere += i == 0 || w->nowhere[i] != w->nowhere[i - 1];
	w->out->frames = w->places + w->out->nowhere + w->out->waiting;
	return GP_OK;
}

/* ---- look-ups ---- */

static bool is_over(void *context)
{
	const struct work *w = context;
	return w->how->is_over(w->how->context, w->done, w->places);
}

static bool add_unnamed(struct gp_symbolized *out, const struct gp_symbol *symbol)
{
	struct gp_unnamed *last =
		out->unnamed_modules ? &out->unnamed[out->unnamed_modules - 1] : NULL;
	if (last != NULL && strcmp(last->module, symbol->module) == 0) {
		last->frames++;
		return true;
	}
	last = gp_array_append(&out->unnamed, &out->unnamed_modules, sizeof *last);
	if (last != NULL)
		*last = (struct gp_unnamed){ symbol->module, gp_symbol_why_text(symbol->why), 1 };
	return last != NULL;
}

/*
 * `is_first`: the first frame of its module. GP_E_SPACE: a bound is reached, or `count` is 0. The
 * frame then stays for a later look-up.
 */
static enum gp_status put_names(struct work *w, const struct place *place, bool is_first,
				const struct gp_symbol *frame, size_t count)
{
	if (is_first)
		w->module_status = gp_name_builder_module(w->builder, &place->module);
	if (w->module_status != GP_OK)
		return w->module_status;
	return gp_name_builder_add(w->builder, place->offset, frame, count);
}

/* GP_E_MEMORY. */
static enum gp_status stored_names_look_up(struct work *w, const struct place *place, bool is_first)
{
	struct gp_symbol frame[GP_NAME_FRAMES_MAX], before[GP_NAME_FRAMES_MAX];
	const struct gp_name_table *table = w->recording->naming.table;
	struct gp_symbolized *out = w->out;
	size_t had = 0;
	size_t count = gp_symbolizer_find_in(w->symbolizer, place->index, place->pc, frame,
					     GP_NAME_FRAMES_MAX);
	if (table != NULL)
		had = gp_name_table_find(table, &place->module, place->offset, before,
					 GP_NAME_FRAMES_MAX);
	unsigned rank = gp_symbol_rank(frame, count), old = gp_symbol_rank(before, had);
	const enum gp_status status = put_names(w, place, is_first, frame, rank != 0 ? count : 0);
	if (status == GP_E_SPACE)
		out->waiting++;
	if (status != GP_OK)
		return status == GP_E_SPACE ? GP_OK : status;
	w->changes += had == 0 || rank > old;
	out->named += rank == GP_SYMBOL_RANK_NAMED;
	out->added += rank == GP_SYMBOL_RANK_NAMED && old != GP_SYMBOL_RANK_NAMED;
	if (rank == GP_SYMBOL_RANK_NAMED)
		return GP_OK;
	size_t nameless = 0;
	while (nameless + 1 < count && frame[nameless].why == GP_SYMBOL_NAMED)
		nameless++;
	return add_unnamed(out, &frame[nameless]) ? GP_OK : GP_E_MEMORY;
}

static enum gp_status look_up_all(struct work *w)
{
	if (w->how->is_over != NULL)
		gp_symbolizer_set_limit(w->symbolizer, is_over, w);
	w->builder = gp_name_builder_open(&w->recording->index.last, w->out->frames);
	enum gp_status status = w->builder != NULL ? GP_OK : GP_E_MEMORY;
	for (; w->done < w->places && status == GP_OK; w->done++) {
		const struct place *place = &w->place[w->done];
		bool is_first = w->done == 0 ||
				gp_name_module_order(&place[-1].module, &place->module) != 0;
		status = stored_names_look_up(w, place, is_first);
	}
	gp_symbolizer_set_limit(w->symbolizer, NULL, NULL);
	if (w->out->unnamed_modules > 1)
		qsort(w->out->unnamed, w->out->unnamed_modules, sizeof *w->out->unnamed,
		      gp_unnamed_order);
	return status;
}

/* ---- storage ---- */

static enum gp_status check(struct gp_recording *r, struct gp_symbolized *out)
{
	const struct gp_file *file = &r->file;
	if (gp_ring_file_is_written(&file->header))
		return refuse(out, GP_E_BUSY, "its process still writes to it");
	if (file->is_header_damaged)
		return refuse(out, GP_E_DAMAGED, "its header is damaged");
	if (file->header.minor > GP_FORMAT_MINOR)
		return refuse(out, GP_E_VERSION, "a newer gpuprof has written to it");
	if (!r->index.is_sealed)
		return refuse(out, GP_E_TRUNCATED, "recording is not complete");
	return refuse_damage(r, out);
}

/* Takes a lock: two processes that write names into one recording would use the same place. */
static enum gp_status store(struct work *w)
{
	struct gp_recording *r = w->recording;
	struct stat st, opened;
	struct gp_file_header header;
	unsigned char encoded[GP_FILE_HEADER];
	size_t bytes = 0;
	int fd = open(r->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return refuse(w->out, GP_E_OPEN, strerror(errno));
	enum gp_status status = GP_OK;
	struct gp_file now = { .fd = fd };
	if (fstat(fd, &st) != 0 || fstat(r->file.fd, &opened) != 0 || st.st_ino != opened.st_ino ||
	    st.st_dev != opened.st_dev)
		status = refuse(w->out, GP_E_BUSY, "another file has taken its name");
	else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		status = refuse(w->out, GP_E_BUSY, "another gpuprof writes names into it");
	if (status == GP_OK)
		status = gp_file_read(&now, 0, encoded, sizeof encoded);
	if (status == GP_OK)
		status = gp_file_header_decode(encoded, &header);
	if (status == GP_OK && (header.names_offset != r->file.header.names_offset ||
				header.names_bytes != r->file.header.names_bytes))
		status = refuse(w->out, GP_E_BUSY, "another gpuprof wrote names into it meanwhile");
	const unsigned char *blocks = gp_name_builder_blocks(w->builder, &bytes);
	if (status == GP_OK && blocks == NULL)
		status = GP_E_MEMORY;
	if (status == GP_OK)
		status = gp_name_area_append(fd, &header, (uint64_t)st.st_size, blocks, bytes);
	w->out->is_written = status == GP_OK;
	if (status == GP_OK)
		w->out->names_bytes = bytes;
	close(fd);
	return status;
}

enum gp_status gp_recording_symbolize(struct gp_recording *r, const struct gp_symbolizing *how,
				      struct gp_symbolized *out)
{
	struct work w = { .recording = r, .how = how, .out = out };
	*out = (struct gp_symbolized){ 0 };
	enum gp_status status = check(r, out);
	if (status == GP_OK)
		status = gp_recording_load_names(r);
	if (status != GP_OK)
		return status;
	out->names_bytes = r->naming.table != NULL ? r->file.header.names_bytes : 0;
	out->dropped = r->naming.damage.what[0] != '\0' ? &r->naming.damage : NULL;
	status = collect(&w);
	if (status == GP_OK)
		status = look_up_all(&w);
	/* A table with only reasons would make a recording that lost its names look complete. */
	if (status == GP_OK && out->dropped != NULL && out->named == 0)
		status = refuse(out, GP_E_DAMAGED,
				"those in it are damaged, and none is found to replace them");
	/* Only reasons must not replace names that an older gpuprof can read. */
	bool is_less = r->naming.has_old_table && out->named == 0;
	if (status == GP_OK && !is_less && (w.changes != 0 || out->dropped != NULL))
		status = store(&w);
	gp_name_builder_close(w.builder);
	free(w.file_bytes);
	free(w.place);
	free(w.nowhere);
	enum gp_status rewound = gp_recording_rewind(r);
	return status == GP_OK ? rewound : status;
}

void gp_symbolized_free(struct gp_symbolized *symbolized)
{
	free(symbolized->unnamed);
	*symbolized = (struct gp_symbolized){ 0 };
}
