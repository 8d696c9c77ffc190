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

/* Leaves out frames of the interpreter; the names' indices follow. */
static void fold(struct gp_read_stack *s)
{
	size_t kept = 0, user = SIZE_MAX, caller = SIZE_MAX;
	for (size_t k = 0; k < s->frames; k++) {
		if (s->frame[k].is_interpreter)
			continue;
		user = k == s->names.user ? kept : user;
		caller = k == s->names.caller ? kept : caller;
		s->frame[kept++] = s->frame[k];
	}
	s->frames = kept;
	s->names.user = user;
	s->names.caller = caller;
}

bool gp_read_stack(struct gp_recording *recording, const struct gp_use *use, bool is_native,
		   struct gp_read_stack *out)
{
	if (!gp_recording_stack(recording, use->stack, use->at_ns, GP_STACK_SYMBOLS, &out->stack,
				out->frame, GP_FRAMES_MAX))
		return false;
	out->frames = out->stack.frames;
	gp_recording_names(recording, out->frame, out->frames, &out->names);
	if (!is_native)
		fold(out);
	return true;
}
