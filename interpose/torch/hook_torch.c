/*
 * PyTorch, blocks: the reports of its caching allocator to the profiler. There is one for each
 * block handed out or taken back, with the allocator's totals, and one for each OOM. Owns the c10
 * names that the preload object exports. Every report is passed on to the original. Called under
 * the allocator's lock: no lock, no loader, no malloc here.
 */
#include "hook_torch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../libgpuprof/record/process/fork_gate.h"
#include "../../libgpuprof/record/process/settings.h"
#include "../../libgpuprof/record/stacks/stack_take.h"
#include "../hooks/device_memory.h"
#include "../lookup/mapped_scope.h"
#include "../lookup/mapped_symbol.h"
#include "../lookup/resolver.h"
#include "hook_trace.h"
#include "torch_nodes.h"
#include "torch_ranges.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * c10::Device, passed by value: {int8 type; int8 index} in the low 16 bits, the rest of the
 * register is garbage.
 */
#define DEVICE_CUDA 1u

static unsigned device_type(uint64_t device)
{
	return (unsigned)device & 0xffu;
}

static unsigned device_index(uint64_t device)
{
	return (unsigned)device >> 8 & 0xffu;
}

typedef void report_memory(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
			   uint64_t device);
typedef void report_oom(int64_t bytes, uint64_t allocated, uint64_t reserved, uint64_t device);

/*
 * lll is PyTorch 1.10 to at least 1.13, lmm 2.6 and newer; the change was in between. Both use the
 * same registers, so one implementation serves both and forwards to the one that the mapped c10
 * defines.
 */
#define MEMORY_LLL "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define MEMORY_LMM "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define OOM_LLL "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"
#define OOM_LMM "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"

/* By the caller's object: two copies of c10 in one process each get their own reports. */
static struct gp_originals memory_originals GP_HOT_DATA, oom_originals;
static const char *const memory_names[] = { MEMORY_LMM, MEMORY_LLL, NULL };
static const char *const oom_names[] = { OOM_LMM, OOM_LLL, NULL };

/*
 * The totals of each device's allocator in its last report. The allocator's lock orders the reports
 * of a device.
 */
struct totals {
	_Atomic uint64_t allocated, reserved;
	_Atomic bool is_seen;
};
static struct totals last[GP_DEVICES] GP_HOT_DATA;

/* In any object: a file named libc10.so*, else a library into which a build merged c10. */
static void *find_any(const char *const *names, char *path, size_t path_bytes)
{
	static const char *const prefixes[] = { "libc10.so", NULL };
	void *found = NULL;
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; names[k] && !found; k++)
			found = gp_mapped_symbol(prefixes[i], names[k], path, path_bytes);
	return found;
}

/* Called in place of an original that was not found. Does nothing. */
static void no_original(void)
{
}

/* NULL during a fork: that report is not passed on, and the next one searches again. */
GP_COLD static void *search_original(struct gp_originals *originals, const char *const *names,
				     const void *caller)
{
	int saved = errno;
	uint64_t signals;
	void *found = NULL;
	if (gp_walks_begin(&signals)) {
		found = gp_mapped_bound(caller, names);
		found = found ? found : find_any(names, NULL, 0);
		found = found ? found : (void *)no_original;
		gp_original_keep(originals, caller, found);
		gp_walks_end(&signals);
	}
	errno = saved;
	return found;
}

GP_HOT void *original_of(struct gp_originals *originals, const char *const *names,
			 const void *caller)
{
	void *found = gp_original_known(originals, caller);
	return gp_likely(found != NULL) ? found : search_original(originals, names, caller);
}

/*
 * Copies the value of the line `__version__ = "..."` in a version.py. `__all__` contains the name
 * before that line.
 */
