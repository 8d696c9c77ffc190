/*
 * The reading API of gpuprof: open a recording, iterate its events in exact order, replay them,
 * build reports. tools/ may include this header only. Not thread-safe: use a recording from one
 * thread. Moments (`*_ns`) count from start_unix_ns unless noted; sizes are bytes. Results are
 * out-parameters. Strings belong to the recording and live until it is closed.
 */
#ifndef GPUPROF_H
#define GPUPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/choice.h"
#include "format/event.h"
#include "format/name_fields.h"
#include "format/on_off.h"
#include "format/scope_rule.h"
#include "format/size_text.h"
#include "format/stack_entry.h"
#include "format/stack_events.h"
#include "format/status.h"
#include "gpuprof_api.h"
#include "gpuprof_batch.h"
#include "gpuprof_collectives.h"
#include "gpuprof_counters.h"
#include "gpuprof_diff.h"
#include "gpuprof_frag.h"
#include "gpuprof_gpu.h"
#include "gpuprof_graphs.h"
#include "gpuprof_history.h"
#include "gpuprof_idle.h"
#include "gpuprof_lanes.h"
#include "gpuprof_leaks.h"
#include "gpuprof_memory.h"
#include "gpuprof_oom.h"
#include "gpuprof_phases.h"
#include "gpuprof_ranges.h"
#include "gpuprof_replay.h"
#include "gpuprof_roles.h"
#include "gpuprof_samples.h"
#include "gpuprof_stacks.h"
#include "gpuprof_startup.h"
#include "gpuprof_stats.h"
#include "gpuprof_steps.h"
#include "gpuprof_waits.h"
#include "gpuprof_watch.h"

#define GP_VERSION "0.1.0"

struct gp_recording;

/* A damaged place. `what` describes what was expected there. */
struct gp_damage {
	uint64_t offset; /* in the file */
	uint64_t block;	 /* number of the block in reading order */
	char what[160];
};

/*
 * Opens and indexes a recording. It adopts no rings: gp_adopt does. On failure *out is NULL, and
 * `why` (may be NULL) describes what was expected where. A file with a torn tail or damaged blocks
 * still opens: see gp_info.
 */
enum gp_status gp_recording_open(const char *path, struct gp_recording **out,
				 struct gp_damage *why);
void gp_recording_close(struct gp_recording *recording);

struct gp_info_device {
	unsigned device;
	char uuid[48];	  /* "GPU-xxxxxxxx-xxxx-..."; "" unknown */
	const char *name; /* NULL unknown */
	uint64_t total_bytes;
};

struct gp_span {
	int64_t from_ns, to_ns;
};

/* A span in which everything that the options select was recorded. */
struct gp_scope_span {
	int64_t from_ns, to_ns;
	/* enum gp_scope_by; 0: unknown, or not opened or closed yet */
	unsigned opened_by, closed_by;
	bool is_open; /* still open at the end of the kept events; to_ns is that end */
};

