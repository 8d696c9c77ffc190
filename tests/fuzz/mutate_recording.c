/*
 * Mutations of a recording below its checksums: fields of headers, blocks and their order,
 * segments, columns, records, texts. Each call makes one to four of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording_parts.h"

/* ---- records ---- */

struct record_list {
	struct gp_record slot[GP_BLOCK_RECORDS + 256];
	uint64_t slots;
	uint32_t start[GP_BLOCK_RECORDS]; /* where each record begins */
	size_t records;
};

/* Keeps whole records only: an `extra` beyond the end is cut off. */
static void list_index(struct record_list *list)
{
	uint64_t at = 0;
	list->records = 0;
	while (at < list->slots && at + 1u + list->slot[at].extra <= list->slots) {
		list->start[list->records++] = (uint32_t)at;
		at += 1u + list->slot[at].extra;
	}
	list->slots = at;
}

static bool list_read(struct record_list *list, const struct fuzz_block *block)
{
	if (!fuzz_block_records(block, list->slot, &list->slots))
		return false;
	list_index(list);
	return list->records > 0;
}

static void list_insert(struct record_list *list, uint32_t at, const struct gp_record *record)
{
	uint64_t n = 1u + record->extra;
	if (list->slots + n > GP_BLOCK_RECORDS)
		return;
	struct gp_record copy[256];
	memcpy(copy, record, n * sizeof *record);
	memmove(list->slot + at + n, list->slot + at, (list->slots - at) * sizeof *record);
	memcpy(list->slot + at, copy, n * sizeof *record);
	list->slots += n;
}

static void list_remove(struct record_list *list, uint32_t at)
{
	uint64_t n = 1u + list->slot[at].extra;
	list->slots -= n;
	memmove(list->slot + at, list->slot + at + n, (list->slots - at) * sizeof *list->slot);
}

static uint16_t any_kind(void)
{
	uint16_t kind = (uint16_t)fuzz_below(GP_KINDS);
	for (unsigned i = 0; i < GP_KINDS && !gp_event_infos[kind].name; i++)
		kind = (uint16_t)((kind + 1u) % GP_KINDS);
	return fuzz_below(30) ? kind : (uint16_t)fuzz_random();
}

/* Handles, ids and addresses matter only where another record has the same one. */
static uint64_t value_of_another(const struct record_list *list)
{
	const struct gp_record *other = &list->slot[list->start[fuzz_below(list->records)]];
	return fuzz_below(5) ? other->v[fuzz_below(4)] : other->aux;
}

static void change_value(struct record_list *list, struct gp_record *r)
{
	uint64_t *v = &r->v[fuzz_below(4)];
	*v = fuzz_below(3) ? fuzz_number(*v) : value_of_another(list);
}

static void change_field(struct record_list *list, struct gp_record *r)
{
	switch (fuzz_below(11)) {
	case 0:
		r->time = fuzz_number(r->time);
		break;
	case 1:
		r->order = fuzz_number(r->order);
		break;
	case 2:
		r->kind = any_kind();
		break;
	case 3:
		r->device = (uint8_t)(fuzz_below(3) ? fuzz_below(4) : fuzz_random());
		break;
	case 4:
		r->space = (uint8_t)(fuzz_below(4) ? fuzz_below(GP_SPACES + 1) : fuzz_random());
		break;
	case 5:
		r->code = (uint16_t)fuzz_number(r->code);
		break;
	case 6:
		r->stack =
			fuzz_below(2) ? (uint32_t)fuzz_below(64) : (uint32_t)value_of_another(list);
		break;
	case 7:
		r->aux = (uint32_t)(fuzz_below(2) ? fuzz_number(r->aux) : fuzz_below(64));
		break;
	default:
		change_value(list, r);
	}
}

