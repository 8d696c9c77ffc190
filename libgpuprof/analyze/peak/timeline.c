/*
 * The three curves of each device, and that of the host, as at most N points. Time is cut into
 * buckets. For each curve, a bucket keeps its lowest and its highest sample. So no spike is lost,
 * and the peak is always included.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "../frag/gap_follow.h"
#include "../kept.h"
#include "timeline.h"

#define POINTS_MIN 16u
#define HOST GP_DEVICES /* index of the host's line */
#define ENDS 2u		/* the first and the last point of the range */
/* The series of each bucket: the curves, and with gaps two figures of these. */
enum { SERIES_LARGEST = GP_CURVES, SERIES_RATIO, SERIES };
#define PICKED (2u * SERIES)
#define TIME_ROUNDING_NS 100 /* blocks keep times in multiples of 64 ticks */
#define CUDA_ERROR_OUT_OF_MEMORY 2u

struct sample {
	uint64_t event; /* orders samples of one moment; 0: none yet */
	struct gp_point point;
};

struct bucket {
	struct sample low[SERIES], high[SERIES];
};

struct line {
	bool is_seen;
	struct bucket *bucket;
	size_t used; /* number of buckets */
	struct sample first, last;
	bool is_entered;  /* `first` is the state at the beginning of the range, the only sample */
	int64_t moved_ns; /* the most that a sample was moved to keep times sorted */
	uint64_t unmapped_bytes; /* the most */
	int64_t unmapped_at_ns;
	struct gp_mark *mark;
	size_t marks;
};

struct plot {
	struct gp_recording *recording;
	int64_t from_ns, to_ns;	   /* requested */
	int64_t start_ns, span_ns; /* range of the buckets: the part with events */
	size_t buckets;		   /* a power of two */
	size_t points;
	bool is_whole;	/* the whole recording was requested: figures are since the start */
	bool is_begun;	/* the replay has entered the range */
	bool is_inside; /* the event under way is in it */
	int64_t at_ns;	/* of that event */
	uint64_t event;
	struct line line[GP_DEVICES + 1];
	struct gp_timeline *out;
	struct gp_moved moved;
	unsigned series;	      /* GP_CURVES; SERIES with gaps */
	struct gp_gap_follow *follow; /* NULL: without gaps */
};

static double value_of(const struct gp_point *p, unsigned c)
{
	if (c < GP_CURVES)
		return (double)p->bytes[c];
	if (c == SERIES_LARGEST)
		return (double)p->largest_free_bytes;
	return gp_gap_ratio(p->free_bytes, p->largest_free_bytes);
}

static void keep_extremes(struct bucket *b, const struct sample *s, unsigned series)
{
	for (unsigned c = 0; c < series; c++) {
		double value = value_of(&s->point, c);
		if (b->low[c].event == 0 || value < value_of(&b->low[c].point, c))
			b->low[c] = *s;
		if (b->high[c].event == 0 || value > value_of(&b->high[c].point, c))
			b->high[c] = *s;
	}
}

static size_t bucket_of(const struct plot *p, int64_t at_ns)
{
	if (at_ns <= p->start_ns)
		return 0;
	uint64_t which = (uint64_t)((unsigned __int128)(uint64_t)(at_ns - p->start_ns) *
				    p->buckets / (uint64_t)p->span_ns);
	return which < p->buckets ? (size_t)which : p->buckets - 1;
}

static void read_curves(const struct gp_live *live, unsigned device, struct gp_point *out)
{
	if (device == HOST) {
		const struct gp_live_host *h = gp_live_host(live);
		out->bytes[GP_HOST_PINNED] = h->pinned.now_bytes;
		out->bytes[GP_HOST_REGISTERED] = h->registered_bytes;
		return;
	}
	for (unsigned c = 0; c < GP_CURVES; c++)
		out->bytes[c] = gp_live_device(live, device)->curve[c].now_bytes;
}

/* A device that first appears within the range has 0 bytes at its beginning. */
static bool line_open(struct plot *p, struct line *line, int64_t at_ns)
{
	line->bucket = calloc(p->buckets, sizeof *line->bucket);
	line->is_seen = line->bucket != NULL;
	if (!line->is_seen || p->is_whole || at_ns <= p->start_ns)
		return line->is_seen;
	line->first = (struct sample){ .event = ++p->event, .point.at_ns = p->start_ns };
	line->last = line->first;
	keep_extremes(&line->bucket[0], &line->first, p->series);
	return true;
}

