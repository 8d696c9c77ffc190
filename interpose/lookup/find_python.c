/* Where the Python interpreter is mapped, for the stacks of its frames. */
#include "find_python.h"

#include <stdatomic.h>

#include "../../libgpuprof/record/stacks/stack_take.h"
#include "elf_tables.h"
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

struct extent {
	uintptr_t inside, from, to;
};

static int find_extent(struct dl_phdr_info *object, size_t bytes, void *context)
{
	struct extent *e = context;
	(void)bytes;
	if (!gp_elf_is_mapped(object, (const void *)e->inside, 1))
		return 0;
	e->from = UINTPTR_MAX;
	for (unsigned k = 0; k < object->dlpi_phnum; k++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[k];
		const uintptr_t at = object->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		e->from = at < e->from ? at : e->from;
		e->to = at + segment->p_memsz > e->to ? at + segment->p_memsz : e->to;
	}
	return 1;
}

static bool find_interpreter(void)
{
	struct extent e = { .inside = (uintptr_t)gp_mapped_any("PyInterpreterState_Main") };
	if (!gp_stack_find(in_process, NULL))
		return false;
	if (e.inside && gp_mapped_walk(find_extent, &e))
		gp_stack_found(e.from, e.to);
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
