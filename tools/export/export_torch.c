/*
 * `--format torch`: the result of torch.cuda.memory._snapshot() as a pickle, for PyTorch's
 * memory_viz and other readers of such files. Acts are written in order. A change of device ends
 * the list of the old device and resumes that of the new one. So no list is kept in memory.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../io/message.h"
#include "../report/report.h"
#include "torch/alloc_settings.h"
#include "torch/pickled_stacks.h"
#include "torch/torch_pieces.h"
#include "write/export.h"
#include "write/pickle.h"

extern const struct gp_export_format gp_export_format_torch;

/*
 * Memory outside the framework is in pools of its own, one for each owner: (0, POOL_OUTSIDE +
 * number). The stream has that number, too. A viewer that joins neighbours on one stream then never
 * joins this memory with the framework's.
 */
#define POOL_OUTSIDE (1ull << 32)
#define OWNERS_MAX 256u
#define NO_DEVICE UINT_MAX
#define NS_PER_US 1000

static const char *const actions[GP_ACTS] = {
	[GP_ACT_ALLOC] = "alloc",
	[GP_ACT_FREE_REQUESTED] = "free_requested",
	[GP_ACT_FREE_COMPLETED] = "free_completed",
	[GP_ACT_SEGMENT_ALLOC] = "segment_alloc",
	[GP_ACT_SEGMENT_FREE] = "segment_free",
	[GP_ACT_SEGMENT_MAP] = "segment_map",
	[GP_ACT_SEGMENT_UNMAP] = "segment_unmap",
	[GP_ACT_SNAPSHOT] = "snapshot",
	[GP_ACT_OOM] = "oom",
};
static const char *const states[] = {
	[GP_STATE_FREE] = "inactive",
	[GP_STATE_ALLOCATED] = "active_allocated",
	[GP_STATE_PENDING] = "active_pending_free",
};

struct torch {
	struct gp_export *e;
	const struct gp_history *history; /* of the file's span */
	uint64_t left_out;		  /* events without a known device */
	struct gp_pickled_stacks *stacks;
	char *owner[OWNERS_MAX]; /* the last entry stands for all others */
	unsigned owners;
	uint32_t traces, trace[GP_DEVICES];
	uint64_t entries;    /* of all traces */
	unsigned open;	     /* the device whose list is being written; NO_DEVICE: none */
	bool has_categories; /* there is memory outside the framework */
	struct gp_pickle pickle;
};

static void put_key(struct torch *t, const char *key)
{
	gp_pickle_word(&t->pickle, key);
}

static void put_number(struct torch *t, const char *key, uint64_t number)
{
	put_key(t, key);
	gp_pickle_number(&t->pickle, number);
}

static void put_word(struct torch *t, const char *key, const char *word)
{
	put_key(t, key);
	gp_pickle_word(&t->pickle, word);
}

static void put_bool(struct torch *t, const char *key, bool is_true)
{
	put_key(t, key);
	gp_pickle_bool(&t->pickle, is_true);
}

static uint64_t epoch_us(const struct torch *t, int64_t at_ns)
{
	__int128 us = ((__int128)t->e->info->start_unix_ns + at_ns) / NS_PER_US;
	return us > 0 ? (uint64_t)us : 0;
}

static void put_frames(struct torch *t, uint32_t stack, int64_t at_ns)
{
	uint32_t epoch = gp_history_epoch(t->history, at_ns);
	put_key(t, "frames");
	gp_pickled_stacks_write(t->stacks, t->e->has_stacks ? stack : 0, epoch, at_ns);
}

/* The number of an owner, for its pool and its name. */
static unsigned owner_of(struct torch *t, uint32_t stack, int64_t at_ns, uint8_t space)
{
	uint32_t epoch = gp_history_epoch(t->history, at_ns);
	const char *name = gp_pickled_stacks_owner(t->stacks, stack, epoch, at_ns, space);
	for (unsigned k = 0; k < t->owners; k++)
		if (strcmp(t->owner[k], name) == 0)
			return k;
	if (t->owners == OWNERS_MAX)
		return OWNERS_MAX - 1;
	bool is_last = t->owners == OWNERS_MAX - 1;
	char *kept = strdup(is_last ? "others" : name);
	if (!kept) {
		t->pickle.is_out_of_memory = true;
		return 0;
	}
	t->owner[t->owners] = kept;
	return t->owners++;
}

