/* Sets of moments: spans that do not overlap, by time. */
#ifndef GP_SPAN_SET_H
#define GP_SPAN_SET_H

#include "../../gpuprof.h"

#define GP_SPANS_MOST ((size_t)1 << 18) /* a capacity: 4 MiB */

/* Starts as zeros: empty. */
struct gp_span_set {
	struct gp_span *span;
	size_t spans, room;
	bool is_cut; /* it has no room for some */
};

/* In any order, until gp_span_set_settle. False: out of memory. */
bool gp_span_set_add(struct gp_span_set *set, int64_t from_ns, int64_t to_ns);
/* Sorts and joins the spans, and cuts them to this one. */
void gp_span_set_settle(struct gp_span_set *set, int64_t from_ns, int64_t to_ns);
/* Of settled sets: adds those of `more`. False: out of memory. */
bool gp_span_set_unite(struct gp_span_set *set, const struct gp_span_set *more);
/* Total length of a settled set. */
int64_t gp_span_set_ns(const struct gp_span_set *set);
/* The first moment of the span that a settled set lacks; INT64_MAX: none. */
int64_t gp_span_set_first_gap(const struct gp_span_set *set, int64_t from_ns, int64_t to_ns);
void gp_span_set_release(struct gp_span_set *set);

#endif