struct gp_info {
	unsigned format_major, format_minor;
	unsigned pid;
	const char *command;
	const char *hostname, *boot_id; /* boot: equal in all containers of a host; "" unknown */
	const char *ring_place;		/* "shm /dev/shm", ...; NULL unknown */
	uint64_t start_unix_ns, start_mono_ns; /* CLOCK_REALTIME, CLOCK_MONOTONIC_RAW */
	uint64_t duration_ns;		       /* from the start to the last event or block */
	uint64_t kept_from_ns; /* where the kept events begin; 0: none were overwritten */
	bool is_sealed;	       /* ended by its owner, or completely adopted */
	/* not sealed, and its owner is alive: all figures hold for the moment duration_ns */
	bool is_running;
	/* not sealed, and its owner is dead: path of the ring file with the rest; NULL: unknown */
	const char *ring_left;
	bool is_anothers; /* not sealed, and its rings belong to another user: it may be running */
	bool is_complete; /* sealed, without holes */
	/*
	 * Blocks could not be written and no checkpoint followed, or the file is a copy of a
	 * recording without its end. Figures are too low.
	 */
	bool has_hole;
	uint64_t failed_blocks; /* blocks since the start that could not be written */
	bool is_damaged;
	size_t devices;
	const struct gp_info_device *device;
	uint64_t threads;	   /* since the start */
	uint64_t counts[GP_KINDS]; /* since the start, by kind */
	uint64_t kept[GP_KINDS];   /* kept, by kind */
	/* kept, as gp_launched_as counts them */
	uint64_t launches, captured_launches, graph_launches;
	uint64_t lost_memory, lost_launch, lost_other, nested;
	uint64_t framework_events, mismatches, anomalies;
	/* the kept moments at which recording resumed after a gap */
	size_t gaps;
	const int64_t *gap_ns;
	/* recording was paused or began late; also true when the moment is not kept */
	bool has_gap;
	bool is_late;		 /* no events were recorded before the first gap */
	bool has_framework_late; /* the framework had blocks before the recording began */
	/*
	 * Spans in which events are missing: damage, losses, or holes before a missing end. A span
	 * ends at the next checkpoint with the exact state.
	 */
	size_t uncertains;
	const struct gp_span *uncertain;
	/* pinned memory is: older formats do not checkpoint it, and the start is not kept */
	bool has_uncertain_pinned;
	/* the last uncertain span reaches the end, or the end is missing */
	bool has_uncertain_peaks;
	uint64_t stacks;	 /* different stacks among the kept ones */
	uint64_t stacks_cut;	 /* events whose stack did not fit */
	uint64_t modules_cut;	 /* stacks whose module had no room or time */
	uint64_t ranges_unnamed; /* ranges and marks whose name did not fit */
	uint64_t names_cut;	 /* names of ranges that were truncated */
	/*
	 * Some definitions are unknown: more than 2^21 of one kind, or a too high number (2^16) of
	 * an arena or a fact.
	 */
	bool has_definitions_left_out;
	const char *nvtx_why;  /* why NVTX ranges are missing; NULL: no reason was recorded */
	const char *torch_why; /* why PyTorch's own ranges are missing; NULL: likewise */
	/* stacks in nodes of autograd have modules; why they do not although requested, or NULL */
	bool has_node_modules;
	const char *no_node_modules;
	/*
	 * Only a part of the run was fully captured; elsewhere only memory events were recorded.
	 * `capture_rule` has the selection as options; NULL: commands of gpuprof ctl made it.
	 */
	bool is_captured_in_part;
	const char *capture_rule;
	uint64_t captures, captured_ns; /* spans since the start, and their total length */
	size_t captureds;
	const struct gp_scope_span *captured; /* the kept spans, by time */
	/* enum gp_scope_by: the last span ended the recording, not the job; 0: it did not */
	unsigned ended_by;
	/* every n-th launch of a thread has a stack; 0: none has, or an older recorder */
	uint64_t launch_every;
	/* why requested frames are missing; which option switched stacks off; or NULL */
	const char *no_python, *no_native, *no_stacks;
	/*
	 * Names stored by gp_recording_symbolize: the number of different native frames, and how
	 * many of them have a known function. 0: no names are stored.
	 */
	uint64_t native_frames, named_frames;
	uint64_t names_bytes; /* size of the names in the file */
	/* damage of the stored names, which are then ignored; figures stay valid. NULL: none */
	const struct gp_damage *names_damage;
	bool has_old_names;	/* has names of format 1.8 or older, which are not read */
	uint64_t missed_routes; /* symbol look-ups that did not pass through the recorder */
	uint64_t kept_bytes;	/* blocks of the kept segments; excludes header, holes and names */
	uint64_t file_bytes;
	uint64_t segments, blocks;
	size_t damages;
	const struct gp_damage *damage;
	const char *driver;  /* "13.0"; NULL unknown */
	const char *pytorch; /* "2.11.0+cu130"; NULL unknown */
	/* "NAME=value" of PYTORCH_CUDA_ALLOC_CONF and of PYTORCH_ALLOC_CONF; NULL: not recorded */
	const char *alloc_conf;
	const char *launcher; /* "RANK=3 WORLD_SIZE=8": GP_FACT_RANK; NULL: not recorded */
	/* allocator details were requested; has_allocator_details: they were received */
	bool is_allocator_requested;
	const char *allocator_why; /* why they are missing, or NULL */
	/* PyTorch's blocks are its cudaMallocAsync calls; why some are not known, or NULL */
	bool has_async_blocks;
	const char *async_why;
	bool has_uses;	     /* the memory that launches, copies and fills use was recorded */
	const char *no_uses; /* why requested uses are missing; NULL: none are */
	/* allocations with unknown uses: a lower bound, which is a power of two */
	uint64_t uses_beyond;
	bool has_stacks, has_native, has_python, has_allocator_details, has_device_used, has_ranges,
		has_steps;
	/* kept events have ranges or marks of NVTX or PyTorch; have ranges of autograd's engine */
	bool has_named, has_backward;
};

