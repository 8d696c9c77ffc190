/*
 * `gpuprof frag` for a person: the device's memory in one line, what would be served, why the rest
 * is of no use, who is in the way.
 */
#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "frag_report.h"
#include "message.h"
#include "report.h"
#include "use_print.h"

#define SET_SHOWN 5u

static const char *const cause_texts[GP_CAUSES] = {
	[GP_CAUSE_PENDING] = "freed, but another stream still uses it",
	[GP_CAUSE_PRIVATE] = "in private pools (graphs, MemPool)",
	[GP_CAUSE_STREAM] = "of other streams than the one that asks",
	[GP_CAUSE_SMALL] = "in the small pool: for requests of at most 1 MiB",
	[GP_CAUSE_LEFTOVER] =
		"left over in the large pool, 1 MiB or less: too small for any request",
	[GP_CAUSE_GRANULARITY] = "on pages of the driver that a block also lies on",
	[GP_CAUSE_SOFT] = "whole segments or pages, spread: given back before a request fails",
	[GP_CAUSE_HARD] = "between blocks of a segment",
};

static void print_exact(FILE *out, uint64_t bytes)
{
	fprintf(out, "%s", gp_bytes_text(bytes).s);
	if (bytes >= 1024)
		fprintf(out, " (%" PRIu64 " bytes)", bytes);
}

/* ---- the device ---- */

void gp_frag_line_print(FILE *out, const struct gp_frag *f, const struct gp_owners *o)
{
	uint64_t used = f->driver_used_bytes;
	if (used == GP_BYTES_UNKNOWN)
		fputs("  what the driver counts as used is not known; the job has", out);
	else
		fprintf(out, "  %s = %s free", gp_bytes_text(f->device->total_bytes).s,
			gp_bytes_text(f->driver_free_bytes).s);
	for (size_t k = 0; k < o->owners; k++) {
		fputs(used == GP_BYTES_UNKNOWN && k == 0 ? " " : " + ", out);
		fprintf(out, "%s ", gp_bytes_text(o->owner[k].bytes).s);
		gp_mask(out, o->owner[k].name, strlen(o->owner[k].name));
	}
	uint64_t imported = f->device->imported_bytes;
	if (used != GP_BYTES_UNKNOWN && used >= o->known_bytes)
		fprintf(out, " + %s unattributed", gp_bytes_text(used - o->known_bytes).s);
	else if (used != GP_BYTES_UNKNOWN)
		fprintf(out, " - %s that the driver does not count",
			gp_bytes_text(o->known_bytes - used).s);
	if (imported)
		fprintf(out, " (%s of other processes are opened here: IPC imports)",
			gp_bytes_text(imported).s);
	fputc('\n', out);
}

static void print_framework_line(const struct gp_frag_report *r, const struct gp_frag *f)
{
	fprintf(r->out, "  reserved %s = %s allocated", gp_bytes_text(f->reserved_bytes).s,
		gp_bytes_text(f->allocated_bytes).s);
	if (f->rounding_bytes != GP_BYTES_UNKNOWN)
		fprintf(r->out, " (%s of it rounding)", gp_bytes_text(f->rounding_bytes).s);
	fprintf(r->out, " + %s not\n", gp_bytes_text(f->reserved_bytes - f->allocated_bytes).s);
}

/* They stay as long as their graph does, of which nothing is known. */
static uint64_t idle_private_bytes(const struct gp_frag *f)
{
	uint64_t bytes = 0;
	for (size_t k = 0; k < f->pools; k++) {
		const struct gp_frag_pool *p = &f->pool[k];
		if (gp_arena_is_private(&f->memory->arena[p->arena]) && !p->allocated_bytes &&
		    !p->pending_bytes)
			bytes += p->reserved_bytes;
	}
	return bytes;
}

static void print_largest(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const struct gp_arena *home = &f->memory->arena[f->home];
	uint64_t idle = idle_private_bytes(f);
	fputs("  the largest request that the cache serves", r->out);
	if (home->is_known)
		fprintf(r->out, " on stream %s%" PRIx64, home->stream ? "0x" : "", home->stream);
	/* a place may be of a stream that is not told, or still in use by one */
	fputs(home->is_known || !f->largest_request_bytes ? ": " : ": at most ", r->out);
	print_exact(r->out, f->largest_request_bytes);
	if (f->largest_any_bytes > f->largest_request_bytes) {
		fputs("; elsewhere ", r->out);
		print_exact(r->out, f->largest_any_bytes);
	}
	fputs("\n  after a release of what is cached: ", r->out);
	if (f->largest_released_bytes == GP_BYTES_UNKNOWN)
		fputs("not known, for what the device has free is not", r->out);
	else
		print_exact(r->out, f->largest_released_bytes);
	if (f->is_released_bound)
		fputs(" at most (the driver keeps a little of what it counts as free)", r->out);
	fprintf(r->out, "; it gives the driver %s back", gp_bytes_text(f->releasable_bytes).s);
	if (idle)
		fprintf(r->out,
			", and %s of private pools without a block if their graphs are gone",
			gp_bytes_text(idle).s);
	fputc('\n', r->out);
}

