/* The spans of a trace: ranges, steps, operations; which lane each is in, and which are open. */
#ifndef GP_TRACE_SPANS_H
#define GP_TRACE_SPANS_H

#include "trace.h"

/* Fills t->span and what belongs to it. GP_E_MEMORY. */
enum gp_status gp_trace_spans_build(struct gp_trace *t);
/* Room for element `count`. False: out of memory. */
bool gp_trace_grow(struct gp_trace *t, void *array, size_t *room, size_t count, size_t bytes);
void gp_trace_spans_release(struct gp_trace *t);

/* t->open: adds a span; takes the one that ends first. */
void gp_trace_open_put(struct gp_trace *t, uint32_t number);
void gp_trace_open_take(struct gp_trace *t);
void gp_trace_sort_numbers(uint32_t *number, size_t count);

#endif
