/* The facts and totals of a recording, after one replay of its kept events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"
#include "recording.h"
#include "scope_list.h"

static void read_uuid(const struct gp_record *gpu, char out[48])
{
	uint64_t high = gpu->gpu.uuid_high, low = gpu->gpu.uuid_low;
	if ((high | low) == 0) {
		out[0] = '\0';
		return;
	}
	snprintf(out, 48, "GPU-%08llx-%04llx-%04llx-%04llx-%012llx",
		 (unsigned long long)(high >> 32), (unsigned long long)(high >> 16 & 0xffff),
		 (unsigned long long)(high & 0xffff), (unsigned long long)(low >> 48),
		 (unsigned long long)(low & 0xffffffffffff));
}

static void list_devices(struct gp_recording *r)
{
	size_t n = 0;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_record *gpu = gp_defined_record(r->definitions, GP_GPU, device);
		if (gpu == NULL && !gp_live_device(r->live, device)->is_seen)
			continue;
		struct gp_info_device *d = &r->device[n++];
		*d = (struct gp_info_device){ .device = device };
		if (gpu == NULL)
			continue;
		d->name = gp_defined_text(r->definitions, GP_GPU, device);
		d->total_bytes = gpu->gpu.total_bytes;
		read_uuid(gpu, d->uuid);
	}
	r->info.devices = n;
	r->info.device = r->device;
}

/* 0: the recording does not have this fact. */
static uint64_t number(const struct gp_recording *r, enum gp_fact key)
{
	const struct gp_record *fact = gp_defined_record(r->definitions, GP_FACT, key);
	return fact != NULL ? fact->fact.value : 0;
}

/* The driver's version: from the facts, else from a GPU record. */
static const char *driver_text(struct gp_recording *r)
{
	uint64_t version = number(r, GP_FACT_DRIVER);
	for (unsigned device = 0; version == 0 && device < GP_DEVICES; device++) {
		const struct gp_record *gpu = gp_defined_record(r->definitions, GP_GPU, device);
		version = gpu != NULL ? gpu->aux : 0;
	}
	if (version == 0)
		return NULL;
	snprintf(r->driver, sizeof r->driver, "%u.%u", (unsigned)(version / 1000),
		 (unsigned)(version % 1000 / 10));
	return r->driver;
}

/*
 * `oldest`: the time of the oldest kept MEMORY event. It may be earlier than the cut, which is
 * written after these events.
 */
static void fill_from_file(struct gp_recording *r, uint64_t oldest)
{
	const struct gp_file_header *h = &r->file.header;
	const struct gp_index *x = &r->index;
	struct gp_info *info = &r->info;
	info->format_major = h->major;
	info->format_minor = h->minor;
	info->pid = h->pid;
	info->command = h->command;
	info->hostname = h->hostname;
	info->boot_id = h->boot_id;
	info->start_unix_ns = h->start_unix_ns;
	info->start_mono_ns = h->start_mono_ns;
	info->file_bytes = r->file.bytes;
	info->segments = x->segments;
	info->blocks = x->blocks;
	info->has_hole = (h->flags & GP_FILE_HAS_HOLE) != 0;
	info->failed_blocks = h->failed_blocks;
	info->is_sealed = x->is_sealed;
	info->is_running = r->is_running;
	info->is_anothers = !x->is_sealed && !r->is_running && gp_ring_file_is_anothers(h);
	const bool is_left = !x->is_sealed && !r->is_running && !info->is_anothers;
	info->ring_left = is_left && h->ring_path[0] != '\0' ? h->ring_path : NULL;
	info->is_complete = x->is_sealed && !info->has_hole;
	info->damages = x->damages < GP_DAMAGES_KEPT ? x->damages : GP_DAMAGES_KEPT;
	info->damage = x->damage;
	info->is_damaged = x->damages > 0;
	info->kept_bytes = 0;
	for (size_t i = x->segments ? x->segment[r->first].part : x->parts; i < x->parts; i++)
		info->kept_bytes += x->part[i].end - x->part[i].offset;
	info->kept_from_ns = 0;
	if (x->segments > 0 && x->segment[r->first].number != 0) {
		uint64_t cut = x->segment[r->first].ticks, begin = oldest < cut ? oldest : cut;
		int64_t from = gp_tick_ns(&r->tick, begin);
		info->kept_from_ns = from > 0 ? (uint64_t)from : 0;
	}
}