/* ---- the trace ---- */

static void open_trace(struct torch *t, unsigned device)
{
	if (t->open == device)
		return;
	if (t->open != NO_DEVICE)
		gp_pickle_end(&t->pickle);
	t->open = device;
	if (device == NO_DEVICE)
		return;
	/* a temporary value of this key; finish_traces overwrites it with the list of lists */
	put_key(t, "device_traces");
	gp_pickle_resume(&t->pickle, t->trace[device]);
}

static bool is_free(enum gp_act_kind kind)
{
	return kind == GP_ACT_FREE_REQUESTED || kind == GP_ACT_FREE_COMPLETED ||
	       kind == GP_ACT_SEGMENT_FREE || kind == GP_ACT_SEGMENT_UNMAP;
}

/* Free bytes of the device at an OOM: recorded, else an upper limit from the job's own memory. */
static uint64_t device_free(const struct torch *t, const struct gp_act *act)
{
	struct gp_curves curves;
	if (act->device_free_bytes != GP_BYTES_UNKNOWN)
		return act->device_free_bytes;
	for (size_t k = 0; k < t->e->info->devices; k++) {
		const struct gp_info_device *d = &t->e->info->device[k];
		if (d->device != act->device ||
		    !gp_recording_curves(t->e->recording, act->device, &curves))
			continue;
		uint64_t taken = curves.now_bytes[GP_CURVE_DRIVER];
		return taken < d->total_bytes ? d->total_bytes - taken : 0;
	}
	return 0;
}

/* Writes the owner and the place of the act. */
static void put_place(struct torch *t, const struct gp_act *act)
{
	struct gp_pickle *p = &t->pickle;
	if (act->space == GP_SPACE_NONE) {
		put_number(t, "stream", act->arena->stream);
		put_key(t, "pool_id");
		gp_pickle_pair(p, act->arena->pool, act->arena->user_pool);
		if (act->kind == GP_ACT_ALLOC && t->has_categories)
			put_word(t, "category", "PyTorch");
		return;
	}
	bool is_end = is_free(act->kind);
	unsigned owner = owner_of(t, is_end ? act->maker : act->stack,
				  is_end ? act->made_at_ns : act->at_ns, act->space);
	t->has_categories = true;
	put_number(t, "stream", POOL_OUTSIDE + owner);
	put_key(t, "pool_id");
	gp_pickle_pair(p, 0, POOL_OUTSIDE + owner);
	if (act->kind == GP_ACT_ALLOC || act->kind == GP_ACT_SEGMENT_ALLOC)
		put_word(t, "category", t->owner[owner]);
}

static uint64_t size_of(const struct gp_act *act)
{
	return act->requested_bytes == GP_BYTES_UNKNOWN ? act->bytes : act->requested_bytes;
}

static void begin_entry(struct torch *t, unsigned device, enum gp_act_kind kind)
{
	open_trace(t, device);
	t->entries++;
	gp_pickle_dict(&t->pickle, NULL);
	put_word(t, "action", actions[kind]);
}

static bool write_act(void *state, const struct gp_act *act)
{
	struct torch *t = state;
	if (!gp_export_has(t->e, act->device)) {
		/* a snapshot may be of all devices */
		t->left_out += act->device >= t->e->devices && act->kind != GP_ACT_SNAPSHOT;
		return true;
	}
	begin_entry(t, act->device, act->kind);
	if (act->kind == GP_ACT_OOM)
		put_number(t, "device_free", device_free(t, act));
	else
		put_number(t, "addr", act->address);
	put_number(t, "size", size_of(act));
	put_place(t, act);
	put_number(t, "time_us", epoch_us(t, act->at_ns));
	if (t->e->has_stacks && act->stack)
		put_frames(t, act->stack, act->at_ns);
	gp_pickle_end(&t->pickle);
	return !t->pickle.is_out_of_memory;
}

/*
 * PyTorch ends each trace with the snapshot itself. Viewers with categories need one of category
 * unknown, which they apply to memory from before the trace.
 */
static void write_snapshot(struct torch *t, const struct gp_memory_device *d)
{
	begin_entry(t, d->device, GP_ACT_SNAPSHOT);
	put_number(t, "addr", 0);
	put_number(t, "size", d->active_bytes);
	put_number(t, "stream", 0);
	put_number(t, "time_us", epoch_us(t, t->history->memory.at_ns));
	if (t->has_categories)
		put_word(t, "category", "unknown");
	gp_pickle_end(&t->pickle);
}

