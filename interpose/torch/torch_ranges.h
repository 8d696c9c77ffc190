/*
 * PyTorch, ranges: those that it opens itself, with or without a profiler: optimizers, data
 * loaders, DDP, FSDP, record_function. Also the time of a thread in autograd's engine. Callbacks
 * are added once, at the first quiet moment after the first report of a block. They are only for
 * the user scope, so that operators cost no more than before. They stay, and return at once while
 * recording is off. A range that ends on another thread than it began on (futures of RPC) stays
 * open.
 */
#ifndef GP_TORCH_RANGES_H
#define GP_TORCH_RANGES_H

/*
 * A process records its first report: schedules adding the callbacks, or records the outcome of
 * that again.
 */
void gp_torch_ranges_request(void);
/* At a quiet moment: the callbacks of torch_nodes.c, too. */
void gp_torch_ranges_attach(void);

#endif
