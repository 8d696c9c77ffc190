/*
 * Checks the whole recording: each header and payload, the sequences, and that the replay of the
 * kept events matches each checkpoint. A clean copy keeps all valid parts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "missing.h"
#include "name_area.h"

#define THREAD_LOSSES (GP_THREAD_NONE - 1u) /* thread of the LOST records that a copy adds */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "1,234,567" */
struct number {
	char s[32];
};

static struct number number_of(uint64_t count)
{
	struct number out;
	char plain[24];
	const int n = snprintf(plain, sizeof plain, "%" PRIu64, count);
	int at = 0;
	for (int k = 0; k < n; k++) {
		if (k != 0 && (n - k) % 3 == 0)
			out.s[at++] = ',';
		out.s[at++] = plain[k];
	}
	out.s[at] = '\0';
	return out;
}

/* ---- replay against checkpoints ---- */

static enum gp_status load(void *context, const struct gp_record *record)
{
	return gp_live_apply(context, record);
}

static void differ(FILE *report, unsigned *differences, uint32_t segment, const char *what,
		   unsigned device, uint64_t replayed, uint64_t noted)
{
	if (*differences == 0)
		fprintf(report,
			"the checkpoint of segment %u differs from the replay: %s of device %u is "
			"%" PRIu64 ", the checkpoint has %" PRIu64 "\n",
			segment, what, device, replayed, noted);
	++*differences;
}

/* Events that came late are in the replay, but not in the checkpoint that they missed. */
static unsigned compare_states(const struct gp_live *replayed, const struct gp_live *noted,
			       uint32_t segment, FILE *report)
{
	static const char *const names[GP_CURVES] = { "driver bytes", "reserved bytes",
						      "allocated bytes" };
	unsigned differences = 0;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_live_device *a = gp_live_device(replayed, device),
					    *b = gp_live_device(noted, device);
		for (unsigned c = 0; c < GP_CURVES; c++) {
			if (a->curve[c].now_bytes != b->curve[c].now_bytes)
				differ(report, &differences, segment, names[c], device,
				       a->curve[c].now_bytes, b->curve[c].now_bytes);
			if (a->curve[c].peak_bytes != b->curve[c].peak_bytes)
				differ(report, &differences, segment, "a peak", device,
				       a->curve[c].peak_bytes, b->curve[c].peak_bytes);
		}
		if (a->pending_bytes != b->pending_bytes)
			differ(report, &differences, segment, "pending bytes", device,
			       a->pending_bytes, b->pending_bytes);
	}
	if (gp_live_entries(replayed) != gp_live_entries(noted))
		differ(report, &differences, segment, "the number of live entries",
		       GP_DEVICE_UNKNOWN, gp_live_entries(replayed), gp_live_entries(noted));
	return differences;
}

static enum gp_status compare_checkpoint(struct gp_recording *r, size_t segment, FILE *report,
					 unsigned *differing)
{
	const struct gp_segment *s = &r->index.segment[segment];
	struct gp_live *noted = gp_live_open();
	if (noted == NULL)
		return GP_E_MEMORY;
	enum gp_status status = gp_merge_visit(r->merge, segment, GP_BLOCK_CHECKPOINT, load, noted);
	bool is_read = !gp_merge_is_overtaken(r->merge);
	if (status == GP_OK && is_read && gp_merge_failures(r->merge) == 0 && r->index.damages == 0)
		*differing += compare_states(r->live, noted, s->number, report) > 0;
	gp_live_close(noted);
	return status;
}

/* Counts of a replay; the other records are definitions. */
struct tally {
	unsigned differing; /* number of checkpoints that differ from the replay */
	uint64_t events;
};