static void finish_traces(struct torch *t)
{
	const struct gp_memory *m = &t->history->memory;
	for (size_t k = 0; k < m->devices; k++)
		if (gp_export_has(t->e, m->device[k].device))
			write_snapshot(t, &m->device[k]);
	open_trace(t, NO_DEVICE);
	put_key(t, "device_traces");
	gp_pickle_again(&t->pickle, t->traces);
}

/* ---- the state ---- */

static uint64_t requested_of(const struct gp_memory_block *b)
{
	return b->requested_bytes == GP_BYTES_UNKNOWN ? b->bytes : b->requested_bytes;
}

static void write_block(struct torch *t, const struct gp_memory_block *b)
{
	gp_pickle_dict(&t->pickle, NULL);
	put_number(t, "address", b->address);
	put_number(t, "size", b->bytes);
	put_number(t, "requested_size", requested_of(b));
	put_word(t, "state", states[b->state]);
	put_frames(t, b->stack, b->at_ns);
	gp_pickle_end(&t->pickle);
}

/* All of a segment except its blocks, which follow as a list. */
static void begin_segment(struct torch *t, const struct gp_memory_segment *s, uint64_t stream,
			  uint64_t pool, uint64_t user_pool)
{
	struct gp_pickle *p = &t->pickle;
	gp_pickle_dict(p, NULL);
	put_number(t, "device", s->device);
	put_number(t, "address", s->address);
	put_number(t, "total_size", s->bytes);
	put_number(t, "allocated_size", s->allocated_bytes);
	put_number(t, "active_size", s->active_bytes);
	put_number(t, "requested_size", s->requested_bytes);
	put_number(t, "stream", stream);
	put_word(t, "segment_type", s->is_small ? "small" : "large");
	put_key(t, "segment_pool_id");
	gp_pickle_pair(p, pool, user_pool);
	put_bool(t, "is_expandable", s->is_expandable);
	put_frames(t, s->stack, s->at_ns);
	put_key(t, "blocks");
	gp_pickle_list(p, NULL);
}

static void end_segment(struct torch *t)
{
	gp_pickle_end(&t->pickle);
	gp_pickle_end(&t->pickle);
}

static void write_segment(struct torch *t, const struct gp_memory_segment *s)
{
	const struct gp_memory *m = &t->history->memory;
	const struct gp_arena *arena = &m->arena[s->arena];
	struct gp_memory_segment shown = *s;
	shown.requested_bytes = 0;
	for (size_t k = s->first; k < s->first + s->blocks; k++)
		shown.requested_bytes +=
			m->block[k].state == GP_STATE_FREE ? 0 : requested_of(&m->block[k]);
	begin_segment(t, &shown, arena->stream, arena->pool, arena->user_pool);
	for (size_t k = s->first; k < s->first + s->blocks; k++)
		write_block(t, &m->block[k]);
	end_segment(t);
}

static void write_outside(struct torch *t, const struct gp_memory_outside *o)
{
	unsigned owner = owner_of(t, o->stack, o->at_ns, o->space);
	const struct gp_memory_segment segment = { .address = o->address,
						   .bytes = o->bytes,
						   .device = o->device,
						   .at_ns = o->at_ns,
						   .stack = o->stack,
						   .allocated_bytes = o->bytes,
						   .active_bytes = o->bytes,
						   .requested_bytes = o->bytes };
	const struct gp_memory_block block = { .address = o->address,
					       .bytes = o->bytes,
					       .requested_bytes = o->bytes,
					       .at_ns = o->at_ns,
					       .stack = o->stack,
					       .state = GP_STATE_ALLOCATED };
	begin_segment(t, &segment, POOL_OUTSIDE + owner, 0, POOL_OUTSIDE + owner);
	write_block(t, &block);
	end_segment(t);
}

/* Merges two lists by device and address, as PyTorch orders them. */
static void write_segments(struct torch *t)
{
	const struct gp_history *h = t->history;
	const struct gp_memory_segment *s = h->memory.segment, *s_end = s + h->memory.segments;
	const struct gp_memory_outside *o = h->outside, *o_end = o + h->outsides;
	put_key(t, "segments");
	gp_pickle_list(&t->pickle, NULL);
	while (s != s_end || o != o_end) {
		bool is_own = o == o_end ||
			      (s != s_end && (s->device != o->device ? s->device < o->device :
								       s->address < o->address));
		if (is_own && gp_export_has(t->e, s->device))
			write_segment(t, s);
		if (!is_own && gp_export_has(t->e, o->device))
			write_outside(t, o);
		s += is_own;
		o += !is_own;
	}
	gp_pickle_end(&t->pickle);
}

