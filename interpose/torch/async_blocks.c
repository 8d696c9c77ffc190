/*
 * Blocks of PyTorch's backend cudaMallocAsync (async_blocks.h): who called, which blocks live, and
 * their totals. PyTorch holds one lock around each of its calls, so its totals follow the order of
 * events. The table is safe without that lock, since other libraries free memory at the same time.
 */
#include "async_blocks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../../libgpuprof/record/process/settings.h"
#include "../../libgpuprof/record/stacks/stack_table.h"
#include "../hooks/handle_table.h"
#include "../lookup/mapped_symbol.h"
#include "arena_table.h"
#include "hook_torch.h"

_Atomic bool gp_has_async_blocks GP_HOT_DATA;

/* ---- the caller ---- */

enum code { CODE_OTHER, CODE_RUNTIME, CODE_TORCH };
#define RUNTIME_FRAMES 8u /* of libcudart, from its export to the driver's function */

GP_HANDLE_TABLE(codes, 6, 2); /* enum code by return address */

struct code_search {
	uintptr_t pc;
	enum code code;
};

static bool begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static int code_look(struct dl_phdr_info *object, size_t bytes, void *context)
{
	struct code_search *search = context;
	(void)bytes;
	for (unsigned k = 0; k < object->dlpi_phnum; k++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[k];
		if (part->p_type != PT_LOAD ||
		    search->pc - object->dlpi_addr - part->p_vaddr >= part->p_memsz)
			continue;
		const char *slash = strrchr(object->dlpi_name, '/');
		const char *name = slash ? slash + 1 : object->dlpi_name;
		if (begins(name, "libc10_cuda"))
			search->code = CODE_TORCH;
		else if (begins(name, "libcudart") || begins(name, "libcuda.so"))
			search->code = CODE_RUNTIME;
		return 1;
	}
	return 0;
}

GP_COLD static enum code code_search(uint64_t pc)
{
	const int saved = errno;
	struct code_search search = { .pc = (uintptr_t)pc - 1, .code = CODE_OTHER };
	gp_mapped_walk(code_look, &search);
	gp_handle_put(&codes, pc, (uint8_t)search.code);
	errno = saved;
	return search.code;
}

/* False: the stack has no native frame that shows the caller. */
static bool caller_find(uint32_t stack, enum code *code)
{
	const struct gp_stack_entry *e = gp_stack_table_entry(stack);
	uint32_t id = e ? e->stack.native : 0;
	for (unsigned k = 0; k < RUNTIME_FRAMES && (e = gp_stack_table_entry(id)); k++) {
		const int known = gp_handle_find(&codes, e->native.pc);
		*code = known >= 0 ? (enum code)known : code_search(e->native.pc);
		if (*code != CODE_RUNTIME)
			return true;
		id = e->parent;
	}
	return false;
}

/* ---- the live blocks ---- */

#define SLOTS (UINT64_C(1) << 18)
#define BUCKET 64u /* slots; more than half of 2^18 blocks fit before one is full */
#define CLAIMED 1u /* no address: its other fields are being written */

struct block {
	_Atomic uint64_t address; /* 0: free */
	uint64_t bytes;
	uint32_t device, arena;
};
static struct block *_Atomic blocks;
static _Atomic uint64_t allocated[GP_DEVICES];

static struct block *bucket_of(struct block *table, uint64_t address)
{
	const uint64_t hash = address * 0x9e3779b97f4a7c15u >> 32;
	return table + hash % (SLOTS / BUCKET) * BUCKET;
}

GP_COLD static struct block *blocks_open(void)
{
	const int saved = errno;
	struct block *none = NULL;
	struct block *table = mmap(NULL, SLOTS * sizeof *table, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	if (table == MAP_FAILED)
		return NULL;
	/* partner: the acquire loads of `blocks` */
	if (atomic_compare_exchange_strong(&blocks, &none, table))
		return table;
	munmap(table, SLOTS * sizeof *table);
	return none;
}

static struct block *block_find(uint64_t address)
{
	struct block *table = atomic_load_explicit(&blocks, memory_order_acquire);
	struct block *slot = table && address > CLAIMED ? bucket_of(table, address) : NULL;
	for (unsigned k = 0; slot && k < BUCKET; k++, slot++)
		if (atomic_load_explicit(&slot->address, memory_order_acquire) == address)
			return slot;
	return NULL;
}

static bool block_add(const struct block *block, uint64_t address)
{
	struct block *table = atomic_load_explicit(&blocks, memory_order_acquire);
	if (!table && !(table = blocks_open()))
		return false;
	/* freed while recording was stopped */
	struct block *stale = block_find(address);
	if (stale) {
		atomic_fetch_sub(&allocated[stale->device], stale->bytes);
		atomic_store(&stale->address, 0);
	}
	struct block *slot = bucket_of(table, address);
	for (unsigned k = 0; k < BUCKET; k++, slot++) {
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(&slot->address, &none, CLAIMED))
			continue;
		slot->bytes = block->bytes;
		slot->device = block->device;
		slot->arena = block->arena;
		/* partner: the load in block_find */
		atomic_store_explicit(&slot->address, address, memory_order_release);
		return true;
	}
	return false;
}

