/*
 * The report of `gpuprof frag` on one recording at one moment, in several forms. The command fills
 * it in; each form is a file frag_x.c.
 */
#ifndef FRAG_REPORT_H
#define FRAG_REPORT_H

#include "../io/json.h"
#include "gpuprof.h"

/* The use of private pools. */
enum gp_private_use {
	GP_PRIVATE_GRAPH,   /* one pool, in which a capture allocated */
	GP_PRIVATE_GRAPHS,  /* several of these */
	GP_PRIVATE_MEMPOOL, /* no capture allocated in it */
	GP_PRIVATE_EITHER,  /* captures may be missing in the recording */
};
extern const struct gp_private_text {
	const char *nouns, *advice, *brief;
} gp_private_texts[];
/*
 * Private pools other than the request's. Pools without a block are idle: they exist as long as
 * their graph or MemPool, whose end is not recorded.
 */
struct gp_frag_private {
	enum gp_private_use use;   /* of those with most free bytes */
	enum gp_private_use other; /* of those without a capture: MEMPOOL or EITHER */
	uint64_t idle_graph_bytes, idle_other_bytes;
};
/* frag_private.c */
struct gp_frag_private gp_frag_private(const struct gp_frag *frag);

struct gp_frag_device {
	struct gp_frag frag;
	struct gp_owners owners;
	struct gp_frag_born born;
	struct gp_unused_peak most; /* bytes 0: none; and its main cause */
	enum gp_cause most_cause;
	enum gp_private_use most_use;	/* of private pools, at that moment */
	uint64_t peak_bytes[GP_CURVES]; /* up to the moment; for the summary */
};
struct gp_frag_report {
	struct gp_recording *recording;
	const struct gp_info *info;
	const char *path;
	const char *at;	     /* as given; NULL: the default */
	const char *moment;  /* "when it ran out of memory"; NULL: a time of the user */
	char moment_key[32]; /* as an argument of `--at`: "oom:1", "peak:reserved"; "": `at` */
	struct gp_memory memory;
	struct gp_ooms ooms;
	struct gp_oom failed; /* at the moment; bytes 0: none */
	struct gp_allocator_settings settings;
	const char *not_known; /* unknown memory and settings, as text; NULL: all known */
	size_t devices;
	struct gp_frag_device *device;
	FILE *out;
	struct gp_json *json;
	uint64_t top;
	const char *all_text; /* the option that shows more rows; NULL: --top 0 */
	unsigned columns;
	bool is_ascii;
	bool has_roles;	  /* print the roles of the blocks that pin memory */
	bool has_holders; /* begin with the holders of memory, for a running job */
};

/* frag_print.c, frag_json.c, frag_summary.c, frag_map.c */
void gp_frag_print(const struct gp_frag_report *report);
/* The last line of each form: why figures may be wrong. */
void gp_frag_note_print(const struct gp_frag_report *report);
/* The first lines for one device: what fits, what is unused and why, what to do (frag_answer.c). */
void gp_frag_answer_print(const struct gp_frag_report *report, const struct gp_frag_device *device);
/* The cause of most unused bytes. */
enum gp_cause gp_frag_main_cause(const struct gp_frag *frag);
/* The first OOM of the device with most unused memory; NULL: none had unused memory. */
const struct gp_oom *gp_frag_worst_oom(const struct gp_frag_report *report, unsigned device);
/* frag_holders.c: the holders of memory at the moment. */
enum gp_status gp_frag_holders_print(const struct gp_frag_report *report);
enum gp_status gp_frag_holders_write(const struct gp_frag_report *report);
/* Whether `frag->fit` is the request that failed at this moment. */
bool gp_frag_has_failed(const struct gp_frag_report *report, const struct gp_frag *frag);
/* Parts of the report: the table of causes, the blocks that pin free memory. */
void gp_frag_causes_print(const struct gp_frag_report *report, const struct gp_frag *frag);
void gp_frag_pins_print(const struct gp_frag_report *report, const struct gp_frag *frag);
/* frag_roles.c: the blocks that pin free memory, by role. */
void gp_frag_roles_print(const struct gp_frag_report *report, const struct gp_frag *frag);
void gp_frag_roles_write(struct gp_json *json, const struct gp_frag *frag);
/* The first `most` blocks of a set, one a line after `indent` columns. */
void gp_frag_set_print(const struct gp_frag_report *report, const struct gp_block_set *set,
		       size_t most, int indent);
enum gp_status gp_frag_write(const struct gp_frag_report *report);
void gp_frag_summary_print(const struct gp_frag_report *report);
void gp_frag_map_print(const struct gp_frag_report *report);

struct gp_report_table;
/*
 * frag_rows.c: a table with a row for each device of each recording. False: out of memory, printed.
 */
void gp_frag_rows_begin(struct gp_report_table *table);
bool gp_frag_rows_add(struct gp_report_table *table, const struct gp_frag_report *report);

enum gp_frag_colour { GP_COLOUR_AGE, GP_COLOUR_STACK };
/* frag_svg.c: a complete picture. False: out of memory. */
bool gp_frag_draw(const struct gp_frag_report *report, enum gp_frag_colour colour);

/* The last line: `frag` with `options`, at the same moment. */
void gp_frag_next_print(const struct gp_frag_report *report, const char *options);

/* ---- texts of several forms ---- */

/* "when it ran out of memory, 1.2 s", "at 1.2 s" */
struct gp_frag_moment {
	char s[96];
};
struct gp_frag_moment gp_frag_moment(const struct gp_frag_report *report);

/* A pool: "large default, stream 0", "small private 0.1, stream 0x7e00". */
struct gp_frag_place {
	char s[96];
};
struct gp_frag_place gp_frag_place(const struct gp_arena *arena, bool is_small);
/* The operator and the user's line that allocated it, or why they are unknown. */
#define GP_SITE_MAX 256u
void gp_frag_site(const struct gp_frag_report *report, uint32_t stack, int64_t at_ns, char *out);

/* ---- keys that `oom` also writes ---- */

/* A number; null for GP_BYTES_UNKNOWN. */
void gp_known_write(struct gp_json *json, const char *key, uint64_t bytes);
void gp_frag_causes_write(struct gp_json *json, const struct gp_frag *frag);
/* At most `top` pins, 0: all. Optionally with the numbers of their stacks. Roles if known. */
void gp_frag_pins_write(struct gp_json *json, const struct gp_frag *frag, uint64_t top,
			bool has_stacks);
/* The addresses of the blocks. */
void gp_frag_set_write(struct gp_json *json, const char *key, const struct gp_memory *memory,
		       const struct gp_block_set *set);
/* `stream`, a number, and `pool`, a pair of numbers; null if unknown. */
void gp_arena_write(struct gp_json *json, const struct gp_arena *arena);

#endif
