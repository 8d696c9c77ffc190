/* Compares PyTorch's names exactly, and a job's names word by word without case. */
#include "phase_kind.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "../../format/event.h"

/* As PyTorch 1.8 to 2.14 name them. */
static const struct {
	const char *prefix;
	enum gp_phase_kind kind;
} fences[] = {
	{ "enumerate(DataLoader)#", GP_PHASE_DATA },
	{ "Optimizer.zero_grad#", GP_PHASE_ZERO_GRAD },
	{ "Optimizer.step#", GP_PHASE_OPTIMIZER },
};

struct word {
	const char *text;
	size_t bytes;
};

static bool is_word(struct word w, const char *text)
{
	return w.bytes == strlen(text) && strncasecmp(w.text, text, w.bytes) == 0;
}

/* FSDP's hooks around a pass, and a layer with such a name, are different things. */
static bool is_of_another(struct word before)
{
	return is_word(before, "pre") || is_word(before, "post") || is_word(before, "feed");
}

static enum gp_phase_kind kind_by_words(const char *text)
{
	bool is_forward = false, is_backward = false;
	struct word before = { text, 0 };
	while (*text != '\0') {
		struct word w = { text, 0 };
		while (isalpha((unsigned char)w.text[w.bytes]))
			w.bytes++;
		text += w.bytes != 0 ? w.bytes : 1;
		if (w.bytes == 0)
			continue;
		if (!is_of_another(before)) {
			is_forward |= is_word(w, "forward") || is_word(w, "fwd");
			is_backward |= is_word(w, "backward") || is_word(w, "bwd");
		}
		before = w;
	}
	if (is_forward == is_backward)
		return GP_PHASE_OTHER;
	return is_forward ? GP_PHASE_FORWARD : GP_PHASE_BACKWARD;
}

enum gp_phase_kind gp_phase_kind_of(unsigned source, const char *text)
{
	if (source == GP_RANGE_ENGINE)
		return GP_PHASE_ENGINE;
	if (text == NULL || source == GP_RANGE_CONTROL)
		return GP_PHASE_OTHER;
	for (size_t k = 0; source == GP_RANGE_TORCH && k < sizeof fences / sizeof *fences; k++)
		if (strncmp(text, fences[k].prefix, strlen(fences[k].prefix)) == 0)
			return fences[k].kind;
	return kind_by_words(text);
}