/* The first 8 bytes of the extra slots are the length, see struct gp_record. */
static void change_text(struct gp_record *r)
{
	unsigned char *text = (unsigned char *)(r + 1);
	const char *new = fuzz_text();
	size_t room = r->extra * sizeof *r - 8, bytes = strlen(new), at;
	uint64_t length;
	if (r->extra == 0)
		return;
	memcpy(&length, text, sizeof length);
	if (fuzz_below(4) == 0) {
		length = fuzz_number(length);
	} else {
		bytes = bytes < room ? bytes : room;
		at = fuzz_below(2) ? 0 : fuzz_below(room - bytes + 1);
		memcpy(text + 8 + at, new, bytes);
		if (fuzz_below(2))
			length = at + bytes;
	}
	memcpy(text, &length, sizeof length);
}

static void add_record(struct record_list *list, uint32_t at)
{
	const struct gp_record *near = &list->slot[at];
	struct gp_record new = { .time = near->time,
				 .order = near->order,
				 .kind = any_kind(),
				 .device = near->device,
				 .space = (uint8_t)fuzz_below(GP_SPACES),
				 .stack = (uint32_t)fuzz_below(64),
				 .aux = (uint32_t)fuzz_below(64) };
	for (unsigned i = 0; i < 4; i++)
		new.v[i] = fuzz_below(2) ? value_of_another(list) : fuzz_number(0);
	list_insert(list, at, &new);
}

/* Repeats one record many times, each with a slightly larger field, so that reader tables grow. */
static void repeat_record(struct record_list *list, uint32_t at)
{
	struct gp_record copy[256];
	const struct gp_record *r = &list->slot[at];
	memcpy(copy, r, (1u + r->extra) * sizeof *r);
	uint64_t step = fuzz_below(2) ? 512 : fuzz_number(1);
	unsigned field = (unsigned)fuzz_below(6);
	for (size_t n = 1 + fuzz_below(fuzz_below(20) ? 20 : 4000); n > 0; n--) {
		copy->order += fuzz_below(8) != 0;
		copy->time += 64;
		if (field < 4)
			copy->v[field] += step;
		else
			copy->aux += (uint32_t)step;
		list_insert(list, at, copy);
	}
}

static void swap_fields(struct gp_record *a, struct gp_record *b)
{
	uint64_t order = a->order, time = a->time;
	if (fuzz_below(2)) {
		a->order = b->order;
		b->order = order;
	} else {
		a->time = b->time;
		b->time = time;
	}
}

static void change_list(struct record_list *list, const struct record_list *other)
{
	uint32_t at = list->start[fuzz_below(list->records)];
	uint32_t second = list->start[fuzz_below(list->records)];
	struct gp_record *r = &list->slot[at];
	switch (fuzz_below(14)) {
	case 0:
		if (list->records > 1)
			list_remove(list, at);
		break;
	case 1:
		list_insert(list, at, &list->slot[second]);
		break;
	case 2:
		swap_fields(r, &list->slot[second]);
		break;
	case 3:
	case 4:
		change_text(r);
		break;
	case 5:
		add_record(list, at);
		break;
	case 6:
		if (other->records > 0)
			list_insert(list, at,
				    &other->slot[other->start[fuzz_below(other->records)]]);
		break;
	case 7:
		r->extra = (uint8_t)fuzz_below(18);
		break;
	case 8:
		if (fuzz_below(4) == 0)
			repeat_record(list, at);
		break;
	default:
		change_field(list, r);
	}
}

static void change_records(struct fuzz_parts *parts, struct fuzz_block *block)
{
	static struct record_list list, other;
	if (!list_read(&list, block))
		return;
	other.records = 0;
	if (fuzz_below(3) == 0)
		(void)list_read(&other, &parts->block[fuzz_below(parts->blocks)]);
	for (size_t n = 1 + fuzz_below(fuzz_below(3) ? 4 : 40); n > 0 && list.records > 0; n--) {
		change_list(&list, &other);
		list_index(&list);
	}
	if (list.slots > 0)
		fuzz_block_set_records(block, list.slot, list.slots);
}

/* ---- columns that no encoder writes, in a frame that decompresses ---- */

