/*
 * The interface of hook_torch.c to other files. The hooks themselves are called only by their c10
 * names.
 */
#ifndef GP_HOOK_TORCH_H
#define GP_HOOK_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The version of the PyTorch whose c10 is mapped ("2.11.0+cu130"), from the version.py of its
 * package. False: no c10 or no such file. Opens and reads that file; no malloc, no loader. Keeps
 * errno.
 */
bool gp_torch_version(char *out, size_t bytes);

/*
 * Records the facts about PyTorch, once a process, at its first recorded block. False: they are
 * recorded already. `has_reports`: its allocator reports blocks.
 */
bool gp_torch_facts(bool has_reports);

/*
 * The totals of the device's allocator in its last report, recorded or not; exact under its lock.
 * False: it has not reported yet.
 */
bool gp_torch_totals(unsigned device, uint64_t *allocated, uint64_t *reserved);

#endif