static void see_unmapped(struct line *line, const struct gp_live_device *d, int64_t at_ns)
{
	if (d->unmapped_bytes <= line->unmapped_bytes)
		return;
	line->unmapped_bytes = d->unmapped_bytes;
	line->unmapped_at_ns = at_ns;
}

static enum gp_status add_sample(struct plot *p, unsigned device, int64_t at_ns)
{
	struct line *line = &p->line[device];
	if (line->bucket == NULL && !line_open(p, line, at_ns))
		return GP_E_MEMORY;
	struct sample s = { .event = ++p->event, .point.at_ns = at_ns };
	read_curves(p->recording->live, device, &s.point);
	if (device != HOST)
		see_unmapped(line, gp_live_device(p->recording->live, device), at_ns);
	if (p->follow != NULL && device != HOST) {
		const struct gp_gap_map *map = &p->follow->map[device];
		s.point.free_bytes = map->free_bytes;
		s.point.largest_free_bytes = gp_gap_map_largest(map);
	}
	/* the state at a moment includes the events of that moment */
	if (line->is_entered && at_ns == p->start_ns && !p->is_whole) {
		line->bucket[0] = (struct bucket){ 0 };
		line->first.event = 0;
	}
	if (line->first.event == 0)
		line->first = s;
	line->is_entered = false;
	/* threads take their order number first and read the clock afterwards */
	int64_t back_ns = line->last.point.at_ns - at_ns;
	if (line->last.event != 0 && back_ns > 0) {
		s.point.at_ns = line->last.point.at_ns;
		line->moved_ns = back_ns > line->moved_ns ? back_ns : line->moved_ns;
	}
	line->last = s;
	keep_extremes(&line->bucket[bucket_of(p, s.point.at_ns)], &s, p->series);
	return GP_OK;
}

static enum gp_status add_mark(struct plot *p, const struct gp_record *r, int64_t at_ns)
{
	bool is_framework = r->kind == GP_OOM;
	if (!is_framework && (r->kind != GP_ALLOC_FAILED || r->code != CUDA_ERROR_OUT_OF_MEMORY))
		return GP_OK;
	if (r->device >= GP_DEVICES)
		return GP_OK;
	struct line *line = &p->line[r->device];
	line->is_seen = true;
	struct gp_mark *mark = gp_array_append(&line->mark, &line->marks, sizeof *mark);
	if (mark == NULL)
		return GP_E_MEMORY;
	*mark = (struct gp_mark){
		.at_ns = at_ns,
		.bytes = is_framework ? r->oom.bytes : r->alloc_failed.bytes,
		.order = r->order,
		.is_framework = is_framework,
	};
	return GP_OK;
}

static enum gp_status enter_line(struct plot *p, unsigned device)
{
	enum gp_status status = add_sample(p, device, p->start_ns);
	p->line[device].is_entered = true;
	return status;
}

/* Adds the state at the beginning of the range. */
static enum gp_status enter_range(struct plot *p)
{
	p->is_begun = true;
	if (p->start_ns > p->to_ns)
		return GP_OK; /* the owner overwrote all of it */
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		if (!gp_live_device(p->recording->live, device)->is_seen)
			continue;
		enum gp_status status = enter_line(p, device);
		if (status != GP_OK)
			return status;
	}
	p->moved = (struct gp_moved){ 0 };
	if (p->follow != NULL)
		p->follow->moved = 0;
	return gp_live_host(p->recording->live)->pinned.peak_bytes != 0 ? enter_line(p, HOST) :
									  GP_OK;
}

static enum gp_status add_event(struct plot *p, const struct gp_record *r, int64_t at_ns)
{
	enum gp_status status = add_mark(p, r, at_ns);
	uint64_t moved = gp_moved_take(&p->moved);
	if (p->follow != NULL) {
		moved |= p->follow->moved;
		p->follow->moved = 0;
	}
	for (; moved != 0 && status == GP_OK; moved &= moved - 1)
		status = add_sample(p, (unsigned)__builtin_ctzll(moved), at_ns);
	if (gp_moved_take_host(&p->moved) && status == GP_OK)
		status = add_sample(p, HOST, at_ns);
	return status;
}

static enum gp_status plot_begin(void *context)
{
	struct plot *p = context;
	return p->follow != NULL ? gp_gap_follow_begin(p->follow, p->recording) : GP_OK;
}