static void change_columns(struct fuzz_block *block)
{
	size_t bytes;
	unsigned char *columns = fuzz_block_columns(block, &bytes);
	if (!columns)
		return;
	size_t room = bytes + 64;
	unsigned char *grown = realloc(columns, room);
	if (!grown)
		abort();
	/* the head holds the codings and the lengths of the streams */
	size_t head = bytes < 160 || fuzz_below(2) ? 0 : 160;
	if (head > 0)
		bytes = head + fuzz_mutate_bytes(grown + head, bytes - head, room - head);
	else
		bytes = fuzz_mutate_bytes(grown, bytes, room);
	fuzz_block_set_columns(block, grown, bytes);
	free(grown);
}

/* ---- headers ---- */

static void change_block_header(struct fuzz_block *block)
{
	struct gp_block_header *h = &block->header;
	uint64_t *const longs[] = { &h->sequence, &h->first_order, &h->last_order,
				    &h->ticks,	  &h->mono_ns,	   &h->unix_ns };
	uint32_t *const words[] = { &h->segment, &h->part, &h->thread, &h->records, &h->raw_bytes };
	switch (fuzz_below(6)) {
	case 0:
		h->type = (uint16_t)fuzz_below(8);
		break;
	case 1:
		h->flags = (uint16_t)(fuzz_below(8) ? fuzz_below(16) : fuzz_random());
		break;
	case 2:
		block->slot = (uint32_t)fuzz_below(4);
		break;
	case 3: {
		uint32_t *word = words[fuzz_below(sizeof words / sizeof *words)];
		*word = (uint32_t)(fuzz_below(2) ? fuzz_below(8) : fuzz_number(*word));
		break;
	}
	default: {
		uint64_t *number = longs[fuzz_below(sizeof longs / sizeof *longs)];
		*number = fuzz_number(*number);
	}
	}
}

static void change_header_text(struct gp_file_header *h)
{
	switch (fuzz_below(3)) {
	case 0:
		snprintf(h->command, sizeof h->command, "%s", fuzz_text());
		break;
	case 1:
		snprintf(h->hostname, sizeof h->hostname, "%s", fuzz_text());
		break;
	default:
		snprintf(h->boot_id, sizeof h->boot_id, "%s", fuzz_text());
	}
}

static void change_file_header(struct gp_file_header *h)
{
	uint64_t *const longs[] = { &h->slot_bytes,    &h->start_ticks,	     &h->start_mono_ns,
				    &h->start_unix_ns, &h->ticks_per_second, &h->lost[0],
				    &h->lost[1],       &h->lost[2],	     &h->lost[3],
				    &h->failed_blocks, &h->names_offset,     &h->names_bytes };
	switch (fuzz_below(8)) {
	case 0:
		h->slots = fuzz_below(3) ? GP_FILE_SLOTS : (uint32_t)fuzz_number(h->slots);
		h->slot_bytes = h->slot_bytes ? h->slot_bytes : 1u << 20;
		break;
	case 1:
		h->slots = 0;
		h->slot_bytes = 0;
		break;
	case 2:
		h->clock = (uint32_t)(1 + fuzz_below(2));
		break;
	case 3:
		h->flags = (uint32_t)fuzz_below(4);
		h->minor = (uint16_t)fuzz_below(9);
		break;
	case 4:
		change_header_text(h);
		break;
	default: {
		uint64_t *number = longs[fuzz_below(sizeof longs / sizeof *longs)];
		*number = fuzz_number(*number);
	}
	}
}

/* ---- blocks ---- */

static void swap_blocks(struct fuzz_block *a, struct fuzz_block *b)
{
	struct fuzz_block copy = *a;
	*a = *b;
	*b = copy;
}

/* A SEGMENT or END block: it has no records. */
static void add_boundary(struct fuzz_parts *parts, const struct fuzz_block *near)
{
	struct fuzz_block new = { .header = near->header, .slot = near->slot };
	bool is_end = fuzz_below(2) == 0;
	new.header.type = is_end ? GP_BLOCK_END : GP_BLOCK_SEGMENT;
	new.header.flags = (uint16_t)(is_end && fuzz_below(2) ? GP_BLOCK_SEALED : 0);
	new.header.thread = GP_THREAD_NONE;
	new.header.records = new.header.raw_bytes = new.header.stored_bytes = 0;
	new.header.segment += (uint32_t)fuzz_below(2);
	new.header.part += (uint32_t)(fuzz_below(4) == 0);
	new.header.sequence = 0;
	fuzz_parts_insert(parts, fuzz_below(parts->blocks + 1), &new);
}

