/*
 * The fake driver's devices and contexts: primary, created and green ones, and each thread's stack
 * of current contexts.
 */
#ifndef FAKE_CONTEXTS_H
#define FAKE_CONTEXTS_H

#include "fake_memory.h"

static struct fake_object *fake_primary[FAKE_DEVICES];
static struct fake_object *fake_default_pool[FAKE_DEVICES], *fake_device_pool[FAKE_DEVICES];

static inline bool fake_is_device(CUdevice device)
{
	return device >= 0 && device < fake_setup.devices;
}

/* ---- devices ---- */

CUresult cuInit(unsigned int flags)
{
	ENTER(cuInit);
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (fake_setup.devices == 0)
		return FAKE_NO_DEVICE;
	atomic_store(&fake_is_initialised, true);
	atomic_store(&fake_attention, fake_faults_used != 0);
	return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	ENTER(cuDriverGetVersion);
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = fake_setup.version;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	ENTER(cuDeviceGet);
	if (!device || !fake_is_device(ordinal))
		return device ? FAKE_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	ENTER(cuDeviceGetCount);
	*count = fake_setup.devices;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
	ENTER(cuDeviceGetName);
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	snprintf(name, (size_t)bytes, "Fake GPU %d", device);
	return CUDA_SUCCESS;
}

