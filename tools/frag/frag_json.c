/* `gpuprof frag` for a program; gpuprof-frag(1) documents the keys. */
#include <inttypes.h>
#include <stdlib.h>

#include "../report/number_line.h"
#include "../report/report.h"
#include "../report/stack_print.h"
#include "../report/use_print.h"
#include "frag_report.h"

static const char *const states[] = {
	[GP_STATE_FREE] = "free",
	[GP_STATE_ALLOCATED] = "allocated",
	[GP_STATE_PENDING] = "pending",
};

void gp_known_write(struct gp_json *json, const char *key, uint64_t bytes)
{
	gp_json_number_if(json, key, bytes != GP_BYTES_UNKNOWN, bytes);
}

static void write_stack(struct gp_json *json, uint32_t stack)
{
	gp_json_number_if(json, "stack", stack, stack);
}

void gp_arena_write(struct gp_json *json, const struct gp_arena *a)
{
	if (a->is_known)
		gp_json_hex(json, "stream", a->stream);
	else
		gp_json_null(json, "stream");
	if (!a->is_known || !a->has_pool) {
		gp_json_null(json, "pool");
		return;
	}
	gp_json_array(json, "pool");
	gp_json_number(json, NULL, a->pool);
	gp_json_number(json, NULL, a->user_pool);
	gp_json_end(json);
}

void gp_frag_causes_write(struct gp_json *json, const struct gp_frag *f)
{
	gp_json_object(json, "causes");
	for (unsigned k = 0; k < GP_CAUSES; k++)
		gp_json_number(json, gp_cause_names[k], f->cause_bytes[k]);
	gp_json_end(json);
}

/* The capture that made a private pool; null: not a private pool, or unknown. */
static void write_capture(struct gp_json *json, const struct gp_arena *a)
{
	if (a->graph)
		gp_json_hex(json, "graph", a->graph);
	else
		gp_json_null(json, "graph");
	gp_json_signed_if(json, "captured_at_ns", a->captured_at_ns >= 0 && gp_arena_is_private(a),
			  a->captured_at_ns);
}

