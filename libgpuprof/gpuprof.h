/*
 * The reading API of gpuprof: open a recording, iterate its events in exact order, replay, ask. All
 * that tools/ may include. Not thread-safe: one recording, one thread. Moments (`*_ns`) count from
 * start_unix_ns unless said; sizes are bytes. Functions return enum gp_status and give results
 * through out-parameters; strings belong to the recording and live until it is closed.
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
#include "gpuprof_diff.h"
#include "gpuprof_frag.h"
#include "gpuprof_history.h"
#include "gpuprof_idle.h"
#include "gpuprof_leaks.h"
#include "gpuprof_memory.h"
#include "gpuprof_oom.h"
#include "gpuprof_phases.h"
#include "gpuprof_ranges.h"
#include "gpuprof_stacks.h"
#include "gpuprof_steps.h"

#define GP_VERSION "0.1.0"

struct gp_recording;

/* A damaged place: `what` says what was expected there. */
struct gp_damage {
	uint64_t offset; /* in the file */
	uint64_t block;	 /* number of the block in reading order */
	char what[160];
};

/*
 * Opens and indexes a recording; adopts nothing by itself (gp_adopt does). On failure *out is NULL
 * and `why` (may be NULL) says what was expected where. A file whose tail is torn or that has
 * damaged blocks opens: see gp_info.
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

/* In which all was recorded that was asked for. */
struct gp_scope_span {
	int64_t from_ns, to_ns;
	unsigned opened_by, closed_by; /* enum gp_scope_by; 0: not known, or not yet */
	bool is_open;		       /* at the end of what is kept, which is to_ns then */
};

