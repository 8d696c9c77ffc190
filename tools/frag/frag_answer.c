/*
 * The first lines of `gpuprof frag`: which request succeeds, how much reserved memory is unused,
 * the main cause, and what to do about it. The evidence repeats all figures.
 */
#include <inttypes.h>

#include "../io/amount.h"
#include "../report/report.h"
#include "frag_report.h"

#define CONF "PYTORCH_CUDA_ALLOC_CONF="
#define FREE_PINS "free the pinning blocks first"

/* By the cause of most unused bytes. `setting` is a further advice if the job does not use it. */
static const struct {
	const char *text, *advice, *setting;
} causes[GP_CAUSES] = {
	[GP_CAUSE_PENDING] = { "freed blocks that another stream still uses",
			       "synchronize that stream first, or use record_stream() less", NULL },
	[GP_CAUSE_PRIVATE] = { "private pools (CUDA graphs, MemPool)", NULL /* by their use */,
			       NULL },
	[GP_CAUSE_STREAM] = { "cached for other streams", "allocate on one stream", NULL },
	[GP_CAUSE_SMALL] = { "the small pool", "change nothing: small requests use it", NULL },
	[GP_CAUSE_LEFTOVER] = { "remainders of at most 1 MiB in the large pool", FREE_PINS,
				"roundup_power2_divisions:8" },
	[GP_CAUSE_GRANULARITY] = { "driver pages that live blocks share", FREE_PINS, NULL },
	[GP_CAUSE_FULLY_FREE] = { "fully free segments",
				  "change nothing: PyTorch releases it before one of its own "
				  "requests "
				  "fails",
				  NULL },
	[GP_CAUSE_INACTIVE_SPLIT] = { "inactive splits between live blocks", FREE_PINS,
				      "expandable_segments:True" },
};

/* Whether the job has the setting already, by its settings or its segments. */
static bool has_setting(const struct gp_frag_report *r, const struct gp_frag *f,
			enum gp_cause cause)
{
	bool has_it = false;
	if (cause == GP_CAUSE_INACTIVE_SPLIT)
		has_it = r->settings.is_expandable;
	for (size_t k = 0; cause == GP_CAUSE_INACTIVE_SPLIT && k < f->pools; k++)
		has_it |= f->pool[k].has_expandable;
	for (unsigned k = 0; cause == GP_CAUSE_LEFTOVER && k < GP_ROUNDUP_BUCKETS; k++)
		has_it |= r->settings.roundup_divisions[k] > 1;
	return has_it;
}

static void print_advice(const struct gp_frag_report *r, const struct gp_frag *f,
			 enum gp_cause cause, enum gp_private_use use, const char *label)
{
	const char *advice =
		cause == GP_CAUSE_PRIVATE ? gp_private_texts[use].advice : causes[cause].advice;
	fprintf(r->out, "  %s: ", label);
	if (causes[cause].setting && !has_setting(r, f, cause))
		fprintf(r->out, "set " CONF "%s, or ", causes[cause].setting);
	fprintf(r->out, "%s\n", advice);
}

enum gp_cause gp_frag_main_cause(const struct gp_frag *f)
{
	enum gp_cause most = GP_CAUSE_PENDING;
	for (unsigned k = 0; k < GP_CAUSES; k++)
		if (f->cause_bytes[k] > f->cause_bytes[most])
			most = (enum gp_cause)k;
	return most;
}

bool gp_frag_has_failed(const struct gp_frag_report *r, const struct gp_frag *f)
{
	return r->failed.is_framework && r->failed.device == f->device->device &&
	       r->failed.bytes == f->fit.bytes;
}

/* "40.0 MiB from the cache on stream 0, 365 MiB after empty_cache()" */
static void print_served(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const struct gp_arena *home = &f->memory->arena[f->home];
	/*
	 * an upper limit: the stream is unknown, so the gap may be another stream's or still
	 * pending
	 */
	bool is_bound = !home->is_known && f->largest_request_bytes;
	fprintf(r->out, "%s%s from the cache", is_bound ? "at most " : "",
		gp_bytes_text(f->largest_request_bytes).s);
	if (home->is_known)
		fprintf(r->out, " on stream %s%" PRIx64, home->stream ? "0x" : "", home->stream);
	if (f->largest_released_bytes != GP_BYTES_UNKNOWN)
		fprintf(r->out, ", %s%s after empty_cache()",
			f->is_released_bound ? "at most " : "",
			gp_bytes_text(f->largest_released_bytes).s);
	fputc('\n', r->out);
}