/* A full disk may also lose LOST records. The header then has the only count. */
uint64_t gp_recording_lost(const struct gp_recording *r, unsigned which)
{
	uint64_t reported = gp_live_count(r->live, GP_COUNT_LOST_MEMORY + which);
	uint64_t known = r->file.header.lost[which];
	return reported > known ? reported : known;
}

static void fill_from_state(struct gp_recording *r)
{
	struct gp_info *info = &r->info;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		info->counts[kind] = gp_live_count(r->live, kind);
	info->lost_memory = gp_recording_lost(r, 0);
	info->lost_launch = gp_recording_lost(r, 1);
	info->lost_other = gp_recording_lost(r, 2);
	info->nested = gp_recording_lost(r, 3);
	info->framework_events = gp_live_count(r->live, GP_COUNT_FRAMEWORK_EVENTS);
	info->mismatches = gp_live_count(r->live, GP_COUNT_MISMATCHES);
	info->anomalies = gp_live_count(r->live, GP_COUNT_ANOMALIES);
	info->threads = gp_live_count(r->live, GP_COUNT_THREADS);
	info->ring_place = gp_defined_text(r->definitions, GP_FACT, GP_FACT_RING_PLACE);
	info->pytorch = gp_defined_text(r->definitions, GP_FACT, GP_FACT_PYTORCH);
	info->driver = driver_text(r);
	info->alloc_conf = gp_defined_text(r->definitions, GP_FACT, GP_FACT_ALLOC_CONF);
	info->launcher = gp_defined_text(r->definitions, GP_FACT, GP_FACT_RANK);
	info->is_allocator_requested =
		gp_defined_record(r->definitions, GP_FACT, GP_FACT_ALLOCATOR_DETAILS) != NULL;
	info->has_allocator_details = number(r, GP_FACT_ALLOCATOR_DETAILS) != 0;
	info->allocator_why = gp_defined_text(r->definitions, GP_FACT, GP_FACT_ALLOCATOR_DETAILS);
	info->has_async_blocks = number(r, GP_FACT_ASYNC_BLOCKS) != 0;
	info->async_why = gp_defined_text(r->definitions, GP_FACT, GP_FACT_ASYNC_BLOCKS);
	info->has_allocator_details |= info->has_async_blocks; /* streams, requested sizes */
	info->has_uses = number(r, GP_FACT_USES) != 0;
	info->no_uses = gp_defined_text(r->definitions, GP_FACT, GP_FACT_USES);
	info->uses_beyond = number(r, GP_FACT_USES_BEYOND);
	info->has_device_used = info->counts[GP_DEVICE_MEMORY] > 0;
	info->has_ranges = info->counts[GP_RANGE_PUSH] + info->counts[GP_RANGE_START] +
				   info->counts[GP_RANGE_RESUMED] + info->counts[GP_RANGE_STARTED] +
				   info->counts[GP_MARK] >
			   0;
}

/* Collected by one replay. */
struct tally {
	uint64_t newest, oldest; /* ticks; oldest: of MEMORY events */
	bool is_begun;		 /* memory or work was recorded */
	unsigned overtakes;
};

static enum gp_status tally_begin(struct gp_recording *r, struct tally *t)
{
	struct gp_info *info = &r->info;
	t->oldest = UINT64_MAX;
	t->is_begun = false;
	t->overtakes = r->overtakes;
	memset(info->kept, 0, sizeof info->kept);
	info->launches = info->captured_launches = info->graph_launches = 0;
	info->gaps = 0;
	info->is_late = false;
	const enum gp_status status = gp_scope_list_begin(&r->scopes, r);
	return status == GP_OK ? gp_tops_begin(r) : status;
}