/* ---- the rest ---- */

static void write_divisions(struct torch *t, const struct gp_alloc_settings *s)
{
	char mib[24];
	put_key(t, "roundup_power2_divisions");
	gp_pickle_dict(&t->pickle, NULL);
	for (unsigned k = 0; k < GP_ROUNDUP_BUCKETS; k++) {
		snprintf(mib, sizeof mib, "%u", 1u << k);
		put_number(t, mib, s->divisions[k]);
	}
	gp_pickle_end(&t->pickle);
}

/* Writes no settings if the recording does not have them. */
static void write_settings(struct torch *t)
{
	struct gp_pickle *p = &t->pickle;
	size_t bytes;
	const char *reported = gp_recording_text(t->e->recording, GP_FACT, GP_FACT_ALLOC_CONF);
	const char *value = gp_allocator_settings_value(reported, &bytes);
	char *text = value ? strndup(value, bytes) : NULL;
	put_key(t, "allocator_settings");
	gp_pickle_dict(p, NULL);
	if (text) {
		const struct gp_alloc_settings s = gp_alloc_settings_parse(text);
		put_key(t, "PYTORCH_CUDA_ALLOC_CONF");
		gp_pickle_text(p, text);
		put_key(t, "max_split_size");
		gp_pickle_signed(p, s.max_split_bytes);
		put_key(t, "garbage_collection_threshold");
		gp_pickle_real(p, s.garbage_collection_threshold);
		put_bool(t, "expandable_segments", s.has_expandable_segments);
		put_number(t, "pinned_num_register_threads", s.register_threads);
		put_bool(t, "release_lock_on_cudamalloc", s.releases_lock);
		put_bool(t, "pinned_use_cuda_host_register", s.has_host_register);
		write_divisions(t, &s);
	}
	gp_pickle_end(p);
	free(text);
}

/* ---- the format ---- */

/* Memory and events that the files of a recording lack. `caveat`: of the last file. */
struct left_out {
	char *caveat;
	bool has_allocator_details;
	bool is_cut;
	int64_t begins_ns; /* is_cut: the trace begins there */
	uint64_t orphaned, events;
	long most_bytes; /* of a file */
};

static void left_out_release(struct left_out *left)
{
	free(left->caveat);
}

static void left_out_add(struct left_out *left, const struct torch *t)
{
	const struct gp_history *h = t->history;
	const long bytes = ftell(t->e->out);
	free(left->caveat);
	left->caveat = h->memory.caveat ? strdup(h->memory.caveat) : NULL;
	left->has_allocator_details = h->memory.has_allocator_details;
	if (h->is_cut && !left->is_cut)
		left->begins_ns = h->from_ns;
	left->is_cut |= h->is_cut;
	left->orphaned += h->orphaned;
	left->events += t->left_out;
	left->most_bytes = bytes > left->most_bytes ? bytes : left->most_bytes;
}

/* Prints what the exported format cannot contain. */
static void print_limits(const struct gp_export *e, const struct left_out *left)
{
	const bool has_framework = e->info->framework_events != 0;
	if (has_framework && left->caveat)
		gp_error("'%s': %s", e->recording_path, left->caveat);
	if (has_framework && !left->has_allocator_details)
		gp_hint("memory_viz shows each block by its own size, and all on stream 0");
	if (left->is_cut)
		gp_error("events are missing before %s: the trace begins there",
			 gp_ns_text(left->begins_ns).s);
	if (left->orphaned)
		gp_error("%s outside all known segments: left out",
			 gp_plural(left->orphaned, "block").s);
	if (left->events)
		gp_error("%s of unknown devices: left out", gp_plural(left->events, "event").s);
	if (left->most_bytes > GP_TORCH_BYTES) {
		gp_error("memory_viz cannot show a file of %s",
			 gp_bytes_text((uint64_t)left->most_bytes).s);
		gp_hint("--from and --to write one span, --no-stacks leaves stacks out");
	}
}

