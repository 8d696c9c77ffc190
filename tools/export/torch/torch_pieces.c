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
	struct gp_torch_pieces *out;
	uint64_t entries[GP_DEVICES];
	int64_t newest_ns;
	bool is_due, is_out_of_memory;
};

static uint64_t most_acts(const struct gp_info *info)
{
	uint64_t events = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_event_infos[kind].class == GP_CLASS_MEMORY)
			events += info->kept[kind];
	return events * ENTRIES_AN_EVENT;
}

static bool piece_cut(struct piece_count *c)
{
	struct gp_torch_pieces *out = c->out;
	int64_t *cut = realloc(out->cut_ns, (out->cuts + 1) * sizeof *cut);
	if (!cut)
		return false;
	out->cut_ns = cut;
	out->cut_ns[out->cuts++] = c->newest_ns;
	memset(c->entries, 0, sizeof c->entries);
	c->is_due = false;
	return true;
}

static bool count_act(void *state, const struct gp_act *act)
{
	struct piece_count *c = state;
	if (!gp_export_has(c->e, act->device))
		return true;
	if (c->is_due && act->at_ns > c->newest_ns && !piece_cut(c)) {
		c->is_out_of_memory = true;
		return false;
	}
	c->newest_ns = act->at_ns > c->newest_ns ? act->at_ns : c->newest_ns;
	c->is_due |= ++c->entries[act->device] >= c->out->most - c->out->most / LATE_PART;
	return true;
}

static enum gp_status pieces_count(struct piece_count *c)
{
	struct gp_history history;
	const struct gp_export *e = c->e;
	enum gp_status status = gp_history_open(e->recording, e->from_ns, e->to_ns, &history);
	if (status == GP_OK)
		status = gp_history_visit(&history, count_act, c);
	gp_history_close(&history);
	return c->is_out_of_memory ? GP_E_MEMORY : status;
}

enum gp_status gp_torch_pieces_find(const struct gp_export *e, struct gp_torch_pieces *out)
{
	struct piece_count count = { .e = e, .out = out, .newest_ns = INT64_MIN };
	const uint64_t acts = most_acts(e->info);
	*out = (struct gp_torch_pieces){ .most = e->most_entries };
	if (out->most == 0 || acts < out->most)
		return GP_OK;
	/* so many files at most, and a cut needs two acts */
	out->most = acts / PIECES_MOST > out->most ? acts / PIECES_MOST : out->most;
	out->most = out->most < 2 ? 2 : out->most;
	return pieces_count(&count);
}

void gp_torch_pieces_free(struct gp_torch_pieces *pieces)
{
	free(pieces->cut_ns);
	*pieces = (struct gp_torch_pieces){ 0 };
}

void gp_torch_pieces_print(const struct gp_export *e, const struct gp_torch_pieces *pieces)
{
	if (pieces->cuts == 0)
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
			pieces->cuts + 1, (long long)pieces->cut_ns[0]);
		return;
	}
	gp_error("%s: %zu files, each of a span", limit, pieces->cuts + 1);
	gp_hint("--from and --to choose a span, and --entries 0 writes one file");
}