struct gp_info {
	unsigned format_major, format_minor;
	unsigned pid;
	const char *command;
	const char *hostname;
	const char *ring_place; /* "shm /dev/shm", ...; NULL unknown */
	uint64_t start_unix_ns;
	uint64_t duration_ns;  /* from the start to the last event or block */
	uint64_t kept_from_ns; /* where the retained events begin: 0 when nothing was overwritten */
	bool is_sealed;	       /* by its owner, or adopted whole */
	/* not sealed, and its owner lives: all figures are of the moment duration_ns */
	bool is_running;
	/* not sealed, its owner is dead: the ring file that had the rest; NULL: none is known */
	const char *ring_left;
	bool is_anothers; /* not sealed, and its rings are another user's: it may be running */
	bool is_complete; /* sealed, and without a hole */
	/*
	 * blocks could not be written and no checkpoint came since, or it is a copy of a recording
	 * without its end: figures are too low
	 */
	bool has_hole;
	uint64_t failed_blocks; /* that could not be written, since the start */
	bool is_damaged;
	size_t devices;
	const struct gp_info_device *device;
	uint64_t threads;	   /* since the start */
	uint64_t kept_events;	   /* retained */
	uint64_t counts[GP_KINDS]; /* since the start, by kind */
	uint64_t kept[GP_KINDS];   /* retained, by kind */
	/* retained, as gp_launched_as counts them */
	uint64_t launches, captured_launches, graph_launches;
	uint64_t lost_memory, lost_launch, lost_other, nested;
	uint64_t framework_events, mismatches, anomalies;
	/* the moments at which recording went on after a gap: as far as they are kept */
	size_t gaps;
	const int64_t *gap_ns;
	bool has_gap; /* it was stopped, or began late: also when the moment is not kept */
	bool is_late; /* nothing was recorded before the first gap */
	bool has_framework_late; /* the framework had blocks before the recording began */
	/*
	 * spans in which events are missing: damage, losses, holes before a missing end, until a
	 * checkpoint knows better
	 */
	size_t uncertains;
	const struct gp_span *uncertain;
	/* of pinned memory: no checkpoint of an older format has it, and the start is not kept */
	bool has_uncertain_pinned;
	bool has_uncertain_peaks; /* the last of them reaches the end, or the end is missing */
	uint64_t stacks;	  /* different ones, as far as they are kept */
	uint64_t stacks_cut;	  /* events whose stack found no room */
	uint64_t ranges_unnamed;  /* ranges and marks whose name found no room */
	uint64_t names_cut;	  /* names of ranges that are not there in full */
	/* more than 2^21 definitions of a kind, such as names of ranges: some are unknown */
	bool has_definitions_left_out;
	const char *nvtx_why;  /* why ranges of NVTX are not there; NULL: nothing is known */
	const char *torch_why; /* likewise PyTorch's own */
	/*
	 * Where that is a part of the time only: elsewhere memory events alone were recorded. What
	 * was asked for, as words of options; NULL: orders of gpuprof ctl made it so.
	 */
	bool is_captured_in_part;
	const char *capture_rule;
	uint64_t captures, captured_ns; /* spans since the start, and how long in all */
	size_t captureds;
	const struct gp_scope_span *captured; /* those that are kept, by time */
	/* enum gp_scope_by: the last span ended the recording, the job went on; 0: it did not */
	unsigned ended_by;
	/* each so many launches of a thread have a stack; 0: none have, or an older recorder */
	uint64_t launch_every;
	/* why stacks lack frames that were asked for; the option that switched them off; or NULL */
	const char *no_python, *no_native, *no_stacks;
	bool has_frame_pointers; /* native frames were found along them */
	/*
	 * Names stored in the recording (gp_recording_symbolize): different native frames, and of
	 * how many the function is known; 0 when none are stored.
	 */
	uint64_t native_frames, named_frames;
	uint64_t names_bytes; /* of the file */
	/* the stored names cannot be read and are left out; figures are none the worse. NULL: no */
	const struct gp_damage *names_damage;
	bool has_old_names;	/* names of format 1.8 and older are stored, and not read */
	uint64_t missed_routes; /* look-ups that were answered past the recorder */
	uint64_t kept_bytes;	/* blocks of the kept segments, without header, holes and names */
	uint64_t file_bytes;
	uint64_t segments, blocks;
	size_t damages;
	const struct gp_damage *damage;
	const char *driver;  /* "13.0"; NULL unknown */
	const char *pytorch; /* "2.11.0+cu130"; NULL unknown */
	/* "NAME=value" of PYTORCH_CUDA_ALLOC_CONF and of PYTORCH_ALLOC_CONF; NULL: not told */
	const char *alloc_conf;
	bool is_allocator_asked;   /* has_allocator_details says with what success */
	const char *allocator_why; /* what it said to that; NULL: nothing */
	bool has_uses;		   /* which memory launches, copies and fills use was recorded */
	const char *no_uses; /* why not, though it was asked for; NULL: it was not, or they were */
	/* allocations whose uses are not told: a power of two, that many at least */
	uint64_t uses_beyond;
	bool has_stacks, has_native, has_python, has_allocator_details, has_device_used, has_ranges,
		has_steps;
	/* of what is kept: ranges or marks of NVTX or PyTorch's own; those of autograd's engine */
	bool has_named, has_backward;
};

/* Figures need one replay of the retained events: done at the first call, kept. */
enum gp_status gp_recording_info(struct gp_recording *recording, const struct gp_info **out);

/* Was all recorded then that was asked for? As far as it is kept. */
bool gp_info_is_captured(const struct gp_info *info, int64_t at_ns);

/* An event as readers see it: the record, its moment, its thread, its text (DEFINE kinds). */
struct gp_event {
	struct gp_record record;
	int64_t at_ns;
	uint32_t thread; /* block thread number */
	uint32_t tid;	 /* 0 unknown */
	const char *text;
	size_t text_bytes;
};

/* Events in exact order from the first retained one. GP_END after the last. */
enum gp_status gp_recording_next(struct gp_recording *recording, struct gp_event *out);
/* Back to the first retained event (checkpoint state loaded). */
enum gp_status gp_recording_rewind(struct gp_recording *recording);
/*
 * Of a device (GP_DEVICE_UNKNOWN included), as of the event that gp_recording_next returned last.
 * False: nothing was seen of it.
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
/*
 * Text that a definition gave to a key at the current moment: KERNEL, STREAM, CONTEXT by handle,
 * FACT, THREAD, MODULE and RANGE_NAME by aux, OBJECT_NAME by GP_OBJECT_KEY, GPU by device. NULL
 * unknown, also before the first event: gp_info has what holds for all of the recording.
 */
