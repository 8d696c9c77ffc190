/*
 * `gpuprof frag` for a person. For each device it prints the answer, then the evidence: owners,
 * pools, causes of unused memory, blocks that pin it, blocks to free for a request.
 */
#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/number_line.h"
#include "../report/report.h"
#include "../report/use_print.h"
#include "frag_report.h"

#define SET_SHOWN 5u

static const char *const cause_texts[GP_CAUSES] = {
	[GP_CAUSE_PENDING] = "freed, still used by another stream",
	[GP_CAUSE_PRIVATE] = "in private pools (CUDA graphs, MemPool)",
	[GP_CAUSE_STREAM] = "cached for other streams",
	[GP_CAUSE_SMALL] = "in the small pool (requests up to 1 MiB)",
	[GP_CAUSE_LEFTOVER] = "remainders of at most 1 MiB in the large pool (serve no request)",
	[GP_CAUSE_GRANULARITY] = "on driver pages that live blocks share",
	[GP_CAUSE_FULLY_FREE] = "fully free segments or pages (released automatically)",
	[GP_CAUSE_INACTIVE_SPLIT] = "inactive splits (between live blocks of a segment)",
};

static void print_exact(FILE *out, uint64_t bytes)
{
	fprintf(out, "%s", gp_bytes_text(bytes).s);
	if (bytes >= 1024)
		fprintf(out, " (%" PRIu64 " bytes)", bytes);
}

/* ---- the device ---- */

static void print_framework_line(const struct gp_frag_report *r, const struct gp_frag *f)
{
	fprintf(r->out, "  reserved %s = %s allocated", gp_bytes_text(f->reserved_bytes).s,
		gp_bytes_text(f->allocated_bytes).s);
	if (f->rounding_bytes != GP_BYTES_UNKNOWN)
		fprintf(r->out, " (%s rounding)", gp_bytes_text(f->rounding_bytes).s);
	fprintf(r->out, " + %s unused\n", gp_bytes_text(f->unused_bytes).s);
	if (f->device->unmapped_bytes && f->device->unmapped_bytes <= f->reserved_bytes)
		fprintf(r->out,
			"  the driver maps %s of it; %s is not mapped, as while a server sleeps\n",
			gp_bytes_text(f->reserved_bytes - f->device->unmapped_bytes).s,
			gp_bytes_text(f->device->unmapped_bytes).s);
}

static void print_other_places(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const struct gp_frag_private p = gp_frag_private(f);
	if (f->largest_any_bytes > f->largest_request_bytes)
		fprintf(r->out, "  largest request from the cache of other streams and pools: %s\n",
			gp_bytes_text(f->largest_any_bytes).s);
	fprintf(r->out, "  empty_cache() would return %s\n", gp_bytes_text(f->releasable_bytes).s);
	if (p.idle_graph_bytes)
		fprintf(r->out,
			"  deleting unused graphs would return up to %s (empty private pools)\n",
			gp_bytes_text(p.idle_graph_bytes).s);
	if (p.idle_other_bytes)
		fprintf(r->out,
			"  deleting unused %s would return up to %s (empty private pools)\n",
			gp_private_texts[p.other].nouns, gp_bytes_text(p.idle_other_bytes).s);
}

/* ---- tables ---- */

#define ALL_COLUMNS 102u /* of the pools */

static void print_pools(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const bool is_narrow = gp_screen_is_below(ALL_COLUMNS);
	fprintf(r->out, "  reserved allocated      free %s largest request  pool\n",
		is_narrow ? "" : " segments      gaps ");
	for (size_t k = 0; k < f->pools; k++) {
		const struct gp_frag_pool *p = &f->pool[k];
		const struct gp_arena *a = &f->memory->arena[p->arena];
		fprintf(r->out, "%10s %9s %9s ", gp_bytes_text(p->reserved_bytes).s,
			gp_bytes_text(p->allocated_bytes).s, gp_bytes_text(p->free_bytes).s);
		if (!is_narrow)
			fprintf(r->out, "%9s %9s ", gp_count_text(p->segments).s,
				gp_count_text(p->gaps).s);
		fprintf(r->out, "%16s  %s%s", gp_bytes_text(p->largest_request_bytes).s,
			gp_frag_place(a, p->is_small).s, p->has_expandable ? ", expandable" : "");
		if (a->captured_at_ns >= 0 && gp_arena_is_private(a))
			fprintf(r->out, ", of the capture at %s", gp_ns_text(a->captured_at_ns).s);
		fputc('\n', r->out);
	}
	if (is_narrow)
		fputs("--wide adds segments and gaps\n", r->out);
}

