/* Two multiplicative hashes of 64 bits: stacks are told apart by 128. */
#include "stack_text.h"

#include <string.h>

static struct gp_identity mix(struct gp_identity i, uint64_t value)
{
	/* FNV-1a, and the multiplier of splitmix64 */
	i.low = (i.low ^ value) * 0x100000001b3u;
	i.high = (i.high ^ value ^ i.high >> 29) * 0xbf58476d1ce4e5b9u;
	return i;
}

struct gp_identity gp_text_identity(struct gp_identity i, const char *text)
{
	if (text == NULL)
		return mix(i, 257);
	for (; *text; text++)
		i = mix(i, (unsigned char)*text);
	return mix(i, 256);
}

struct gp_identity gp_frame_identity(struct gp_identity i, const struct gp_frame *f)
{
	i = gp_text_identity(i, f->function);
	i = gp_text_identity(i, f->file);
	i = gp_text_identity(i, f->module);
	i = mix(i, f->line);
	if (f->function == NULL)
		i = mix(i, f->module ? f->module_offset : f->address);
	return mix(i, f->is_python);
}

struct gp_identity gp_stack_identity(const struct gp_read_stack *s)
{
	struct gp_identity i = { 0xcbf29ce484222325u, 0x94d049bb133111ebu };
	for (size_t k = s->frames; k-- > 0;)
		i = gp_frame_identity(i, &s->frame[k]);
	return i;
}

/* Where a frame, or one that reads alike, is now; SIZE_MAX: it is left out. */
static size_t place_of(const struct gp_read_stack *s, const struct gp_frame *frame)
{
	for (size_t k = 0; k < s->frames; k++)
		if (gp_frame_reads_like(&s->frame[k], frame))
			return k;
	return SIZE_MAX;
}

/* Leaves out what tells a person nothing; the names' indices follow. */
static void fold(struct gp_read_stack *s)
{
	size_t user = s->names.user, caller = s->names.caller;
	const struct gp_frame none = { 0 };
	const struct gp_frame users = user != SIZE_MAX ? s->frame[user] : none;
	const struct gp_frame callers = caller != SIZE_MAX ? s->frame[caller] : none;
	s->frames = gp_frames_tell(s->frame, s->frames);
	s->names.user = user != SIZE_MAX ? place_of(s, &users) : SIZE_MAX;
	s->names.caller = caller != SIZE_MAX ? place_of(s, &callers) : SIZE_MAX;
}

/* A depth that ends there leaves out `_start` alone. */
static bool begins(const struct gp_frame *f)
{
	static const char start[] = "__libc_start_";
	return !f->is_python && f->function && strncmp(f->function, start, sizeof start - 1) == 0;
}

bool gp_read_stack(struct gp_recording *recording, const struct gp_use *use, bool is_native,
		   struct gp_read_stack *out)
{
	if (!gp_recording_stack(recording, use->stack, use->at_ns, GP_STACK_SYMBOLS, &out->stack,
				out->frame, GP_FRAMES_MAX))
		return false;
	out->frames = out->stack.frames;
	out->has_beginning = out->frames > 0 && begins(&out->frame[out->frames - 1]);
	gp_recording_names(recording, out->frame, out->frames, &out->names);
	if (!is_native)
		fold(out);
	return true;
}

/*
 * Where Python's frames are whole they begin with the thread: a missing `_start` and what the
 * interpreter's own frames took of the depth are nothing that a person is shown.
 */
const char *gp_read_stack_cut(const struct gp_read_stack *s, bool is_native)
{
	bool is_whole = !is_native && s->stack.is_python_whole && s->frames > 0 &&
			s->frame[s->frames - 1].is_python;
	/* without native frames the missing Python ones are the outermost */
	is_whole |= s->stack.has_native && s->stack.is_native_whole;
	return is_whole || s->frames == 0 ? NULL :
	       is_native		  ? s->stack.missing_native :
					    s->stack.missing;
}
