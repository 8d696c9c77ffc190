/* Two multiplicative hashes of 64 bits: stacks are compared by 128 bits. */
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

/* The index of the frame, or of one that reads alike; SIZE_MAX: it was removed. */
static size_t place_of(const struct gp_read_stack *s, const struct gp_frame *frame)
{
	for (size_t k = 0; k < s->frames; k++)
		if (gp_frame_reads_like(&s->frame[k], frame))
			return k;
	return SIZE_MAX;
}

/* Removes frames that a user does not need; updates the indices in the names. */
static void fold(struct gp_read_stack *s)
{
	size_t user = s->names.user, caller = s->names.caller;
	const struct gp_frame none = { 0 };
	const struct gp_frame users = user != SIZE_MAX ? s->frame[user] : none;
	const struct gp_frame callers = caller != SIZE_MAX ? s->frame[caller] : none;
	s->frames = gp_frames_shorten(s->frame, s->frames);
	s->names.user = user != SIZE_MAX ? place_of(s, &users) : SIZE_MAX;
	s->names.caller = caller != SIZE_MAX ? place_of(s, &callers) : SIZE_MAX;
}

/* True: only `_start` lies outside of this frame. */
static bool begins(const struct gp_frame *f)
{
	static const char start[] = "__libc_start_";
	return !f->is_python && f->function && strncmp(f->function, start, sizeof start - 1) == 0;
}

static const char *no_module(struct gp_recording *recording, const struct gp_names *names)
{
	const struct gp_info *info;
	if (names->node[0] == '\0')
		return "no module";
	if (gp_recording_info(recording, &info) == GP_OK && !info->has_node_modules &&
	    !info->no_node_modules)
		return "no module: in backward (record with --backward-modules)";
	return "no module: in backward";
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
	if (out->stack.module != 0)
		gp_recording_module_path(recording, out->stack.module, out->names.modules,
					 sizeof out->names.modules);
	out->no_module = no_module(recording, &out->names);
	if (!is_native)
		fold(out);
	return true;
}

/*
 * Complete Python frames begin with the thread. A user does not miss an absent `_start`, or native
 * frames that are absent because the interpreter's own frames used up the depth.
 */
const char *gp_read_stack_cut(const struct gp_read_stack *s, bool is_native)
{
	bool is_whole = !is_native && s->stack.is_python_whole && s->frames > 0 &&
			s->frame[s->frames - 1].is_python;
	/* without native frames, the outermost frames are the missing Python ones */
	is_whole |= s->stack.has_native && s->stack.is_native_whole;
	return is_whole || s->frames == 0 ? NULL :
	       is_native		  ? s->stack.missing_native :
					    s->stack.missing;
}