static void begin_file(struct torch *t)
{
	gp_pickle_dict(&t->pickle, NULL);
	put_key(t, "device_traces");
	gp_pickle_list(&t->pickle, &t->traces);
	for (unsigned k = 0; k < t->e->devices; k++) {
		gp_pickle_list(&t->pickle, &t->trace[k]);
		gp_pickle_end(&t->pickle);
	}
	gp_pickle_end(&t->pickle);
}

static void end_file(struct torch *t)
{
	finish_traces(t);
	write_segments(t);
	write_settings(t);
	put_key(t, "external_annotations");
	gp_pickle_list(&t->pickle, NULL);
	gp_pickle_end(&t->pickle);
	gp_pickle_end(&t->pickle);
	gp_pickle_finish(&t->pickle);
}

/* ---- files: each is a complete snapshot, the events of a span and the state at its end ---- */

struct torch_files {
	struct gp_export *e;
	struct torch t; /* of the present file */
	struct left_out left;
	size_t more; /* files after the present one */
	bool is_out_of_memory;
	bool has_ended; /* the last file is written */
};

static bool file_begin(void *context, const struct gp_history *history, bool has_outside)
{
	struct torch_files *f = context;
	f->t = (struct torch){
		.e = f->e, .history = history, .open = NO_DEVICE, .has_categories = has_outside
	};
	gp_pickle_init(&f->t.pickle, f->e->out);
	f->t.stacks = gp_pickled_stacks_open(f->e->recording, &f->t.pickle);
	f->is_out_of_memory = !f->t.stacks;
	if (f->is_out_of_memory)
		return false;
	begin_file(&f->t);
	return true;
}

static bool file_act(void *context, const struct gp_act *act)
{
	struct torch_files *f = context;
	return write_act(&f->t, act);
}

static void file_release(struct torch_files *f)
{
	f->is_out_of_memory |= f->t.pickle.is_out_of_memory;
	gp_pickled_stacks_close(f->t.stacks);
	for (unsigned k = 0; k < f->t.owners; k++)
		free(f->t.owner[k]);
	gp_pickle_release(&f->t.pickle);
	f->t.stacks = NULL;
	f->t.owners = 0;
}

static bool file_end(void *context, const struct gp_history *history)
{
	struct torch_files *f = context;
	(void)history;
	end_file(&f->t);
	f->e->entries += f->t.entries;
	left_out_add(&f->left, &f->t);
	file_release(f);
	if (f->is_out_of_memory || f->more == 0)
		return !f->is_out_of_memory;
	f->more--;
	f->has_ended = !gp_export_piece(f->e);
	return !f->has_ended;
}

static enum gp_status export_torch_write(struct gp_export *e)
{
	struct gp_torch_pieces pieces;
	struct torch_files *f = calloc(1, sizeof *f);
	if (!f)
		return GP_E_MEMORY;
	f->e = e;
	const struct gp_history_sink sink = { f, file_begin, file_act, file_end };
	const struct gp_history_cuts whole = { 0 };
	enum gp_status status = gp_torch_pieces_find(e, &pieces);
	f->more = e->path ? pieces.cuts.cuts : 0;
	if (status == GP_OK)
		status = gp_history_visit_spans(e->recording, e->from_ns, e->to_ns,
						f->more ? &pieces.cuts : &whole, &sink);
	file_release(f);
	if (f->is_out_of_memory)
		status = GP_E_MEMORY;
	else if (f->has_ended) /* with an error, which is printed */
		status = GP_OK;
	if (status == GP_OK && !f->has_ended) {
		print_limits(e, &f->left);
		gp_torch_pieces_print(e, &pieces);
	}
	left_out_release(&f->left);
	gp_torch_pieces_free(&pieces);
	free(f);
	return status;
}

/* Where torchtitan and tools for its files look. */
static void torch_rank_name(char out[GP_RANK_NAME_BYTES], uint64_t step, uint32_t rank)
{
	snprintf(out, GP_RANK_NAME_BYTES, "memory_snapshot/step_%012llu/%06u_step_%llu.pickle",
		 (unsigned long long)step, rank, (unsigned long long)step);
}

const struct gp_export_format gp_export_format_torch = {
	.name = "torch",
	.unit = "trace entries",
	.opens = "open it at pytorch.org/memory_viz",
	.most_entries = GP_TORCH_ENTRIES,
	.rank_name = torch_rank_name,
	.write = export_torch_write,
};
