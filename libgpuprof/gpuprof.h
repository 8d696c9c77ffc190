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

#include "format/event.h"
#include "format/name_fields.h"
#include "format/on_off.h"
#include "format/status.h"

#define GP_VERSION "0.1.0"

struct gp_recording;
struct gp_live;

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
	bool has_uncertain_peaks; /* the last of them reaches the end, or the end is missing */
	uint64_t missed_routes;	  /* look-ups that were answered past the recorder */
	uint64_t kept_bytes;	  /* of the file: those of kept events, without what is left over */
	uint64_t file_bytes;
	uint64_t segments, blocks;
	size_t damages;
	const struct gp_damage *damage;
	const char *driver;  /* "13.0"; NULL unknown */
	const char *pytorch; /* "2.11.0+cu130"; NULL unknown */
	bool has_stacks, has_python, has_tier_b, has_device_used, has_ranges, has_steps;
};

/* Figures need one replay of the retained events: done at the first call, kept. */
enum gp_status gp_recording_info(struct gp_recording *recording, const struct gp_info **out);

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
 * The live state as of the event that gp_recording_next returned last; ask again after each event.
 */
const struct gp_live *gp_recording_live(const struct gp_recording *recording);

/* What that state says of a device (GP_DEVICE_UNKNOWN included). False: nothing was seen of it. */
struct gp_curves {
	uint64_t now_bytes[GP_CURVES];
	uint64_t peak_bytes[GP_CURVES]; /* since the start */
	int64_t peak_at_ns[GP_CURVES];
};
bool gp_recording_curves(const struct gp_recording *recording, unsigned device,
			 struct gp_curves *out);

/*
 * A live allocation, mapping or block: see struct gp_live_entry for what the fields of VMM spaces
 * mean.
 */
struct gp_allocation {
	uint64_t address, bytes, owner, stream;
	int64_t at_ns;
	uint32_t stack;
	uint8_t space, device;
	uint16_t flags;
	bool is_segment; /* blocks of the framework lie in it */
};
/* Calls `visit` for each live entry as of now, in no order. */
void gp_recording_visit_live(struct gp_recording *recording,
			     void (*visit)(void *context, const struct gp_allocation *),
			     void *context);

/* Name of a kernel handle at the current moment; NULL unknown. */
const char *gp_recording_kernel_name(const struct gp_recording *recording, uint64_t handle);
/*
 * Text that a definition gave to a key at the current moment: KERNEL, STREAM, MODULE, CONTEXT by
 * handle or base, FACT and THREAD by aux, GPU by device. NULL unknown.
 */
const char *gp_recording_text(const struct gp_recording *recording, enum gp_kind kind,
			      uint64_t key);
/* The moment of a clock value (record.time). */
int64_t gp_recording_ns(const struct gp_recording *recording, uint64_t ticks);
/* As given to gp_recording_open. */
const char *gp_recording_path(const struct gp_recording *recording);

struct gp_point {
	int64_t at_ns;
	uint64_t bytes[GP_CURVES];
};
struct gp_mark {
	int64_t at_ns;
	uint64_t bytes;
	bool is_framework; /* OOM of the framework, else refused by the driver */
	/*
	 * What the job met as out of memory: an OOM of the framework, which may have asked the
	 * driver again and again; a refusal of the driver where no framework reported one.
	 */
	bool is_oom;
};
struct gp_timeline_device {
	unsigned device;
	uint64_t peak_bytes[GP_CURVES];
	int64_t peak_at_ns[GP_CURVES];
	size_t points;
	const struct gp_point
		*point; /* by time; the peaks are always among them when they are retained */
	size_t ooms;	/* marks, by time */
	const struct gp_mark *oom;
	size_t out_of_memory, refused; /* of the marks: with is_oom, without is_framework */
};
struct gp_timeline {
	size_t devices;
	struct gp_timeline_device *device;
};
/*
 * Replays [from_ns, to_ns] into at most `points` (16 or more) points a device. Peaks are exact and
 * since the start when the whole recording is asked for (from 0, to INT64_MAX). Free with
 * gp_timeline_free.
 */
enum gp_status gp_timeline_build(struct gp_recording *recording, size_t points, int64_t from_ns,
				 int64_t to_ns, struct gp_timeline *out);
void gp_timeline_free(struct gp_timeline *timeline);

/*
 * Checks every byte; writes findings to `report`. `repaired` (may be NULL): path of a clean copy to
 * write, O_EXCL, 0600.
 */
enum gp_status gp_verify(const char *path, const char *repaired, FILE *report);

/* A clean copy on its way to `fd`, which the caller opened, empty, and closes. */
struct gp_copy {
	int fd;
	enum gp_status status; /* of writing it; where nothing could be read, of reading */
	uint64_t blocks, dropped, dropped_records; /* kept; not whole, and what they held */
};

/* As gp_verify, which is about `path` alone: how the copy went is said by copy->status. */
enum gp_status gp_verify_copy(const char *path, struct gp_copy *copy, FILE *report);

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
/* Sets want_level of a running process. GP_E_OPEN: no such recording process. */
enum gp_status gp_process_set_level(unsigned pid, unsigned level);

/*
 * Adopts the rings of dead owners of this user into their recordings and removes them: those in the
 * ring places and in the working directory, or in the directory of `recording` (rings lie there
 * when /dev/shm is too small). *adopted, the number of ring files done with, and `report`, a line
 * each, may be NULL. Rings whose recording is not at its path stay, for 7 days.
 */
enum gp_status gp_adopt(unsigned *adopted, FILE *report);
/* Without those of `recording` first: whoever reads it calls gp_adopt_into before. */
enum gp_status gp_adopt_all_beside(const char *recording, unsigned *adopted, FILE *report);
/* gp_adopt_into, then gp_adopt_all_beside. */
enum gp_status gp_adopt_beside(const char *recording, unsigned *adopted, FILE *report);
/*
 * Only the rings that `recording` names, also when it was moved. Waits for another process that
 * adopts them, at most *wait_ns, which is lessened by that; NULL: not at all.
 */
enum gp_status gp_adopt_into(const char *recording, uint64_t *wait_ns, unsigned *adopted,
			     FILE *report);
#define GP_ADOPT_WAIT_NS 10000000000u /* as long as anybody should be kept waiting */

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