static CUresult fake_uuid(CUuuid *uuid, CUdevice device)
{
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	for (int i = 0; i < 16; i++)
		uuid->bytes[i] = (char)(i < 15 ? 0xa0 + i : device);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	ENTER(cuDeviceGetUuid);
	return fake_uuid(uuid, device);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	ENTER(cuDeviceGetUuid_v2);
	return fake_uuid(uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	ENTER(cuDeviceTotalMem_v2);
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	*bytes = fake_setup.device_bytes;
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice device)
{
	ENTER(cuDeviceTotalMem);
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	*bytes = fake_setup.device_bytes > UINT32_MAX ? UINT32_MAX :
							(unsigned)fake_setup.device_bytes;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	ENTER(cuDeviceGetAttribute);
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	switch (attribute) {
	case 1:
		*value = 1024;
		break; /* threads a block */
	case 16:
		*value = 8;
		break; /* multiprocessors */
	case 75:
		*value = 9;
		break; /* compute capability */
	case 76:
		*value = 0;
		break;
	case 10:
		*value = 32;
		break; /* warp */
	case 33:
		*value = device + 1;
		break; /* PCI bus */
	case 41:       /* unified addressing */
	case 102:      /* virtual memory management */
	case 115:
		*value = 1;
		break; /* memory pools */
	default:
		*value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
	ENTER(cuDeviceGetPCIBusId);
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	snprintf(id, (size_t)bytes, "0000:%02x:00.0", device + 1);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
	ENTER(cuDeviceGetByPCIBusId);
	unsigned bus = 0;
	if (sscanf(id, "%*x:%x", &bus) != 1 || !fake_is_device((int)bus - 1))
		return FAKE_INVALID_DEVICE;
	*device = (int)bus - 1;
	return CUDA_SUCCESS;
}

/* of each device, that the fake CUPTI has taken below the driver's interface */
extern _Atomic size_t fake_cuda_tool_bytes;
_Atomic size_t fake_cuda_tool_bytes;

static CUresult fake_memory_info(size_t *free_bytes, size_t *total_bytes)
{
	const struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_lock();
	uint64_t used =
		fake_device_memory[context->device].used_bytes + atomic_load(&fake_cuda_tool_bytes);
	fake_unlock();
	if (free_bytes)
		*free_bytes = used < fake_setup.device_bytes ? fake_setup.device_bytes - used : 0;
	if (total_bytes)
		*total_bytes = fake_setup.device_bytes;
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	ENTER(cuMemGetInfo_v2);
	return fake_memory_info(free_bytes, total_bytes);
}

static inline CUresult fake_cuCtxSetLimit(CUlimit limit, size_t value)
{
	(void)limit, (void)value;
	return fake_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- current contexts ---- */

CUresult cuCtxGetCurrent(CUcontext *context)
{
	ENTER(cuCtxGetCurrent);
	*context = (CUcontext)fake_current();
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	ENTER(cuCtxGetDevice);
	const struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = context->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
	ENTER(cuCtxGetDevice_v2);
	const struct fake_object *context = handle ? GET(handle, FAKE_CONTEXT) : fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = context->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	ENTER(cuCtxGetFlags);
	const struct fake_object *context = fake_current();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*flags = context->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
	ENTER(cuCtxGetApiVersion);
	if (context && !GET(context, FAKE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuCtxSetCurrent(CUcontext handle)
{
	struct fake_thread *t = fake_self();
	struct fake_object *context = GET(handle, FAKE_CONTEXT);
	if (handle && !context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle) {
		t->depth -= t->depth != 0;
		return CUDA_SUCCESS;
	}
	t->depth += t->depth == 0;
	t->stack[t->depth - 1] = context;
	return CUDA_SUCCESS;
}

static CUresult fake_push(struct fake_object *context)
{
	struct fake_thread *t = fake_self();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (t->depth == FAKE_CONTEXT_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->stack[t->depth++] = context;
	return CUDA_SUCCESS;
}

static CUresult fake_pop(CUcontext *context)
{
	struct fake_thread *t = fake_self();
	if (t->depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	struct fake_object *top = t->stack[--t->depth];
	if (context)
		*context = (CUcontext)top;
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuCtxPushCurrent(CUcontext context)
{
	return fake_push(GET(context, FAKE_CONTEXT));
}

static inline CUresult fake_cuCtxPushCurrent_v2(CUcontext context)
{
	return fake_push(GET(context, FAKE_CONTEXT));
}

static inline CUresult fake_cuProfilerStart(void)
{
	return fake_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static inline CUresult fake_cuProfilerStop(void)
{
	return fake_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static inline CUresult fake_cuCtxPopCurrent(CUcontext *context)
{
	return fake_pop(context);
}

static inline CUresult fake_cuCtxPopCurrent_v2(CUcontext *context)
{
	return fake_pop(context);
}

/* ---- creation and destruction of contexts ---- */

static CUresult fake_context_create(CUcontext *context, unsigned int flags, CUdevice device)
{
	if (!context || !fake_is_device(device))
		return context ? FAKE_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	struct fake_object *object = fake_new(FAKE_CONTEXT, device);
	fake_unlock();
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	object->flags = flags;
	*context = (CUcontext)object;
	return fake_push(object);
}

static inline CUresult fake_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
	return fake_context_create(context, flags, device);
}

static inline CUresult fake_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	return fake_context_create(context, flags, device);
}

static inline CUresult fake_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity,
					   int count, unsigned int flags, CUdevice device)
{
	(void)affinity, (void)count;
	return fake_context_create(context, flags, device);
}

static inline CUresult fake_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params,
					   unsigned int flags, CUdevice device)
{
	(void)params;
	return fake_context_create(context, flags, device);
}

/* Lock held. Also frees memory, streams and modules of the context. */
static void fake_context_empty(struct fake_object *context)
{
	fake_give_all(context);
	for (uint32_t i = 0; i < fake_arena_used; i++) {
		struct fake_object *o = &fake_arena[i];
		for (struct fake_object *
			     k = o->owner == context && o->kind == FAKE_MODULE ? o->first : NULL,
			    *next;
		     k; k = next) {
			next = k->next;
			fake_delete(k);
		}
		if (o->owner == context &&
		    (o->kind == FAKE_STREAM || o->kind == FAKE_EVENT || o->kind == FAKE_MODULE))
			fake_delete(o);
	}
}

static CUresult fake_context_destroy(CUcontext handle)
{
	struct fake_object *context = GET(handle, FAKE_CONTEXT);
	struct fake_thread *t = fake_self();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->depth -= t->depth != 0 && t->stack[t->depth - 1] == context;
	fake_lock();
	fake_context_empty(context);
	fake_delete(context);
	fake_unlock();
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuCtxDestroy(CUcontext context)
{
	return fake_context_destroy(context);
}

static inline CUresult fake_cuCtxDestroy_v2(CUcontext context)
{
	return fake_context_destroy(context);
}

static inline CUresult fake_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	if (!context || !fake_is_device(device))
		return context ? FAKE_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	if (fake_primary[device])
		fake_primary[device]->references++;
	else
		fake_primary[device] = fake_new(FAKE_CONTEXT, device);
	*context = (CUcontext)fake_primary[device];
	fake_unlock();
	return *context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A reset empties the context and keeps its handle, and so does the last release. */
static CUresult fake_primary_release(CUdevice device, bool is_reset)
{
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	CUresult result = CUDA_SUCCESS;
	fake_lock();
	struct fake_object *primary = fake_primary[device];
	if (!is_reset && (!primary || primary->references == 0))
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (primary && (is_reset || --primary->references == 0))
		fake_context_empty(primary);
	fake_unlock();
	return result;
}

static inline CUresult fake_cuDevicePrimaryCtxRelease(CUdevice device)
{
	return fake_primary_release(device, false);
}

static inline CUresult fake_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	return fake_primary_release(device, false);
}

static inline CUresult fake_cuDevicePrimaryCtxReset(CUdevice device)
{
	return fake_primary_release(device, true);
}

static inline CUresult fake_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return fake_primary_release(device, true);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	ENTER(cuDevicePrimaryCtxGetState);
	if (!fake_is_device(device))
		return FAKE_INVALID_DEVICE;
	fake_lock();
	*flags = 0;
	*active = fake_primary[device] && fake_primary[device]->references != 0;
	fake_unlock();
	return CUDA_SUCCESS;
}

/* ---- green contexts: a handle, and an ordinary context made from it ---- */

static inline CUresult fake_cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc resources,
					     CUdevice device, unsigned int flags)
{
	(void)resources;
	if (!green || !fake_is_device(device))
		return green ? FAKE_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	fake_lock();
	struct fake_object *object = fake_new(FAKE_GREEN, device),
			   *context = fake_new(FAKE_CONTEXT, device);
	fake_unlock();
	if (!object || !context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	object->flags = flags;
	object->first = context;
	*green = (CUgreenCtx)object;
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
	struct fake_object *object = GET(green, FAKE_GREEN);
	if (!object)
		return CUDA_ERROR_INVALID_HANDLE;
	*context = (CUcontext)object->first;
	return CUDA_SUCCESS;
}

static inline CUresult fake_cuGreenCtxDestroy(CUgreenCtx green)
{
	struct fake_object *object = GET(green, FAKE_GREEN);
	if (!object)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_lock();
	fake_context_empty(object->first);
	fake_delete(object->first);
	fake_delete(object);
	fake_unlock();
	return CUDA_SUCCESS;
}

#endif