/* ---- facts ---- */

static _Atomic bool is_gap_recorded;

/* Whether the environment chooses this backend. */
static bool is_backend_async(void)
{
	static const char *const names[] = { "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF" };
	char value[GP_TEXT_MAX + 1];
	for (unsigned k = 0; k < 2; k++)
		if (gp_environment_find(names[k], value, sizeof value) &&
		    strstr(value, "cudaMallocAsync"))
			return true;
	return false;
}

/* Blocks are missing, once a process: `why`, static text. */
GP_COLD static void record_gap(const char *why)
{
	if (!atomic_exchange(&is_gap_recorded, true))
		gp_define_fact(GP_FACT_ASYNC_BLOCKS, atomic_load(&gp_has_async_blocks), why);
}

GP_COLD static void caller_unknown(void)
{
	static _Atomic uint32_t chosen; /* 0: not looked up; 1: no; 2: yes */
	uint32_t known = atomic_load_explicit(&chosen, memory_order_relaxed);
	if (!known) {
		const int saved = errno;
		known = is_backend_async() ? 2 : 1;
		atomic_store_explicit(&chosen, known, memory_order_relaxed);
		errno = saved;
	}
	if (known == 2 && !atomic_load_explicit(&is_gap_recorded, memory_order_relaxed)) {
		gp_torch_facts(false);
		record_gap("calls without a native stack do not show their caller");
	}
}

GP_COLD static void record_first(void)
{
	if (atomic_exchange(&gp_has_async_blocks, true))
		return;
	gp_torch_facts(false);
	gp_define_fact(GP_FACT_ASYNC_BLOCKS, 1,
		       atomic_load(&is_gap_recorded) ?
			       "calls without a native stack do not show their caller" :
			       "");
}

/* ---- events ---- */

/* `now`: the device's total. Each block has driver memory of its own, so it is reserved as well. */
static void put_block(enum gp_kind kind, const struct block *b, uint64_t address, uint32_t stack,
		      uint64_t now)
{
	struct gp_record r = { .kind = (uint16_t)kind,
			       .device = (uint8_t)b->device,
			       .code = (uint16_t)b->arena,
			       .aux = kind == GP_BLOCK_ALLOC, /* no spare bytes; not pending */
			       .stack = stack };
	/* BLOCK_ALLOC and BLOCK_FREE have the same fields */
	r.block_alloc.address = address;
	r.block_alloc.bytes = b->bytes;
	r.block_alloc.allocated = now;
	r.block_alloc.reserved = now;
	gp_put(r);
}

void gp_async_block_alloc(uint32_t stack, uint64_t address, uint64_t bytes, uint64_t stream,
			  unsigned device)
{
	enum code code;
	if (gp_unlikely(!caller_find(stack, &code))) {
		caller_unknown();
		return;
	}
	if (gp_likely(code != CODE_TORCH) || device >= GP_DEVICES)
		return;
	if (gp_unlikely(!atomic_load_explicit(&gp_has_async_blocks, memory_order_relaxed)))
		record_first();
	const struct gp_arena_key arena = { .stream = stream, .device = (uint8_t)device };
	const struct block b = { .bytes = bytes,
				 .device = device,
				 .arena = gp_arena_number_inside(&arena) };
	if (!block_add(&b, address)) {
		record_gap("more blocks lived at once than the recorder has room for");
		return;
	}
	put_block(GP_BLOCK_ALLOC, &b, address, stack,
		  atomic_fetch_add(&allocated[device], bytes) + bytes);
}

void gp_async_block_freed_slow(uint64_t address)
{
	struct block *b = block_find(address);
	if (!b)
		return;
	const struct block freed = { .bytes = b->bytes, .device = b->device, .arena = b->arena };
	atomic_compare_exchange_strong(&b->address, &(uint64_t){ address }, 0);
	put_block(GP_BLOCK_FREE, &freed, address, 0,
		  atomic_fetch_sub(&allocated[freed.device], freed.bytes) - freed.bytes);
}

void gp_async_blocks_forget(void)
{
	struct block *table = atomic_exchange(&blocks, NULL);
	if (table)
		munmap(table, SLOTS * sizeof *table);
	for (unsigned d = 0; d < GP_DEVICES; d++)
		atomic_store(&allocated[d], 0);
	atomic_store(&gp_has_async_blocks, false);
	atomic_store(&is_gap_recorded, false);
}