static enum gp_status plot_before(void *context, uint32_t thread, const struct gp_record *record)
{
	struct plot *p = context;
	enum gp_status status = GP_OK;
	(void)thread;
	p->at_ns = gp_tick_ns(&p->recording->tick, record->time);
	const bool is_behind = gp_has_moment(record->kind) && p->at_ns >= p->from_ns;
	p->is_inside = is_behind && p->at_ns <= p->to_ns;
	if (is_behind && !p->is_begun)
		status = enter_range(p);
	if (p->follow != NULL)
		gp_gap_follow_before(p->follow, record);
	return status;
}

static enum gp_status plot_after(void *context, uint32_t thread, const struct gp_record *record)
{
	struct plot *p = context;
	(void)thread;
	enum gp_status status = p->follow != NULL ? gp_gap_follow_after(p->follow, record) : GP_OK;
	return status == GP_OK && p->is_inside ? add_event(p, record, p->at_ns) : status;
}

static enum gp_status plot_end(void *context)
{
	struct plot *p = context;
	return p->is_begun ? GP_OK : enter_range(p);
}

/* ---- from buckets to points ---- */

static void merge_buckets(struct line *line, size_t *buckets, unsigned series)
{
	*buckets /= 2;
	for (size_t i = 0; i < *buckets; i++) {
		struct bucket left = line->bucket[2 * i];
		const struct bucket *right = &line->bucket[2 * i + 1];
		for (unsigned c = 0; c < series; c++) {
			if (right->low[c].event != 0)
				keep_extremes(&left, &right->low[c], series);
			if (right->high[c].event != 0)
				keep_extremes(&left, &right->high[c], series);
		}
		line->bucket[i] = left;
	}
}

/* The different samples of a bucket, in order; out has room for PICKED. */
static size_t pick(const struct bucket *b, struct sample *out)
{
	struct sample all[PICKED];
	size_t n = 0, kept = 0;
	for (unsigned c = 0; c < SERIES; c++) {
		all[n++] = b->low[c];
		all[n++] = b->high[c];
	}
	qsort(all, n, sizeof *all, gp_row_order);
	for (size_t i = 0; i < n; i++)
		if (all[i].event != 0 && (kept == 0 || all[i].event != out[kept - 1].event))
			out[kept++] = all[i];
	return kept;
}

static size_t count_points(const struct line *line, size_t buckets)
{
	struct sample picked[PICKED];
	size_t n = 0;
	for (size_t i = 0; i < buckets; i++)
		n += pick(&line->bucket[i], picked);
	return n;
}

static enum gp_status fill_points(const struct plot *p, struct line *line,
				  struct gp_timeline_device *out)
{
	size_t buckets = p->buckets;
	while (buckets > 1 && count_points(line, buckets) + ENDS > p->points)
		merge_buckets(line, &buckets, p->series);
	struct gp_point *point = calloc(count_points(line, buckets) + ENDS, sizeof *point);
	if (point == NULL)
		return GP_E_MEMORY;
	uint64_t before = line->first.event;
	point[out->points++] = line->first.point;
	for (size_t i = 0; i < buckets; i++) {
		struct sample picked[PICKED];
		size_t n = pick(&line->bucket[i], picked);
		for (size_t k = 0; k < n; k++) {
			if (picked[k].event <= before)
				continue;
			before = picked[k].event;
			point[out->points++] = picked[k].point;
		}
	}
	if (line->last.event > before)
		point[out->points++] = line->last.point;
	out->point = point;
	return GP_OK;
}

/* For a device that first appears after the range. */
static enum gp_status fill_unseen(const struct plot *p, struct gp_timeline_device *out)
{
	if (p->start_ns > p->to_ns)
		return GP_OK;
	struct gp_point *point = calloc(1, sizeof *point);
	if (point == NULL)
		return GP_E_MEMORY;
	point->at_ns = p->start_ns;
	out->point = point;
	out->points = 1;
	return GP_OK;
}

/*
 * The moment of a peak as the points show it: a checkpoint has the exact moment, an event the
 * rounded one.
 */
static int64_t find_peak(const struct gp_timeline_device *out, unsigned curve, int64_t at_ns,
			 int64_t moved_ns)
{
	for (size_t i = 0; i < out->points; i++)
		if (out->point[i].bytes[curve] == out->peak_bytes[curve] &&
		    llabs(out->point[i].at_ns - at_ns) < TIME_ROUNDING_NS + moved_ns)
			return out->point[i].at_ns;
	return at_ns;
}

