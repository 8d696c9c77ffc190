/* Entries become PYTHON_CODE, NATIVE_FRAME, PYTHON_FRAME, TORCH_MODULE and CALL_STACK records. */
#include "stack_define.h"

#include <string.h>

#define CHAIN_MAX 256u

/* True: the entry exists, is of that kind, and is defined now for the first time. */
static bool is_new(const struct gp_stack_define *d, uint32_t id, enum gp_stack_kind kind,
		   const struct gp_stack_entry **entry)
{
	*entry = id != 0 && id < d->ids_most ? d->entry(d->context, id) : NULL;
	/* partner: the release store of kind, which is stored last */
	if (!*entry || atomic_load_explicit(&(*entry)->kind, memory_order_acquire) != kind)
		return false;
	unsigned char bit = (unsigned char)(1u << (id & 7));
	if (d->is_defined[id / 8] & bit)
		return false;
	d->is_defined[id / 8] |= bit;
	return true;
}

static uint32_t copy_text(const struct gp_stack_define *d, uint32_t id, unsigned char *to)
{
	const struct gp_stack_entry *text = id < d->ids_most ? d->entry(d->context, id) : NULL;
	if (!text || atomic_load_explicit(&text->kind, memory_order_acquire) != GP_STACK_TEXT)
		return 0;
	uint32_t bytes = text->parent < GP_TEXT_MAX ? text->parent : GP_TEXT_MAX;
	for (uint32_t at = 0; at < bytes; at += 32) {
		uint32_t next = id + 1 + at / 32;
		const struct gp_stack_entry *row =
			next < d->ids_most ? d->entry(d->context, next) : NULL;
		if (!row)
			return at;
		memcpy(to + at, row, bytes - at < 32 ? bytes - at : 32);
	}
	return bytes;
}

/* Adds the text of entry `id` to its record. */
static void visit_with_text(const struct gp_stack_define *d, uint32_t id, uint32_t text_id,
			    struct gp_record record)
{
	struct gp_record slots[17] = { 0 };
	unsigned char *text = (unsigned char *)(slots + 1);
	uint64_t bytes = text_id < id + 2 ? copy_text(d, text_id, text + 8) : 0;
	memcpy(text, &bytes, sizeof bytes);
	slots[0] = record;
	slots[0].aux = id;
	slots[0].extra = (uint8_t)((bytes + 8 + 63) / 64);
	d->visit(d->context, slots);
}

static void define_code(const struct gp_stack_define *d, uint32_t id)
{
	const struct gp_stack_entry *e;
	if (!is_new(d, id, GP_STACK_CODE, &e))
		return;
	visit_with_text(d, id, e->parent,
			(struct gp_record){ .kind = GP_PYTHON_CODE,
					    .python_code = { e->code.address, e->code.identity,
							     e->code.first_line, 0 } });
}

static void define_modules(const struct gp_stack_define *d, uint32_t id)
{
	uint32_t chain[CHAIN_MAX];
	unsigned n = 0;
	const struct gp_stack_entry *e;
	while (n < CHAIN_MAX && is_new(d, id, GP_STACK_MODULE, &e)) {
		chain[n++] = id;
		id = e->module.within < id ? (uint32_t)e->module.within : 0;
	}
	while (n-- > 0) {
		e = d->entry(d->context, chain[n]);
		visit_with_text(d, chain[n], e->parent,
				(struct gp_record){ .kind = GP_TORCH_MODULE,
						    .torch_module.within = e->module.within });
	}
}

static void define_frame(const struct gp_stack_define *d, uint32_t id,
			 const struct gp_stack_entry *e, enum gp_stack_kind kind)
{
	struct gp_record frame = { .aux = id };
	if (kind == GP_STACK_NATIVE) {
		frame.kind = GP_NATIVE_FRAME;
		frame.native_frame.parent = e->parent;
		frame.native_frame.pc = e->native.pc;
		frame.native_frame.runs_python = e->native.runs_python & 1;
	} else {
		define_code(d, e->python.code < id ? e->python.code : 0);
		frame.kind = GP_PYTHON_FRAME;
		frame.python_frame.parent = e->parent;
		frame.python_frame.python_code = e->python.code;
		frame.python_frame.line = e->python.line;
		frame.python_frame.place = (uint64_t)(uint32_t)e->python.offset << 9 |
					   (e->python.bare_entries & 255) << 1 |
					   (e->python.is_entry & 1);
	}
	d->visit(d->context, &frame);
}

static void define_chain(const struct gp_stack_define *d, uint32_t id, enum gp_stack_kind kind)
{
	struct {
		uint32_t id;
		const struct gp_stack_entry *entry;
	} chain[CHAIN_MAX];
	unsigned frames = 0;
	const struct gp_stack_entry *e;
	while (frames < CHAIN_MAX && is_new(d, id, kind, &e)) {
		chain[frames].id = id;
		chain[frames++].entry = e;
		id = e->parent < id ? e->parent : 0;
	}
	while (frames-- > 0)
		define_frame(d, chain[frames].id, chain[frames].entry, kind);
}

void gp_stack_define(const struct gp_stack_define *d, uint32_t stack)
{
	const struct gp_stack_entry *e;
	if (!is_new(d, stack, GP_STACK_STACK, &e))
		return;
	define_chain(d, e->stack.native < stack ? e->stack.native : 0, GP_STACK_NATIVE);
	define_chain(d, e->stack.python < stack ? e->stack.python : 0, GP_STACK_PYTHON);
	const uint32_t module = e->stack.why_python >> GP_STACK_MODULE_SHIFT;
	const uint32_t why = e->stack.why_python & ((1u << GP_STACK_MODULE_SHIFT) - 1);
	define_modules(d, module < stack ? module : 0);
	d->visit(d->context,
		 &(struct gp_record){
			 .kind = GP_CALL_STACK,
			 .aux = stack,
			 .call_stack = { e->stack.native, e->stack.python, e->stack.why_native,
					 why | (uint64_t)module << GP_WHY_MODULE_SHIFT } });
}