/* Replays the kept events once, and again, in place, after a running job overwrote some of them. */
enum gp_status gp_recording_info(struct gp_recording *recording, const struct gp_info **out);

/* True if everything selected was recorded at that moment, as far as the kept events show. */
bool gp_info_is_captured(const struct gp_info *info, int64_t at_ns);

/* An event for readers: its record, moment, thread, and text (DEFINE kinds). */
struct gp_event {
	struct gp_record record;
	int64_t at_ns;
	uint32_t thread; /* number of the thread in its block */
	uint32_t tid;	 /* 0 unknown */
	const char *text;
	size_t text_bytes;
};

/* Returns events in exact order, from the first kept one. GP_END after the last. */
enum gp_status gp_recording_next(struct gp_recording *recording, struct gp_event *out);
/* Goes back to the first kept event and loads the checkpoint's state. */
enum gp_status gp_recording_rewind(struct gp_recording *recording);
/*
 * Curves of a device, which may be GP_DEVICE_UNKNOWN, at the event that gp_recording_next returned
 * last. False: no event of this device was read yet.
 */
struct gp_curves {
	uint64_t now_bytes[GP_CURVES];
	uint64_t peak_bytes[GP_CURVES]; /* since the start */
	int64_t peak_at_ns[GP_CURVES];
};
bool gp_recording_curves(const struct gp_recording *recording, unsigned device,
			 struct gp_curves *out);

/* Name of a kernel handle at the current moment; NULL unknown. */
const char *gp_recording_kernel_name(const struct gp_recording *recording, uint64_t handle);
/* The system's id of a thread at the current moment; 0 unknown. */
uint32_t gp_recording_tid(const struct gp_recording *recording, uint32_t thread);
/*
 * Text that a definition gave to a key at the current moment. Keys: the handle of KERNEL, STREAM
 * and CONTEXT; aux of FACT, THREAD, MODULE and RANGE_NAME; GP_OBJECT_KEY of OBJECT_NAME; the device
 * of GPU. NULL if unknown, and before the first event. gp_info has the facts of the whole
 * recording.
 */
const char *gp_recording_text(const struct gp_recording *recording, enum gp_kind kind,
			      uint64_t key);
/* As given to gp_recording_open. */
const char *gp_recording_path(const struct gp_recording *recording);
/*
 * From now on each replay calls `visit` after each block with its progress: `done` of `bytes` of
 * the file. `pass` counts replays from 1.
 */
void gp_recording_watch(struct gp_recording *recording,
			void (*visit)(void *context, uint64_t done, uint64_t bytes, unsigned pass),
			void *context);

/* ---- names stored in the recording ---- */

/* Options of gp_recording_symbolize. All zero: no limit and no progress. */
struct gp_symbolizing {
	/*
	 * Called often, also within one module: `done` of `frames` are looked up. True stops the
	 * look-up; names found so far are stored. NULL: never stop.
	 */
	bool (*is_over)(void *context, uint64_t done, uint64_t frames);
	void *context;
};
/* Frames of one module without a name, and the reason for the first of them. */
struct gp_unnamed {
	const char *module; /* path */
	const char *why;
	uint64_t frames;
};
/*
 * Lists native frames that gp_recording_stack or a report has met, without a name for a reason that
 * the user can fix. The module's file is missing, rebuilt or unreadable. Grouped by module, most
 * frames first. Valid until the next call. GP_E_MEMORY.
 */
