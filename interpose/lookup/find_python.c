/* Where the Python interpreter is mapped, for the stacks of its frames. */
#include "find_python.h"

#include <stdatomic.h>

#include "../../libgpuprof/record/stacks/stack_take.h"
#include "elf_lookup.h"
#include "mapped_symbol.h"

static int count_loads(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	*(unsigned long long *)context = object->dlpi_adds;
	return 1;
}

static void *in_process(void *context, const char *name)
{
	(void)context;
	return gp_mapped_any(name);
}

static bool find_interpreter(void)
{
	const void *inside = gp_mapped_any("PyInterpreterState_Main");
	struct gp_elf_range object;
	if (!gp_stack_find(in_process, NULL))
		return false;
	if (inside && gp_elf_find(inside, &object))
		gp_stack_found(object.from, object.to);
	return true;
}

void gp_find_python(void)
{
	static _Atomic unsigned long long loads_seen;
	static _Atomic bool is_found;
	unsigned long long loads = 0;
	if (!gp_settings.has_python || atomic_load_explicit(&is_found, memory_order_relaxed))
		return;
	gp_mapped_walk(count_loads, &loads);
	if (loads == atomic_load_explicit(&loads_seen, memory_order_relaxed))
		return;
	atomic_store_explicit(&is_found, find_interpreter(), memory_order_relaxed);
	atomic_store_explicit(&loads_seen, loads, memory_order_relaxed);
}
