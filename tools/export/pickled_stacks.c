/* Three tables in front of the pickle: texts, frames by the numbers of their texts, stacks. */
#include "pickled_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing by two numbers. A place with memo 0 is free. */
struct row {
	uint64_t key, more;
	const char *text; /* texts alone */
	uint32_t memo;
};
struct rows {
	struct row *row;
	size_t places, count;
};

struct owner {
	char name[GP_NAME_MAX];
};

struct gp_pickled_stacks {
	struct gp_recording *recording;
	struct gp_pickle *pickle;
	struct rows texts, frames, stacks;
	struct rows owned; /* memo: 1 + index in `owner` */
	char **made;	   /* texts of our own */
	size_t mades;
	struct owner *owner;
	size_t owners;
	struct gp_pickle_word name, filename, line;
	struct gp_frame frame[GP_FRAMES_MAX];
};

/* ---- rows ---- */

static struct row *pickled_stacks_place_of(const struct rows *rows, uint64_t key, uint64_t more,
					   const char *text)
{
	for (size_t at = (size_t)gp_hash_pair(key, more);; at++) {
		struct row *row = &rows->row[at & (rows->places - 1)];
		if (row->memo == 0 || (row->key == key && row->more == more &&
				       (!text || strcmp(row->text, text) == 0)))
			return row;
	}
}

/* NULL: out of memory. */
static struct row *row_get(struct rows *rows, uint64_t key, uint64_t more, const char *text)
{
	if (rows->count * 2 >= rows->places) {
		struct rows grown = { .places = rows->places ? rows->places * 2 : 256 };
		grown.row = calloc(grown.places, sizeof *grown.row);
		if (!grown.row)
			return NULL;
		for (size_t k = 0; k < rows->places; k++) {
			const struct row *old = &rows->row[k];
			if (old->memo)
				*pickled_stacks_place_of(&grown, old->key, old->more, old->text) =
					*old;
		}
		free(rows->row);
		rows->row = grown.row;
		rows->places = grown.places;
	}
	return pickled_stacks_place_of(rows, key, more, text);
}

static void row_set(struct rows *rows, struct row *row, const struct row *to)
{
	*row = *to;
	rows->count++;
}

/* ---- texts and frames ---- */

