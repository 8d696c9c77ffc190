/*
 * Finds the native allocator's virtual functions (torch_allocator.h). CUDAPluggableAllocator
 * overrides all of them and exports both its table and its overrides. The place of an override in
 * that table is the function's place in every allocator's table. Each step is checked against the
 * mapped objects. If a check fails, that is recorded and the tracker is not attached.
 */
#include "torch_allocator.h"

#include <stddef.h>
#include <string.h>

#include "../lookup/mapped_symbol.h"
#include "torch_version.h"

_Static_assert(offsetof(struct gp_trace_entry, device) == 4, "");
_Static_assert(offsetof(struct gp_trace_entry, address) == 8, "");
_Static_assert(offsetof(struct gp_trace_entry, stream) == 32, "");
_Static_assert(offsetof(struct gp_trace_entry, bytes) == 40, "");

#define ALLOCATOR "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
#define TABLE "_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE"
#define OVERRIDE(function) "_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator" function

/* the entry's type moved to another namespace in 2.9 */
#define ATTACH                                                                        \
	OVERRIDE("27attachAllocatorTraceTrackerESt8functionIFvRKN3c1022CachingDevice" \
		 "Allocator10TraceEntryEEE")
#define ATTACH_OLD                                                                       \
	OVERRIDE("27attachAllocatorTraceTrackerESt8functionIFvRKN3c104cuda20CUDACaching" \
		 "Allocator10TraceEntryEEE")
/* since 2.11; before it; up to 2.7 */
#define SNAPSHOT OVERRIDE("8snapshotESt4pairIyyEb")
#define SNAPSHOT_OF_POOL OVERRIDE("8snapshotESt4pairIyyE")
#define SNAPSHOT_OLD OVERRIDE("8snapshotEv")
#define FRACTION OVERRIDE("17getMemoryFractionEa")
/* std::string with the new and with the old ABI */
#define NAME OVERRIDE("4nameB5cxx11Ev")
#define NAME_OLD OVERRIDE("4nameEv")

#define TABLE_HEAD 2u /* words before the first function: offset to top, type */

/* libstdc++'s std::string; the old ABI has only `text`. */
struct string {
	const char *text;
	size_t bytes;
	char local[16];
};
typedef void name_function(struct string *out, void *object);

/* Both tables: the exported one has the places, the native one has the functions to call. */
struct function_tables {
	void *const *exported;
	size_t words;
	const void *anchor; /* lies in the object of the native allocator */
	void *const *native;
};

#define NOT_TRIED \
	"this version of PyTorch was not tried on a GPU (--allocator-details=on records them)"

static const char *layout_of(const char *version, bool is_tried_only, uint32_t *pool_offset,
			     bool *has_snapshot)
{
	static const struct {
		unsigned major, first, last, pool_offset;
		bool has_snapshot, is_tried;
	} rows[] = {
#define LAYOUT(major, first, last, pool, snapshot, tried) \
	{ major, first, last, pool, snapshot, tried },
#include "trace_layout.def"
#undef LAYOUT
	};
	unsigned long major, minor;
	if (!gp_torch_numbers(version, &major, &minor))
		return "the version of PyTorch is not known";
	const char *why = "this PyTorch is too old";
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		bool is_later =
			major > rows[k].major || (major == rows[k].major && minor > rows[k].last);
		if (major == rows[k].major && minor >= rows[k].first && minor <= rows[k].last) {
			*pool_offset = rows[k].pool_offset;
			*has_snapshot = rows[k].has_snapshot;
			return is_tried_only && !rows[k].is_tried ? NOT_TRIED : NULL;
		}
		if (is_later)
			why = "this PyTorch is newer than the allocator layouts that are known";
	}
	return why;
}

/* The native function in the place of an exported override; NULL: not found, or not as expected. */
static void *native_function(const struct function_tables *t, const char *override)
{
	void *own = gp_mapped_symbol("libtorch_cuda", override, NULL, 0);
	size_t place = 0;
	for (size_t k = TABLE_HEAD; own && k < t->words; k++) {
		if (t->exported[k] != own)
			continue;
		if (place) /* the linker merged equal functions: ambiguous */
			return NULL;
		place = k;
	}
	void *const *slot = t->native + place - TABLE_HEAD;
	if (!place || !gp_mapped_is_part(t->anchor, GP_MAPPED_CONSTANT, slot, sizeof *slot) ||
	    !gp_mapped_is_part(t->anchor, GP_MAPPED_CODE, *slot, 1))
		return NULL;
	return *slot;
}