/* Moves all blocks from `first` on to the next segment, or to the next slot. */
static void move_rest(struct fuzz_parts *parts, size_t first, bool is_slot)
{
	for (size_t i = first; i < parts->blocks; i++)
		if (is_slot)
			parts->block[i].slot++;
		else
			parts->block[i].header.segment++;
}

/* Numbers the blocks as a writer does, after blocks were moved, dropped or repeated. */
static void renumber(struct fuzz_parts *parts)
{
	struct {
		uint32_t thread;
		uint64_t next;
	} seen[64];
	size_t threads = 0;
	for (size_t i = 0; i < parts->blocks; i++) {
		struct gp_block_header *h = &parts->block[i].header;
		size_t k = 0;
		if (h->type < GP_BLOCK_DEFINE || h->type > GP_BLOCK_EVENTS)
			continue;
		while (k < threads && seen[k].thread != h->thread)
			k++;
		if (k == 64)
			continue;
		if (k == threads) {
			seen[threads].thread = h->thread;
			seen[threads++].next = 0;
		}
		h->sequence = seen[k].next++;
	}
}

static void change_blocks(struct fuzz_parts *parts, size_t at)
{
	size_t second = fuzz_below(parts->blocks);
	struct fuzz_block copy = parts->block[at];
	switch (fuzz_below(7)) {
	case 0:
		fuzz_parts_insert(parts, second, &copy);
		break;
	case 1:
		/* the same events as events of another thread, or of a new one */
		copy.header.thread =
			fuzz_below(2) ? parts->block[second].header.thread : copy.header.thread + 1;
		fuzz_parts_insert(parts, second, &copy);
		break;
	case 2:
		fuzz_parts_remove(parts, at);
		break;
	case 3:
		swap_blocks(&parts->block[at], &parts->block[second]);
		break;
	case 4:
		add_boundary(parts, &copy);
		break;
	case 5:
		move_rest(parts, at, fuzz_below(2));
		break;
	default:
		change_block_header(&parts->block[at]);
	}
}

static void change_once(struct fuzz_parts *parts)
{
	size_t what = fuzz_below(32);
	if (parts->blocks == 0 || what < 2) {
		change_file_header(&parts->header);
		return;
	}
	size_t at = fuzz_below(parts->blocks);
	if (what < 8)
		change_blocks(parts, at);
	else if (what < 12)
		change_columns(&parts->block[at]);
	else
		change_records(parts, &parts->block[at]);
}

size_t fuzz_mutate_recording(uint8_t *data, size_t bytes, size_t room)
{
	struct fuzz_parts parts;
	if (!fuzz_parts_decode(&parts, data, bytes))
		return 0;
	for (size_t n = 1 + fuzz_below(4); n > 0; n--)
		change_once(&parts);
	if (fuzz_below(3))
		renumber(&parts);
	size_t length = fuzz_parts_encode(&parts, data, room);
	fuzz_parts_release(&parts);
	return length;
}

size_t fuzz_cross_recording(uint8_t *data, size_t bytes, size_t room, const uint8_t *other,
			    size_t other_bytes)
{
	struct fuzz_parts into, from;
	size_t length = 0;
	if (!fuzz_parts_decode(&into, data, bytes))
		return 0;
	if (fuzz_parts_decode(&from, other, other_bytes) && from.blocks > 0) {
		size_t first = fuzz_below(from.blocks);
		size_t at = fuzz_below(into.blocks + 1);
		for (size_t n = 1 + fuzz_below(4); n > 0 && first < from.blocks; n--) {
			fuzz_parts_insert(&into, at++, &from.block[first++]);
			if (at > into.blocks)
				at = into.blocks;
		}
		if (fuzz_below(3))
			renumber(&into);
		length = fuzz_parts_encode(&into, data, room);
	}
	fuzz_parts_release(&from);
	fuzz_parts_release(&into);
	return length;
}