static enum gp_status verify_replay(struct gp_recording *r, FILE *report, struct tally *tally,
				    struct gp_missing *missing)
{
	enum gp_status status = gp_recording_rewind(r);
	size_t segment = r->first;
	unsigned overtakes = r->overtakes;
	while (status == GP_OK) {
		if (!r->is_begun && r->segment > segment && r->segment < r->index.segments) {
			segment = r->segment;
			if (r->index.segment[segment].has_checkpoint)
				status = compare_checkpoint(r, segment, report, &tally->differing);
			if (status != GP_OK)
				break;
		}
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch_here(r, &thread, &status);
		if (r->overtakes != overtakes) {
			gp_missing_release(missing);
			overtakes = r->overtakes;
			segment = r->first;
		}
		if (record == NULL)
			continue;
		tally->events += gp_is_happening(record->kind);
		status = gp_missing_see(missing, r, record, thread);
		if (status == GP_OK)
			status = gp_recording_apply(r, record);
	}
	return status == GP_END || status == GP_OK ? gp_missing_end(missing, r) : status;
}

/* ---- a clean copy ---- */

/* The next sequence number of a thread's written blocks. */
struct thread_sequence {
	uint64_t thread, next;
};

struct copy {
	const struct gp_recording *from;
	const struct gp_missing *missing;
	bool is_all_missing; /* also events that no damaged block contained */
	int fd;
	uint64_t at;
	struct gp_block_room room;
	struct gp_row_table sequence; /* of struct thread_sequence */
	uint64_t blocks, dropped, dropped_records, lost_memory;
};

static enum gp_status verify_put(struct copy *c, const unsigned char *bytes, size_t n)
{
	enum gp_status status = gp_file_write(c->fd, c->at, bytes, n);
	c->at += n;
	return status;
}

static enum gp_status copy_block(struct copy *c, const struct gp_block_walk *walk)
{
	struct gp_block_header header = walk->header;
	bool is_first = header.type == GP_BLOCK_SEGMENT;
	uint64_t slots;
	if ((is_first && header.part != 0) || header.type == GP_BLOCK_END)
		return GP_OK; /* parts become one; finish_segment writes the end of a segment */
	if (gp_file_decode(walk->file, walk->offset, &header, &c->room, c->room.record, &slots) !=
	    GP_OK) {
		c->dropped++;
		c->dropped_records += header.records;
		return GP_OK;
	}
	header.part = 0;
	if (!is_first) {
		struct thread_sequence *t = gp_row_get_key(&c->sequence, sizeof *t, header.thread);
		if (t == NULL)
			return GP_E_MEMORY;
		header.sequence = t->next++;
	}
	c->blocks++;
	gp_block_header_encode(&header, c->room.bytes);
	return verify_put(c, c->room.bytes, GP_BLOCK_HEADER + header.stored_bytes);
}

static enum gp_status finish_segment(struct copy *c, const struct gp_segment *s, uint16_t flags)
{
	struct gp_block_header header = c->from->index.last;
	header.type = GP_BLOCK_END;
	header.flags = flags;
	header.segment = s->number;
	header.part = 0;
	header.thread = GP_THREAD_NONE;
	header.sequence = 0;
	header.records = header.raw_bytes = header.stored_bytes = 0;
	header.first_order = header.last_order = s->cut;
	unsigned char bytes[GP_BLOCK_HEADER];
	gp_block_header_encode(&header, bytes);
	return verify_put(c, bytes, sizeof bytes);
}

static enum gp_status put_losses(struct copy *c, const struct gp_segment *s, uint64_t records)
{
	if (records == 0)
		return GP_OK;
	struct gp_block_header header = c->from->index.last;
	struct thread_sequence *t = gp_row_get_key(&c->sequence, sizeof *t, THREAD_LOSSES);
	size_t length;
	if (t == NULL)
		return GP_E_MEMORY;
	header.type = GP_BLOCK_EVENTS;
	header.flags = 0;
	header.segment = s->number;
	header.part = 0;
	header.thread = THREAD_LOSSES;
	header.sequence = t->next++;
	enum gp_status status =
		gp_block_encode(c->room.scratch, &header, c->room.record, GP_BLOCK_RECORDS, 0,
				records, c->room.bytes, gp_block_bound(), &length);
	return status == GP_OK ? verify_put(c, c->room.bytes, length) : status;
}

/*
 * A copy records its losses: LOST records of a separate thread, at the place of the lost events.
 * The missing numbers give the count of lost MEMORY events. The other dropped records count as
 * other events.
 */