static bool is_native(const struct function_tables *t, void *object)
{
	static const char native[] = "native";
	struct string name = { NULL, 0, { 0 } };
	bool is_old = false;
	name_function *read_name;
	*(void **)&read_name = native_function(t, NAME);
	if (!read_name) {
		*(void **)&read_name = native_function(t, NAME_OLD);
		is_old = true;
	}
	if (!read_name)
		return false;
	/*
	 * short enough to need no heap memory, so there is nothing to free; the old ABI leaks the
	 * text once
	 */
	read_name(&name, object);
	if (is_old)
		return name.text && strcmp(name.text, native) == 0;
	return name.text == name.local && name.bytes == sizeof native - 1 &&
	       memcmp(name.text, native, sizeof native - 1) == 0;
}

static const char *find_tables(struct function_tables *t, void **object)
{
	size_t bytes;
	void **allocator = gp_mapped_data("libc10_cuda", ALLOCATOR, &bytes);
	if (!allocator)
		allocator = gp_mapped_data(NULL, ALLOCATOR, &bytes);
	if (!allocator || bytes != sizeof *allocator)
		return "its allocator was not found";
	t->exported = gp_mapped_data("libtorch_cuda", TABLE, &bytes);
	t->words = bytes / sizeof *t->exported;
	if (!t->exported || !gp_mapped_is_part(t->exported, GP_MAPPED_CONSTANT, t->exported, bytes))
		return "the table of its allocator's functions was not found";
	*object = __atomic_load_n(allocator, __ATOMIC_ACQUIRE);
	t->anchor = allocator;
	/* the native one is a static object of that library, others are created at run time */
	if (!*object || !gp_mapped_is_part(allocator, GP_MAPPED_ANY, *object, sizeof(void *)))
		return "its allocator is not the native one";
	t->native = *(void *const **)*object;
	if (!gp_mapped_is_part(allocator, GP_MAPPED_CONSTANT, t->native, sizeof *t->native))
		return "its allocator is not the native one";
	return NULL;
}

const char *gp_torch_allocator_find(const char *version, bool is_tried_only,
				    struct gp_torch_allocator *out)
{
	struct function_tables t;
	*out = (struct gp_torch_allocator){ .object = NULL };
	bool has_snapshot;
	const char *why = layout_of(version, is_tried_only, &out->pool_offset, &has_snapshot);
	if (!why)
		why = find_tables(&t, &out->object);
	if (why)
		return why;
	*(void **)&out->attach = native_function(&t, ATTACH);
	if (!out->attach)
		*(void **)&out->attach = native_function(&t, ATTACH_OLD);
	if (!out->attach)
		return "its allocator takes no known kind of tracker";
	if (!is_native(&t, out->object))
		return "its allocator is not the native one";
	*(void **)&out->fraction = native_function(&t, FRACTION);
	static const char *const snapshots[] = { SNAPSHOT, SNAPSHOT_OF_POOL, SNAPSHOT_OLD };
	for (unsigned k = 0; k < 3 && has_snapshot && !out->snapshot; k++)
		*(void **)&out->snapshot = native_function(&t, snapshots[k]);
	return NULL;
}

/* The operations of std::function: 1 returns the functor, 2 copies it, 3 destroys it. */
static bool manage(void *to, const void *from, int operation)
{
	if (operation == 1)
		memcpy(to, &from, sizeof from);
	else if (operation == 2)
		memcpy(to, from, sizeof((struct gp_trace_function *)0)->storage);
	return false;
}

void gp_torch_allocator_attach(const struct gp_torch_allocator *allocator,
			       void (*invoke)(const void *, const struct gp_trace_entry *))
{
	struct gp_trace_function tracker = { { NULL, NULL }, manage, invoke };
	/* passed by value, which for such a class is a reference; the callee may move from it */
	allocator->attach(allocator->object, &tracker);
}
