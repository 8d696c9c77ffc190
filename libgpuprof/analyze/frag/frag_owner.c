/*
 * The owner of the driver's memory outside of the framework: the library whose call is nearest in
 * the allocation's stack, else the kind of memory. CUPTI's memory is not requested by calls that we
 * see; its settings give the size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gpuprof.h"
#include "../../read/file/recording.h"
#include "../../read/tables/array.h"

#define CUPTI "CUPTI"
#define CAUSES_SINCE 14u /* minor version: older counts lack the cause of their change */

const char *gp_space_owner(uint8_t space)
{
	switch (space) {
	case GP_SPACE_ASYNC:
		return "driver pools";
	case GP_SPACE_MANAGED:
		return "managed memory";
	case GP_SPACE_ARRAY:
		return "arrays";
	case GP_SPACE_PHYSICAL:
	case GP_SPACE_MAPPED:
	case GP_SPACE_MULTICAST:
		return "VMM";
	case GP_SPACE_IPC:
	case GP_SPACE_EXTERNAL:
		return "IPC imports";
	case GP_SPACE_GRAPH:
		return "graph memory";
	default:
		return "device memory";
	}
}

/* The library; "": the stack does not show one. */
static void frag_owner_look_up(struct gp_recording *recording, const struct gp_memory_outside *o,
			       char *out)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names;
	out[0] = '\0';
	if (!gp_recording_stack(recording, o->stack, o->at_ns, GP_STACK_SYMBOLS, &s, frame,
				GP_FRAMES_MAX))
		return;
	gp_recording_names(recording, frame, s.frames, &names);
	snprintf(out, GP_OWNER_MAX, "%.*s", (int)GP_OWNER_MAX - 1, names.library);
}

/* Memory of another process belongs to that process, so the stack that opened it is ignored. */
static uint32_t stack_of(const struct gp_memory_outside *o)
{
	return o->space == GP_SPACE_IPC ? 0 : o->stack;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct gp_memory_outside *a = *(const struct gp_memory_outside *const *)left,
				       *b = *(const struct gp_memory_outside *const *)right;
	if (stack_of(a) != stack_of(b))
		return stack_of(a) < stack_of(b) ? -1 : 1;
	return (a > b) - (a < b);
}

static enum gp_status frag_owner_add(struct gp_owners *out, const char *name, uint64_t bytes)
{
	for (size_t k = 0; k < out->owners; k++)
		if (strcmp(out->owner[k].name, name) == 0) {
			out->owner[k].bytes += bytes;
			out->owner[k].count++;
			return GP_OK;
		}
	struct gp_memory_owner *o = gp_array_append(&out->owner, &out->owners, sizeof *o);
	if (o == NULL)
		return GP_E_MEMORY;
	*o = (struct gp_memory_owner){ .bytes = bytes, .count = 1 };
	snprintf(o->name, sizeof o->name, "%s", name);
	return GP_OK;
}