const char *gp_recording_text(const struct gp_recording *recording, enum gp_kind kind,
			      uint64_t key);
/* As given to gp_recording_open. */
const char *gp_recording_path(const struct gp_recording *recording);
/*
 * From now on each replay reports how far it is, block by block: `done` of the `bytes` of the file;
 * `pass` counts replays from 1.
 */
void gp_recording_watch(struct gp_recording *recording,
			void (*visit)(void *context, uint64_t done, uint64_t bytes, unsigned pass),
			void *context);

/* ---- names that travel with the recording ---- */

/* How gp_recording_symbolize goes about it; zeros: to the end, in silence. */
struct gp_symbolizing {
	/*
	 * Asked often, also within one module: how many of how many frames are done. True ends the
	 * looking up; what was found until then is stored. NULL: never.
	 */
	bool (*is_over)(void *context, uint64_t done, uint64_t frames);
	void *context;
};
/* Frames of one module that have no name, and why the first of them has none. */
struct gp_unnamed {
	const char *module; /* path */
	const char *why;
	uint64_t frames;
};
/*
 * The different native frames that gp_recording_stack met so far, or a report made of stacks, and
 * that have no name for a reason that a person can mend: the module's file is gone, rebuilt or
 * unreadable. By module, most frames first; valid until the next call. GP_E_MEMORY.
 */
enum gp_status gp_recording_unnamed(struct gp_recording *recording, const struct gp_unnamed **out,
				    size_t *modules);
struct gp_symbolized {
	uint64_t frames;  /* different native frames of the recording's stacks */
	uint64_t named;	  /* their functions are known now */
	uint64_t added;	  /* of these: not before */
	uint64_t nowhere; /* in no module that is known: made at run time */
	/* not looked up: the limit was reached, or memory; one for each address that lies in more
	 * modules than are looked up */
	uint64_t waiting;
	uint64_t names_bytes; /* of the file, that names take now */
	bool is_written;      /* false: the file knew all that already, or there is nothing */
	size_t unnamed_modules;
	struct gp_unnamed *unnamed; /* most frames first; those in no module are not among them */
	/* stored names that cannot be read, and are replaced when it ends well; NULL: none */
	const struct gp_damage *dropped;
	/*
	 * why it failed, a text that holds until the recording is closed; NULL: the status says
	 * it all
	 */
	const char *obstacle;
};
/*
 * Looks up the native frames of all stacks of a finished recording on this machine and stores in
 * its file what was found, or why nothing was, so that it reads alike where its libraries are not.
 * What is stored already is kept, what was missing is added. Needs the right to write to the file;
 * whenever it is stopped, the file is whole and says at least what it said before. Rewinds; what
 * the open recording answers stays as it was until it is opened again.
 * GP_E_BUSY: its process writes on, or another one writes names. GP_E_TRUNCATED: it has no end.
 * GP_E_VERSION: a newer minor version wrote it. GP_E_DAMAGED: a part of it, or its names where
 * none was found to put in their place. GP_E_OPEN, GP_E_SPACE, GP_E_IO, GP_E_MEMORY. Free with
 * gp_symbolized_free, also after a failure.
 */
enum gp_status gp_recording_symbolize(struct gp_recording *recording,
				      const struct gp_symbolizing *how, struct gp_symbolized *out);
void gp_symbolized_free(struct gp_symbolized *symbolized);

struct gp_point {
	int64_t at_ns;
	uint64_t bytes[GP_CURVES];
	/* of the framework's gaps, where they were asked for: see gp_gap_ratio */
	uint64_t free_bytes, largest_free_bytes;
};
struct gp_mark {
	int64_t at_ns;
	uint64_t bytes;
	uint64_t order;	   /* of its event */
	bool is_framework; /* reported by the framework, else a failed CUDA call */
	bool is_oom;	   /* one that gp_ooms_build lists */
};
struct gp_timeline_device {
	unsigned device;
	uint64_t peak_bytes[GP_CURVES];
	int64_t peak_at_ns[GP_CURVES];
	size_t points;
	const struct gp_point
		*point; /* by time; the peaks are always among them when they are retained */
	size_t marks;	/* OOMs and failed CUDA calls, by time */
	const struct gp_mark *mark;
	size_t ooms, failed_calls; /* of the marks: with is_oom, without is_framework */
	bool has_gaps;		   /* their figures are in the points */
};
/*
 * Of the host: page-locked memory of the process. A gp_timeline_device of it has these in place of
 * a device's curves; peak_bytes and peak_at_ns of REGISTERED are those at the peak of PINNED.
 */
