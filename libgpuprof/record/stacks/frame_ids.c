/* From the cache; else from the table, into which new frames and code objects are put. */
#include "frame_ids.h"

#include <string.h>

#include "../python/python_module.h"
#include "../record.h"
#include "stack_table.h"

#define TEXT_BYTES 480u /* of a file's or a function's name */

/*
 * Puts a new code object into the table. 0: no room. Code objects with the same text share an id,
 * because jobs that make them at each step (exec, generated code) would fill the table.
 */
GP_COLD static uint32_t learn_code(const void *code)
{
	char bytes[2 * TEXT_BYTES + 2], name_bytes[TEXT_BYTES];
	struct gp_python_text file = { .bytes = bytes, .room = TEXT_BYTES };
	struct gp_python_text name = { .bytes = name_bytes, .room = TEXT_BYTES };
	int32_t first_line = 0;
	if (!gp_python_describe(code, &file, &name, &first_line))
		return 0;
	bytes[file.size] = '\0';
	memcpy(bytes + file.size + 1, name_bytes, name.size);
	const size_t size = file.size + 1 + name.size;
	bytes[size] = '\0';
	gp_python_module_learn(code, bytes, bytes + file.size + 1);
	return gp_stack_code_add((uint64_t)(uintptr_t)code, gp_python_print(code, bytes, size),
				 first_line > 0 ? (uint32_t)first_line : 0, bytes, (uint32_t)size);
}

/* The id of a frame that the cache does not have. 0: no room. */
static uint32_t table_id(struct gp_frame_ids *ids, const struct gp_python_frame *f, uint32_t parent)
{
	const uint64_t identity = gp_python_identity(f->code);
	struct gp_known_code *known = &ids->code[identity >> (64 - GP_CODES_KNOWN_LOG)];
	if (gp_unlikely(known->identity != identity || !known->id))
		*known = (struct gp_known_code){ identity, learn_code(f->code) };
	const struct gp_stack_python place = { parent, known->id, f->offset, f->is_entry,
					       f->bare_entries };
	return known->id ? gp_stack_python(&place, gp_python_line, f->code) : 0;
}

GP_HOT bool is_frame(const struct gp_known_frame *known, const struct gp_python_frame *f,
		     uint32_t parent)
{
	return known->id && known->parent == parent && gp_known_frame_is(known, f);
}

GP_HOT_TEXT uint32_t gp_frame_id(struct gp_frame_ids *ids, struct gp_known_frame *last,
				 const struct gp_python_frame *f, uint32_t parent)
{
	uint64_t hash = (uint64_t)(uintptr_t)f->code ^ (uint64_t)(uint32_t)f->offset << 40 ^ parent;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	struct gp_known_frame *known = ids->known[hash >> (64 - GP_FRAMES_KNOWN_LOG)];
	if (gp_likely(is_frame(known, f, parent))) {
		*last = known[0];
		return last->id;
	}
	if (is_frame(known + 1, f, parent)) {
		*last = known[1];
		return last->id;
	}
	known[1] = known[0];
	*known = (struct gp_known_frame){
		.code = f->code,
		.offset = f->offset,
		.parent = parent,
		.code_frees = f->code_frees,
		.id = table_id(ids, f, parent),
		.is_entry = f->is_entry,
		.bare_entries = f->bare_entries,
	};
	*last = *known;
	return last->id;
}
