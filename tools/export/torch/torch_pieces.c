/* Counts the acts of each device, and cuts where a file has enough of them. */
#include "torch_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "../../io/amount.h"
#include "../../io/message.h"

#define PIECES_MOST 999u
/* An act can be several entries, and the trace ends with the snapshot itself. */
#define ENTRIES_AN_EVENT 4u
/* Acts with one time stay together, so a cut may be late by this part of the entries. */
#define LATE_PART 16u

struct piece_count {
	const struct gp_export *e;
	uint64_t most;
	uint64_t entries[GP_DEVICES];
};

static uint64_t most_acts(const struct gp_info *info)
{
	uint64_t events = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_event_infos[kind].class == GP_CLASS_MEMORY)
			events += info->kept[kind];
	return events * ENTRIES_AN_EVENT;
}

static enum gp_history_fill count_act(void *context, const struct gp_act *act, bool is_first)
{
	struct piece_count *c = context;
	if (!gp_export_has(c->e, act->device))
		return GP_HISTORY_IGNORES;
	if (is_first)
		memset(c->entries, 0, sizeof c->entries);
	return ++c->entries[act->device] >= c->most - c->most / LATE_PART ? GP_HISTORY_IS_FULL :
									    GP_HISTORY_GOES_ON;
}

enum gp_status gp_torch_pieces_find(const struct gp_export *e, struct gp_torch_pieces *out)
{
	struct piece_count count = { .e = e };
	const struct gp_history_measure measure = { &count, count_act };
	const uint64_t acts = most_acts(e->info);
	*out = (struct gp_torch_pieces){ .most = e->most_entries };
	if (out->most == 0 || acts < out->most)
		return GP_OK;
	/* so many files at most, and a cut needs two acts */
	out->most = acts / PIECES_MOST > out->most ? acts / PIECES_MOST : out->most;
	out->most = out->most < 2 ? 2 : out->most;
	count.most = out->most;
	return gp_history_find_cuts(e->recording, e->from_ns, e->to_ns, &measure, &out->cuts);
}

void gp_torch_pieces_free(struct gp_torch_pieces *pieces)
{
	gp_history_cuts_free(&pieces->cuts);
	*pieces = (struct gp_torch_pieces){ 0 };
}

void gp_torch_pieces_print(const struct gp_export *e, const struct gp_torch_pieces *pieces)
{
	if (pieces->cuts.cuts == 0)
		return;
	const bool is_usual = e->most_entries == GP_TORCH_ENTRIES;
	char limit[128];
	snprintf(limit, sizeof limit, "%s %s entries of a device",
		 is_usual ? "memory_viz shows" : "a file has at most",
		 gp_count_text(e->most_entries).s);
	if (!e->path) {
		gp_error("%s, and stdout has more", limit);
		gp_hint("-o FILE writes a file for each of %zu spans; --to %lld ends with the "
			"first",
			pieces->cuts.cuts + 1, (long long)pieces->cuts.cut[0].to_ns);
		return;
	}
	gp_error("%s: %zu files, each of a span", limit, pieces->cuts.cuts + 1);
	gp_hint("--from and --to choose a span, and --entries 0 writes one file");
}