static bool version_in(const char *text, char *out, size_t bytes)
{
	const char *line = text;
	while (line && strncmp(line, "__version__", 11) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	const char *quote = line ? strpbrk(line, "'\"\n") : NULL;
	const char *end = quote && *quote != '\n' ? strchr(quote + 1, *quote) : NULL;
	size_t length = end ? (size_t)(end - quote - 1) : 0;
	if (length == 0 || length >= bytes)
		return false;
	memcpy(out, quote + 1, length);
	out[length] = '\0';
	return true;
}

bool gp_torch_version(char *out, size_t bytes)
{
	int saved = errno;
	char path[1024] = "", text[2048];
	bool is_found = false;
	int file = -1;
	char *slash = NULL;
	uint64_t signals;
	if (gp_walks_begin(&signals)) {
		/* PACKAGE/lib/libc10.so -> PACKAGE/version.py */
		if (find_any(memory_names, path, sizeof path - 16))
			slash = strrchr(path, '/');
		gp_walks_end(&signals);
	}
	if (slash && slash - path >= 4 && memcmp(slash - 4, "/lib", 4) == 0) {
		memcpy(slash - 4, "/version.py", sizeof "/version.py");
		file = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (file >= 0) {
		ssize_t got = read(file, text, sizeof text - 1);
		close(file);
		text[got > 0 ? got : 0] = '\0';
		is_found = version_in(text, out, bytes);
	}
	errno = saved;
	return is_found;
}

/*
 * A new block changes the allocator's totals. So a report of +bytes with unchanged totals is of a
 * block that was already live. Restoring a checkpoint of a graph's pool does that.
 */
GP_HOT enum gp_kind kind_of(const struct totals *t, int64_t bytes, uint64_t allocated,
			    uint64_t reserved)
{
	if (bytes < 0)
		return GP_BLOCK_FREE;
	bool is_same = atomic_load_explicit(&t->allocated, memory_order_relaxed) == allocated &&
		       atomic_load_explicit(&t->reserved, memory_order_relaxed) == reserved &&
		       atomic_load_explicit(&t->is_seen, memory_order_relaxed);
	return is_same ? GP_BLOCK_EXISTING : GP_BLOCK_ALLOC;
}

GP_HOT void keep_totals(struct totals *t, uint64_t allocated, uint64_t reserved)
{
	atomic_store_explicit(&t->allocated, allocated, memory_order_relaxed);
	atomic_store_explicit(&t->reserved, reserved, memory_order_relaxed);
	atomic_store_explicit(&t->is_seen, true, memory_order_relaxed);
}

bool gp_torch_totals(unsigned device, uint64_t *allocated, uint64_t *reserved)
{
	const struct totals *t = &last[device];
	*allocated = atomic_load_explicit(&t->allocated, memory_order_relaxed);
	*reserved = atomic_load_explicit(&t->reserved, memory_order_relaxed);
	return atomic_load_explicit(&t->is_seen, memory_order_relaxed);
}

/*
 * The allocator's settings in the environment. The first variable that is set counts, the other one
 * is ignored (2.11; up to 2.8 there is only the first).
 */
GP_COLD static void record_settings(void)
{
	static const char *const names[] = { "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF" };
	char text[GP_TEXT_MAX + 1] = "", value[GP_TEXT_MAX + 1];
	size_t used = 0;
	for (unsigned k = 0; k < 2; k++) {
		const bool is_set = gp_environment_find(names[k], value, sizeof value);
		size_t bytes = is_set ? strlen(names[k]) + strlen(value) + 2 : sizeof text;
		if (bytes >= sizeof text - used)
			continue;
		if (used)
			text[used++] = ' ';
		used = (size_t)(stpcpy(stpcpy(stpcpy(text + used, names[k]), "="), value) - text);
	}
	if (used)
		gp_define_fact(GP_FACT_ALLOC_CONF, 0, text);
}

/* Whether the device's allocator has no other block. */
static bool is_only_block(int64_t bytes, uint64_t allocated)
{
	return bytes > 0 && allocated == (uint64_t)bytes;
}

/* Whether it is the first block of the process: no device has reported one, recorded or not. */
GP_COLD static bool is_first_block(int64_t bytes, uint64_t allocated)
{
	for (unsigned d = 0; d < GP_DEVICES; d++)
		if (atomic_load_explicit(&last[d].is_seen, memory_order_relaxed))
			return false;
	return is_only_block(bytes, allocated);
}

GP_COLD bool gp_torch_facts(bool has_reports)
{
	char version[64];
	/* in a forked child the word is 0 again */
	if (atomic_exchange_explicit(&gp_local->are_facts_recorded, 1, memory_order_relaxed))
		return false; /* another thread was first */
	if (has_reports)
		gp_define_fact(GP_FACT_BLOCK_REPORTS, 1, NULL);
	if (gp_torch_version(version, sizeof version))
		gp_define_fact(GP_FACT_PYTORCH, 0, version);
	record_settings();
	gp_torch_ranges_request();
	gp_torch_nodes_request();
	return true;
}

/* True: the tracker was attached here, under the lock of the first block's device. */
GP_COLD static bool record_facts(int64_t bytes, uint64_t allocated)
{
	return gp_torch_facts(true) && gp_trace_is_needed(is_first_block(bytes, allocated));
}

GP_HOT bool record_facts_once(int64_t bytes, uint64_t allocated)
{
	if (gp_unlikely(!atomic_load_explicit(&gp_local->are_facts_recorded, memory_order_relaxed)))
		return record_facts(bytes, allocated);
	return false;
}

/* Blocks from before our first report, which the reader cannot reconstruct. */
GP_COLD static void record_late(int64_t bytes, uint64_t allocated, unsigned device)
{
	const struct gp_record late = { .kind = GP_FACT,
					.device = (uint8_t)device,
					.aux = GP_FACT_FRAMEWORK_LATE,
					.fact.value = 1 };
	if (!is_only_block(bytes, allocated))
		gp_define(&late, NULL, 0);
}

static void record_memory(void *block, int64_t bytes, uint64_t allocated, uint64_t reserved,
			  unsigned device)
{
	struct totals *t = &last[device];
	enum gp_kind kind = kind_of(t, bytes, allocated, reserved);
	bool is_first = !atomic_load_explicit(&t->is_seen, memory_order_relaxed);
	bool is_attached_here = false;
	struct gp_record *r = NULL;
	uint32_t stack = 0;
	bool is_recording = gp_enter();
	if (is_recording) {
		is_attached_here = record_facts_once(bytes, allocated);
		if (gp_unlikely(is_first))
			record_late(bytes, allocated, device);
		stack = kind == GP_BLOCK_FREE ? gp_stack_of_free() :
						gp_stack_of_alloc_at(__builtin_frame_address(0));
		r = gp_reserve(kind);
	}
	/* after taking the order number, because a locked instruction waits for earlier stores */
	keep_totals(t, allocated, reserved);
	if (!is_recording)
		return;
	if (gp_likely(r)) {
		r->device = (uint8_t)device;
		r->stack = stack;
		/* BLOCK_ALLOC, BLOCK_FREE and BLOCK_EXISTING have the same fields */
		r->block_alloc.address = (uint64_t)(uintptr_t)block;
		r->block_alloc.bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
		r->block_alloc.allocated = allocated;
		r->block_alloc.reserved = reserved;
		gp_details_join(r);
		gp_commit_memory(r);
	}
	if (gp_unlikely(is_attached_here))
		gp_trace_first_block();
	gp_leave();
}

static void record_oom(int64_t bytes, uint64_t allocated, uint64_t reserved, unsigned device)
{
	if (!gp_enter())
		return;
	record_facts_once(0, 0);
	struct gp_record oom = { .kind = GP_OOM,
				 .device = (uint8_t)device,
				 .stack = gp_stack_of_alloc(),
				 .oom.bytes = (uint64_t)bytes,
				 .oom.allocated = allocated,
				 .oom.reserved = reserved };
	gp_details_join(&oom);
	gp_put(oom);
	gp_device_memory_query_oom(device);
	gp_flush_soon();
	gp_leave();
}

/*
 * The driver allocation for a block comes just before from the same thread, its release just after
 * or later. So the report is recorded before it is passed on to the original.
 */
EXPORT report_memory _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE;
EXPORT report_memory _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE
	__attribute__((alias(MEMORY_LMM)));
EXPORT report_oom _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE;
EXPORT report_oom _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE
	__attribute__((alias(OOM_LMM)));

static bool is_recorded(uint64_t device)
{
	return gp_lookups_open && device_type(device) == DEVICE_CUDA &&
	       device_index(device) < GP_DEVICES;
}

GP_HOT_TEXT void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes,
								       uint64_t allocated,
								       uint64_t reserved,
								       uint64_t device)
{
	report_memory *next;
	*(void **)&next = original_of(&memory_originals, memory_names, __builtin_return_address(0));
	if (is_recorded(device) && bytes != 0)
		record_memory(block, bytes, allocated, reserved, device_index(device));
	if (next)
		next(block, bytes, allocated, reserved, device);
}

void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, uint64_t allocated,
							 uint64_t reserved, uint64_t device)
{
	report_oom *next;
	*(void **)&next = original_of(&oom_originals, oom_names, __builtin_return_address(0));
	if (is_recorded(device))
		record_oom(bytes, allocated, reserved, device_index(device));
	if (next)
		next(bytes, allocated, reserved, device);
}