static void print_request(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const struct gp_frag_fit *fit = &f->fit;
	if (r->failed.bytes && r->failed.device == f->device->device)
		fprintf(r->out, "  a request of %s from %s failed\n",
			gp_bytes_text(r->failed.bytes).s,
			r->failed.is_framework ? "PyTorch" : "the driver");
	if (fit->bytes && !gp_frag_has_failed(r, f)) {
		fprintf(r->out, "  a request of %s %s\n", gp_bytes_text(fit->bytes).s,
			fit->is_served		? "succeeds from the cache" :
			fit->is_served_released ? "succeeds after empty_cache()" :
			f->largest_released_bytes == GP_BYTES_UNKNOWN ? "does not fit the cache" :
									"does not fit");
	}
	if (!f->reserved_bytes)
		return;
	fputs("  largest request that fits: ", r->out);
	print_served(r, f);
}

/* "1.13 GiB of 1.19 GiB reserved (94.7%)" */
static void print_share(FILE *out, uint64_t unused, uint64_t reserved, const char *word)
{
	fprintf(out, "%s of %s%s", gp_bytes_text(unused).s, gp_bytes_text(reserved).s, word);
	if (unused)
		fprintf(out, " (%.1f%%)", 100.0 * (double)unused / (double)reserved);
}

static void print_unused(const struct gp_frag_report *r, const struct gp_frag *f)
{
	uint64_t unused = f->unused_bytes;
	enum gp_cause most = gp_frag_main_cause(f);
	fputs("  unused: ", r->out);
	print_share(r->out, unused, f->reserved_bytes, " reserved");
	if (unused)
		fprintf(r->out, ", mostly %s", causes[most].text);
	fputc('\n', r->out);
	if (!unused)
		return;
	bool is_oom = r->failed.bytes && r->failed.device == f->device->device;
	/* PyTorch releases its cache only for its own requests */
	if (is_oom && !r->failed.is_framework && most == GP_CAUSE_FULLY_FREE)
		fputs("  to do: call empty_cache() before that request\n", r->out);
	else if (!is_oom) /* else `gpuprof oom` advises */
		print_advice(r, f, most, gp_frag_private(f).use, "to do");
}

const struct gp_oom *gp_frag_worst_oom(const struct gp_frag_report *r, unsigned device)
{
	const struct gp_oom *worst = NULL;
	uint64_t most = 0;
	for (size_t k = 0; k < r->ooms.ooms; k++) {
		const struct gp_oom *o = &r->ooms.oom[k];
		if (o->device != device || o->reserved_bytes <= o->allocated_bytes ||
		    o->reserved_bytes - o->allocated_bytes <= most)
			continue;
		worst = o;
		most = o->reserved_bytes - o->allocated_bytes;
	}
	return worst;
}

/* Names the moments with more unused memory than this one. */
static void print_most_unused(const struct gp_frag_report *r, const struct gp_frag_device *d)
{
	const struct gp_oom *worst = gp_frag_worst_oom(r, d->frag.device->device);
	uint64_t shown = d->frag.unused_bytes;
	if (d->most.bytes > shown) {
		fputs("  most unused: ", r->out);
		print_share(r->out, d->most.bytes, d->most.reserved_bytes, "");
		fprintf(r->out, " at %s, %s%s; --at " GP_UNUSED_PEAK, gp_ns_text(d->most.at_ns).s,
			d->most.is_after_last ? "" : "mostly ",
			d->most.is_after_last ? "after the last allocation" :
						causes[d->most_cause].text);
		if (r->devices > 1)
			fprintf(r->out, " --device %u", d->frag.device->device);
		fputc('\n', r->out);
		if (!d->most.is_after_last)
			print_advice(r, &d->frag, d->most_cause, d->most_use, "to do then");
	}
	if (worst && worst->reserved_bytes - worst->allocated_bytes > shown) {
		fputs("  most unused at an OOM: ", r->out);
		print_share(r->out, worst->reserved_bytes - worst->allocated_bytes,
			    worst->reserved_bytes, "");
		const size_t number = (size_t)(worst - r->ooms.oom) + 1;
		fprintf(r->out, " at %s; --at oom:%zu; advice: gpuprof oom --number %zu\n",
			gp_ns_text(worst->at_ns).s, number, number);
	}
}

void gp_frag_answer_print(const struct gp_frag_report *r, const struct gp_frag_device *d)
{
	print_request(r, &d->frag);
	if (d->frag.reserved_bytes)
		print_unused(r, &d->frag);
	print_most_unused(r, d);
}