static void fill_peaks(const struct plot *p, unsigned device, bool is_whole,
		       struct gp_timeline_device *out)
{
	const struct gp_live_device *d = gp_live_device(p->recording->live, device);
	for (unsigned c = 0; c < GP_CURVES; c++) {
		if (is_whole) {
			out->peak_bytes[c] = d->curve[c].peak_bytes;
			if (d->curve[c].peak_bytes != 0)
				out->peak_at_ns[c] = find_peak(
					out, c,
					gp_tick_ns(&p->recording->tick, d->curve[c].peak_time),
					p->line[device].moved_ns);
			continue;
		}
		for (size_t i = 0; i < out->points; i++) {
			if (out->point[i].bytes[c] <= out->peak_bytes[c])
				continue;
			out->peak_bytes[c] = out->point[i].bytes[c];
			out->peak_at_ns[c] = out->point[i].at_ns;
		}
	}
}

static void fill_host_peak(const struct plot *p, bool is_whole, struct gp_timeline_device *out)
{
	const struct gp_live_host *h = gp_live_host(p->recording->live);
	uint64_t *peak = out->peak_bytes;
	int64_t at_ns = 0;
	for (size_t i = 0; i < out->points && !is_whole; i++) {
		const struct gp_point *point = &out->point[i];
		if (point->bytes[GP_HOST_PINNED] <= peak[GP_HOST_PINNED])
			continue;
		peak[GP_HOST_PINNED] = point->bytes[GP_HOST_PINNED];
		peak[GP_HOST_REGISTERED] = point->bytes[GP_HOST_REGISTERED];
		at_ns = point->at_ns;
	}
	if (is_whole) {
		peak[GP_HOST_PINNED] = h->pinned.peak_bytes;
		peak[GP_HOST_REGISTERED] = h->registered_at_peak;
		at_ns = find_peak(out, GP_HOST_PINNED,
				  gp_tick_ns(&p->recording->tick, h->pinned.peak_time),
				  p->line[HOST].moved_ns);
	}
	out->peak_at_ns[GP_HOST_PINNED] = out->peak_at_ns[GP_HOST_REGISTERED] = at_ns;
}

static enum gp_status fill_device(struct plot *p, unsigned device, bool is_whole,
				  struct gp_timeline *out)
{
	struct line *line = &p->line[device];
	struct gp_timeline_device *to = &out->device[out->devices++];
	to->device = device;
	to->mark = line->mark;
	to->marks = line->marks;
	to->most_unmapped_bytes = line->unmapped_bytes;
	to->most_unmapped_at_ns = line->unmapped_at_ns;
	to->has_gaps = p->follow != NULL;
	line->mark = NULL;
	enum gp_status status =
		line->bucket != NULL ? fill_points(p, line, to) : fill_unseen(p, to);
	if (status == GP_OK)
		fill_peaks(p, device, is_whole, to);
	return status;
}

static enum gp_status fill_host(struct plot *p, bool is_whole, struct gp_timeline *out)
{
	if (gp_live_host(p->recording->live)->pinned.peak_bytes == 0 ||
	    p->line[HOST].bucket == NULL)
		return GP_OK;
	out->host = calloc(1, sizeof *out->host);
	if (out->host == NULL)
		return GP_E_MEMORY;
	out->host->device = GP_DEVICE_UNKNOWN;
	enum gp_status status = fill_points(p, &p->line[HOST], out->host);
	if (status == GP_OK)
		fill_host_peak(p, is_whole, out->host);
	return status;
}

static enum gp_status timeline_fill(struct plot *p, bool is_whole, struct gp_timeline *out)
{
	out->device = calloc(GP_DEVICES, sizeof *out->device);
	enum gp_status status = out->device != NULL ? GP_OK : GP_E_MEMORY;
	for (unsigned device = 0; device < GP_DEVICES && status == GP_OK; device++)
		if (p->line[device].is_seen || gp_live_device(p->recording->live, device)->is_seen)
			status = fill_device(p, device, is_whole, out);
	return status == GP_OK ? fill_host(p, is_whole, out) : status;
}

static void forget_lines(struct plot *p)
{
	for (unsigned device = 0; device <= HOST; device++) {
		free(p->line[device].bucket);
		free(p->line[device].mark);
	}
	memset(p->line, 0, sizeof p->line);
	p->is_begun = false;
	p->event = 0;
}

static enum gp_status plot_prepare(void *context, const struct gp_info *info)
{
	struct plot *p = context;
	int64_t kept = (int64_t)info->kept_from_ns, last = (int64_t)info->duration_ns;
	p->start_ns = p->from_ns > kept ? p->from_ns : kept;
	int64_t end = p->to_ns < last ? p->to_ns : last;
	p->span_ns = end > p->start_ns ? end - p->start_ns + 1 : 1;
	for (p->buckets = 1; p->buckets * 2 <= p->points; p->buckets *= 2)
		;
	return GP_OK;
}