enum gp_status gp_recording_unnamed(struct gp_recording *recording, const struct gp_unnamed **out,
				    size_t *modules);
struct gp_symbolized {
	uint64_t frames;  /* different native frames of the recording's stacks */
	uint64_t named;	  /* frames with a known function */
	uint64_t added;	  /* of these, the ones that this call named */
	uint64_t nowhere; /* in no known module: code made at run time */
	/*
	 * not looked up: the limit was reached, or memory ran out; also one for each address that
	 * lies in more modules than are searched
	 */
	uint64_t waiting;
	uint64_t names_bytes; /* size of the names in the file now */
	bool is_written;      /* false: the file already had all names, or there were none */
	size_t unnamed_modules;
	/* most frames first; frames outside of modules are not counted */
	struct gp_unnamed *unnamed;
	/* unreadable stored names, which success replaces; NULL: none */
	const struct gp_damage *dropped;
	/* why the call failed; lives until the recording is closed. NULL: see the status. */
	const char *obstacle;
};
/*
 * Looks up the native frames of all stacks of a finished recording on this machine. Stores the
 * names in its file, or why there is none, so that the recording reads alike on machines without
 * its libraries. Keeps stored names and adds missing ones. Needs write permission for the file. If
 * the call is interrupted, the file stays valid and keeps its old names. Rewinds. The open
 * recording shows the new names only after it is opened again.
 * GP_E_BUSY: its process still writes, or another process writes names. GP_E_TRUNCATED: the end is
 * missing. GP_E_VERSION: a newer minor version wrote it. GP_E_DAMAGED: a part of the recording is
 * damaged; or its names are, and no new ones were found. GP_E_OPEN, GP_E_SPACE, GP_E_IO,
 * GP_E_MEMORY. Free with gp_symbolized_free, also after a failure.
 */
enum gp_status gp_recording_symbolize(struct gp_recording *recording,
				      const struct gp_symbolizing *how, struct gp_symbolized *out);
void gp_symbolized_free(struct gp_symbolized *symbolized);

struct gp_point {
	int64_t at_ns;
	uint64_t bytes[GP_CURVES];
	/* the framework's gaps, if requested: see gp_gap_ratio */
	uint64_t free_bytes, largest_free_bytes;
};
struct gp_mark {
	int64_t at_ns;
	uint64_t bytes;
	uint64_t order;	   /* of its event */
	bool is_framework; /* reported by the framework, else a failed CUDA call */
	bool is_oom;	   /* gp_ooms_build lists it */
};
struct gp_timeline_device {
	unsigned device;
	uint64_t peak_bytes[GP_CURVES];
	int64_t peak_at_ns[GP_CURVES];
	/* the most reserved memory that was not mapped, of the kept events of the span */
	uint64_t most_unmapped_bytes;
	int64_t most_unmapped_at_ns;
	size_t points;
	const struct gp_point *point; /* by time; always includes the peaks that are kept */
	size_t marks;		      /* OOMs and failed CUDA calls, by time */
	const struct gp_mark *mark;
	size_t ooms, failed_calls; /* marks with is_oom; marks without is_framework */
	bool has_gaps;		   /* the points include the figures of gaps */
};
/*
 * Curves of page-locked host memory. The host's gp_timeline_device has them in place of a device's
 * curves. peak_bytes and peak_at_ns of REGISTERED are its values at the peak of PINNED.
 */
enum gp_host_curve {
	GP_HOST_PINNED = 0,	/* allocated by the driver, and registered */
	GP_HOST_REGISTERED = 1, /* part of PINNED: the job's own pages that it registered */
};
struct gp_timeline {
	size_t devices;
	/* some events exceed the work limit, so figures of gaps are late */
	bool has_late_gaps;
	struct gp_timeline_device *device;
	struct gp_timeline_device *host; /* NULL: no host memory was pinned */
};
/*
 * Replays [from_ns, to_ns] into at most `points` (16 or more) points per device. For the whole
 * recording (0 to INT64_MAX), peaks are exact and since the start. Free with gp_timeline_free.
 */
