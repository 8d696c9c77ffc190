/*
 * Meanings of handles and ids: DEFINE records with their text; the newest wins. They are repeated
 * at the start of each segment, so that the part of a recording that is kept is readable alone.
 * Bounded; drain thread only.
 */
#include <string.h>
#include <sys/mman.h>

#include "../recorder.h"

bool gp_definitions_open(struct gp_definitions *d)
{
	*d = (struct gp_definitions){ 0 };
	d->room = GP_DEFINITIONS_FIRST;
	d->arena = gp_pages(d->room);
	d->index = gp_pages(GP_DEFINITIONS_INDEX * sizeof *d->index);
	return d->arena && d->index;
}

void gp_definitions_close(struct gp_definitions *d)
{
	if (d->arena)
		munmap(d->arena, d->room);
	if (d->index)
		munmap(d->index, GP_DEFINITIONS_INDEX * sizeof *d->index);
	*d = (struct gp_definitions){ 0 };
}

/*
 * Keys. THREAD, MODULE, ARENA, RANGE_NAME, GPU_FUNCTION and COMMUNICATOR: their number. FACT: its
 * key. GPU: its device. OBJECT_NAME: the kind of object and its handle. Others: their handle.
 */
static uint64_t key_of(const struct gp_record *record)
{
	bool is_numbered = record->kind == GP_THREAD || record->kind == GP_FACT ||
			   record->kind == GP_MODULE || record->kind == GP_ARENA ||
			   record->kind == GP_RANGE_NAME || record->kind == GP_GPU_FUNCTION ||
			   record->kind == GP_COMMUNICATOR;
	uint64_t own = is_numbered ? record->aux : record->v[0];
	if (record->kind == GP_GPU)
		own = record->device;
	if (record->kind == GP_OBJECT_NAME)
		own = GP_OBJECT_KEY(record->aux, own);
	return own ^ (uint64_t)record->kind << 56;
}

static uint32_t *definitions_find(const struct gp_definitions *d, uint64_t key)
{
	uint64_t at = key * 0x9e3779b97f4a7c15u >> 48;
	for (;; at++) {
		uint32_t *place = &d->index[at % GP_DEFINITIONS_INDEX];
		if (*place == 0 ||
		    key_of((struct gp_record *)(d->arena + (uint64_t)(*place - 1) * 64)) == key)
			return place;
	}
}

/* If all memory of the job is locked, pages count as soon as they are mapped. */
static bool definitions_has_room(struct gp_definitions *d, uint64_t bytes)
{
	if (d->used + bytes <= d->room)
		return true;
	void *arena = d->room < GP_DEFINITIONS_BYTES ?
			      mremap(d->arena, d->room, 2 * d->room, MREMAP_MAYMOVE) :
			      MAP_FAILED;
	if (arena == MAP_FAILED)
		return false;
	d->arena = arena;
	d->room *= 2;
	return true;
}

void gp_definitions_add(struct gp_definitions *d, const struct gp_record *record,
			const unsigned char *text)
{
	uint64_t bytes = 64u * (1u + record->extra);
	uint32_t *place = definitions_find(d, key_of(record));
	if (*place == 0) {
		if (d->count >= GP_DEFINITIONS_INDEX * 3 / 4) {
			d->is_full = true;
			return;
		}
	} else {
		struct gp_record *old =
			(struct gp_record *)(d->arena + (uint64_t)(*place - 1) * 64);
		if (old->extra == record->extra) {
			*old = *record;
			memcpy(old + 1, text, 64u * record->extra);
			return;
		}
		old->kind = 0; /* a hole: visits skip it, and its space is not reused */
	}
	if (!definitions_has_room(d, bytes)) {
		d->is_full = true;
		return;
	}
	d->count += *place == 0;
	memcpy(d->arena + d->used, record, 64);
	memcpy(d->arena + d->used + 64, text, 64u * record->extra);
	*place = (uint32_t)(d->used / 64 + 1);
	d->used += bytes;
}

void gp_definitions_visit(const struct gp_definitions *d,
			  void (*visit)(void *context, const struct gp_record *slots),
			  void *context)
{
	for (uint64_t at = 0; at < d->used;) {
		const struct gp_record *record = (const struct gp_record *)(d->arena + at);
		at += 64u * (1u + record->extra);
		if (record->kind)
			visit(context, record);
	}
}
