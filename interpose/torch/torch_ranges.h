/*
 * PyTorch, ranges: the ranges that it opens itself, profiler or none (optimizers, data loaders,
 * DDP, FSDP, record_function), and the time that a thread spends in autograd's engine. Callbacks
 * are added once, at the first quiet moment after the first report of a block, for the scope of
 * users alone, so that operators cost what they cost before; they stay for ever and return at once
 * where recording is off. A range that ends on another thread than it began on (futures of RPC) is
 * not ended by it.
 */
#ifndef GP_TORCH_RANGES_H
#define GP_TORCH_RANGES_H

/* A process records its first report: has the callbacks added, or records again how that ended. */
void gp_torch_ranges_wanted(void);
/* At a quiet moment. */
void gp_torch_ranges_attach(void);

#endif
