/*
 * A launch is its kernel's name, a graph's launch its handle. An allocation is its stack, which is
 * the same each time; its size, and a launch's grid, are only looked at where nothing else tells
 * what happens.
 */
#include "step_token.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KERNELS_FEW 4u		     /* fewer tell little */
#define PLACES (2u * GP_SYMBOLS_MAX) /* a power of two */

static uint64_t mix(uint64_t value)
{
	/* the finalizer of splitmix64 (Steele and others, 2014) */
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

static uint64_t join(uint64_t a, uint64_t b)
{
	return mix(a * 0x9e3779b97f4a7c15u + b + 1);
}

/* The number of a key; 0: it has none. */
static uint32_t find(struct gp_symbol_table *t, uint64_t key, bool can_learn)
{
	key |= 1; /* 0 is empty */
	for (uint64_t at = key >> 20;; at++) {
		uint64_t place = at & (PLACES - 1);
		if (t->key[place] == key)
			return t->place[place];
		if (t->key[place] != 0)
			continue;
		if (!can_learn || t->symbols + 1 >= GP_SYMBOLS_MAX)
			return 0;
		t->key[place] = key;
		return t->place[place] = ++t->symbols;
	}
}

/* PyTorch's fused and foreach optimizers, and those that others wrote, are called so. */
static bool is_optimizer_name(const char *name)
{
	static const char *const parts[] = {
		"multi_tensor_apply", "adam", "sgd", "adagrad", "rmsprop", "lamb", "lion",
		"adafactor"
	};
	for (size_t k = 0; name != NULL && k < sizeof parts / sizeof *parts; k++)
		if (strcasestr(name, parts[k]) != NULL)
			return true;
	return false;
}

enum gp_status gp_tokenizer_init(struct gp_tokenizer *t, const struct gp_info *info)
{
	*t = (struct gp_tokenizer){
		.has_blocks = info->kept[GP_BLOCK_ALLOC] > 0,
		.has_sizes = !info->has_stacks && info->kept[GP_KERNEL] < KERNELS_FEW,
	};
	t->table.key = calloc(PLACES, sizeof *t->table.key);
	t->table.place = calloc(PLACES, sizeof *t->table.place);
	t->table.trait = calloc(GP_SYMBOLS_MAX, 1);
	if (t->table.key != NULL && t->table.place != NULL && t->table.trait != NULL)
		return GP_OK;
	gp_tokenizer_release(t);
	return GP_E_MEMORY;
}

void gp_tokenizer_release(struct gp_tokenizer *t)
{
	free(t->table.key);
	free(t->table.place);
	free(t->table.trait);
	t->table = (struct gp_symbol_table){ 0 };
}

void gp_tokenizer_rewind(struct gp_tokenizer *t)
{
	t->before[0] = t->before[1] = 0;
}

/* Names are kept once in a recording that is open: their address stands for them. */
static uint64_t launch_token(const struct gp_tokenizer *t, const struct gp_recording *r,
			     const struct gp_record *record, const char **name)
{
	if (record->launch.block >> 48 & GP_LAUNCH_CAPTURED)
		return 0;
	*name = gp_recording_kernel_name(r, record->launch.kernel);
	uint64_t kernel = *name != NULL ? (uint64_t)(uintptr_t)*name : record->launch.kernel;
	return join(GP_LAUNCH, t->has_sizes ? join(kernel, record->launch.grid) : kernel);
}

static uint64_t alloc_token(const struct gp_tokenizer *t, const struct gp_record *record)
{
	bool is_block = record->kind == GP_BLOCK_ALLOC;
	if (!is_block && (t->has_blocks || record->space == GP_SPACE_RESERVATION))
		return 0; /* what the framework asks of the driver depends on what it has */
	if (record->stack != 0)
		return join(record->kind, record->stack);
	if (!t->has_sizes)
		return 0;
	return join(record->kind | 0x100u,
		    is_block ? record->block_alloc.bytes : record->alloc.bytes);
}

bool gp_tokenizer_next(struct gp_tokenizer *t, const struct gp_recording *r,
		       const struct gp_record *record, bool can_learn, struct gp_symbols *out)
{
	const char *name = NULL;
	uint64_t token = 0;
	if (record->kind == GP_LAUNCH)
		token = launch_token(t, r, record, &name);
	else if (record->kind == GP_GRAPH_LAUNCH)
		token = join(GP_GRAPH_LAUNCH, record->graph_launch.exec);
	else if (record->kind == GP_BLOCK_ALLOC || record->kind == GP_ALLOC)
		token = alloc_token(t, record);
	if (token == 0)
		return false;
	uint32_t known = t->table.symbols;
	out->one = find(&t->table, token, can_learn);
	if (out->one > known && record->kind == GP_GRAPH_LAUNCH)
		t->table.trait[out->one] = GP_TRAIT_GRAPH;
	else if (out->one > known && is_optimizer_name(name))
		t->table.trait[out->one] = GP_TRAIT_OPTIMIZER;
	uint64_t three = join(join(t->before[0], t->before[1]), token);
	out->three = find(&t->table, three, can_learn);
	t->before[0] = t->before[1];
	t->before[1] = token;
	return true;
}
