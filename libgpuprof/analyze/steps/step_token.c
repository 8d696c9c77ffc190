/*
 * The token of a launch is its kernel's name on its device. A launch of a graph gives the captured
 * launches as if they ran now, so a step looks the same before and after capture. If these are
 * unknown, it gives the graph's handle. An allocation is its stack, which is the same each time.
 * Its size is only used if no other property is known.
 */
#include "step_repeat.h"

#include <stdlib.h>
#include <string.h>

#define KERNELS_FEW 4u /* fewer have little information */

/* The number of a key; 0: none. */
static uint32_t step_token_find(struct gp_tokenizer *t, uint64_t key, bool can_learn)
{
	struct gp_step_symbol *symbol;
	const bool is_new = can_learn && t->symbols.rows < GP_SYMBOLS_MAX;
	key |= 1; /* key 0 is row 0 */
	symbol = is_new ? gp_row_get_key(&t->symbols, sizeof *symbol, key) :
			  gp_row_of_key(&t->symbols, sizeof *symbol, key);
	t->is_out_of_memory |= is_new && symbol == NULL;
	return symbol != NULL ? (uint32_t)(symbol - gp_step_symbol(&t->symbols, 0)) : 0;
}

enum gp_status gp_tokenizer_init(struct gp_tokenizer *t, const struct gp_info *info)
{
	const bool has_launches = info->kept[GP_LAUNCH] > 0 || info->kept[GP_GRAPH_LAUNCH] > 0;
	const uint64_t kernels = has_launches ? info->kept[GP_KERNEL] : 0;
	*t = (struct gp_tokenizer){
		.has_launches = has_launches,
		.has_kernels = kernels >= KERNELS_FEW,
		.has_stacks = info->has_stacks,
		.has_sizes = kernels == 0 && !info->has_stacks,
		/* the framework's requests to the driver depend on its cache */
		.alloc_kind = info->kept[GP_BLOCK_ALLOC] > 0 ? GP_BLOCK_ALLOC :
			      info->kept[GP_ALLOC] > 0	     ? GP_ALLOC :
							       0,
	};
	gp_graphs_open(&t->graphs, GP_GRAPH_TOKENS_MAX, info->file_bytes);
	const bool has_first = gp_row_get_key(&t->symbols, sizeof(struct gp_step_symbol), 0);
	return has_first ? GP_OK : GP_E_MEMORY;
}

static void forget_before(struct gp_tokenizer *t)
{
	t->before[0] = t->before[1] = 0;
}

void gp_tokenizer_release(struct gp_tokenizer *t)
{
	gp_row_table_release(&t->symbols);
	gp_graphs_release(&t->graphs);
}

/* An open recording stores each name once: its address identifies it. */
static uint64_t launch_token(const struct gp_recording *r, const struct gp_record *record)
{
	const char *name = gp_recording_kernel_name(r, record->launch.kernel);
	return gp_hash_pair(GP_LAUNCH | (uint64_t)record->device << 8,
			    name != NULL ? (uint64_t)(uintptr_t)name : record->launch.kernel);
}

static uint64_t alloc_token(const struct gp_tokenizer *t, const struct gp_record *record)
{
	bool is_block = record->kind == GP_BLOCK_ALLOC;
	const uint64_t bytes = is_block ? record->block_alloc.bytes : record->alloc.bytes,
		       stack = t->has_stacks ? record->stack : 0;
	return gp_hash_pair(t->has_sizes ? gp_hash_pair(record->kind, bytes) : record->kind, stack);
}

static struct gp_symbols step_token_see(struct gp_tokenizer *t, uint64_t token, bool can_learn)
{
	uint64_t three = gp_hash_pair(gp_hash_pair(t->before[0], t->before[1]), token);
	t->before[0] = t->before[1];
	t->before[1] = token;
	const uint32_t one = step_token_find(t, token, can_learn);
	return (struct gp_symbols){ one, step_token_find(t, three, can_learn) };
}

static size_t see_one(struct gp_tokenizer *t, uint64_t token, bool can_learn)
{
	t->own = step_token_see(t, token, can_learn);
	t->symbol = &t->own;
	return 1;
}

/*
 * No step begins inside a launch of a graph. So symbols that are in the graph more than once, as
 * its layers, mark none.
 */
static void graph_keep_single(struct gp_tokenizer *t, struct gp_symbols *symbol, size_t symbols)
{
	struct gp_step_symbol *all = gp_step_symbol(&t->symbols, 0);
	for (size_t k = 0; k < symbols; k++)
		all[symbol[k].one].in_graph = all[symbol[k].three].in_graph = 0;
	for (size_t k = 0; k < symbols; k++) {
		all[symbol[k].one].in_graph++;
		all[symbol[k].three].in_graph++;
	}
	for (size_t k = 0; k < symbols; k++) {
		const struct gp_symbols s = symbol[k];
		symbol[k].one = all[s.one].in_graph == 1 ? s.one : 0;
		symbol[k].three = all[s.three].in_graph == 1 ? s.three : 0;
	}
}

/* The symbols of a graph are the same each time, so none of them includes tokens outside of it. */
static size_t see_graph(struct gp_tokenizer *t, uint64_t exec, bool can_learn)
{
	const struct gp_graph_content *content = gp_graph_content_of(&t->graphs, exec);
	struct gp_graph_values *values = content != NULL ? content->values : NULL;
	struct gp_symbols *symbol;
	if (values == NULL || values->values == 0) {
		see_one(t, gp_hash_pair(GP_GRAPH_LAUNCH, exec), can_learn);
		gp_step_symbol(&t->symbols, t->own.one)->is_graph = t->own.one > 0;
		return 1;
	}
	if (values->memo == NULL) {
		symbol = values->memo = malloc(values->values * sizeof *symbol);
		t->is_out_of_memory |= symbol == NULL;
		forget_before(t);
		for (size_t k = 0; symbol != NULL && k < values->values; k++)
			symbol[k] = step_token_see(t, values->value[k], can_learn);
		if (symbol != NULL)
			graph_keep_single(t, symbol, values->values);
	}
	forget_before(t);
	t->symbol = values->memo;
	return t->symbol != NULL ? values->values : 0;
}

size_t gp_tokenizer_next(struct gp_tokenizer *t, const struct gp_recording *r,
			 const struct gp_record *record, bool can_learn)
{
	t->is_out_of_memory |= !gp_graphs_follow(&t->graphs, record);
	t->is_work = false;
	if (record->kind == GP_LAUNCH && t->has_launches) {
		const uint64_t token = launch_token(r, record);
		t->is_work = (record->launch.block >> 48 & GP_LAUNCH_CAPTURED) == 0;
		if (t->is_work)
			return see_one(t, token, can_learn);
		t->is_out_of_memory |= !gp_graphs_add(&t->graphs, token);
	} else if (record->kind == GP_GRAPH_LAUNCH && t->has_launches) {
		t->is_work = true;
		return see_graph(t, record->graph_launch.exec, can_learn);
	} else if (record->kind == t->alloc_kind && record->space != GP_SPACE_RESERVATION) {
		t->is_work = true;
		/* kernels identify the work, an allocation's stack only the caller */
		if (!t->has_kernels)
			return see_one(t, alloc_token(t, record), can_learn);
	}
	return 0;
}
