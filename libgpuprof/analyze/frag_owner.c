/*
 * Whose the driver's memory outside the framework is: the library whose call is nearest in the
 * allocation's stack, else what kind of memory it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpuprof.h"

/* Each stack is looked up once. */
struct naming {
	struct gp_recording *recording;
	struct known {
		uint32_t stack;
		char library[GP_OWNER_MAX];
	} * known;
	size_t count, room;
};

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

static void look_up(struct naming *n, const struct gp_memory_outside *o, char *out)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names;
	out[0] = '\0';
	if (!gp_recording_stack(n->recording, o->stack, o->at_ns, GP_STACK_SYMBOLS, &s, frame,
				GP_FRAMES_MAX))
		return;
	gp_recording_names(n->recording, frame, s.frames, &names);
	snprintf(out, GP_OWNER_MAX, "%.*s", (int)GP_OWNER_MAX - 1, names.library);
}

/* "" : its stack tells nothing. NULL: no memory. */
static const char *library_of(struct naming *n, const struct gp_memory_outside *o)
{
	if (o->stack == 0)
		return "";
	for (size_t k = n->count; k-- > 0;)
		if (n->known[k].stack == o->stack)
			return n->known[k].library;
	if (n->count == n->room) {
		size_t room = n->room != 0 ? n->room * 2 : 32;
		struct known *grown = realloc(n->known, room * sizeof *grown);
		if (grown == NULL)
			return NULL;
		n->known = grown;
		n->room = room;
	}
	struct known *k = &n->known[n->count++];
	k->stack = o->stack;
	look_up(n, o, k->library);
	return k->library;
}

static enum gp_status add(struct gp_owners *out, const char *name, uint64_t bytes)
{
	for (size_t k = 0; k < out->owners; k++)
		if (strcmp(out->owner[k].name, name) == 0) {
			out->owner[k].bytes += bytes;
			out->owner[k].count++;
			return GP_OK;
		}
	struct gp_memory_owner *grown = realloc(out->owner, (out->owners + 1) * sizeof *grown);
	if (grown == NULL)
		return GP_E_MEMORY;
	out->owner = grown;
	struct gp_memory_owner *o = &out->owner[out->owners++];
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

enum gp_status gp_owners_build(struct gp_recording *recording, const struct gp_frag *frag,
			       struct gp_owners *out)
{
	const struct gp_memory *m = frag->memory;
	struct naming n = { .recording = recording };
	enum gp_status status = GP_OK;
	*out = (struct gp_owners){ 0 };
	if (frag->reserved_bytes != 0)
		status = add(out, "framework", frag->reserved_bytes);
	for (size_t k = 0; k < frag->device->outsides && status == GP_OK; k++) {
		const struct gp_memory_outside *o = &m->outside[frag->device->first_outside + k];
		/* memory of another process counts there, whoever opened it here */
		const char *library = o->space == GP_SPACE_IPC ? "" : library_of(&n, o);
		status = library == NULL ? GP_E_MEMORY :
					   add(out, library[0] ? library : gp_space_owner(o->space),
					       o->bytes);
	}
	free(n.known);
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
