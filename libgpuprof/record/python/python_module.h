/*
 * The modules of PyTorch (torch.nn.Module) whose calls run on the calling thread: the `self` of the
 * frames of Module._call_impl and _wrapped_call_impl, its class, and its children by name. Reads
 * CPython 3.8 to 3.13. Objects may change meanwhile, or be freed, if the thread does not hold the
 * GIL: each page is tested before it is read, and the result may be wrong, but not the job.
 */
#ifndef GP_PYTHON_MODULE_H
#define GP_PYTHON_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python_walk.h"

#define GP_PYTHON_MODULES_MOST 32u /* calls of modules within each other */

/* Call when a code object is first described. */
void gp_python_module_learn(const void *code, const char *file, const char *name);

/*
 * The place of `self` in the innermost of these frames that calls a module; NULL: none does. The
 * place holds the module's address until the frame ends.
 */
const void *const *gp_python_module_place(const struct gp_python_frame *frames, unsigned n);

/* All modules whose calls run on this thread, innermost first; how many, at most `most`. */
unsigned gp_python_modules(const void **module, unsigned most);

/* Bits of the address of its type. The module must be in use, as those of a place are. */
uint16_t gp_python_module_type(const void *module);

/* The module's class without its package, as a string; its length, 0: unreadable. */
size_t gp_python_module_class(const void *module, char *out, size_t room);

/* The way from a module down to another one, by the dictionaries `_modules`. */
#define GP_PYTHON_PATH_MOST 4u
struct gp_python_path {
	unsigned steps;
	struct {
		const void *module, *name; /* `name`: for gp_python_name */
	} step[GP_PYTHON_PATH_MOST];
};
/*
 * Searches the children of `from`, then theirs. Each opened dictionary takes one of `looks`, and
 * one more for each 32 entries. False: not found within GP_PYTHON_PATH_MOST steps and these looks.
 */
bool gp_python_module_find(const void *from, const void *module, unsigned *looks,
			   struct gp_python_path *path);
/* The text of a name, as a string; its length, 0: unreadable. */
size_t gp_python_module_name(const void *name, char *out, size_t room);

#endif