enum gp_host_curve {
	GP_HOST_PINNED = 0,	/* allocated by the driver, and registered */
	GP_HOST_REGISTERED = 1, /* of these: the job's own pages that it registered */
};
struct gp_timeline {
	size_t devices;
	/* of gaps: some events need more work than the limit, so figures lag behind */
	bool has_late_gaps;
	struct gp_timeline_device *device;
	struct gp_timeline_device *host; /* NULL: no host memory was pinned */
};
/*
 * Replays [from_ns, to_ns] into at most `points` (16 or more) points a device. Peaks are exact and
 * since the start when the whole recording is asked for (from 0, to INT64_MAX). Free with
 * gp_timeline_free.
 */
enum gp_status gp_timeline_build(struct gp_recording *recording, size_t points, int64_t from_ns,
				 int64_t to_ns, struct gp_timeline *out);
/* The same with the gaps: their lowest and highest values are kept as well. */
enum gp_status gp_timeline_build_gaps(struct gp_recording *recording, size_t points,
				      int64_t from_ns, int64_t to_ns, struct gp_timeline *out);
void gp_timeline_free(struct gp_timeline *timeline);

/* ---- who holds memory, and who asks for it ---- */

/*
 * Memory of one stack and one kind, or of several that were added up. gp_peak_build fills in what
 * was live at its moment; gp_top_build what was asked for in its span and all that follows.
 */
struct gp_use {
	uint32_t stack;			   /* 0: none, then `without` says why */
	int64_t at_ns;			   /* a moment at which it was, for gp_recording_stack */
	const char *without;		   /* a text that holds for ever; NULL: there is a stack */
	uint8_t space;			   /* enum gp_space; GP_SPACE_NONE: unknown */
	bool is_segment;		   /* the framework's blocks lie in it */
	const struct gp_range_path *range; /* in which it was allocated; NULL: nobody asked */
	uint64_t bytes, count;
	uint64_t live_bytes, live_count;  /* of that live at the end of the span */
	uint64_t freed, short_lived;	  /* how many were freed, and how many of them soon */
	const struct gp_lifetimes *lives; /* of those freed; NULL: none */
};

enum gp_moment { GP_AT_PEAK, GP_AT_OOM, GP_AT_TIME };

/* Who held the bytes of one curve of one device at one moment. */
struct gp_holders {
	unsigned device;
	enum gp_curve of;
	int64_t at_ns;
	uint64_t live_bytes; /* of the curve at that moment: what the uses add up to */
	/* of them may be gone, or no event accounts for them; these are uses without a stack */
	uint64_t uncertain_bytes;
	uint64_t peak_bytes; /* of the curve since the start, and its moment */
	int64_t peak_at_ns;
	/* GP_AT_PEAK: the peak lies before what is kept; this is the highest kept moment */
	bool is_overwritten;
	size_t uses;
	struct gp_use *use; /* most bytes first */
	/* of the event that reached the moment; NULL: ranges were not asked for or not known */
	const struct gp_range_path *range;
};
struct gp_peak {
	size_t holders; /* by device, then ALLOCATED, RESERVED, DRIVER: those with a peak */
	struct gp_holders *holder;
	struct gp_holders *host;       /* PINNED; its device is UNKNOWN. NULL: there was none */
	struct gp_range_paths *ranges; /* of the uses; NULL: nobody asked */
};
/*
 * What was live on each device: at the exact peak of each curve; when it first ran out of memory,
 * as the framework told, else as the driver did (devices that never did are left out); or after
 * the last event not later than `at_ns`, which counts for GP_AT_TIME only. Two replays; memory by
 * the live set's different stacks. Free with gp_peak_free.
 */
