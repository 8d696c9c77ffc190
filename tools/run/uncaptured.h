/*
 * Why a run captured nothing although captures were requested.
 */
#ifndef UNCAPTURED_H
#define UNCAPTURED_H

#include "gpuprof.h"
#include "retention.h"

/* A few words, from the rule and the recordings; "": no explanation. */
void gp_uncaptured_fill(const struct gp_scope_rule *rule, const struct gp_made *made, size_t count,
			char *out, size_t capacity);

#endif