void gp_frag_causes_print(const struct gp_frag_report *r, const struct gp_frag *f)
{
	uint64_t whole = f->unused_bytes;
	if (!whole)
		return;
	fputs("     bytes   share  why it is unused\n", r->out);
	for (unsigned k = 0; k < GP_CAUSES; k++)
		if (f->cause_bytes[k])
			fprintf(r->out, "%10s %6.1f%%  %s\n", gp_bytes_text(f->cause_bytes[k]).s,
				100.0 * (double)f->cause_bytes[k] / (double)whole, cause_texts[k]);
}

static void print_block(const struct gp_frag_report *r, size_t block, bool has_role)
{
	const struct gp_memory_block *b = &r->memory.block[block];
	char site[GP_SITE_MAX];
	gp_frag_site(r, b->stack, b->at_ns, site);
	fprintf(r->out, "%9s", gp_ns_text(r->memory.at_ns - b->at_ns).s);
	if (has_role)
		fprintf(r->out, "  %-13s", gp_role_keys[gp_role_rule(b->rule)->role]);
	if (r->info->has_stacks) {
		fputs("  ", r->out);
		gp_name_print(r->out, site);
	}
	fprintf(r->out, "%s\n", b->state == GP_STATE_PENDING ? "  (pending)" : "");
}

void gp_frag_pins_print(const struct gp_frag_report *r, const struct gp_frag *f)
{
	size_t shown = r->top && f->pins > r->top ? (size_t)r->top : f->pins;
	if (!shown)
		return;
	if (r->has_roles)
		gp_frag_roles_print(r, f);
	if (!r->info->has_stacks) { /* rows without stacks would show no code */
		fprintf(r->out, "blocks pinning free memory: %s; no stacks were recorded\n",
			gp_count_text(f->pins).s);
		return;
	}
	fprintf(r->out, "would free     block       age  %sblocks pinning free memory\n",
		r->has_roles ? "role           " : "");
	for (size_t k = 0; k < shown; k++) {
		const struct gp_frag_pin *p = &f->pin[k];
		fprintf(r->out, "%10s %9s ", gp_bytes_text(p->hostage_bytes).s,
			gp_bytes_text(r->memory.block[p->block].bytes).s);
		print_block(r, p->block, r->has_roles);
	}
	if (shown < f->pins)
		fprintf(r->out, "  and %s; %s shows all\n",
			gp_plural(f->pins - shown, "more block").s,
			r->all_text ? r->all_text : "--top 0");
}

/* ---- blocks to free ---- */

void gp_frag_set_print(const struct gp_frag_report *r, const struct gp_block_set *set, size_t most,
		       int indent)
{
	for (size_t k = 0; k < set->blocks && k < most; k++) {
		const struct gp_memory_block *b = &r->memory.block[set->block[k]];
		fprintf(r->out, "%*s0x%012" PRIx64 " %9s ", indent, "", b->address,
			gp_bytes_text(b->bytes).s);
		print_block(r, set->block[k], false);
	}
	if (set->blocks > most)
		fprintf(r->out, "%*sand %s\n", indent, "",
			gp_plural(set->blocks - most, "more block").s);
}

static void print_set(const struct gp_frag_report *r, const struct gp_block_set *set,
		      bool is_emptying, bool is_second)
{
	struct gp_text segments = gp_plural(set->segments, "segment");
	fprintf(r->out, "  %sfree %s (%s)", is_second ? "or " : "",
		gp_plural(set->blocks - set->pending, "block").s, gp_bytes_text(set->bytes).s);
	if (set->pending)
		fprintf(r->out, " and wait for %s", gp_plural(set->pending, "pending block").s);
	fprintf(r->out, is_emptying ? ": this returns %s to the driver\n" : ": neighbours in %s\n",
		segments.s);
	gp_frag_set_print(r, set, SET_SHOWN, 2);
}

static bool frag_print_is_same(const struct gp_block_set *a, const struct gp_block_set *b)
{
	return a->is_found && b->is_found && a->blocks == b->blocks &&
	       memcmp(a->block, b->block, a->blocks * sizeof *a->block) == 0;
}