/* Of our own, kept until the end. NULL: out of memory. */
static const char *keep_text(struct gp_pickled_stacks *s, const char *text)
{
	char **grown = realloc(s->made, (s->mades + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	s->made = grown;
	char *kept = strdup(text);
	if (kept)
		grown[s->mades++] = kept;
	return kept;
}

/*
 * Writes it where it stands. `is_ours`: it is copied if it is new. False: out of memory.
 */
static bool write_text(struct gp_pickled_stacks *s, const char *text, bool is_ours)
{
	uint64_t hash = gp_hash_text(text);
	struct row *row = row_get(&s->texts, hash, 0, text);
	if (!row)
		return false;
	if (!row->memo && is_ours && !(text = keep_text(s, text)))
		return false;
	struct gp_pickle_word word = { .text = text, .memo = row->memo };
	gp_pickle_word(s->pickle, &word);
	if (!row->memo)
		row_set(&s->texts, row,
			&(struct row){ .key = hash, .text = text, .memo = word.memo });
	return true;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* What stands for the name of a frame that has none: where it is. */
static void place_text(const struct gp_frame *f, char *out, size_t room)
{
	if (f->is_python)
		snprintf(out, room, "unknown");
	else if (f->module)
		snprintf(out, room, "%s+0x%" PRIx64, last_part(f->module), f->module_offset);
	else
		snprintf(out, room, "0x%" PRIx64, f->address);
}

static bool write_frame(struct gp_pickled_stacks *s, const struct gp_frame *f)
{
	char place[600];
	const char *name = f->function, *file = f->file ? f->file : f->module;
	if (!name) {
		place_text(f, place, sizeof place);
		name = place;
	}
	file = file ? file : "??"; /* as PyTorch's own unwinder has it */
	uint64_t key = gp_hash_text(name), more = gp_hash_text(file) + f->line;
	struct row *row = row_get(&s->frames, key, more, NULL);
	if (!row)
		return false;
	if (row->memo) {
		gp_pickle_again(s->pickle, row->memo);
		return true;
	}
	struct row written = { .key = key, .more = more };
	gp_pickle_dict(s->pickle, &written.memo);
	gp_pickle_word(s->pickle, &s->name);
	bool is_written = write_text(s, name, name == place);
	gp_pickle_word(s->pickle, &s->filename);
	is_written = is_written && write_text(s, file, false);
	gp_pickle_word(s->pickle, &s->line);
	gp_pickle_number(s->pickle, f->line);
	gp_pickle_end(s->pickle);
	row_set(&s->frames, row, &written);
	return is_written;
}

/* ---- stacks ---- */

struct gp_pickled_stacks *gp_pickled_stacks_open(struct gp_recording *recording,
						 struct gp_pickle *pickle)
{
	struct gp_pickled_stacks *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->recording = recording;
	s->pickle = pickle;
	s->name.text = "name";
	s->filename.text = "filename";
	s->line.text = "line";
	return s;
}

void gp_pickled_stacks_close(struct gp_pickled_stacks *s)
{
	if (!s)
		return;
	for (size_t k = 0; k < s->mades; k++)
		free(s->made[k]);
	free(s->made);
	free(s->owner);
	free(s->texts.row);
	free(s->frames.row);
	free(s->stacks.row);
	free(s->owned.row);
	free(s);
}

/* With symbols, without the interpreter's own: those say what the Python frames say already. */
static size_t find_frames(struct gp_pickled_stacks *s, uint32_t stack, int64_t at_ns)
{
	struct gp_stack found;
	if (stack && gp_recording_stack(s->recording, stack, at_ns, GP_STACK_FOLDED, &found,
					s->frame, GP_FRAMES_MAX))
		return found.frames;
	return 0;
}

bool gp_pickled_stacks_write(struct gp_pickled_stacks *s, uint32_t stack, uint32_t epoch,
			     int64_t at_ns)
{
	struct row *row = row_get(&s->stacks, stack, stack ? epoch : 0, NULL);
	if (!row)
		return false;
	if (row->memo) {
		gp_pickle_again(s->pickle, row->memo);
		return true;
	}
	struct row written = { .key = stack, .more = stack ? epoch : 0 };
	size_t frames = find_frames(s, stack, at_ns);
	bool is_written = true;
	gp_pickle_list(s->pickle, &written.memo);
	for (size_t k = 0; k < frames && is_written; k++)
		is_written = write_frame(s, &s->frame[k]);
	gp_pickle_end(s->pickle);
	row_set(&s->stacks, row, &written);
	return is_written;
}

const char *gp_pickled_stacks_owner(struct gp_pickled_stacks *s, uint32_t stack, uint32_t epoch,
				    int64_t at_ns, uint8_t space)
{
	struct gp_stack found;
	struct gp_names names;
	if (!stack)
		return gp_space_owner(space);
	uint64_t more = (uint64_t)epoch << 8 | space;
	struct row *row = row_get(&s->owned, stack, more, NULL);
	if (row && row->memo)
		return s->owner[row->memo - 1].name;
	struct owner *grown = row ? realloc(s->owner, (s->owners + 1) * sizeof *grown) : NULL;
	if (!grown)
		return gp_space_owner(space);
	s->owner = grown;
	struct owner *o = &grown[s->owners++];
	row_set(&s->owned, row,
		&(struct row){ .key = stack, .more = more, .memo = (uint32_t)s->owners });
	const char *name = gp_space_owner(space);
	if (gp_recording_stack(s->recording, stack, at_ns, GP_STACK_SYMBOLS, &found, s->frame,
			       GP_FRAMES_MAX)) {
		gp_recording_names(s->recording, s->frame, found.frames, &names);
		name = names.library[0] ? names.library : name;
	}
	snprintf(o->name, sizeof o->name, "%s", name);
	return o->name;
}
