/* The modules of PyTorch that are being called in a stack of Python. */
#include "frame_names.h"
#include "name_text.h"

#define FORWARD ".forward"
#define BETWEEN " > "
#define OMITTED "... > "

/* torch.nn.Module calls the forward of each module, whatever class it is of. */
static bool is_call_of_module(const struct gp_name_frame *f)
{
	return fits(f->function, "*_call_impl") && f->file != NULL &&
	       fits(f->file, "*torch/nn/modules/module.py");
}

/*
 * "make.<locals>.Block.forward" is of the class Block. Before Python 3.11, names have no class: the
 * file stands for it. Returns the number of bytes; 0: no class.
 */
static size_t class_of(const struct gp_name_frame *f, const char **name)
{
	const size_t bytes = strlen(f->function), after = strlen(FORWARD);
	if (f->file != NULL && strcmp(f->function, FORWARD + 1) == 0) {
		*name = file_of(f->file);
		return strlen(*name);
	}
	if (bytes <= after || strcmp(f->function + bytes - after, FORWARD) != 0)
		return 0;
	const char *const end = f->function + bytes - after;
	for (*name = end; *name > f->function && (*name)[-1] != '.';)
		--*name;
	return (size_t)(end - *name);
}

/* Writes `text` in front of `at`. NULL: no room. */
static char *put_before(char *at, const char *start, const char *text, size_t bytes)
{
	if ((size_t)(at - start) < bytes)
		return NULL;
	return memcpy(at - bytes, text, bytes);
}

void gp_modules_of(const struct gp_name_frame *frame, size_t count, char out[GP_MODULES_MAX])
{
	const char *const start = out + strlen(OMITTED);
	char *at = out + GP_MODULES_MAX - 1;
	const struct gp_name_frame *called = NULL; /* the last Python frame, further in */
	const char *name = NULL;
	*at = '\0';
	for (size_t i = 0; i < count; i++) {
		if (!frame[i].is_python)
			continue;
		const size_t bytes = called != NULL && frame[i].function != NULL &&
						     is_call_of_module(&frame[i]) &&
						     called->function != NULL ?
					     class_of(called, &name) :
					     0;
		called = &frame[i];
		if (bytes == 0)
			continue;
		char *before = at;
		if (*at != '\0')
			before = put_before(at, start, BETWEEN, strlen(BETWEEN));
		if (before != NULL)
			before = put_before(before, start, name, bytes);
		if (before == NULL) {
			at = put_before(at, out, OMITTED, strlen(OMITTED));
			break;
		}
		at = before;
	}
	memmove(out, at, strlen(at) + 1);
}