static enum gp_status write_losses(struct copy *c, const struct gp_segment *s, bool is_last)
{
	enum gp_status status = GP_OK;
	uint64_t records = 0;
	for (size_t i = 0; i < c->missing->count && status == GP_OK; i++) {
		const struct gp_hole *h = &c->missing->hole[i];
		uint64_t span = h->to - h->from;
		if ((!h->is_damage && !c->is_all_missing) || h->segment != s->number || span == 0)
			continue;
		c->lost_memory += span;
		c->room.record[records++] = (struct gp_record){
			.kind = GP_LOST,
			.time = h->ticks,
			.order = h->from,
			.aux = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX,
			.lost.memory = span,
		};
		if (records == GP_BLOCK_RECORDS - 1) {
			status = put_losses(c, s, records);
			records = 0;
		}
	}
	if (is_last && c->dropped_records > c->lost_memory)
		c->room.record[records++] = (struct gp_record){
			.kind = GP_LOST,
			.time = c->from->index.last.ticks,
			.order = UINT64_MAX >> 2,
			.lost.other = c->dropped_records - c->lost_memory,
		};
	return status == GP_OK ? put_losses(c, s, records) : status;
}

static enum gp_status copy_segment(struct copy *c, size_t which)
{
	const struct gp_index *x = &c->from->index;
	const struct gp_segment *s = &x->segment[which];
	enum gp_status status = GP_OK;
	for (size_t i = s->part; i < s->part + s->parts && status == GP_OK; i++) {
		struct gp_block_walk walk = gp_part_walk(&c->from->file, &x->part[i]);
		while (status == GP_OK && gp_block_walk_next(&walk))
			if (!gp_index_is_repeated(x, walk.offset))
				status = copy_block(c, &walk);
	}
	bool is_last = which + 1 == x->segments;
	if (status == GP_OK)
		status = write_losses(c, s, is_last);
	return status == GP_OK ? finish_segment(c, s, is_last ? GP_BLOCK_SEALED : 0) : status;
}

/* Copies valid names behind the end of the copy, and writes the header again. */
static enum gp_status copy_names(struct copy *c, struct gp_file_header *header)
{
	unsigned char *blocks, bytes[GP_FILE_HEADER];
	size_t length;
	if (c->from->naming.table == NULL)
		return GP_OK;
	enum gp_status status = gp_name_area_read(&c->from->file, &blocks, &length);
	if (status != GP_OK)
		return status;
	header->names_offset = c->at;
	header->names_bytes = length;
	status = verify_put(c, blocks, length);
	free(blocks);
	c->at = 0;
	gp_file_header_encode(header, bytes);
	return status == GP_OK ? verify_put(c, bytes, sizeof bytes) : status;
}

static enum gp_status copy_all(struct copy *c)
{
	struct gp_file_header header = c->from->file.header;
	header.slots = 0;
	header.slot_bytes = 0;
	header.names_offset = 0;
	header.names_bytes = 0;
	/* the copy has an end, but the run did not */
	if (!c->from->index.is_sealed)
		header.flags |= GP_FILE_HAS_HOLE;
	unsigned char bytes[GP_FILE_HEADER];
	gp_file_header_encode(&header, bytes);
	enum gp_status status = verify_put(c, bytes, sizeof bytes);
	for (size_t i = c->from->first; i < c->from->index.segments && status == GP_OK; i++)
		status = copy_segment(c, i);
	return status == GP_OK ? copy_names(c, &header) : status;
}

static enum gp_status write_copy(const struct gp_recording *r, const struct gp_missing *missing,
				 bool is_all_missing, struct gp_copy *out)
{
	struct copy c = {
		.from = r, .missing = missing, .is_all_missing = is_all_missing, .fd = out->fd
	};
	enum gp_status status = gp_block_room_open(&c.room) ? copy_all(&c) : GP_E_MEMORY;
	out->blocks = c.blocks;
	out->dropped = c.dropped;
	out->dropped_records = c.dropped_records;
	gp_block_room_release(&c.room);
	gp_row_table_release(&c.sequence);
	return status;
}

/* ---- the report ---- */