static enum gp_status add_gap(struct gp_recording *r, const struct gp_record *record, bool is_first)
{
	struct gp_info *info = &r->info;
	info->is_late |= is_first && info->gaps == 0;
	int64_t *gap_ns = gp_array_append(&r->gap, &info->gaps, sizeof *gap_ns);
	if (gap_ns == NULL)
		return GP_E_MEMORY;
	*gap_ns = gp_tick_ns(&r->tick, record->time);
	info->gap_ns = r->gap;
	return GP_OK;
}

/* NULL: the recorder stored no reason. */
static const char *refusal(struct gp_recording *r, enum gp_fact key, const char *kind, char *out,
			   size_t room)
{
	const char *why = gp_defined_text(r->definitions, GP_FACT, key);
	if (why == NULL)
		return NULL;
	snprintf(out, room, "no %s frames: %s", kind, why);
	return out;
}

static void fill_stacks(struct gp_recording *r)
{
	struct gp_stack_naming *n = &r->naming;
	r->info.no_python =
		refusal(r, GP_FACT_NO_PYTHON, "Python", n->no_python, sizeof n->no_python);
	r->info.no_native =
		refusal(r, GP_FACT_NO_NATIVE, "native", n->no_native, sizeof n->no_native);
	r->info.no_stacks = gp_defined_text(r->definitions, GP_FACT, GP_FACT_NO_STACKS);
	const struct gp_call_stacks *stacks = gp_defined_stacks(r->definitions);
	r->info.launch_every = number(r, GP_FACT_STACK_LAUNCHES);
	r->info.stacks_cut = number(r, GP_FACT_STACKS_CUT);
	r->info.modules_cut = number(r, GP_FACT_MODULES_CUT);
	r->info.has_native = gp_call_stacks_has_native(stacks);
	r->info.has_python = gp_call_stacks_has_python(stacks);
	r->info.stacks = gp_call_stacks_count(stacks);
}

static enum gp_status tally(struct gp_recording *r, struct tally *t, const struct gp_record *record)
{
	if (t->overtakes != r->overtakes) {
		enum gp_status status = tally_begin(r, t);
		if (status != GP_OK)
			return status;
	}
	if (record->kind >= GP_KINDS)
		return GP_OK;
	enum gp_class class = gp_event_infos[record->kind].class;
	r->info.kept[record->kind]++;
	const enum gp_launched launched = gp_launched_as(record);
	r->info.launches += launched == GP_LAUNCHED_KERNEL;
	r->info.captured_launches += launched == GP_LAUNCHED_CAPTURED;
	r->info.graph_launches += launched == GP_LAUNCHED_GRAPH;
	r->info.has_stacks |= record->stack != 0;
	if (record->kind >= GP_RANGE_PUSH && record->kind <= GP_RANGE_RESUMED) {
		const bool is_engine = record->range_push.source == GP_RANGE_ENGINE;
		r->info.has_backward |= is_engine;
		r->info.has_named |= !is_engine;
	}
	if (record->time > t->newest)
		t->newest = record->time;
	if (class == GP_CLASS_MEMORY && record->time < t->oldest)
		t->oldest = record->time;
	if (record->kind == GP_GAP)
		return add_gap(r, record, !t->is_begun && r->index.segment[r->first].number == 0);
	if (record->kind == GP_SCOPE)
		return gp_scope_list_see(&r->scopes, r, record);
	t->is_begun |= class == GP_CLASS_MEMORY || class == GP_CLASS_LAUNCH;
	return GP_OK;
}

static void add_cut(void *context, const struct gp_named *name)
{
	*(uint64_t *)context += name->value;
}

static void fill_ranges(struct gp_recording *r)
{
	r->info.ranges_unnamed = number(r, GP_FACT_RANGES_UNNAMED);
	r->info.nvtx_why = gp_defined_text(r->definitions, GP_FACT, GP_FACT_NVTX);
	r->info.torch_why = gp_defined_text(r->definitions, GP_FACT, GP_FACT_TORCH_RANGES);
	if (r->info.torch_why != NULL && *r->info.torch_why == '\0')
		r->info.torch_why = NULL; /* an empty text: torch ranges were recorded */
	r->info.has_node_modules = number(r, GP_FACT_NODE_MODULES) != 0;
	r->info.no_node_modules = gp_defined_text(r->definitions, GP_FACT, GP_FACT_NODE_MODULES);
	if (r->info.has_node_modules)
		r->info.no_node_modules = NULL;
	r->info.names_cut = 0;
	gp_defined_visit(r->definitions, GP_RANGE_NAME, add_cut, &r->info.names_cut);
}