/* ---- tables ---- */

static void print_pools(const struct gp_frag_report *r, const struct gp_frag *f)
{
	fputs("  reserved allocated      free  segments      gaps  largest request  pool\n",
	      r->out);
	for (size_t k = 0; k < f->pools; k++) {
		const struct gp_frag_pool *p = &f->pool[k];
		const struct gp_arena *a = &f->memory->arena[p->arena];
		fprintf(r->out, "%10s %9s %9s %9s %9s %16s  %s%s",
			gp_bytes_text(p->reserved_bytes).s, gp_bytes_text(p->allocated_bytes).s,
			gp_bytes_text(p->free_bytes).s, gp_count_text(p->segments).s,
			gp_count_text(p->gaps).s, gp_bytes_text(p->largest_request_bytes).s,
			gp_frag_place(a, p->is_small).s, p->has_expandable ? ", expandable" : "");
		if (a->captured_at_ns >= 0 && gp_arena_is_private(a))
			fprintf(r->out, ", of the capture at %s", gp_ns_text(a->captured_at_ns).s);
		fputc('\n', r->out);
	}
}

void gp_frag_causes_print(const struct gp_frag_report *r, const struct gp_frag *f)
{
	uint64_t whole = f->reserved_bytes - f->allocated_bytes;
	if (!whole)
		return;
	fputs("     bytes   share  why it is not allocated\n", r->out);
	for (unsigned k = 0; k < GP_CAUSES; k++)
		if (f->cause_bytes[k])
			fprintf(r->out, "%10s %6.1f%%  %s\n", gp_bytes_text(f->cause_bytes[k]).s,
				100.0 * (double)f->cause_bytes[k] / (double)whole, cause_texts[k]);
}

static void print_block(const struct gp_frag_report *r, size_t block)
{
	const struct gp_memory_block *b = &r->memory.block[block];
	char who[GP_WHO_MAX];
	gp_frag_who(r, b->stack, b->at_ns, who);
	fprintf(r->out, "%9s  ", gp_ns_text(r->memory.at_ns - b->at_ns).s);
	gp_mask(r->out, who, strlen(who));
	fprintf(r->out, "%s\n", b->state == GP_STATE_PENDING ? "  (freed, still used)" : "");
}

void gp_frag_pins_print(const struct gp_frag_report *r, const struct gp_frag *f)
{
	size_t shown = r->top && f->pins > r->top ? (size_t)r->top : f->pins;
	if (!shown)
		return;
	fputs("     holds     block       age  blocks beside free memory\n", r->out);
	for (size_t k = 0; k < shown; k++) {
		const struct gp_frag_pin *p = &f->pin[k];
		fprintf(r->out, "%10s %9s ", gp_bytes_text(p->hostage_bytes).s,
			gp_bytes_text(r->memory.block[p->block].bytes).s);
		print_block(r, p->block);
	}
	if (shown < f->pins)
		fprintf(r->out, "  and %s; %s shows all\n",
			gp_plural(f->pins - shown, "more block").s,
			r->all_text ? r->all_text : "--top 0");
}

/* ---- what has to go ---- */

static void print_set(const struct gp_frag_report *r, const struct gp_block_set *set,
		      bool is_emptying, bool is_second)
{
	struct gp_text segments = gp_plural(set->segments, "segment");
	if (is_emptying)
		fprintf(r->out, "  %sso that memory of %s goes back to the driver",
			is_second ? "or, " : "", segments.s);
	else
		fprintf(r->out, "  neighbours, %s", segments.s);
	fprintf(r->out, ": free %s (%s)", gp_plural(set->blocks - set->pending, "block").s,
		gp_bytes_text(set->bytes).s);
	if (set->pending)
		fprintf(r->out, ", and wait for %s", gp_plural(set->pending, "pending one").s);
	fputc('\n', r->out);
	for (size_t k = 0; k < set->blocks && k < SET_SHOWN; k++) {
		const struct gp_memory_block *b = &r->memory.block[set->block[k]];
		fprintf(r->out, "  0x%012" PRIx64 " %9s ", b->address, gp_bytes_text(b->bytes).s);
		print_block(r, set->block[k]);
	}
	if (set->blocks > SET_SHOWN)
		fprintf(r->out, "  and %s\n", gp_plural(set->blocks - SET_SHOWN, "more block").s);
}

