/*
 * Steps by ranges: ranges with names of steps, by name and thread; and updates of parameters, by
 * the ranges of PyTorch's optimizers. docs/ANALYSIS.md, section 1, has the rules.
 */
#ifndef GP_STEP_RANGE_H
#define GP_STEP_RANGE_H

#include "../../read/file/recording.h"
#include "steps.h"

struct gp_step_ranges;

/* Call it after a rewind. NULL: out of memory. */
struct gp_step_ranges *gp_step_ranges_open(struct gp_recording *recording, enum gp_status *status);
void gp_step_ranges_close(struct gp_step_ranges *ranges);
/*
 * Passes an event before it is applied, and the current state of the replay. `work`: the number of
 * launches and allocations that it stands for, or 0. False: out of memory.
 */
bool gp_step_ranges_see(struct gp_step_ranges *ranges, uint32_t thread,
			const struct gp_record *record, const struct gp_step_place *here,
			unsigned work);
/* Updates and ranges with names of steps, which are kept. */
size_t gp_step_ranges_kept(const struct gp_step_ranges *ranges);
/*
 * Steps a second at `at_ns`, of the last `span_ns` or of the last two steps: updates, or the ranges
 * of gp_steps_name. Fewer if the next one is late. Negative: fewer than GP_STEPS_MIN.
 */
double gp_step_ranges_rate(const struct gp_step_ranges *ranges, int64_t span_ns, int64_t at_ns);
/*
 * Call it after all ranges; the recording ends at `end`. Finds steps by names, else by optimizer
 * updates, and sets *source; else finds none. `is_cut`: the recording lacks its beginning. The
 * steps are part of `ranges`. GP_E_MEMORY.
 */
enum gp_status gp_step_ranges_cut(struct gp_step_ranges *ranges, const struct gp_step_place *end,
				  bool is_cut, struct gp_step_cuts *out,
				  enum gp_step_source *source);

#endif
