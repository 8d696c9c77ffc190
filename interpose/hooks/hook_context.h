/*
 * What the rows of streams and contexts do: the tables of context.h always, records and definitions
 * while recording. The halves named `ending` come before the driver's call, the others after it.
 */
#ifndef GP_HOOK_CONTEXT_H
#define GP_HOOK_CONTEXT_H

#include "context.h"

/* device: GP_DEVICE_UNKNOWN is that of the current context. */
void gp_hook_stream_created(CUresult result, uint64_t stream, unsigned flags, int priority,
			    unsigned device, bool is_recording);
void gp_hook_stream_ending(uint64_t stream, bool is_recording);

void gp_hook_context_created(CUresult result, CUcontext context, unsigned flags, CUdevice device,
			     bool is_recording);
void gp_hook_context_ending(CUcontext context, bool is_recording);
void gp_hook_context_ended(CUresult result, CUcontext context);

void gp_hook_primary_released(CUresult result, CUdevice device, bool is_recording);
void gp_hook_primary_ending(CUdevice device, bool is_recording);
void gp_hook_primary_ended(CUresult result, CUdevice device);

/* gp_recorder_started: whatever is known has to be recorded again. Set by the constructor. */
void gp_hooks_started(void);

#endif