static void print_fit(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const struct gp_frag_fit *fit = &f->fit;
	if (!fit->bytes)
		return;
	fputs("for a request of ", r->out);
	print_exact(r->out, fit->bytes);
	if (fit->is_served || fit->is_served_released) {
		fprintf(r->out, ": it should succeed %s%s\n",
			fit->is_served ? "from the cache" : "after empty_cache()",
			gp_frag_has_failed(r, f) ? ", yet it failed: see gpuprof oom" : "");
		return;
	}
	uint64_t total = f->device->total_bytes;
	if (total && fit->rounded_bytes > total) {
		fprintf(r->out, ": larger than the device (%s)\n", gp_bytes_text(total).s);
		return;
	}
	if (!fit->in_place.is_found && !fit->by_emptying.is_found) {
		fputs(f->driver_free_bytes == GP_BYTES_UNKNOWN ?
			      ": freeing neighbours in one segment is not enough\n" :
			      ": freeing blocks is not enough\n",
		      r->out);
		return;
	}
	fputs(":\n", r->out);
	if (fit->in_place.is_found)
		print_set(r, &fit->in_place, false, false);
	if (frag_print_is_same(&fit->in_place, &fit->by_emptying))
		fputs("  this also returns enough to the driver\n", r->out);
	else if (fit->by_emptying.is_found)
		print_set(r, &fit->by_emptying, true, fit->in_place.is_found);
}

/* Since when the request would have failed. */
static void print_born(const struct gp_frag_report *r, const struct gp_frag_device *d)
{
	if (d->born.is_known && d->born.is_by_fit)
		fprintf(r->out, "no gap was large enough for %s since %s\n",
			gp_bytes_text(d->frag.fit.rounded_bytes).s, gp_ns_text(d->born.at_ns).s);
}

/* The OOM's number in the table of `gpuprof oom`. */
static size_t oom_number(const struct gp_frag_report *r)
{
	size_t k = 0;
	while (k < r->ooms.ooms && r->ooms.oom[k].order != r->failed.order)
		k++;
	return k + 1;
}

static void frag_print_device(const struct gp_frag_report *r, const struct gp_frag_device *d)
{
	const struct gp_frag *f = &d->frag;
	gp_use_device_print(r->out, r->info, f->device->device);
	fprintf(r->out, ", %s", gp_frag_moment(r).s);
	if (r->failed.bytes && r->failed.device == f->device->device && r->ooms.ooms > 1)
		fprintf(r->out, " (OOM %zu of %zu; --at oom:N)", oom_number(r), r->ooms.ooms);
	fputs(":\n", r->out);
	gp_frag_answer_print(r, d);
	gp_number_line_print(r->out, f, &d->owners);
	if (f->reserved_bytes) {
		print_framework_line(r, f);
		print_other_places(r, f);
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
	bool has_segments = false;
	for (size_t k = 0; k < r->devices; k++)
		has_segments |= r->device[k].frag.reserved_bytes != 0;
	if (r->has_holders || !has_segments) { /* name the code; without segments there is no map */
		gp_next_print(r->out,
			      gp_next_of(r->recording, r->info,
					 r->has_holders ? "peak --at end" : "peak"),
			      r->path);
		return;
	}
	bool has_at = r->at && r->at[strspn(r->at, plain)] == '\0';
	snprintf(command, sizeof command, "frag%s%s%s%s", has_at ? " --at " : "",
		 has_at ? r->at : "", *options ? " " : "", options);
	/* with --at, stay at the same moment */
	gp_next_print(r->out, r->at ? command : gp_next_of(r->recording, r->info, command),
		      r->path);
}

void gp_frag_note_print(const struct gp_frag_report *r)
{
	if (!r->not_known)
		return;
	fputs("note: ", r->out);
	gp_mask_line(r->out, r->not_known); /* it may quote a setting of the job */
}

void gp_frag_print(const struct gp_frag_report *r)
{
	if (!r->devices)
		fprintf(r->out, "no device memory was live %s\n", gp_frag_moment(r).s);
	for (size_t k = 0; k < r->devices; k++)
		frag_print_device(r, &r->device[k]);
	gp_frag_note_print(r);
	gp_frag_next_print(r, "--map");
}
