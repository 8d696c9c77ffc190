/* The report of `gpuprof idle` for a program. */
#include "../report/stack_print.h"
#include "idle_report.h"

static void write_moment(struct gp_json *json, const char *key, int64_t at_ns)
{
	gp_json_signed_if(json, key, at_ns >= 0, at_ns);
}

static void write_stack(struct gp_json *json, const struct gp_idle_report *r, const char *key,
			uint32_t stack, int64_t at_ns, const char *without, unsigned space)
{
	gp_json_text(json, "key", key);
	gp_json_text(json, "kind", space && space < GP_SPACES ? gp_space_names[space] : NULL);
	gp_json_text(json, "why", without);
	gp_stack_write(json, r->recording, stack, at_ns, GP_STACK_FOLDED);
}

static void write_owner(struct gp_json *json, const struct gp_idle_holder *holder)
{
	static const char *const words[GP_IDLE_OWNERS] = { "PyTorch",	      NULL, "program", NULL,
							   "another process", NULL };
	gp_json_text(json, "owner", holder->library[0] ? holder->library : words[holder->owner]);
}

static void write_row(struct gp_json *json, const struct gp_idle_report *r,
		      const struct gp_idle_row *row)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "state", gp_idle_state_keys[row->kind]);
	gp_json_number(json, "stacks", row->stacks);
	gp_json_number(json, "bytes", row->bytes);
	gp_json_number(json, "count", row->count);
	write_owner(json, &row->holder);
	gp_json_number(json, "largest_bytes", row->largest_bytes);
	gp_json_signed(json, "idle_ns", row->idle_ns);
	gp_json_number(json, "idle_launches", row->idle_launches);
	write_moment(json, "born_ns", row->born_ns);
	write_moment(json, "first_use_ns", row->first_ns);
	write_moment(json, "last_use_ns", row->last_ns);
	write_moment(json, "next_use_ns", row->next_ns);
	write_moment(json, "freed_ns", row->freed_ns);
	write_stack(json, r, row->key, row->stack, row->born_ns, row->without, row->space);
	gp_json_end(json);
}

static void write_sum(struct gp_json *json, const struct gp_idle_sum *sum)
{
	gp_json_number(json, "bytes", sum->bytes);
	gp_json_number(json, "count", sum->count);
}

static void write_sums(struct gp_json *json, const struct gp_idle_device *d, bool is_of_peak)
{
	const struct gp_idle_sum total = gp_idle_total(d, is_of_peak);
	write_sum(json, &total);
	gp_json_object(json, "states");
	for (unsigned s = 0; s < GP_IDLE_STATES; s++) {
		const struct gp_idle_sum sum =
			gp_idle_state_sum(d, is_of_peak, (enum gp_idle_state)s);
		gp_json_object(json, gp_idle_state_keys[s]);
		write_sum(json, &sum);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void idle_json_write_device(struct gp_json *json, const struct gp_idle_report *r,
				   const struct gp_idle_device *d)
{
	gp_json_object(json, NULL);
	gp_json_number(json, "device", d->device);
	gp_json_text(json, "of", d->is_framework ? "allocated" : "driver");
	gp_json_signed(json, "at_ns", d->peak_at_ns);
	gp_json_bool(json, "overwritten", d->is_overwritten);
	write_sums(json, d, true);
	gp_json_object(json, "beside");
	write_sums(json, d, false);
	gp_json_end(json);
	gp_json_array(json, "rows");
	for (size_t k = 0; k < gp_idle_rows_shown(r, d->rows); k++)
		write_row(json, r, &d->row[k]);
	gp_json_end(json);
	gp_json_array(json, "reusable");
	for (size_t k = 0; k < gp_idle_rows_shown(r, d->reuses); k++) {
		const struct gp_idle_reuse *u = &d->reuse[k];
		gp_json_object(json, NULL);
		gp_json_number(json, "each_bytes", u->each_bytes);
		gp_json_number(json, "count", u->count);
		gp_json_number(json, "needed", u->needed);
		gp_json_text(json, "key", u->key);
		gp_json_text(json, "other_key", u->other_key);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}

static void write_waste(struct gp_json *json, const struct gp_idle_report *r,
			const struct gp_idle_row *w)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "pattern", gp_waste_keys[w->kind]);
	gp_json_number(json, "stacks", w->stacks);
	gp_json_number_if(json, "device", w->device != GP_DEVICE_UNKNOWN, w->device);
	gp_json_number(json, "bytes", w->bytes);
	gp_json_number(json, "count", w->count);
	write_owner(json, &w->holder);
	gp_json_number(json, "largest_bytes", w->largest_bytes);
	write_moment(json, "born_ns", w->born_ns);
	gp_json_signed(json, "idle_ns", w->idle_ns);
	gp_json_number(json, "idle_launches", w->idle_launches);
	write_stack(json, r, w->key, w->stack, w->born_ns, w->without, w->space);
	gp_json_end(json);
}

static void write_wastes(struct gp_json *json, const struct gp_idle_report *r)
{
	size_t shown[GP_WASTES] = { 0 };
	gp_json_array(json, "waste");
	for (size_t k = 0; k < r->idle.wastes; k++) {
		const struct gp_idle_row *w = &r->idle.waste[k];
		if (!gp_idle_selects(r, w->device) || (r->top && shown[w->kind] >= r->top))
			continue;
		shown[w->kind]++;
		write_waste(json, r, w);
	}
	gp_json_end(json);
}

void gp_idle_write(const struct gp_idle_report *r)
{
	const struct gp_idle *i = &r->idle;
	gp_json_object(r->json, NULL);
	gp_use_head_write(r->json, r->path, r->info);
	gp_json_bool(r->json, "has_uses", i->has_uses);
	gp_json_text(r->json, "why", i->no_uses);
	gp_json_bool(r->json, "blind", i->is_blind);
	gp_json_number(r->json, "least_launches", i->least_launches);
	gp_json_object(r->json, "uses");
	gp_json_number(r->json, "launches", i->launches);
	gp_json_number(r->json, "captured_launches", i->captured_launches);
	gp_json_number(r->json, "scanned", i->scanned);
	gp_json_number(r->json, "resolved", i->resolved);
	gp_json_number(r->json, "graph_launches", i->graph_launches);
	gp_json_number(r->json, "graph_resolved", i->graph_resolved);
	gp_json_number(r->json, "graph_unknown", i->graph_unknown);
	gp_json_number(r->json, "copies", i->copies);
	gp_json_number(r->json, "copies_resolved", i->copies_resolved);
	gp_json_number(r->json, "addresses", i->addresses);
	gp_json_number(r->json, "addresses_resolved", i->addresses_resolved);
	gp_json_number(r->json, "lost", i->lost);
	gp_json_number(r->json, "beyond", i->beyond);
	gp_json_bool(r->json, "managed", i->has_managed);
	gp_json_end(r->json);
	gp_json_array(r->json, "devices");
	for (size_t k = 0; k < i->devices; k++)
		if (gp_idle_selects(r, i->device[k].device))
			idle_json_write_device(r->json, r, &i->device[k]);
	gp_json_end(r->json);
	write_wastes(r->json, r);
	gp_json_end(r->json);
}