enum gp_status gp_timeline_build(struct gp_recording *recording, size_t points, int64_t from_ns,
				 int64_t to_ns, struct gp_timeline *out);
/* The same with gaps; also keeps their lowest and highest values. */
enum gp_status gp_timeline_build_gaps(struct gp_recording *recording, size_t points,
				      int64_t from_ns, int64_t to_ns, struct gp_timeline *out);
void gp_timeline_free(struct gp_timeline *timeline);

/* ---- holders and requesters of memory ---- */

/*
 * Memory of one stack and one kind, or the sum of several. gp_peak_build counts what was live at
 * its moment. gp_top_build counts what was allocated in its span, and fills the fields below
 * `count`.
 */
struct gp_use {
	uint32_t stack;	     /* 0: none; `without` is the reason */
	int64_t at_ns;	     /* a moment at which this memory existed, for gp_recording_stack */
	const char *without; /* static text; NULL: there is a stack */
	uint8_t space;	     /* enum gp_space; GP_SPACE_NONE: unknown */
	bool is_segment;     /* holds the framework's blocks */
	uint8_t rule;	     /* 1 + the number of the rule for its role; 0: not requested */
	const struct gp_range_path *range; /* range of the allocation; NULL: not requested */
	uint64_t bytes, count;
	uint64_t live_bytes, live_count;  /* the part live at the end of the span */
	uint64_t freed, short_lived;	  /* number freed; number freed soon after the allocation */
	const struct gp_lifetimes *lives; /* lifetimes of the freed ones; NULL: none were freed */
};

enum gp_moment { GP_AT_PEAK, GP_AT_OOM, GP_AT_TIME };

/* Holders of one curve of one device at one moment. */
struct gp_holders {
	unsigned device;
	enum gp_curve of;
	int64_t at_ns;
	uint64_t live_bytes; /* of the curve at that moment: the sum of the uses */
	/* may be freed already, or no event accounts for it; listed as uses without a stack */
	uint64_t uncertain_bytes;
	uint64_t unmapped_bytes; /* RESERVED: of the live bytes, what the driver does not map */
	uint64_t peak_bytes;	 /* peak of the curve since the start, and its moment */
	int64_t peak_at_ns;
	/* GP_AT_PEAK: the peak is older than the kept events; this is the highest kept moment */
	bool is_overwritten;
	size_t uses;
	struct gp_use *use; /* most bytes first */
	/* range of the event that reached the moment; NULL: not requested or unknown */
	const struct gp_range_path *range;
};
struct gp_peak {
	size_t holders; /* by device, then ALLOCATED, RESERVED, DRIVER; only those with a peak */
	struct gp_holders *holder;
	struct gp_holders *host; /* PINNED; its device is UNKNOWN. NULL: no memory was pinned */
	struct gp_range_paths *ranges; /* ranges of the uses; NULL: not requested */
};
/*
 * Lists the live memory of each device. GP_AT_PEAK: at the exact peak of each curve. GP_AT_OOM: at
 * its first OOM, as the framework reported it, else the driver; devices without an OOM are left
 * out. GP_AT_TIME: after the last event not later than `at_ns`; other moments ignore `at_ns`. Two
 * replays; needs memory for each different live stack. Free with gp_peak_free.
 */
enum gp_status gp_peak_build(struct gp_recording *recording, enum gp_moment moment, int64_t at_ns,
			     struct gp_peak *out);
/* The same, with what `with` (bits of enum gp_with) requests. */
enum gp_status gp_peak_build_with(struct gp_recording *recording, enum gp_moment moment,
				  int64_t at_ns, unsigned with, struct gp_peak *out);
void gp_peak_free(struct gp_peak *peak);

