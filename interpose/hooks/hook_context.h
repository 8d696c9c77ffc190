/*
 * Hooks of the rows of streams and contexts. They always update the tables of context.h, and record
 * events and definitions while recording. Functions named `ending` come before the driver's call,
 * the others after it.
 */
#ifndef GP_HOOK_CONTEXT_H
#define GP_HOOK_CONTEXT_H

#include "context.h"

/* device: GP_DEVICE_UNKNOWN means that of the current context. */
void gp_hook_stream_created(CUresult result, uint64_t stream, unsigned flags, int priority,
			    unsigned device, bool is_recording);
void gp_hook_stream_ending(uint64_t stream, bool is_recording);

/* After the call, which began at the time `began`. */
void gp_hook_context_created(CUresult result, uint64_t began, CUcontext context, unsigned flags,
			     CUdevice device, bool is_recording);
void gp_hook_context_ending(CUcontext context, bool is_recording);
void gp_hook_context_ended(CUresult result, CUcontext context);

/* Before the driver's call, which may end the context. */
void gp_hook_primary_releasing(CUdevice device);
void gp_hook_primary_released(CUresult result, CUdevice device, bool is_recording);
void gp_hook_primary_ending(CUdevice device, bool is_recording);
void gp_hook_primary_ended(CUresult result, CUdevice device);

/* For gp_recorder_started: all known objects must be defined again. Set by the constructor. */
void gp_hooks_started(void);

#endif
