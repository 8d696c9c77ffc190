/*
 * Orders the first out-of-memory event of each recording by time of day: the recording's start by
 * its host's clock and the moment in it. Time since the start is not compared: ranks start one
 * after the other.
 */
#include "oom_ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "amount.h"
#include "message.h"
#include "oom_answer.h"
#include "report.h"
#include "screen.h"

#define NS_IN_S 1000000000u

struct gp_oom_rank {
	const char *path;
	char host[64];
	uint64_t unix_ns;
	size_t times;
	unsigned device;
	struct gp_oom_answer answer;
};

static enum gp_status rank_look(struct gp_oom_rank *rank, const struct gp_oom_report *r, size_t k)
{
	struct gp_oom_case looked;
	enum gp_status status = gp_oom_look(r->recording, &r->ooms, k, &r->settings, -1, &looked);
	if (status == GP_OK)
		status = gp_oom_answer_build(r, k, &looked, &rank->answer);
	gp_oom_case_free(&looked);
	return status;
}

enum gp_status gp_oom_ranks_add(struct gp_oom_ranks *ranks, const struct gp_oom_report *r)
{
	size_t first = 0;
	ranks->recordings++;
	if (!r->shown)
		return GP_OK;
	while (!r->row[first].is_shown)
		first++;
	if (ranks->ranks == ranks->capacity) {
		size_t capacity = ranks->capacity ? 2 * ranks->capacity : 16;
		struct gp_oom_rank *rank = realloc(ranks->rank, capacity * sizeof *rank);
		if (!rank)
			return GP_E_MEMORY;
		ranks->rank = rank;
		ranks->capacity = capacity;
	}
	const struct gp_oom *oom = &r->ooms.oom[first];
	struct gp_oom_rank *rank = &ranks->rank[ranks->ranks];
	*rank = (struct gp_oom_rank){
		.path = r->path,
		.unix_ns = r->info->start_unix_ns + (uint64_t)oom->at_ns,
		.times = r->shown,
		.device = oom->device,
	};
	snprintf(rank->host, sizeof rank->host, "%s", r->info->hostname ? r->info->hostname : "");
	enum gp_status status = rank_look(rank, r, first);
	ranks->ranks += status == GP_OK;
	return status;
}

static int by_clock(const void *a, const void *b)
{
	const struct gp_oom_rank *x = a, *y = b;
	int order = (x->unix_ns > y->unix_ns) - (x->unix_ns < y->unix_ns);
	return order ? order : strverscmp(x->path, y->path);
}

static void print_first(const struct gp_oom_ranks *ranks, FILE *out)
{
	const struct gp_oom_rank *first = ranks->rank;
	time_t second = (time_t)(first->unix_ns / NS_IN_S);
	struct tm tm;
	char day[32];
	strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", gmtime_r(&second, &tm));
	fputs("first: ", out);
	gp_name_print(out, first->path);
	fprintf(out, " ran out of memory at %s.%03" PRIu64 " UTC", day,
		first->unix_ns % NS_IN_S / 1000000);
	if (ranks->ranks > 1) {
		fprintf(out, ", %s before ",
			gp_ns_text((int64_t)(first[1].unix_ns - first->unix_ns)).s);
		gp_name_print(out, first[1].path);
	}
	fputc('\n', out);
	gp_oom_answer_print(out, &first->answer);
}

static bool has_other_host(const struct gp_oom_ranks *ranks)
{
	for (size_t k = 1; k < ranks->ranks; k++)
		if (strcmp(ranks->rank[k].host, ranks->rank->host) != 0)
			return true;
	return false;
}

void gp_oom_ranks_print(struct gp_oom_ranks *ranks, FILE *out)
{
	if (!ranks->ranks) {
		fprintf(out, "memory did not run out in %zu recordings\n", ranks->recordings);
		return;
	}
	qsort(ranks->rank, ranks->ranks, sizeof *ranks->rank, by_clock);
	print_first(ranks, out);
	if (has_other_host(ranks))
		fputs("The recordings are of several hosts: their clocks may differ, and so may "
		      "the order.\n",
		      out);
	fprintf(out, "memory ran out in %zu of %zu recordings:\n", ranks->ranks, ranks->recordings);
	fputs("     later  GPU  requested    missing  OOMs  cause            try"
	      "                          recording\n",
	      out);
	for (size_t k = 0; k < ranks->ranks; k++) {
		const struct gp_oom_rank *rank = &ranks->rank[k];
		const struct gp_oom_answer *a = &rank->answer;
		fprintf(out, "%10s  %3u %10s %10s %5zu  %-15s  %-27s  ",
			gp_ns_text((int64_t)(rank->unix_ns - ranks->rank->unix_ns)).s, rank->device,
			gp_bytes_text(a->asked_bytes).s,
			a->missing_bytes == GP_BYTES_UNKNOWN ? "-" :
							       gp_bytes_text(a->missing_bytes).s,
			rank->times, gp_verdict_names[a->verdict], gp_oom_answer_brief(a));
		gp_name_print(out, rank->path);
		fputc('\n', out);
	}
	gp_next_print(out, "oom --details", ranks->rank->path);
}

void gp_oom_ranks_release(struct gp_oom_ranks *ranks)
{
	free(ranks->rank);
	*ranks = (struct gp_oom_ranks){ 0 };
}
