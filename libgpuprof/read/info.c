/* What a recording is and holds, after one replay of what is kept. */
#include <stdio.h>
#include <stdlib.h>

#include "recording.h"

static void read_uuid(const struct gp_record *gpu, char out[48])
{
	uint64_t high = gpu->gpu.uuid_high, low = gpu->gpu.uuid_low;
	if ((high | low) == 0) {
		out[0] = '\0';
		return;
	}
	snprintf(out, 48, "GPU-%08llx-%04llx-%04llx-%04llx-%012llx",
		 (unsigned long long)(high >> 32), (unsigned long long)(high >> 16 & 0xffff),
		 (unsigned long long)(high & 0xffff), (unsigned long long)(low >> 48),
		 (unsigned long long)(low & 0xffffffffffff));
}

static enum gp_status list_devices(struct gp_recording *r)
{
	free(r->device);
	r->device = calloc(GP_DEVICES, sizeof *r->device);
	if (r->device == NULL)
		return GP_E_MEMORY;
	size_t n = 0;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_record *gpu = gp_meanings_record(r->meanings, GP_GPU, device);
		if (gpu == NULL && !gp_live_device(r->live, device)->is_seen)
			continue;
		struct gp_info_device *d = &r->device[n++];
		d->device = device;
		if (gpu == NULL)
			continue;
		d->name = gp_meanings_text(r->meanings, GP_GPU, device);
		d->total_bytes = gpu->gpu.total_bytes;
		read_uuid(gpu, d->uuid);
	}
	r->info.devices = n;
	r->info.device = r->device;
	return GP_OK;
}

/* From the facts, else from what the driver said of a device. */
static const char *driver_text(struct gp_recording *r)
{
	const struct gp_record *fact = gp_meanings_record(r->meanings, GP_FACT, GP_FACT_DRIVER);
	uint64_t version = fact != NULL ? fact->fact.value : 0;
	for (unsigned device = 0; version == 0 && device < GP_DEVICES; device++) {
		const struct gp_record *gpu = gp_meanings_record(r->meanings, GP_GPU, device);
		version = gpu != NULL ? gpu->aux : 0;
	}
	if (version == 0)
		return NULL;
	snprintf(r->driver, sizeof r->driver, "%u.%u", (unsigned)(version / 1000),
		 (unsigned)(version % 1000 / 10));
	return r->driver;
}

/* `oldest`: of the memory events that are kept. The cut is written after they happened. */
static void fill_from_file(struct gp_recording *r, uint64_t oldest)
{
	const struct gp_file_header *h = &r->file.header;
	const struct gp_index *x = &r->index;
	struct gp_info *info = &r->info;
	info->format_major = h->major;
	info->format_minor = h->minor;
	info->pid = h->pid;
	info->command = h->command;
	info->hostname = h->hostname;
	info->start_unix_ns = h->start_unix_ns;
	info->file_bytes = r->file.bytes;
	info->segments = x->segments;
	info->blocks = x->blocks;
	info->is_complete = x->is_sealed;
	info->damages = x->damages < GP_DAMAGES_KEPT ? x->damages : GP_DAMAGES_KEPT;
	info->damage = x->damage;
	info->is_damaged = x->damages > 0;
	if (x->segments > 0 && x->segment[r->first].number != 0) {
		uint64_t cut = x->segment[r->first].ticks, begin = oldest < cut ? oldest : cut;
		int64_t from = gp_tick_ns(&r->tick, begin);
		info->kept_from_ns = from > 0 ? (uint64_t)from : 0;
	}
}

static void fill_from_state(struct gp_recording *r)
{
	struct gp_info *info = &r->info;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		info->counts[kind] = gp_live_count(r->live, kind);
	info->lost_memory = gp_live_count(r->live, GP_COUNT_LOST_MEMORY);
	info->lost_launch = gp_live_count(r->live, GP_COUNT_LOST_LAUNCH);
	info->lost_other = gp_live_count(r->live, GP_COUNT_LOST_OTHER);
	info->nested = gp_live_count(r->live, GP_COUNT_NESTED);
	info->framework_events = gp_live_count(r->live, GP_COUNT_FRAMEWORK_EVENTS);
	info->mismatches = gp_live_count(r->live, GP_COUNT_MISMATCHES);
	info->anomalies = gp_live_count(r->live, GP_COUNT_ANOMALIES);
	info->threads = gp_live_count(r->live, GP_COUNT_THREADS);
	info->ring_place = gp_meanings_text(r->meanings, GP_FACT, GP_FACT_RING_PLACE);
	info->pytorch = gp_meanings_text(r->meanings, GP_FACT, GP_FACT_PYTORCH);
	info->driver = driver_text(r);
}

enum gp_status gp_recording_info(struct gp_recording *r, const struct gp_info **out)
{
	*out = &r->info;
	if (r->has_info)
		return GP_OK;
	enum gp_status status = gp_recording_rewind(r);
	if (status != GP_OK)
		return status;
	uint64_t newest = r->index.last.ticks > r->file.header.start_ticks ?
				  r->index.last.ticks :
				  r->file.header.start_ticks;
	uint64_t oldest = UINT64_MAX;
	uint32_t thread;
	const struct gp_record *record;
	while ((record = gp_recording_step(r, &thread, &status)) != NULL) {
		newest = record->time > newest ? record->time : newest;
		if (gp_event_infos[record->kind].class == GP_CLASS_MEMORY && record->time < oldest)
			oldest = record->time;
		r->info.has_stacks |= record->stack != 0;
	}
	if (status != GP_END)
		return status;
	r->info.kept_events = r->seen;
	int64_t duration = gp_tick_ns(&r->tick, newest);
	r->info.duration_ns = duration > 0 ? (uint64_t)duration : 0;
	fill_from_file(r, oldest);
	fill_from_state(r);
	status = list_devices(r);
	if (status == GP_OK)
		status = gp_recording_rewind(r);
	r->has_info = status == GP_OK;
	return status;
}
