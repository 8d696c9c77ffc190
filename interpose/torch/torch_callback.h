/*
 * PyTorch's own calls at the begin and end of its ranges (at::RecordFunction), by their scope. A
 * callback stays: it must return at once while recording is off.
 */
#ifndef GP_TORCH_CALLBACK_H
#define GP_TORCH_CALLBACK_H

enum gp_torch_scope {
	GP_TORCH_OPERATOR = 0, /* each operator of PyTorch, and custom functions of autograd */
	GP_TORCH_NODE = 1,     /* each node of a backward */
	GP_TORCH_USER = 7,     /* record_function, optimizers, data loaders */
};

/*
 * `function` is the at::RecordFunction. The returned unique_ptr is the hidden first argument:
 * `*context` is an at::ObserverContext or NULL. Returns `context`.
 */
typedef void *gp_torch_start(void **context, const void *function);
typedef void gp_torch_end(const void *function, void *context);

/*
 * Adds a callback for all threads. `end` NULL: none. For PyTorch 2.`first_minor` and newer, as far
 * as known. "": added; else why not. At a quiet moment, with no fork in progress.
 */
typedef const char *gp_torch_add(enum gp_torch_scope scope, unsigned first_minor,
				 gp_torch_start *start, gp_torch_end *end);

#endif
