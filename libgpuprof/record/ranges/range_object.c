/*
 * Names that the job gives to threads, devices, contexts, streams and events. Kept while the
 * process lives, because most are given before recording begins; recorded when it begins. Limited:
 * later names are dropped.
 */
#include "range_mark.h"

#define OBJECTS 2048u

static struct {
	_Atomic uint32_t count;
	struct {
		uint64_t handle;
		_Atomic uint32_t what; /* 0: not written yet */
		_Atomic uint32_t name;
	} of[OBJECTS];
} objects;

static void define(enum gp_object what, uint64_t handle, uint32_t name)
{
	const char *text;
	size_t bytes = gp_range_name_text(name, &text);
	struct gp_record record = { .kind = GP_OBJECT_NAME,
				    .device = GP_DEVICE_UNKNOWN,
				    .aux = what };
	record.object_name.handle = handle;
	gp_define(&record, text, bytes);
}

static uint32_t known(void)
{
	uint32_t count = atomic_load_explicit(&objects.count, memory_order_acquire);
	return count < OBJECTS ? count : OBJECTS;
}

/*
 * False: no room. If two threads name the same object at once, the entry that is found first
 * counts.
 */
static bool range_object_keep(enum gp_object what, uint64_t handle, uint32_t name)
{
	const uint32_t count = known();
	for (uint32_t k = 0; k < count; k++) {
		/* partner: the release store below: the handle is complete */
		if (atomic_load_explicit(&objects.of[k].what, memory_order_acquire) != what ||
		    objects.of[k].handle != handle)
			continue;
		atomic_store_explicit(&objects.of[k].name, name, memory_order_relaxed);
		return true;
	}
	uint32_t at = atomic_load_explicit(&objects.count, memory_order_relaxed);
	do {
		if (at >= OBJECTS)
			return false;
	} while (!atomic_compare_exchange_weak(&objects.count, &at, at + 1));
	objects.of[at].handle = handle;
	atomic_store_explicit(&objects.of[at].name, name, memory_order_relaxed);
	atomic_store_explicit(&objects.of[at].what, what, memory_order_release);
	return true;
}

void gp_range_name_object(enum gp_object what, uint64_t handle, const char *text, size_t bytes)
{
	const uint32_t name = gp_range_name(0, text, bytes);
	const bool is_kept = name && range_object_keep(what, handle, name);
	if (!text || atomic_load_explicit(&gp_local->word, memory_order_relaxed) == 0 ||
	    !gp_enter_level(GP_LEVEL_MEMORY))
		return;
	if (is_kept)
		define(what, handle, name);
	else
		gp_count_lost(GP_OBJECT_NAME);
	gp_leave();
}

void gp_range_objects_write(void)
{
	const uint32_t count = known();
	for (uint32_t k = 0; k < count; k++) {
		uint32_t what = atomic_load_explicit(&objects.of[k].what, memory_order_acquire);
		if (what)
			define((enum gp_object)what, objects.of[k].handle,
			       atomic_load_explicit(&objects.of[k].name, memory_order_relaxed));
	}
}
