/*
 * A stack that was looked up once: its shown frames, the names that users know for the place, and
 * an identity. Stacks that read alike have one identity.
 */
#ifndef GP_STACK_TEXT_H
#define GP_STACK_TEXT_H

#include "../gpuprof.h"

struct gp_identity {
	uint64_t low, high;
};

/*
 * Its place in a table. A recording could choose addresses that make one half of the identity
 * predictable.
 */
static inline uint64_t gp_identity_hash(struct gp_identity i)
{
	return gp_hash_pair(i.low, i.high);
}

static inline bool gp_identity_is(struct gp_identity a, struct gp_identity b)
{
	return a.low == b.low && a.high == b.high;
}

/* For qsort. */
static inline int gp_identity_order(struct gp_identity a, struct gp_identity b)
{
	return a.high != b.high ? (a.high > b.high) - (a.high < b.high) :
				  (a.low > b.low) - (a.low < b.low);
}

struct gp_read_stack {
	struct gp_stack stack;
	size_t frames;	       /* number of shown frames */
	bool has_beginning;    /* no native frame is missing, except the C library's entry */
	const char *no_module; /* the text for a stack without a module of PyTorch */
	struct gp_frame frame[GP_FRAMES_MAX];
	/* indices refer to `frame`; SIZE_MAX: not shown. `modules`: a path if that is recorded */
	struct gp_names names;
};

/* False: the stack is not defined. */
bool gp_read_stack(struct gp_recording *recording, const struct gp_use *use, bool is_native,
		   struct gp_read_stack *out);
/* Why the outermost shown frame is not the first of its thread; NULL: it is. */
const char *gp_read_stack_cut(const struct gp_read_stack *stack, bool is_native);
/*
 * The identity of the shown parts: functions, files, lines, modules; offsets only for frames
 * without a name.
 */
struct gp_identity gp_frame_identity(struct gp_identity outer, const struct gp_frame *frame);
struct gp_identity gp_stack_identity(const struct gp_read_stack *stack);
struct gp_identity gp_text_identity(struct gp_identity before, const char *text);

#endif