/* Stored names that cannot be read cost names only. No figure changes. */
static void fill_names(struct gp_recording *r)
{
	const struct gp_stack_naming *naming = &r->naming;
	r->info.names_damage = naming->damage.what[0] != '\0' ? &naming->damage : NULL;
	r->info.has_old_names = naming->has_old_table;
	r->info.has_definitions_left_out = gp_defined_has_left_out(r->definitions);
	if (naming->table == NULL)
		return;
	r->info.names_bytes = r->file.header.names_bytes;
	r->info.native_frames = gp_name_table_frames(naming->table);
	r->info.named_frames = gp_name_table_named(naming->table);
}

static void fill_caveats(struct gp_recording *r)
{
	struct gp_info *info = &r->info;
	int64_t end = (int64_t)info->duration_ns;
	gp_caveat_end(r, end);
	info->uncertains = r->caveat.spans;
	memcpy(r->uncertain, r->caveat.span, sizeof r->uncertain);
	info->uncertain = r->uncertain;
	/* missing events at the end may have had higher values */
	info->has_uncertain_pinned = info->format_minor < GP_FORMAT_PINNED &&
				     (info->kept_from_ns != 0 || info->uncertains > 0);
	info->has_uncertain_peaks =
		(!info->is_sealed && !info->is_running) ||
		(info->uncertains > 0 && r->uncertain[info->uncertains - 1].to_ns >= end);
	info->has_gap = info->counts[GP_GAP] > 0;
	info->has_framework_late = number(r, GP_FACT_FRAMEWORK_LATE) != 0;
	info->missed_routes = number(r, GP_FACT_ROUTES);
	info->ended_by = (unsigned)number(r, GP_FACT_ENDED);
}

static void info_fill(struct gp_recording *r, struct tally *t)
{
	if (r->index.last.ticks > t->newest && !r->is_ended_early)
		t->newest = r->index.last.ticks;
	int64_t duration = gp_tick_ns(&r->tick, t->newest);
	r->info.duration_ns = duration > 0 ? (uint64_t)duration : 0;
	fill_from_file(r, t->oldest);
	fill_from_state(r);
	fill_stacks(r);
	fill_ranges(r);
	fill_caveats(r);
	gp_scope_list_fill(&r->scopes, r, &r->info);
	fill_names(r);
	list_devices(r);
}

enum gp_status gp_recording_info(struct gp_recording *r, const struct gp_info **out)
{
	*out = &r->info;
	if (r->has_info)
		return GP_OK;
	enum gp_status status = gp_recording_load_names(r);
	if (status == GP_OK)
		status = gp_recording_rewind(r);
	if (status != GP_OK)
		return status;
	struct tally t = { .newest = r->file.header.start_ticks };
	status = tally_begin(r, &t);
	if (status != GP_OK)
		return status;
	uint32_t thread;
	const struct gp_record *record;
	while ((record = gp_recording_step(r, &thread, &status)) != NULL) {
		status = tally(r, &t, record);
		if (status != GP_OK)
			return status;
		gp_tops_see(r, record);
	}
	if (status != GP_END)
		return status;
	info_fill(r, &t);
	gp_tops_end(r);
	status = gp_recording_rewind(r);
	r->has_info = status == GP_OK;
	return status;
}

void gp_info_set_now(struct gp_recording *r)
{
	/* the replay goes on, so an interval that is open now stays open */
	const struct gp_caveat caveat = r->caveat;
	const uint64_t last = r->caveat.last, start = r->file.header.start_ticks;
	struct tally t = { .newest = last > start ? last : start, .oldest = UINT64_MAX };
	info_fill(r, &t);
	r->caveat = caveat;
	r->has_info = true;
}