/* Uses with one key. */
struct gp_group {
	char *key;	   /* unique among the groups */
	struct gp_use use; /* sums; stack, at_ns and space of its use with most bytes */
	size_t stacks;	   /* number of different ids */
	bool is_rest;	   /* rejected by the filter, or without a stack */
	bool is_selected;  /* accepted by the filter */
	const char *cut;   /* GP_BY_STACK: why the outermost frames are missing; NULL: none are */
	struct gp_rule_sum *rule; /* GP_BY_ROLE: by number, as many as rules; else NULL */
	const char *class; /* GP_BY_MODULE: of the module, if the recording has it; else NULL */
};
struct gp_groups {
	size_t groups;
	/* most bytes first; then those with is_rest; then those without is_selected */
	struct gp_group *group;
	size_t matched;	     /* uses that the filter accepted */
	char libraries[256]; /* libraries that were found: "cuBLAS, PyTorch" */
};
struct gp_grouping {
	enum gp_by by;
	bool is_native;	     /* counts and shows uninformative frames, too */
	const char *library; /* NULL: all; other libraries form a separate group */
	const char *range;   /* likewise, of ranges; a name for gp_range_path_has */
};
/*
 * Adds up uses by key. GP_BY_STACK: stacks with equal frames form one group. Groups with equal keys
 * get a frame in which they differ. Uses without a stack form one group for each reason. Looks up
 * symbols once for each stack. Free with gp_groups_free.
 */
enum gp_status gp_groups_build(struct gp_recording *recording, const struct gp_use *use,
			       size_t uses, const struct gp_grouping *how, struct gp_groups *out);
void gp_groups_free(struct gp_groups *groups);

/* Uses as a call tree, outermost frame first; without `is_native`, no uninformative frames. */
struct gp_tree_node {
	struct gp_frame frame; /* if only `unknown` is set: why there is no stack */
	uint64_t bytes, count; /* of this node and all below it */
	size_t parent;	       /* SIZE_MAX: a root */
	size_t child, next;    /* first child, next sibling, most bytes first; SIZE_MAX: none */
};
struct gp_tree {
	size_t nodes, root; /* the first root */
	bool is_of_modules; /* a node's frame has the name as `function`, the class as `module` */
	struct gp_tree_node *node;
};
/* By GP_BY_MODULE: a tree of modules. Otherwise ignores `by`. Free with gp_tree_free. */
enum gp_status gp_tree_build(struct gp_recording *recording, const struct gp_use *use, size_t uses,
			     const struct gp_grouping *how, struct gp_tree *out);
void gp_tree_free(struct gp_tree *tree);

/* Allocations on one device: blocks of the framework, or memory of the driver. */
struct gp_top_curve {
	unsigned device;
	enum gp_curve of; /* ALLOCATED or DRIVER; of the host: PINNED */
	uint64_t bytes, count, live_bytes, live_count, freed, short_lived;
	size_t uses;
	struct gp_use *use; /* most bytes first */
};
struct gp_top {
	size_t curves;
	struct gp_top_curve *curve;
	/* PINNED; its device is UNKNOWN. NULL: no pinned memory was allocated */
	struct gp_top_curve *host;
	struct gp_range_paths *ranges; /* ranges of the uses; NULL: not requested */
};
/*
 * Adds up by stack the memory that was allocated from from_ns to to_ns. Live: at to_ns. If from_ns
 * is INT64_MIN, that includes memory allocated before the kept events. Freed: counts only memory
 * that was allocated in the span, by kept events. Short-lived: freed within short_ns. One replay;
 * needs memory for the live set and for each different stack. Free with gp_top_free.
 */
enum gp_status gp_top_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			    int64_t short_ns, struct gp_top *out);
/* The same, with what `with` (bits of enum gp_with) requests. */
enum gp_status gp_top_build_with(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				 int64_t short_ns, unsigned with, struct gp_top *out);
void gp_top_free(struct gp_top *top);
/* Median lifetime of the freed memory, within an eighth; -1: none was freed. */
int64_t gp_use_median_ns(const struct gp_use *use);

/* A clean copy, written to `fd`. The caller opens an empty file and closes it. */
struct gp_copy {
	int fd;
	enum gp_status status; /* of writing; of reading if no data could be read */
	/* written; dropped as incomplete, and the records in these */
	uint64_t blocks, dropped, dropped_records;
};