static void report_damage(const struct gp_recording *r, FILE *report)
{
	const struct gp_index *x = &r->index;
	for (size_t i = 0; i < x->damages && i < GP_DAMAGES_KEPT; i++)
		fprintf(report, "damaged at offset %" PRIu64 ", block %" PRIu64 ": %s\n",
			x->damage[i].offset, x->damage[i].block, x->damage[i].what);
	if (x->damages > GP_DAMAGES_KEPT)
		fprintf(report, "and %zu more damaged places\n", x->damages - GP_DAMAGES_KEPT);
}

/* Finds where the valid blocks end, and the end of the file or of the slot. */
static enum gp_status find_tail(const struct gp_recording *r, uint64_t *at, uint64_t *end)
{
	const struct gp_file_header *h = &r->file.header;
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header last;
	*at = GP_FILE_HEADER;
	*end = r->file.bytes;
	if (r->index.blocks != 0) {
		enum gp_status status =
			gp_file_read(&r->file, r->index.last_block, bytes, sizeof bytes);
		if (status == GP_OK)
			status = gp_block_header_decode(bytes, &last);
		if (status != GP_OK && h->slots != 0) {
			*at = *end; /* overwritten since: there is no tail any more */
			return GP_OK;
		}
		if (status != GP_OK)
			return status;
		*at = r->index.last_block + GP_BLOCK_HEADER + last.stored_bytes;
	}
	for (uint64_t i = 0; i < h->slots; i++) {
		uint64_t slot_end = gp_slot_offset(h, i) + h->slot_bytes;
		if (*at >= gp_slot_offset(h, i) && *at <= slot_end && slot_end < *end)
			*end = slot_end;
	}
	return GP_OK;
}

/* True: the `left` bytes at `at` are an incompletely written block, which `out` describes. */
static bool describe_torn(const struct gp_recording *r, uint64_t at, uint64_t left, char *out,
			  size_t capacity)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;
	struct gp_block_header header;
	/* A slot may have older blocks behind its newest one. */
	bool is_fresh = at + left == r->file.bytes;
	if (!gp_file_is_written(&r->file, at, n) || (!is_fresh && r->file.header.slots != 0) ||
	    gp_file_read(&r->file, at, bytes, n) != GP_OK)
		return false;
	if (n < sizeof bytes)
		snprintf(out, capacity, "expected the %u bytes of a block's header, found %" PRIu64,
			 GP_BLOCK_HEADER, left);
	else if (gp_block_header_decode(bytes, &header) == GP_OK)
		snprintf(out, capacity, "expected a block of %" PRIu64 " bytes, found %" PRIu64,
			 (uint64_t)GP_BLOCK_HEADER + header.stored_bytes, left);
	else
		snprintf(out, capacity, "expected a block, found %" PRIu64 " bytes that are none",
			 left);
	return true;
}

/*
 * The rest of a block that a killed writer left is not damage. But the report shows where it
 * begins.
 */
static enum gp_status report_tail(const struct gp_recording *r, FILE *report)
{
	uint64_t at, end;
	char what[128];
	if (r->index.is_sealed)
		return GP_OK;
	enum gp_status status = find_tail(r, &at, &end);
	for (size_t i = 0; i < r->index.damages && i < GP_DAMAGES_KEPT; i++)
		if (r->index.damage[i].offset == at)
			return status;
	if (status == GP_OK && at < end && describe_torn(r, at, end - at, what, sizeof what))
		fprintf(report, "whole up to offset %" PRIu64 ", torn there: %s\n", at, what);
	return status;
}

/* Reports stored names that cannot be read as damage. They change no figure. */
static void report_names(const struct gp_recording *r, FILE *report)
{
	const struct gp_damage *damage = &r->naming.damage;
	const struct gp_name_table *table = r->naming.table;
	if (damage->what[0] != '\0')
		fprintf(report, "damaged at offset %" PRIu64 ", stored names: %s\n", damage->offset,
			damage->what);
	if (r->naming.has_old_table)
		fputs("names are stored by an older gpuprof and are not read\n", report);
	if (table != NULL)
		fprintf(report, "names of %s of %s native frames are stored\n",
			number_of(gp_name_table_named(table)).s,
			number_of(gp_name_table_frames(table)).s);
}

