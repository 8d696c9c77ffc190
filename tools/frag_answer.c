/*
 * The first lines of `gpuprof frag`: which request succeeds, how much reserved memory is unused and
 * why most of it is, and what to do about that cause. All figures stand again in the evidence.
 */
#include <inttypes.h>

#include "amount.h"
#include "frag_report.h"
#include "report.h"

/* By the cause of most unused bytes. */
static const struct {
	const char *text, *advice;
} causes[GP_CAUSES] = {
	[GP_CAUSE_PENDING] = { "freed blocks that another stream still uses",
			       "synchronize that stream first, or use record_stream() less" },
	[GP_CAUSE_PRIVATE] = { "private pools (CUDA graphs, MemPool)",
			       "give all graphs one graph_pool_handle(), delete graphs that are "
			       "done" },
	[GP_CAUSE_STREAM] = { "cached for other streams", "allocate on one stream" },
	[GP_CAUSE_SMALL] = { "the small pool (requests up to 1 MiB)",
			     "none needed; small requests use it" },
	[GP_CAUSE_LEFTOVER] = { "remainders of at most 1 MiB in the large pool",
				"use fewer sizes (roundup_power2_divisions), or free the blocks "
				"below" },
	[GP_CAUSE_GRANULARITY] = { "driver pages that live blocks share",
				   "free the blocks below before large requests" },
	[GP_CAUSE_SOFT] = { "fully free segments or pages",
			    "none needed; PyTorch releases them before a request fails" },
	[GP_CAUSE_HARD] = { "inactive splits between live blocks",
			    "free the blocks below before large requests" },
};

static enum gp_cause main_cause(const struct gp_frag *f)
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

/* "40.0 MiB from the cache, 365 MiB after empty_cache()" */
static void print_served(const struct gp_frag_report *r, const struct gp_frag *f)
{
	bool is_bound = !f->memory->arena[f->home].is_known && f->largest_request_bytes;
	fprintf(r->out, "%s%s from the cache", is_bound ? "at most " : "",
		gp_bytes_text(f->largest_request_bytes).s);
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

static void print_unused(const struct gp_frag_report *r, const struct gp_frag *f)
{
	uint64_t unused = f->unused_bytes;
	enum gp_cause most = main_cause(f);
	if (!unused) {
		fprintf(r->out, "  unused: 0 B of %s reserved\n",
			gp_bytes_text(f->reserved_bytes).s);
		return;
	}
	fprintf(r->out, "  unused: %s of %s reserved (%.1f%%), mostly %s\n",
		gp_bytes_text(unused).s, gp_bytes_text(f->reserved_bytes).s,
		100.0 * (double)unused / (double)f->reserved_bytes, causes[most].text);
	bool is_oom = r->failed.bytes && r->failed.device == f->device->device;
	/* the cache is released for PyTorch's requests alone */
	if (is_oom && !r->failed.is_framework && most == GP_CAUSE_SOFT)
		fputs("  to do: call empty_cache() before that request\n", r->out);
	else if (!is_oom) /* else `gpuprof oom` advises */
		fprintf(r->out, "  to do: %s\n", causes[most].advice);
}

void gp_frag_answer_print(const struct gp_frag_report *r, const struct gp_frag *f)
{
	print_request(r, f);
	if (f->reserved_bytes)
		print_unused(r, f);
}