enum gp_status gp_peak_build(struct gp_recording *recording, enum gp_moment moment, int64_t at_ns,
			     struct gp_peak *out);
/*
 * The same by ranges, too, with the forwards that the job does not name (one more replay, where it
 * has ranges); names that count up are one, "step #". Uses without a `range` are those that no
 * event accounts for.
 */
enum gp_status gp_peak_build_ranges(struct gp_recording *recording, enum gp_moment moment,
				    int64_t at_ns, struct gp_peak *out);
void gp_peak_free(struct gp_peak *peak);

enum gp_by {
	GP_BY_STACK,
	GP_BY_OPERATOR,
	GP_BY_NODE,
	GP_BY_LIBRARY,
	GP_BY_LINE,
	GP_BY_KIND,
	GP_BY_RANGE
};

/* Uses with one key. */
struct gp_group {
	char *key;	   /* a text; no two groups have the same */
	struct gp_use use; /* the sums; stack, at_ns, space: of its use with most bytes */
	size_t stacks;	   /* different ids */
	bool is_rest;	   /* what the filter left out, or has no stack */
	bool is_asked;	   /* the filter let it through */
	const char *cut;   /* GP_BY_STACK: why its outermost frames are missing; NULL: none are */
};
struct gp_groups {
	size_t groups;
	struct gp_group *group; /* most bytes first, the rest behind, last what was not asked for */
	size_t matched;		/* uses that the filter let through */
	char libraries[256];	/* that were met, "cuBLAS, PyTorch" */
};
struct gp_grouping {
	enum gp_by by;
	bool is_native;	     /* frames that tell a person nothing count, and are shown, too */
	const char *library; /* NULL: all; what is not its stands in a group of its own */
	const char *range;   /* likewise; what gp_range_path_has is asked of */
};
/*
 * Adds uses up by key. GP_BY_STACK: stacks whose frames read alike are one; where the keys of two
 * are the same, a frame in which they differ is added to them. What has no stack is a
 * group a reason. Symbols are looked up, once a stack. Free with gp_groups_free.
 */
enum gp_status gp_groups_build(struct gp_recording *recording, const struct gp_use *use,
			       size_t uses, const struct gp_grouping *how, struct gp_groups *out);
void gp_groups_free(struct gp_groups *groups);

/* Uses as a call tree, outermost frame first; without `is_native` of frames that tell something. */
struct gp_tree_node {
	struct gp_frame frame; /* `unknown` alone: why there is no stack */
	uint64_t bytes, count; /* its own and all below */
	size_t parent;	       /* SIZE_MAX: a root */
	size_t child, next;    /* first child, next sibling, most bytes first; SIZE_MAX: none */
};
struct gp_tree {
	size_t nodes, root; /* the first root */
	struct gp_tree_node *node;
};
/* Of a grouping `by` does not count. Free with gp_tree_free. */
enum gp_status gp_tree_build(struct gp_recording *recording, const struct gp_use *use, size_t uses,
			     const struct gp_grouping *how, struct gp_tree *out);
void gp_tree_free(struct gp_tree *tree);

/* What was asked for on one device: blocks of the framework, or memory of the driver. */
struct gp_asked {
	unsigned device;
	enum gp_curve of; /* ALLOCATED or DRIVER; of the host PINNED */
	uint64_t bytes, count, live_bytes, live_count, freed, short_lived;
	size_t uses;
	struct gp_use *use; /* most bytes first */
};
struct gp_top {
	size_t askeds;
	struct gp_asked *asked;
	struct gp_asked *host;	       /* PINNED; its device is UNKNOWN. NULL: none was asked for */
	struct gp_range_paths *ranges; /* of the uses; NULL: nobody asked */
};
/*
 * Adds up by stack what was allocated from from_ns to to_ns. Live: at to_ns; from the start
 * (from_ns INT64_MIN) that includes what is older than the events that are kept. Freed: of what was
 * allocated in the span and is kept. Short-lived: freed within short_ns. One replay; memory by the
 * live set and by different stacks. Free with gp_top_free.
 */
