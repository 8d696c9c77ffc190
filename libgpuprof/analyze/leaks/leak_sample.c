/*
 * Walks the live entries at each sample. Leaves out the framework's reserve: driver memory that
 * contains its blocks, and physical memory that is mapped in its segments.
 */
#include "leak_sample.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "../phases/range_path.h"

/* Kinds that are not memory of a device, but that the driver can run out of. */
#define BIT(space) (1u << (space))
static const unsigned objects = BIT(GP_SPACE_HOST) | BIT(GP_SPACE_HOST_REGISTER) |
				BIT(GP_SPACE_RESERVATION) | BIT(GP_SPACE_IPC) |
				BIT(GP_SPACE_EXTERNAL) | BIT(GP_SPACE_MULTICAST) |
				BIT(GP_SPACE_RESOURCE);

static void leak_sample_walk(struct gp_leak_sampling *s, gp_live_visit *visit)
{
	gp_live_walk_begin(s->recording->live, visit, s);
	while (!gp_live_walk_more(s->recording->live, 65536))
		;
}

/* ---- the framework's expandable segments ---- */

static void list_reserve(void *context, const struct gp_live_entry *e)
{
	struct gp_leak_sampling *s = context;
	if (e->space != GP_SPACE_RESERVATION || (e->flags & GP_LIVE_SEGMENT) == 0 ||
	    s->is_out_of_memory)
		return;
	struct gp_leak_extent *reserve =
		gp_array_append(&s->reserve, &s->reserves, sizeof *reserve);
	s->is_out_of_memory |= reserve == NULL;
	if (reserve != NULL)
		*reserve = (struct gp_leak_extent){ e->address, e->bytes };
}

static bool is_in(const struct gp_leak_extent *reserve, uint64_t address)
{
	return address - reserve->address < reserve->bytes;
}

/* Consecutive mappings mostly lie in one reservation. */
static bool is_in_reserve(struct gp_leak_sampling *s, uint64_t address)
{
	if (is_in(&s->reserve[s->last], address))
		return true;
	const size_t behind = gp_row_rank(s->reserve, s->reserves, sizeof *s->reserve, address);
	s->last = behind > 0 ? behind - 1 : 0;
	return is_in(&s->reserve[s->last], address);
}

static void list_mapped(void *context, const struct gp_live_entry *e)
{
	struct gp_leak_sampling *s = context;
	if (e->space != GP_SPACE_MAPPED || s->is_out_of_memory || !is_in_reserve(s, e->address))
		return;
	uint64_t *mapped = gp_array_append(&s->mapped, &s->mappeds, sizeof *mapped);
	s->is_out_of_memory |= mapped == NULL;
	if (mapped != NULL)
		*mapped = e->stream;
}

static void list_framework(struct gp_leak_sampling *s)
{
	s->reserves = s->mappeds = s->last = 0;
	if (gp_live_next_mapped(s->recording->live, 0) == NULL)
		return;
	leak_sample_walk(s, list_reserve);
	if (s->reserves > 1)
		qsort(s->reserve, s->reserves, sizeof *s->reserve, gp_row_order);
	if (s->reserves > 0)
		leak_sample_walk(s, list_mapped);
	if (s->mappeds > 1)
		qsort(s->mapped, s->mappeds, sizeof *s->mapped, gp_row_order);
}

/* ---- holders ---- */

static bool is_reserve(const struct gp_leak_sampling *s, const struct gp_live_entry *e)
{
	return (e->flags & GP_LIVE_SEGMENT) != 0 ||
	       (e->space == GP_SPACE_PHYSICAL && s->mappeds > 0 &&
		bsearch(&e->order, s->mapped, s->mappeds, sizeof e->order, gp_row_order) != NULL);
}

/* False: the samples do not need it. */
static bool is_looked_at(const struct gp_leak_sampling *s, const struct gp_live_entry *e)
{
	if (e->space == GP_SPACE_BLOCK)
		return (e->flags & GP_LIVE_PENDING) == 0;
	return (gp_live_is_driver(e) || (objects >> e->space & 1) != 0) && !is_reserve(s, e);
}

/* The type of a resource; 0 for memory. */
static uint8_t type_of(const struct gp_live_entry *e)
{
	return e->space == GP_SPACE_RESOURCE ? (uint8_t)(e->flags & 0xffu) : 0;
}