static void report_missing(const struct gp_recording *r, uint64_t unreported, uint64_t first,
			   FILE *report)
{
	if (unreported != 0)
		fprintf(report,
			"%s number%s of memory events missing, the first is %" PRIu64
			": expected no more than the %s recorded as lost\n",
			number_of(unreported).s, unreported == 1 ? " is" : "s are", first,
			number_of(gp_recording_lost(r, 0)).s);
}

static void report_sum(const struct gp_recording *r, const struct tally *tally, uint64_t unreported,
		       FILE *report)
{
	const struct gp_index *x = &r->index;
	const uint64_t definitions = r->seen - tally->events;
	fprintf(report, "%s event%s and %s definition%s in %s block%s and %s segment%s; ",
		number_of(tally->events).s, plural(tally->events), number_of(definitions).s,
		plural(definitions), number_of(x->blocks).s, plural(x->blocks),
		number_of(x->segments).s, plural(x->segments));
	if (x->damages != 0)
		fprintf(report, "%zu damaged place%s; ", x->damages, plural(x->damages));
	if (tally->differing != 0)
		fprintf(report, "%u checkpoint%s not as the replay; ", tally->differing,
			plural(tally->differing));
	if (unreported != 0)
		fprintf(report, "%s memory event%s missing; ", number_of(unreported).s,
			plural(unreported));
	bool has_damaged_names = r->naming.damage.what[0] != '\0';
	if (has_damaged_names)
		fputs("the stored names are damaged; ", report);
	if (x->damages == 0 && tally->differing == 0 && unreported == 0 && !has_damaged_names)
		fputs("nothing damaged; ", report);
	uint64_t failed = r->file.header.failed_blocks;
	const bool has_hole = (r->file.header.flags & GP_FILE_HAS_HOLE) != 0;
	if (failed != 0)
		fprintf(report, "%s block%s could not be written%s; ", number_of(failed).s,
			plural(failed),
			has_hole ? ", figures are too low from then on" :
				   ", later checkpoints are right again");
	fprintf(report, "%s\n",
		x->is_sealed && !has_hole ? "complete" :
		x->is_sealed && failed	  ? "not complete" :
		x->is_sealed		  ? "not complete: its end is missing" :
		r->is_running		  ? "not complete: the process is running" :
				"not complete: the process was killed or is still running");
}

enum gp_status gp_verify(const char *path, struct gp_copy *copy, FILE *report)
{
	struct gp_recording *r;
	struct gp_damage why = { 0 };
	enum gp_status status = gp_recording_open(path, &r, &why);
	if (status != GP_OK) {
		fprintf(report, "offset %" PRIu64 ": %s\n", why.offset, why.what);
		if (copy != NULL)
			copy->status = status;
		return status;
	}
	/*
	 * A copy has only what the file holds. Events that are not yet written are missing in it.
	 */
	r->is_running &= copy == NULL;
	struct tally tally = { 0 };
	struct gp_missing missing = { 0 };
	uint64_t unreported = 0, first = 0;
	status = verify_replay(r, report, &tally, &missing);
	if (status == GP_OK)
		unreported = gp_missing_unrecorded(&missing, r, &first);
	if (status == GP_OK)
		status = gp_recording_load_names(r);
	bool has_damaged_names = r->naming.damage.what[0] != '\0';
	report_damage(r, report);
	report_names(r, report);
	report_missing(r, unreported, first, report);
	if (status == GP_OK)
		status = report_tail(r, report);
	if (status == GP_OK)
		report_sum(r, &tally, unreported, report);
	bool is_all_missing = unreported > 0 || !r->index.is_sealed;
	if (copy != NULL)
		copy->status =
			status != GP_OK ? status : write_copy(r, &missing, is_all_missing, copy);
	/* with lost events, checkpoints count more events than remain */
	bool is_lossy = gp_live_count(r->live, GP_COUNT_LOST_MEMORY) +
				gp_live_count(r->live, GP_COUNT_LOST_OTHER) +
				r->file.header.failed_blocks >
			0;
	if (status == GP_OK && (r->index.damages > 0 || has_damaged_names || unreported > 0 ||
				(tally.differing > 0 && !is_lossy)))
		status = GP_E_DAMAGED;
	gp_missing_release(&missing);
	gp_recording_close(r);
	return status;
}
