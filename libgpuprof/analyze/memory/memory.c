/*
 * The state of memory at one moment: replays to it, lists live entries by kind, and puts blocks
 * into segments. Unknown figures are marked and never guessed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "memory_view.h"

#define TRIES_MAX 16u

/* In the order of the bits of enum gp_memory_caveat. */
static const char *const caveat_texts[] = {
	"events are missing before this moment; some of this memory may be gone",
	"the recording began after the job; older memory is unknown",
	NULL, /* write_no_details */
	"allocator details began late; some segments have no stream and pool",
	"blocks outside all known segments are left out",
	"events before this moment exceed the work limit; some of this memory may be gone",
};

/* Appends the recorder's own reason if details were to be recorded. */
static void write_no_details(const char *why, FILE *out)
{
	const char *reason = why != NULL && *why != '\0' ? why : NULL;
	fprintf(out, "recorded without allocator details%s%s; figures are upper bounds",
		reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

/* One text with all caveats. */
static enum gp_status write_caveats(unsigned caveats, const char *why, char **out)
{
	size_t room = 0;
	FILE *text = open_memstream(out, &room);
	if (text == NULL)
		return GP_E_MEMORY;
	const char *before = "";
	for (unsigned i = 0; 1u << i < GP_CAVEATS; i++) {
		if ((caveats >> i & 1) == 0)
			continue;
		fputs(before, text);
		if (1u << i == GP_CAVEAT_UNRECORDED)
			write_no_details(why, text);
		else
			fputs(caveat_texts[i], text);
		before = "; ";
	}
	return fclose(text) == 0 ? GP_OK : GP_E_MEMORY;
}

static enum gp_status judge(struct gp_memory_view *v)
{
	const struct gp_recording *r = v->recording;
	const struct gp_record *reported =
		gp_defined_record(r->definitions, GP_FACT, GP_FACT_ALLOCATOR_DETAILS);
	const struct gp_record *late =
		gp_defined_record(r->definitions, GP_FACT, GP_FACT_FRAMEWORK_LATE);
	struct gp_memory *out = v->out;
	out->has_allocator_details =
		v->reported.count > 0 || (reported != NULL && reported->fact.value == 1);
	/* a full disk lost blocks, and no checkpoint followed */
	bool has_hole = (r->file.header.flags & GP_FILE_HAS_HOLE) != 0 &&
			r->segment + 1 >= r->index.segments;
	if (gp_live_refused(r->live) != 0)
		v->caveats |= GP_CAVEAT_WORK;
	else if (r->caveat.is_open || has_hole)
		v->caveats |= GP_CAVEAT_MISSING;
	if (gp_live_count(r->live, GP_GAP) > 0 || (late != NULL && late->fact.value != 0))
		v->caveats |= GP_CAVEAT_LATE;
	bool is_unreported = false;
	for (size_t i = 0; i < out->segments; i++)
		is_unreported |= out->segment[i].arena == 0;
	if (is_unreported)
		v->caveats |= out->has_allocator_details ? GP_CAVEAT_PARTLY : GP_CAVEAT_UNRECORDED;
	out->is_uncertain = (v->caveats & (GP_CAVEAT_MISSING | GP_CAVEAT_WORK)) != 0;
	const char *why = gp_defined_text(r->definitions, GP_FACT, GP_FACT_ALLOCATOR_DETAILS);
	return v->caveats != 0 ? write_caveats(v->caveats, why, &out->caveat) : GP_OK;
}

static enum gp_status list(struct gp_memory_view *v)
{
	enum gp_status status = gp_memory_list(v);
	if (status == GP_OK)
		status = gp_memory_list_segments(v);
	if (status == GP_OK)
		status = gp_memory_tile(v);
	if (status == GP_OK)
		status = gp_memory_list_outside(v);
	if (status == GP_OK)
		status = gp_memory_list_devices(v);
	return status;
}

enum gp_status gp_memory_list_now(struct gp_recording *recording, unsigned device,
				  struct gp_memory *out)
{
	struct gp_memory_view view = { .recording = recording,
				       .out = out,
				       .is_of_one = device != GP_DEVICE_UNKNOWN,
				       .device = device };
	*out = (struct gp_memory){ 0 };
	enum gp_status status = list(&view);
	gp_memory_view_release(&view);
	if (status != GP_OK)
		gp_memory_free(out);
	return status;
}

static enum gp_status memory_attempt(struct gp_memory_view *v, const struct gp_moment_of *moment)
{
	enum gp_status status = gp_memory_reach(v, moment);
	if (status == GP_OK)
		status = list(v);
	if (status == GP_OK)
		status = judge(v);
	if (status == GP_OK)
		status = gp_memory_find_captures(v);
	gp_memory_view_release(v);
	return status;
}

/* Repeats if the owner of the recording overwrote events during the replay. */
enum gp_status gp_memory_build(struct gp_recording *recording, const struct gp_moment_of *moment,
			       struct gp_memory *out)
{
	enum gp_status status = GP_OK;
	for (unsigned left = TRIES_MAX; left-- > 0;) {
		unsigned overtakes = recording->overtakes;
		struct gp_memory_view view = { .recording = recording, .out = out };
		*out = (struct gp_memory){ 0 };
		status = memory_attempt(&view, moment);
		enum gp_status rewound = gp_recording_unseek(recording);
		status = status == GP_OK ? rewound : status;
		if (status != GP_OK)
			gp_memory_free(out);
		if (recording->overtakes == overtakes || left == 0)
			break;
		gp_memory_free(out);
	}
	return status;
}

void gp_memory_free(struct gp_memory *memory)
{
	free(memory->device);
	free(memory->arena);
	free(memory->segment);
	free(memory->block);
	free(memory->outside);
	free(memory->caveat);
	*memory = (struct gp_memory){ 0 };
}
