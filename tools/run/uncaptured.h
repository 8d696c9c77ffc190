/* Why nothing was captured of what a run asked for. */
#ifndef UNCAPTURED_H
#define UNCAPTURED_H

#include "gpuprof.h"
#include "retention.h"

/* A few words, from the rule and from what the recordings tell; "": there is nothing to say. */
void gp_uncaptured_fill(const struct gp_scope_rule *rule, const struct gp_made *made, size_t count,
			char *out, size_t capacity);

#endif