static enum gp_status plot_answer(void *context, const struct gp_info *info)
{
	struct plot *p = context;
	(void)info;
	if (p->follow != NULL)
		p->out->has_late_gaps = p->follow->looks.refused != 0;
	enum gp_status status = timeline_fill(p, p->is_whole, p->out);
	return status == GP_OK ? gp_timeline_judge(p->recording, p->out) : status;
}

static void plot_settle(void *context)
{
	struct plot *p = context;
	if (p->follow != NULL)
		gp_gap_follow_release(p->follow);
	forget_lines(p);
}

static void timeline_forget(void *context)
{
	gp_timeline_free(((struct plot *)context)->out);
}

static enum gp_status timeline_analysis(struct gp_recording *recording, size_t points,
					int64_t from_ns, int64_t to_ns,
					struct gp_gap_follow *follow, struct gp_timeline *out,
					struct gp_analysis *analysis)
{
	*out = (struct gp_timeline){ 0 };
	*analysis = (struct gp_analysis){ 0 };
	if (from_ns > to_ns || points < POINTS_MIN)
		return GP_E_ARGUMENT;
	struct plot *p = calloc(1, sizeof *p);
	if (p == NULL)
		return GP_E_MEMORY;
	p->recording = recording;
	p->points = points;
	p->out = out;
	p->follow = follow;
	p->series = follow != NULL ? SERIES : GP_CURVES;
	p->is_whole = from_ns <= 0 && to_ns == INT64_MAX;
	/* the first event may be slightly older than the start's clock triple */
	p->from_ns = p->is_whole ? INT64_MIN / 4 : from_ns;
	p->to_ns = p->is_whole ? INT64_MAX / 4 : to_ns;
	*analysis =
		(struct gp_analysis){ .context = p,
				      .observer = { plot_begin, plot_before, plot_after, plot_end },
				      .prepare = plot_prepare,
				      .answer = plot_answer,
				      .settle = plot_settle,
				      .forget = timeline_forget,
				      .moved = &p->moved };
	return GP_OK;
}

enum gp_status gp_timeline_analysis(struct gp_recording *recording, size_t points,
				    struct gp_timeline *out, struct gp_analysis *analysis)
{
	return timeline_analysis(recording, points, 0, INT64_MAX, NULL, out, analysis);
}

static enum gp_status timeline_build(struct gp_recording *recording, size_t points, int64_t from_ns,
				     int64_t to_ns, struct gp_gap_follow *follow,
				     struct gp_timeline *out)
{
	struct gp_analysis analysis;
	enum gp_status status =
		timeline_analysis(recording, points, from_ns, to_ns, follow, out, &analysis);
	if (status == GP_OK)
		status = gp_analyse(recording, &analysis, 1);
	free(analysis.context);
	return status;
}

enum gp_status gp_timeline_build(struct gp_recording *recording, size_t points, int64_t from_ns,
				 int64_t to_ns, struct gp_timeline *out)
{
	const bool is_whole = from_ns <= 0 && to_ns == INT64_MAX;
	struct gp_timeline *kept =
		is_whole ? gp_kept_take(recording, GP_KEPT_TIMELINE, points) : NULL;
	if (kept == NULL)
		return timeline_build(recording, points, from_ns, to_ns, NULL, out);
	*out = *kept;
	free(kept);
	return GP_OK;
}

enum gp_status gp_timeline_build_gaps(struct gp_recording *recording, size_t points,
				      int64_t from_ns, int64_t to_ns, struct gp_timeline *out)
{
	struct gp_gap_follow *follow = calloc(1, sizeof *follow);
	*out = (struct gp_timeline){ 0 };
	if (follow == NULL)
		return GP_E_MEMORY;
	enum gp_status status = timeline_build(recording, points, from_ns, to_ns, follow, out);
	free(follow);
	return status;
}

void gp_timeline_free(struct gp_timeline *timeline)
{
	for (size_t i = 0; i < timeline->devices; i++) {
		free((void *)timeline->device[i].point);
		free((void *)timeline->device[i].mark);
	}
	if (timeline->host != NULL)
		free((void *)timeline->host->point);
	free(timeline->host);
	free(timeline->device);
	*timeline = (struct gp_timeline){ 0 };
}