/*
 * Checks every byte and writes findings to `report`. `copy` may be NULL. Only copy->status reports
 * whether the copy succeeded.
 */
enum gp_status gp_verify(const char *path, struct gp_copy *copy, FILE *report);

/* State of a ring file of this user. */
struct gp_process {
	unsigned pid;
	char ring_path[256];
	char output[1024];
	bool is_alive;
	unsigned rings;
	uint64_t bytes; /* size of the ring file */
	/* enum gp_level of format/layout.h: 1 off, 2 memory only, 3 everything */
	unsigned level, requested_level;
	uint64_t next_order, drained, lost_memory, lost_launch, lost_other;
};
/* Calls `visit` for each ring file of this user in every ring place. */
enum gp_status gp_process_visit(void (*visit)(void *context, const struct gp_process *),
				void *context);
/* Why gp_process_visit does not list a process. */
enum gp_no_events {
	GP_SILENT_NONE,	     /* no process has this number */
	GP_SILENT_STRANGER,  /* it belongs to another user */
	GP_SILENT_ELSEWHERE, /* it records, but its rings are outside of the searched places */
	GP_SILENT_ENDED,     /* its recording has ended; the process still runs */
	GP_SILENT_EARLY,   /* the library is loaded; no event has come yet, or it must not record */
	GP_SILENT_APART,   /* the library is not loaded */
	GP_SILENT_UNKNOWN, /* the kernel does not show the process */
};
struct gp_not_recording {
	enum gp_no_events why;
	unsigned uid;	     /* user of the process; not set for NONE */
	char ring_path[512]; /* STRANGER, ELSEWHERE: its rings; "": not found */
};
struct gp_not_recording gp_process_not_recording(unsigned pid);
/* Sets requested_level of a running process. GP_E_OPEN: no such recording process. */
enum gp_status gp_process_set_level(unsigned pid, unsigned level);
/*
 * Makes a running process write all events so far, and waits at most `patience_ms` for it. On
 * success its recording, out->output, has all events before the order *order. `out` is the state at
 * the time of the request. GP_E_OPEN: no such recording process. GP_E_TRUNCATED: it ended before it
 * answered. GP_E_BUSY: it did not answer in time.
 */
enum gp_status gp_process_snapshot(unsigned pid, unsigned patience_ms, struct gp_process *out,
				   uint64_t *order);

/*
 * Adopts rings of this user's dead processes from the ring places into their recordings, and
 * removes them. *adopted is the number of ring files that were completed; `report` gets a line for
 * each. Both may be NULL. Rings stay for 7 days if their recording is not at its path. Rings beside
 * a recording are ignored, because they may be copies from elsewhere. Only gp_adopt_into uses them,
 * for that recording alone.
 */
enum gp_status gp_adopt(unsigned *adopted, FILE *report);
/*
 * Adopts only the rings that `recording` names, even if it was moved. Waits at most *wait_ns for
 * another process that adopts them, and subtracts the time waited. NULL: does not wait.
 */
enum gp_status gp_adopt_into(const char *recording, uint64_t *wait_ns, unsigned *adopted,
			     FILE *report);
#define GP_ADOPT_WAIT_NS 10000000000u /* the longest acceptable wait for a user */

/*
 * Hashes with a secret of the process, for tables that a recording fills. The writer of a recording
 * therefore cannot force collisions. No visible order may depend on the hash.
 */
uint64_t gp_hash_pair(uint64_t a, uint64_t b);
uint64_t gp_hash_text(const char *text);

/* Options: one table for GPUPROF_* variables, `gpuprof run` flags and docs/ENVIRONMENT.md. */
struct gp_option {
	const char *variable; /* "GPUPROF_OUTPUT" */
	const char *flag;     /* "output"; NULL: no flag */
	char letter;	      /* 'o'; 0: none */
	const char *value;    /* "PATTERN"; NULL: a switch */
	const char *initial;  /* default, as text */
	const char *text;
};
size_t gp_options(const struct gp_option **out);

#endif
