/*
 * Where samples are taken: at the begins of steps behind the warm-up, else in windows of time; over
 * the whole span, and closer together in its tail.
 */
#ifndef GP_LEAK_CHOOSE_H
#define GP_LEAK_CHOOSE_H

#include "leak_sample.h"
#include "leak_since.h"

/* Fills in the moments of *samples, and of *out from_ns to window_ns; out->steps are there. */
void gp_leak_choose(const struct gp_info *info, int64_t from_ns, int64_t to_ns,
		    struct gp_leaks *out, struct gp_leak_samples *samples);
/* The steps, or windows, that were chosen from. begin_ns is the caller's to free. */
enum gp_status gp_leak_list_turns(const struct gp_leaks *leaks, struct gp_leak_turns *out);

#endif