static void write_pools(struct gp_json *json, const struct gp_frag *f)
{
	gp_json_array(json, "pools");
	for (size_t k = 0; k < f->pools; k++) {
		const struct gp_frag_pool *p = &f->pool[k];
		gp_json_object(json, NULL);
		gp_arena_write(json, &f->memory->arena[p->arena]);
		write_capture(json, &f->memory->arena[p->arena]);
		gp_json_bool(json, "small", p->is_small);
		gp_json_bool(json, "expandable", p->has_expandable);
		gp_json_number(json, "segments", p->segments);
		gp_json_number(json, "gaps", p->gaps);
		gp_json_number(json, "reserved_bytes", p->reserved_bytes);
		gp_json_number(json, "allocated_bytes", p->allocated_bytes);
		gp_json_number(json, "pending_bytes", p->pending_bytes);
		gp_json_number(json, "free_bytes", p->free_bytes);
		gp_json_number(json, "largest_gap_bytes", p->largest_gap_bytes);
		gp_json_number(json, "largest_request_bytes", p->largest_request_bytes);
		gp_json_number(json, "releasable_bytes", p->releasable_bytes);
		gp_json_number(json, "tail_bytes", p->tail_bytes);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_block(struct gp_json *json, const struct gp_memory_block *b)
{
	gp_json_object(json, NULL);
	gp_json_hex(json, "address", b->address);
	gp_json_number(json, "bytes", b->bytes);
	gp_known_write(json, "requested_bytes", b->requested_bytes);
	gp_json_text(json, "state", states[b->state]);
	gp_json_signed_if(json, "at_ns", b->state != GP_STATE_FREE, b->at_ns);
	write_stack(json, b->stack);
	gp_json_end(json);
}

static void write_segments(struct gp_json *json, const struct gp_frag *f)
{
	const struct gp_memory *m = f->memory;
	gp_json_array(json, "segments");
	for (size_t k = 0; k < f->device->segments; k++) {
		const struct gp_memory_segment *s = &m->segment[f->device->first_segment + k];
		gp_json_object(json, NULL);
		gp_json_hex(json, "address", s->address);
		gp_json_number(json, "bytes", s->bytes);
		gp_arena_write(json, &m->arena[s->arena]);
		write_capture(json, &m->arena[s->arena]);
		gp_json_bool(json, "small", s->is_small);
		gp_json_bool(json, "expandable", s->is_expandable);
		write_stack(json, s->stack);
		gp_json_array(json, "blocks");
		for (size_t b = s->first; b < s->first + s->blocks; b++)
			write_block(json, &m->block[b]);
		gp_json_end(json);
		gp_json_end(json);
	}
	gp_json_end(json);
}

void gp_frag_pins_write(struct gp_json *json, const struct gp_frag *f, uint64_t top,
			bool has_stacks)
{
	const struct gp_memory *m = f->memory;
	gp_json_array(json, "pins");
	for (size_t k = 0; k < f->pins && (!top || k < top); k++) {
		const struct gp_memory_block *b = &m->block[f->pin[k].block];
		gp_json_object(json, NULL);
		gp_json_hex(json, "segment", m->segment[f->pin[k].segment].address);
		gp_json_hex(json, "address", b->address);
		gp_json_number(json, "bytes", b->bytes);
		gp_json_number(json, "hostage_bytes", f->pin[k].hostage_bytes);
		gp_json_signed(json, "age_ns", m->at_ns - b->at_ns);
		if (b->rule) {
			gp_json_text(json, "role", gp_role_keys[gp_role_rule(b->rule)->role]);
			gp_json_text(json, "rule", gp_role_rule(b->rule)->name);
		}
		if (has_stacks)
			write_stack(json, b->stack);
		gp_json_end(json);
	}
	gp_json_end(json);
}

void gp_frag_set_write(struct gp_json *json, const char *key, const struct gp_memory *m,
		       const struct gp_block_set *set)
{
	gp_json_array(json, key);
	for (size_t k = 0; k < set->blocks; k++)
		gp_json_hex(json, NULL, m->block[set->block[k]].address);
	gp_json_end(json);
}

static void write_set(struct gp_json *json, const char *key, const struct gp_memory *m,
		      const struct gp_block_set *set)
{
	if (!set->is_found) {
		gp_json_null(json, key);
		return;
	}
	gp_json_object(json, key);
	gp_json_number(json, "bytes", set->bytes);
	gp_frag_set_write(json, "blocks", m, set);
	gp_json_end(json);
}

static void write_fit(struct gp_json *json, const struct gp_frag *f)
{
	if (!f->fit.bytes) {
		gp_json_null(json, "fit");
		return;
	}
	gp_json_object(json, "fit");
	gp_json_number(json, "bytes", f->fit.bytes);
	gp_json_number(json, "block_bytes", f->fit.rounded_bytes);
	gp_arena_write(json, &f->memory->arena[f->fit.arena]);
	gp_json_bool(json, "served", f->fit.is_served);
	if (f->fit.is_served || f->driver_free_bytes != GP_BYTES_UNKNOWN)
		gp_json_bool(json, "served_after_release",
			     f->fit.is_served || f->fit.is_served_released);
	else
		gp_json_null(json, "served_after_release");
	write_set(json, "neighbours", f->memory, &f->fit.in_place);
	write_set(json, "emptying", f->memory, &f->fit.by_emptying);
	gp_json_end(json);
}

/* `most_unused`, of all moments; `most_unused_oom`, of the OOMs. */
static void write_most_unused(struct gp_json *json, const struct gp_frag_report *r,
			      const struct gp_frag_device *d)
{
	const struct gp_oom *worst = gp_frag_worst_oom(r, d->frag.device->device);
	if (d->most.bytes) {
		gp_json_object(json, "most_unused");
		gp_json_number(json, "bytes", d->most.bytes);
		gp_json_number(json, "reserved_bytes", d->most.reserved_bytes);
		gp_json_signed(json, "at_ns", d->most.at_ns);
		gp_json_bool(json, "after_last_allocation", d->most.is_after_last);
		gp_json_text(json, "cause", gp_cause_names[d->most_cause]);
		gp_json_end(json);
	} else {
		gp_json_null(json, "most_unused");
	}
	if (worst)
		gp_json_number(json, "most_unused_oom", (uint64_t)(worst - r->ooms.oom) + 1);
	else
		gp_json_null(json, "most_unused_oom");
}

static void frag_json_write_device(struct gp_json *json, const struct gp_frag_report *r,
				   const struct gp_frag_device *d)
{
	const struct gp_frag *f = &d->frag;
	gp_json_object(json, NULL);
	gp_json_number(json, "device", f->device->device);
	gp_json_number_if(json, "total_bytes", f->device->total_bytes, f->device->total_bytes);
	gp_known_write(json, "limit_bytes", f->device->limit_bytes);
	gp_known_write(json, "driver_used_bytes", f->driver_used_bytes);
	gp_owners_write(json, f, &d->owners);
	gp_json_number(json, "imported_bytes", f->device->imported_bytes);
	gp_json_number(json, "reserved_bytes", f->reserved_bytes);
	gp_json_number(json, "unmapped_bytes", f->device->unmapped_bytes);
	gp_json_number(json, "allocated_bytes", f->allocated_bytes);
	gp_json_number(json, "unused_bytes", f->unused_bytes);
	gp_json_number(json, "largest_gap_bytes", f->largest_gap_bytes);
	write_most_unused(json, r, d);
	gp_json_real(json, "fragmentation", gp_gap_ratio(f->unused_bytes, f->largest_gap_bytes));
	gp_known_write(json, "requested_bytes", f->requested_bytes);
	gp_known_write(json, "rounding_bytes", f->rounding_bytes);
	gp_json_number(json, "releasable_bytes", f->releasable_bytes);
	gp_arena_write(json, &f->memory->arena[f->home]);
	gp_json_number(json, "largest_request_bytes", f->largest_request_bytes);
	gp_json_number(json, "largest_any_bytes", f->largest_any_bytes);
	gp_known_write(json, "largest_after_release_bytes", f->largest_released_bytes);
	gp_json_bool(json, "largest_after_release_is_bound", f->is_released_bound);
	gp_frag_causes_write(json, f);
	write_pools(json, f);
	write_fit(json, f);
	gp_json_signed_if(json, "born_at_ns", d->born.is_known, d->born.at_ns);
	write_segments(json, f);
	if (r->has_roles)
		gp_frag_roles_write(json, f);
	gp_frag_pins_write(json, f, r->top, true);
	gp_json_end(json);
}

/* ---- stacks, each once ---- */

struct place {
	uint32_t stack;
	int64_t at_ns;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static void write_stacks(struct gp_json *json, const struct gp_frag_report *r)
{
	const struct gp_memory *m = &r->memory;
	struct place *place = calloc(m->blocks + m->segments + 1, sizeof *place);
	size_t places = 0;
	for (size_t k = 0; place && k < m->blocks; k++)
		place[places++] = (struct place){ m->block[k].stack, m->block[k].at_ns };
	for (size_t k = 0; place && k < m->segments; k++)
		place[places++] = (struct place){ m->segment[k].stack, m->segment[k].at_ns };
	if (places > 1)
		qsort(place, places, sizeof *place, compare_places);
	gp_json_array(json, "stacks");
	for (size_t k = 0; k < places; k++) {
		if (!place[k].stack || (k && place[k].stack == place[k - 1].stack))
			continue;
		gp_json_object(json, NULL);
		gp_json_number(json, "id", place[k].stack);
		gp_stack_write(json, r->recording, place[k].stack, place[k].at_ns, GP_STACK_FOLDED);
		gp_json_end(json);
	}
	gp_json_end(json);
	free(place);
}

enum gp_status gp_frag_write(const struct gp_frag_report *r)
{
	enum gp_status status = GP_OK;
	gp_json_object(r->json, NULL);
	gp_use_head_write(r->json, r->path, r->info);
	gp_json_bool(r->json, "has_allocator_details", r->memory.has_allocator_details);
	gp_json_bool(r->json, "is_uncertain", r->memory.is_uncertain);
	gp_json_text(r->json, "not_known", r->not_known);
	gp_json_text(r->json, "moment", r->moment_key[0] ? r->moment_key : r->at);
	gp_json_signed(r->json, "at_ns", r->memory.at_ns);
	gp_json_array(r->json, "devices");
	for (size_t k = 0; k < r->devices; k++)
		frag_json_write_device(r->json, r, &r->device[k]);
	gp_json_end(r->json);
	if (r->has_holders)
		status = gp_frag_holders_write(r);
	if (!gp_is_without_stacks)
		write_stacks(r->json, r);
	gp_json_end(r->json);
	return status;
}