static bool is_same(const struct gp_block_set *a, const struct gp_block_set *b)
{
	return a->is_found && b->is_found && a->blocks == b->blocks &&
	       memcmp(a->block, b->block, a->blocks * sizeof *a->block) == 0;
}

/* It is the very request that failed, so what says that it would not contradicts the job. */
static bool has_failed(const struct gp_frag_report *r, const struct gp_frag *f)
{
	return r->failed.is_framework && r->failed.device == f->device->device &&
	       r->failed.bytes == f->fit.bytes;
}

static void print_fit(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const struct gp_frag_fit *fit = &f->fit;
	if (!fit->bytes)
		return;
	fputs("for a request of ", r->out);
	print_exact(r->out, fit->bytes);
	if (fit->is_served || fit->is_served_released) {
		fprintf(r->out, ": nothing, %s",
			fit->is_served ? "the cache serves it" :
					 "it succeeds after a release of what is cached");
		fputs(has_failed(r, f) ? ", by the figures; yet it failed, see gpuprof oom\n" :
					 "\n",
		      r->out);
		return;
	}
	uint64_t total = f->device->total_bytes;
	if (total && fit->rounded_bytes > total) {
		fprintf(r->out, ": it is more than the device has, %s\n", gp_bytes_text(total).s);
		return;
	}
	if (!fit->in_place.is_found && !fit->by_emptying.is_found) {
		fputs(f->driver_free_bytes == GP_BYTES_UNKNOWN ?
			      ": no neighbours in one segment would be enough\n" :
			      ": no set of blocks would be enough\n",
		      r->out);
		return;
	}
	fputs(":\n", r->out);
	if (fit->in_place.is_found)
		print_set(r, &fit->in_place, false, false);
	if (is_same(&fit->in_place, &fit->by_emptying))
		fputs("  and what then goes back to the driver is enough, too\n", r->out);
	else if (fit->by_emptying.is_found)
		print_set(r, &fit->by_emptying, true, fit->in_place.is_found);
}

static void print_born(const struct gp_frag_report *r, const struct gp_frag_device *d)
{
	if (!d->born.is_known)
		return;
	fprintf(r->out, "fragmented since %s: ", gp_ns_text(d->born.at_ns).s);
	if (d->born.is_by_fit)
		fprintf(r->out, "from then on no gap had %s\n",
			gp_bytes_text(d->frag.fit.rounded_bytes).s);
	else
		fprintf(r->out,
			"from then on more than half of the %s that now lie outside of the largest "
			"gap lay there\n",
			gp_bytes_text(d->born.stranded_bytes).s);
}

static void print_device(const struct gp_frag_report *r, const struct gp_frag_device *d)
{
	const struct gp_frag *f = &d->frag;
	gp_use_device_print(r->out, r->info, f->device->device);
	fprintf(r->out, ", %s", gp_frag_moment(r).s);
	if (r->failed.bytes && r->failed.device == f->device->device)
		fprintf(r->out, ", %s asked of the %s", gp_bytes_text(r->failed.bytes).s,
			r->failed.is_framework ? "framework" : "driver");
	if (r->failed.bytes && r->failed.device == f->device->device && r->ooms.ooms > 1)
		fprintf(r->out, " (one of %s, --at oom:N)", gp_plural(r->ooms.ooms, "time").s);
	fputs(":\n", r->out);
	gp_frag_line_print(r->out, f, &d->owners);
	if (f->reserved_bytes) {
		print_framework_line(r, f);
		print_largest(r, f);
		print_pools(r, f);
		gp_frag_causes_print(r, f);
		gp_frag_pins_print(r, f);
	}
	print_fit(r, f);
	print_born(r, d);
}

void gp_frag_next_print(const struct gp_frag_report *r, const char *options)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789.:";
	char command[128];
	bool has_at = r->at && r->at[strspn(r->at, plain)] == '\0';
	snprintf(command, sizeof command, "frag%s%s%s%s", has_at ? " --at " : "",
		 has_at ? r->at : "", *options ? " " : "", options);
	/* of a moment that was asked for more can be said of the same moment */
	gp_next_print(r->out, r->at ? command : gp_next_of(r->recording, r->info, command),
		      r->path);
}

void gp_frag_head_print(const struct gp_frag_report *r)
{
	fprintf(r->out, "%s\n", gp_headline_of(r->info).s);
	if (!r->not_known)
		return;
	fputs("not known: ", r->out);
	gp_mask_line(r->out, r->not_known); /* it may quote a setting of the job */
}

void gp_frag_print(const struct gp_frag_report *r)
{
	gp_frag_head_print(r);
	if (!r->devices)
		fprintf(r->out, "no memory was live %s\n", gp_frag_moment(r).s);
	for (size_t k = 0; k < r->devices; k++)
		print_device(r, &r->device[k]);
	gp_frag_next_print(r, "--map");
}
