/*
 * Chooses the moments of samples: the begins of steps after the warm-up, else windows of time. They
 * cover the whole interval, and its tail more closely.
 */
#ifndef GP_LEAK_CHOOSE_H
#define GP_LEAK_CHOOSE_H

#include "leak_sample.h"
#include "leak_since.h"

/* Fills in the moments of *samples, and from_ns to window_ns of *out. out->steps must be set. */
void gp_leak_choose(const struct gp_info *info, int64_t from_ns, int64_t to_ns,
		    struct gp_leaks *out, struct gp_leak_samples *samples);
/* The steps or windows to choose from. The caller frees begin_ns. */
enum gp_status gp_leak_list_turns(const struct gp_leaks *leaks, struct gp_leak_turns *out);

#endif