static int compare_owners(const void *left, const void *right)
{
	const struct gp_memory_owner *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Sorted by stack, so that each stack is looked up once. */
static enum gp_status add_outsides(struct gp_recording *recording, const struct gp_frag *frag,
				   struct gp_owners *out)
{
	const size_t count = frag->device->outsides;
	const struct gp_memory_outside **by_stack = malloc((count + 1) * sizeof *by_stack);
	char library[GP_OWNER_MAX] = "";
	uint32_t looked_up = 0;
	enum gp_status status = by_stack != NULL ? GP_OK : GP_E_MEMORY;
	if (status != GP_OK)
		return status;
	for (size_t k = 0; k < count; k++)
		by_stack[k] = &frag->memory->outside[frag->device->first_outside + k];
	qsort(by_stack, count, sizeof *by_stack, compare_stacks);
	for (size_t k = 0; k < count && status == GP_OK; k++) {
		const struct gp_memory_outside *o = by_stack[k];
		if (stack_of(o) != looked_up)
			frag_owner_look_up(recording, o, library);
		looked_up = stack_of(o);
		status = frag_owner_add(out, library[0] ? library : gp_space_owner(o->space),
					o->bytes);
	}
	free(by_stack);
	return status;
}

/* Each device that has memory of the job has a context. */
static enum gp_status add_cupti(const struct gp_recording *recording, const struct gp_frag *frag,
				struct gp_owners *out)
{
	const struct gp_record *fact =
		gp_defined_record(recording->definitions, GP_FACT, GP_FACT_CUPTI_MEMORY);
	if (out->owners == 0 || fact == NULL || fact->fact.value == 0 ||
	    gp_tick_ns(&recording->tick, fact->time) > frag->memory->at_ns)
		return GP_OK;
	return frag_owner_add(out, CUPTI, fact->fact.value);
}

static const char *const part_names[GP_PARTS] = {
	[GP_PART_CONTEXT] = "context and earlier processes",
	[GP_PART_MODULES] = "loaded modules",
	[GP_PART_LOCAL] = "local memory",
	[GP_PART_HEAP] = "device heap",
	[GP_PART_GRAPHS] = "graph metadata",
	[GP_PART_ROUNDING] = "driver rounding",
	[GP_PART_OTHERS] = "other processes",
};

/* The parts include CUPTI's memory; the cause of its first appearance is not known. */
static void leave_out(int64_t part[GP_PARTS], uint64_t bytes)
{
	static const enum gp_used_part order[] = { GP_PART_OTHERS, GP_PART_UNKNOWN, GP_PART_MODULES,
						   GP_PART_CONTEXT };
	for (size_t k = 0; k < sizeof order / sizeof *order && bytes != 0; k++) {
		const int64_t here = part[order[k]];
		const uint64_t less = here > 0 && (uint64_t)here < bytes ? (uint64_t)here : bytes;
		if (here <= 0)
			continue;
		part[order[k]] -= (int64_t)less;
		bytes -= less;
	}
}

/* Memory that the job did not request, by its cause; the unused part of the default pool. */
static enum gp_status add_parts(const struct gp_recording *recording, const struct gp_frag *frag,
				struct gp_owners *out)
{
	const struct gp_memory_device *d = frag->device;
	int64_t part[GP_PARTS];
	enum gp_status status = GP_OK;
	if (recording->info.format_minor < CAUSES_SINCE)
		return GP_OK;
	if (d->pool_unused_bytes != 0)
		status = frag_owner_add(out, "unused in driver pools", d->pool_unused_bytes);
	memcpy(part, d->part_bytes, sizeof part);
	for (size_t k = 0; k < out->owners; k++)
		if (strcmp(out->owner[k].name, CUPTI) == 0)
			leave_out(part, out->owner[k].bytes);
	for (unsigned k = 0; k < GP_PARTS && status == GP_OK; k++)
		if (part_names[k] != NULL && part[k] > 0)
			status = frag_owner_add(out, part_names[k], (uint64_t)part[k]);
	return status;
}

enum gp_status gp_owners_build(struct gp_recording *recording, const struct gp_frag *frag,
			       struct gp_owners *out)
{
	enum gp_status status = GP_OK;
	*out = (struct gp_owners){ 0 };
	if (frag->reserved_bytes > frag->device->unmapped_bytes)
		status = frag_owner_add(out, "PyTorch",
					frag->reserved_bytes - frag->device->unmapped_bytes);
	if (status == GP_OK)
		status = add_outsides(recording, frag, out);
	if (status == GP_OK)
		status = add_cupti(recording, frag, out);
	if (status == GP_OK && frag->driver_used_bytes != GP_BYTES_UNKNOWN)
		status = add_parts(recording, frag, out);
	for (size_t k = 0; k < out->owners; k++)
		out->known_bytes += out->owner[k].bytes;
	if (out->owners > 1)
		qsort(out->owner, out->owners, sizeof *out->owner, compare_owners);
	if (status != GP_OK)
		gp_owners_free(out);
	return status;
}

void gp_owners_free(struct gp_owners *owners)
{
	free(owners->owner);
	*owners = (struct gp_owners){ 0 };
}
