/* The state of one job for `watch`, the choices of the user, and the last intervals. */
#ifndef WATCH_VIEW_H
#define WATCH_VIEW_H

#include "../report/report.h"

#define GP_WATCH_INTERVALS 120u /* kept for the curves' history */

enum gp_watch_sort { GP_WATCH_BYTES, GP_WATCH_GROWTH, GP_WATCH_COUNT, GP_WATCH_SORTS };
extern const char *const gp_watch_sorts[GP_WATCH_SORTS];

#define GP_WATCH_BYS 7u
struct gp_watch_by {
	const char *word;
	enum gp_by by;
};
extern const struct gp_watch_by gp_watch_bys[GP_WATCH_BYS];

/* State at the end of an interval. */
struct gp_watch_moment {
	int64_t clock_ns; /* monotonic */
	uint64_t events;
	uint64_t bytes[GP_DEVICES][GP_CURVES];
};

/* The last result of watch_roles.c, and that of the mark. */
#define GP_WATCH_ROLES (4u * GP_MEMORY_ROLES) /* of the first devices */
struct gp_watch_role {
	int64_t at_ns;
	unsigned device;
	char key[24];
	uint64_t bytes, count;
};
struct gp_watch_roles {
	int child, fd; /* child 0: none */
	int64_t due_ns;
	size_t records, rows, marks; /* of `coming`, `now`, `mark` */
	bool has_rows, is_marked, is_too_large;
	struct gp_watch_role coming[GP_WATCH_ROLES], now[GP_WATCH_ROLES], mark[GP_WATCH_ROLES];
};

struct gp_watch_view {
	const char *path;
	char *word; /* the path as a word of a command line */
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_watch *watch;
	/* choices */
	unsigned by; /* of gp_watch_bys */
	unsigned sort;
	int64_t device; /* of the rows; -1: the first one */
	uint64_t top;
	bool is_json, is_paused, has_help;
	char message[1024]; /* in the last line; "": none */
	/* of the last intervals; number k is at k % GP_WATCH_INTERVALS */
	uint64_t intervals;
	struct gp_watch_moment moment[GP_WATCH_INTERVALS];
	int64_t mark_ns; /* moment of the mark */
	/* gp_watch_view_keep: rows, what they are for, and when they are made again */
	struct gp_watch_rows rows;
	unsigned rows_by, rows_device;
	int64_t rows_due_ns;
	struct gp_watch_roles roles;
};

/* Opens the recording and its watch. False: the error is printed, and *exit_status is set. */
bool gp_watch_view_open(struct gp_watch_view *view, const char *path, int *exit_status);
/* One interval. After the end of the job it also reads what the job left. False: as above. */
bool gp_watch_view_refresh(struct gp_watch_view *view, int *exit_status);
void gp_watch_view_close(struct gp_watch_view *view);

/* Events a second in the last 5 intervals; negative: unknown. */
double gp_watch_events(const struct gp_watch_view *view);
/* Rows of a device, sorted, the empty ones left out. Free with gp_watch_rows_free. */
enum gp_status gp_watch_view_rows(const struct gp_watch_view *view, unsigned device,
				  struct gp_watch_rows *out);
/*
 * The same for the shown device, kept in the view. Where they take long, they are of an earlier
 * interval, so that they take at most 1% of the time.
 */
enum gp_status gp_watch_view_keep(struct gp_watch_view *view);
/* The moment of the mark of the shown groups. */
int64_t gp_watch_view_mark_ns(const struct gp_watch_view *view);
/* For the grouping by role: starts the child, or takes its result. Call it in each interval. */
void gp_watch_roles_tend(struct gp_watch_view *view);
void gp_watch_roles_end(struct gp_watch_view *view);
/* As gp_watch_rows_build; at_ns -1: not known yet. */
enum gp_status gp_watch_roles_rows(const struct gp_watch_view *view, unsigned device,
				   struct gp_watch_rows *out);
/* The device of the rows: info->device[]; SIZE_MAX: none yet. */
size_t gp_watch_view_device(const struct gp_watch_view *view);
static inline int64_t gp_watch_growth(const struct gp_watch_row *row)
{
	return (int64_t)(row->bytes - row->marked_bytes);
}

/*
 * Writes the state as lines of at most `columns`, without colours unless the report has them.
 * `rows`: of a screen that they fill, with the keys in the last one; 0: as many as needed.
 */
enum gp_status gp_watch_print(struct gp_watch_view *view, FILE *out, unsigned columns,
			      unsigned rows);
/* Writes the state as one line. */
enum gp_status gp_watch_write_json(const struct gp_watch_view *view, FILE *out);

#endif
