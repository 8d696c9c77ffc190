/* Names come from frames; the rows of role_frames.def add what only roles need. */
#include "role_stack.h"

#include <string.h>

#include "../../read/frames/frame_phase.h"
#include "../../read/frames/name_text.h"

struct row {
	const char *part, *function; /* part NULL: native */
	enum gp_role_word word;
};
static const struct row rows[] = {
#define PYTHON(part, function, word) { part, function, GP_SHOWS_##word },
#define NATIVE(function, word) { NULL, function, GP_SHOWS_##word },
#include "role_frames.def"
};

struct known {
	uint64_t stack; /* used as the key */
	uint32_t words;
	bool is_read;
};

static uint32_t word_bit(enum gp_role_word word)
{
	return 1u << word;
}

uint32_t gp_role_frame_words(const struct gp_frame *f)
{
	uint32_t words = 0;
	if (f->function == NULL)
		return 0;
	if (!f->is_python)
		words |= word_bit(GP_SHOWS_NATIVE);
	const enum gp_frame_phase phase = gp_frame_phase(f);
	if (phase == GP_FRAME_FORWARD)
		words |= word_bit(GP_SHOWS_CALL);
	if (phase == GP_FRAME_BACKWARD || phase == GP_FRAME_ENGINE_THREAD)
		words |= word_bit(GP_SHOWS_BACKWARD);
	if (phase == GP_FRAME_OPTIMIZER)
		words |= word_bit(GP_SHOWS_OPTIMIZER);
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		if (f->is_python == (rows[k].part != NULL) && fits(f->function, rows[k].function) &&
		    (!f->is_python || (f->file != NULL && strstr(f->file, rows[k].part) != NULL)))
			words |= word_bit(rows[k].word);
	return words;
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(name, *names) != 0)
		names++;
	return *names != NULL;
}

uint32_t gp_role_name_words(const struct gp_names *n)
{
	static const char *const links[] = { "NCCL", "NVSHMEM", "MPI", "UCX", NULL };
	/* their memory is their own; other libraries keep arrays or models of the program */
	static const char *const keepers[] = { "cuBLAS",   "cuBLASLt",	 "cuBLASMp", "cuDNN",
					       "cuDSS",	   "cuFFT",	 "cuRAND",   "cuSOLVER",
					       "cuSPARSE", "cuSPARSELt", "cuTENSOR", "NPP",
					       "nvCOMP",   "nvJPEG",	 NULL };
	static const char *const fills[] = { "aten::full",    "aten::zeros",
					     "aten::ones",    "aten::rand",
					     "aten::randint", "aten::randn",
					     "aten::arange",  NULL };
	uint32_t words = word_bit(GP_SHOWS_STACK);
	char name[GP_NAME_MAX];
	if (is_one_of(n->library, links))
		words |= word_bit(GP_SHOWS_NCCL);
	else if (!n->is_own && is_one_of(n->library, keepers))
		words |= word_bit(GP_SHOWS_LIBRARY);
	if (n->workspace[0] != '\0')
		words |= word_bit(GP_SHOWS_WORKSPACE);
	if (strcmp(n->operator, "aten::_to_copy") == 0)
		words |= word_bit(GP_SHOWS_COPY);
	if (strcmp(n->operator, "aten::clone") == 0)
		words |= word_bit(GP_SHOWS_CLONE);
	if (strcmp(n->operator, "aten::cat") == 0)
		words |= word_bit(GP_SHOWS_CAT);
	snprintf(name, sizeof name, "%.*s", (int)strcspn(n->operator, "."), n->operator);
	if (is_one_of(name, fills))
		words |= word_bit(GP_SHOWS_FILL);
	return words;
}

static uint32_t read_words(struct gp_recording *recording, uint32_t id, int64_t at_ns)
{
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	struct gp_names names;
	if (!gp_recording_stack(recording, id, at_ns, GP_STACK_SYMBOLS, &stack, frame,
				GP_FRAMES_MAX))
		return 0;
	gp_recording_names(recording, frame, stack.frames, &names);
	uint32_t words = gp_role_name_words(&names);
	for (size_t k = 0; k < stack.frames; k++)
		words |= gp_role_frame_words(&frame[k]);
	return words;
}

uint32_t gp_role_stack_words(struct gp_role_stacks *s, uint32_t stack, int64_t at_ns)
{
	struct known *known = stack != 0 ? gp_row_get_key(&s->stacks, sizeof *known, stack) : NULL;
	s->is_out_of_memory |= stack != 0 && known == NULL;
	if (known == NULL)
		return 0;
	if (!known->is_read)
		known->words = read_words(s->recording, stack, at_ns);
	known->is_read = true;
	return known->words;
}