static uint64_t size_of(const struct gp_live_entry *e)
{
	return e->stack == 0 ? e->bytes : 0;
}

static bool leak_sample_is_of(const struct gp_leak_holder *h, const struct gp_live_entry *e)
{
	return h->stack == e->stack && h->space == e->space && h->of == type_of(e) &&
	       h->device == e->device && h->size == size_of(e);
}

static uint32_t leak_sample_hash_of(const struct gp_live_entry *e)
{
	uint64_t key = (uint64_t)e->stack << 24 | (uint64_t)e->space << 16 |
		       (uint64_t)type_of(e) << 8 | e->device;
	return gp_row_hash(gp_hash_pair(key, size_of(e)));
}

/* NULL: out of memory, or the bound of holders is reached. */
static struct gp_leak_holder *holder_of(struct gp_leak_sampling *s, const struct gp_live_entry *e)
{
	struct gp_row_table *t = &s->out->table;
	const uint32_t hash = leak_sample_hash_of(e);
	uint32_t step = 0;
	for (uint32_t row; (row = gp_row_next(t, hash, &step)) != 0;) {
		struct gp_leak_holder *h = gp_leak_holder(s->out, row - 1);
		if (leak_sample_is_of(h, e))
			return h;
	}
	s->out->is_cut |= t->rows == GP_LEAK_HOLDERS_MAX;
	if (s->out->is_cut)
		return NULL;
	struct gp_leak_holder *made = gp_row_add(t, sizeof *made, hash);
	s->is_out_of_memory |= made == NULL;
	if (made == NULL)
		return NULL;
	made->stack = e->stack;
	made->space = e->space;
	made->of = type_of(e);
	made->device = e->device;
	made->is_object = (objects >> e->space & 1) != 0;
	made->size = size_of(e);
	return made;
}

/* ---- one sample ---- */

/*
 * The first sample that contains it. An allocation at the moment of a sample comes after that
 * sample.
 */
static size_t sample_behind(const struct gp_leak_samples *t, int64_t at_ns)
{
	const size_t sample = gp_array_count_to(t->at_ns, t->samples, at_ns);
	return sample < t->samples ? sample : t->samples - 1;
}

void gp_leak_keep_example(struct gp_leak_holder *h, const struct gp_live_entry *e)
{
	size_t k = h->examples;
	while (k > 0 && h->example[k - 1].order < e->order)
		k--;
	if (k == GP_LEAK_EXAMPLES)
		return;
	h->examples += h->examples < GP_LEAK_EXAMPLES;
	memmove(&h->example[k + 1], &h->example[k], (h->examples - 1 - k) * sizeof *h->example);
	h->example[k] = *e;
}

static void count(void *context, const struct gp_live_entry *e)
{
	struct gp_leak_sampling *s = context;
	struct gp_leak_holder *h =
		is_looked_at(s, e) && !s->is_out_of_memory ? holder_of(s, e) : NULL;
	if (h == NULL)
		return;
	int64_t at_ns = gp_tick_ns(&s->recording->tick, e->time);
	h->bytes[s->sample] += (double)e->bytes;
	h->count[s->sample]++;
	h->at_ns = at_ns;
	if (s->sample + 1 < s->out->samples)
		return;
	h->births[sample_behind(s->out, at_ns)]++;
	gp_leak_keep_example(h, e);
	struct gp_leak_samples *out = s->out;
	struct gp_leak_survivor *survivor =
		gp_array_append(&out->survivor, &out->survivors, sizeof *survivor);
	s->is_out_of_memory |= survivor == NULL;
	if (survivor != NULL)
		*survivor = (struct gp_leak_survivor){ (uint32_t)(h - gp_leak_holder(out, 0)),
						       e->order, at_ns };
}

static void sample_devices(struct gp_leak_sampling *s)
{
	for (unsigned device = 0; device < GP_DEVICES; device++)
		for (unsigned of = 0; of < GP_CURVES; of++) {
			const struct gp_curve_state *curve =
				&gp_live_device(s->recording->live, device)->curve[of];
			s->out->curve[device][of][s->sample] = (double)curve->now_bytes;
			s->out->has_curve[device][of] = curve->peak_bytes > 0;
		}
}

