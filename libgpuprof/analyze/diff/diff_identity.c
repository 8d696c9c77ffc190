/* Identities from the names of frames, outermost first. */
#include "diff_identity.h"

#include <stdio.h>
#include <string.h>

#include "../../read/frames/name_text.h"

#define MODULE_MAX 256u

/* "torch/nn/modules/module.py", wherever the package is installed; "train.py" in any directory. */
static const char *file_name(const char *file)
{
	const char *inside = file != NULL ? gp_short_path(file) : NULL;
	return inside != file || file == NULL ? inside : file_of(file);
}

/* The file's name is a hash of its contents: it changes with every line. */
static bool is_generated(const char *file)
{
	return file != NULL && strstr(file, "/torchinductor_") != NULL;
}

/* "libcudart.so" for /usr/local/cuda/lib64/libcudart.so.12 */
static const char *module_name(const char *module, char room[MODULE_MAX])
{
	if (module == NULL)
		return NULL;
	snprintf(room, MODULE_MAX, "%s", file_of(module));
	char *version = strstr(room, ".so.");
	if (version != NULL)
		version[3] = '\0';
	return room;
}

/* Before Python 3.11, code objects only have the name "forward"; since then "Block.forward". */
static const char *function_name(const struct gp_frame *f)
{
	const char *dot = f->function != NULL && f->is_python ? strrchr(f->function, '.') : NULL;
	return dot != NULL && dot[1] != '\0' ? dot + 1 : f->function;
}

static struct gp_identity add_number(struct gp_identity i, uint64_t number)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	return gp_text_identity(i, text);
}

static struct gp_identity add_frame(struct gp_identity i, const struct gp_frame *f, bool has_lines)
{
	char room[MODULE_MAX];
	/* without line numbers, function names distinguish the classes of one file */
	i = gp_text_identity(i, has_lines ? function_name(f) : f->function);
	bool is_nameless = !has_lines && is_generated(f->file);
	i = gp_text_identity(i, is_nameless ? "generated" : file_name(f->file));
	i = gp_text_identity(i, module_name(f->module, room));
	if (has_lines)
		i = add_number(i, f->line);
	/* code made at run time: its address has no meaning in another process */
	if (f->function == NULL && f->module != NULL)
		i = add_number(i, f->module_offset);
	return gp_text_identity(i, f->is_python ? "python" : NULL);
}

struct gp_identity gp_diff_identity(const struct gp_read_stack *s, bool has_lines)
{
	struct gp_identity i = { 0xcbf29ce484222325u, 0x94d049bb133111ebu };
	for (size_t k = s->frames; k-- > 0;)
		i = add_frame(i, &s->frame[k], has_lines);
	return i;
}

void gp_diff_inner_identities(const struct gp_read_stack *s, bool has_lines,
			      struct gp_identity *out)
{
	struct gp_identity i = { 0xcbf29ce484222325u, 0x94d049bb133111ebu };
	for (size_t k = 0; k < s->frames; k++)
		out[k] = i = add_frame(i, &s->frame[k], has_lines);
}