enum gp_status gp_top_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			    int64_t short_ns, struct gp_top *out);
/* The same by ranges, too, as gp_peak_build_ranges. */
enum gp_status gp_top_build_ranges(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				   int64_t short_ns, struct gp_top *out);
void gp_top_free(struct gp_top *top);
/* The median lifetime of what was freed, within an eighth; -1: nothing was. */
int64_t gp_use_median_ns(const struct gp_use *use);

/* A clean copy on its way to `fd`, which the caller opened, empty, and closes. */
struct gp_copy {
	int fd;
	enum gp_status status; /* of writing it; where nothing could be read, of reading */
	uint64_t blocks, dropped, dropped_records; /* kept; not whole, and what they held */
};

/*
 * Checks every byte; writes findings to `report`. `copy` may be NULL; how it went is said by
 * copy->status alone.
 */
enum gp_status gp_verify(const char *path, struct gp_copy *copy, FILE *report);

/* What a ring file of this user says. */
struct gp_process {
	unsigned pid;
	char ring_path[256];
	char output[1024];
	bool is_alive;
	unsigned rings;
	uint64_t bytes; /* of the ring file */
	unsigned level,
		/* enum gp_level of format/layout.h: 1 off, 2 memory only, 3 everything */
		want_level;
	uint64_t next_order, drained, lost_memory, lost_launch, lost_other;
};
/* Calls `visit` for each ring file of this user in every ring place. */
enum gp_status gp_process_visit(void (*visit)(void *context, const struct gp_process *),
				void *context);
/* Why a process is not among them. */
enum gp_no_events {
	GP_SILENT_NONE,	     /* there is none of that number */
	GP_SILENT_STRANGER,  /* it is another user's */
	GP_SILENT_ELSEWHERE, /* it records; its rings lie where was not looked */
	GP_SILENT_ENDED,     /* its recording has ended, it goes on */
	GP_SILENT_EARLY,     /* the library is in it: no event has come, or none is wanted */
	GP_SILENT_APART,     /* the library is not in it */
	GP_SILENT_UNKNOWN,   /* the kernel does not tell */
};
struct gp_not_recording {
	enum gp_no_events why;
	unsigned uid;	     /* whose it is; not of NONE */
	char ring_path[512]; /* of STRANGER, ELSEWHERE: its rings; "": they were not found */
};
struct gp_not_recording gp_process_not_recording(unsigned pid);
/* Sets want_level of a running process. GP_E_OPEN: no such recording process. */
enum gp_status gp_process_set_level(unsigned pid, unsigned level);
/*
 * Has a running process write all that it did until now, and waits for that at most `patience_ms`.
 * Then its recording, out->output, holds all that came before the event with the order *order; out
 * is what it was when it was asked. GP_E_OPEN: no such recording process. GP_E_TRUNCATED: it ended
 * before it answered. GP_E_BUSY: no answer.
 */
enum gp_status gp_process_snapshot(unsigned pid, unsigned patience_ms, struct gp_process *out,
				   uint64_t *order);

/*
 * Adopts the rings of dead owners of this user into their recordings and removes them: those in the
 * ring places. *adopted, the number of ring files done with, and `report`, a line each, may be
 * NULL. Rings whose recording is not at its path stay, for 7 days. A ring that lies beside a
 * recording may have come with it from anywhere: gp_adopt_into takes it, into that recording alone.
 */
enum gp_status gp_adopt(unsigned *adopted, FILE *report);
/*
 * Only the rings that `recording` names, also when it was moved. Waits for another process that
 * adopts them, at most *wait_ns, which is lessened by that; NULL: not at all.
 */
enum gp_status gp_adopt_into(const char *recording, uint64_t *wait_ns, unsigned *adopted,
			     FILE *report);
#define GP_ADOPT_WAIT_NS 10000000000u /* as long as anybody should be kept waiting */

/*
 * Hashes with a secret of the process, for tables of what a recording holds: its writer cannot
 * choose what shares a place. No order that a user sees may follow from them.
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