/* The free bytes of each device, and the framework's reserve, which serves blocks. */
static void see_room(struct gp_leak_sampling *s)
{
	const struct gp_info *info = &s->recording->info;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_live_device *d = gp_live_device(s->recording->live, device);
		uint64_t driver = d->curve[GP_CURVE_DRIVER].now_bytes, total = 0;
		for (size_t k = 0; k < info->devices; k++)
			total = info->device[k].device == device ? info->device[k].total_bytes :
								   total;
		uint64_t room = total > driver ? total - driver : 0;
		if (d->used.time != 0) {
			uint64_t grown =
				driver > d->used.driver_bytes ? driver - d->used.driver_bytes : 0;
			room = d->used.free_bytes > grown ? d->used.free_bytes - grown : 0;
		}
		uint64_t reserved = d->curve[GP_CURVE_RESERVED].now_bytes,
			 allocated = d->curve[GP_CURVE_ALLOCATED].now_bytes;
		room += reserved > allocated ? reserved - allocated : 0;
		s->out->free_bytes[device] = total != 0 ? room : UINT64_MAX;
	}
}

static int compare_survivors(const void *left, const void *right)
{
	const struct gp_leak_survivor *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static void take(struct gp_leak_sampling *s)
{
	struct gp_leak_samples *out = s->out;
	list_framework(s);
	leak_sample_walk(s, count);
	sample_devices(s);
	if (s->sample + 1 == out->samples) {
		see_room(s);
		if (out->survivors > 1)
			qsort(out->survivor, out->survivors, sizeof *out->survivor,
			      compare_survivors);
	}
	s->sample++;
}

/* Takes all samples up to that moment; INT64_MAX: at the end. */
static void take_due(struct gp_leak_sampling *s, int64_t at_ns)
{
	while (s->sample < s->out->samples && at_ns >= s->out->at_ns[s->sample])
		take(s);
}

enum gp_status gp_leak_sampling_prepare(struct gp_leak_sampling *s)
{
	const struct gp_info *info = &s->recording->info;
	return s->out->samples > 0 && info->has_ranges ?
		       gp_range_paths_prepare(s->recording, s->ranges) :
		       GP_OK;
}

enum gp_status gp_leak_sampling_begin(struct gp_leak_sampling *s)
{
	return *s->ranges != NULL ? gp_range_paths_begin(*s->ranges) : GP_OK;
}

enum gp_status gp_leak_sampling_before(struct gp_leak_sampling *s, const struct gp_record *record)
{
	if (s->sample >= s->out->samples)
		return GP_END;
	if (gp_has_moment(record->kind))
		take_due(s, gp_tick_ns(&s->recording->tick, record->time));
	return s->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

void gp_leak_sampling_after(struct gp_leak_sampling *s, uint32_t thread,
			    const struct gp_record *record)
{
	if (*s->ranges != NULL)
		gp_range_paths_see(*s->ranges, thread, record);
}

enum gp_status gp_leak_sampling_end(struct gp_leak_sampling *s)
{
	take_due(s, INT64_MAX);
	if (s->is_out_of_memory)
		return GP_E_MEMORY;
	return *s->ranges != NULL ? gp_range_paths_status(*s->ranges) : GP_OK;
}

void gp_leak_sampling_release(struct gp_leak_sampling *s)
{
	free(s->reserve);
	free(s->mapped);
	s->reserve = NULL;
	s->mapped = NULL;
}

void gp_leak_series(const struct gp_leak_samples *samples, const struct gp_leak_holder *holder,
		    enum gp_leak_scales scale, struct gp_leak_series *out)
{
	const struct gp_leak_scale *of = &samples->scale[scale];
	size_t point = 0;
	for (size_t k = 0; k < of->samples; k++) {
		const size_t sample = of->sample[k];
		out->at[k] = samples->at[sample];
		out->bytes[k] = holder->bytes[sample];
		out->count[k] = holder->count[sample];
		out->births[k] = 0;
		for (; point <= sample; point++)
			out->births[k] += holder->births[point];
	}
	out->s = (struct gp_series){ of->samples, out->at, out->bytes, out->count, out->births };
}

void gp_leak_samples_release(struct gp_leak_samples *samples)
{
	gp_row_table_release(&samples->table);
	free(samples->survivor);
	*samples = (struct gp_leak_samples){ 0 };
}
