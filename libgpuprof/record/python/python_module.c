/*
 * Finds modules in frames, and reads their dictionaries. An instance has its attributes in a
 * dictionary, or since 3.11 in values without one, whose names are the class's.
 */
#include "python_module.h"

#include "python_object.h"

#define CODES 8u	     /* the two functions, and again after a reload */
#define CHUNK 8u	     /* entries of a dictionary that are copied at once */
#define FRAMES_MOST 4096u    /* of a stack; modules beyond are not found */
#define LOOK_ENTRIES 32u     /* of a dictionary, for one of the looks */
#define ENTRIES_MOST 1000000 /* of a dictionary; more is taken for damage */
#define NAME_BYTES 128u	     /* longer names count as unreadable */

#define INLINE_VALUES (1u << 2) /* of tp_flags: since 3.13 */
#define MANAGED_DICT (1u << 4)	/* since 3.11 */
#define DICT_SUBCLASS (1u << 29)
#define DICT_AT (-3 * (int)sizeof(void *))   /* of a managed dictionary, before the object */
#define VALUES_AT (-4 * (int)sizeof(void *)) /* 3.11 */

/* Whether `self` is where it was passed. A variable that inner functions use is in a cell. */
enum place { PLACE_UNKNOWN, PLACE_PLAIN, PLACE_CELL };

static struct {
	_Atomic(const void *) code;
	_Atomic uint32_t code_frees;
	_Atomic uint32_t place; /* enum place */
} calls[CODES];
static _Atomic uint32_t calls_used;

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

void gp_python_module_learn(const void *code, const char *file, const char *name)
{
	const struct gp_python *p = gp_python_get();
	if (p->layout.frame_self < 0 || !p->symbols.cell_type ||
	    !ends_with(file, "torch/nn/modules/module.py") ||
	    (!ends_with(name, "_wrapped_call_impl") && !ends_with(name, "_call_impl")))
		return;
	const uint32_t frees = gp_python_code_frees(code);
	for (unsigned k = 0; k < CODES; k++)
		if (atomic_load(&calls[k].code) == code &&
		    atomic_load(&calls[k].code_frees) == frees)
			return;
	const uint32_t k = atomic_fetch_add(&calls_used, 1);
	if (k >= CODES)
		return;
	atomic_store(&calls[k].code_frees, frees);
	atomic_store(&calls[k].code, code); /* partner: the acquire in call_of */
}

/* The index of the frame's code among the calls; CODES: it is none. */
GP_HOT unsigned call_of(const void *code)
{
	unsigned k = 0;
	while (k < CODES && atomic_load_explicit(&calls[k].code, memory_order_acquire) != code)
		k++;
	if (k < CODES && atomic_load_explicit(&calls[k].code_frees, memory_order_relaxed) !=
				 gp_python_code_frees(code))
		return CODES;
	return k;
}

/* Inside the function, `self` is a cell or not for good. */
GP_COLD static enum place learn_place(const struct gp_python *p, unsigned call, const void *self)
{
	const void *type = NULL;
	if (!self ||
	    !gp_python_peek((const char *)self + p->layout.object_type, &type, sizeof type))
		type = p->symbols.cell_type; /* up to 3.10 the place of a cell is empty */
	const enum place place = type == p->symbols.cell_type ? PLACE_CELL : PLACE_PLAIN;
	atomic_store(&calls[call].place, place);
	return place;
}

/* NULL: the frame does not call a module, or hides it. */
static const void *const *place_in(const struct gp_python *p, const void *frame, const void *code)
{
	const unsigned call = call_of(code);
	if (gp_likely(call == CODES))
		return NULL;
	const void *const *place =
		(const void *const *)(const void *)((const char *)frame + p->layout.frame_self);
	enum place is = atomic_load_explicit(&calls[call].place, memory_order_relaxed);
	if (gp_unlikely(is == PLACE_UNKNOWN))
		is = learn_place(p, call, *place);
	return is == PLACE_PLAIN && *place ? place : NULL;
}

const void *const *gp_python_module_place(const struct gp_python_frame *frames, unsigned n)
{
	const struct gp_python *p = gp_python_get();
	const void *const *place = NULL;
	if (!atomic_load_explicit(&calls_used, memory_order_relaxed))
		return NULL;
	for (unsigned k = 0; k < n && !place; k++)
		place = place_in(p, frames[k].frame, frames[k].code);
	return place;
}

/* NULL: a frame of the interpreter's own. */
static const void *code_of(const struct gp_python_layout *l, const void *frame)
{
	if (l->first_shim_owner >= 0 && gp_byte_at(frame, l->frame_owner) >= l->first_shim_owner)
		return NULL;
	return gp_untagged(gp_pointer_at(frame, l->frame_code));
}

unsigned gp_python_modules(const void **module, unsigned most)
{
	struct gp_python *p = gp_python_get();
	struct gp_python_start start;
	unsigned n = 0;
	if (gp_python_begin(p, &start) != GP_PYTHON_COMPLETE)
		return 0;
	const void *frame = start.frame;
	for (unsigned k = 0; frame && n < most && k < FRAMES_MOST; k++) {
		const void *code = code_of(&p->layout, frame);
		const void *const *place = code ? place_in(p, frame, code) : NULL;
		if (place && (n == 0 || module[n - 1] != *place))
			module[n++] = *place;
		frame = gp_pointer_at(frame, p->layout.frame_previous);
	}
	return n;
}

uint16_t gp_python_module_type(const void *module)
{
	const uintptr_t type =
		(uintptr_t)gp_pointer_at(module, gp_python_get()->layout.object_type);
	return (uint16_t)(type >> 4 ^ type >> 20);
}

/* ---- objects that may be freed ---- */

static const void *peek_pointer(const void *object, int at)
{
	const void *value;
	if ((uintptr_t)object < 4096 ||
	    !gp_python_peek((const char *)object + at, &value, sizeof value))
		return NULL;
	return value;
}

size_t gp_python_module_class(const void *module, char *out, size_t room)
{
	const struct gp_python_layout *l = &gp_python_get()->layout;
	const char *name = peek_pointer(peek_pointer(module, l->object_type), l->type_name);
	char text[128]; /* does not cross a page: the next one may not be mapped */
	size_t n = 0, left = 4096 - (uintptr_t)name % 4096;
	left = left < sizeof text ? left : sizeof text;
	if (!name || !gp_python_peek(name, text, left))
		left = 0;
	for (size_t k = 0; k < left && text[k] != '\0' && n + 1 < room; k++)
		if (text[k] == '.')
			n = 0;
		else
			out[n++] = text[k];
	out[n] = '\0';
	return n;
}

size_t gp_python_module_name(const void *name, char *out, size_t room)
{
	const struct gp_python *p = gp_python_get();
	const struct gp_python_layout *l = &p->layout;
	_Alignas(16) unsigned char copy[80 + NAME_BYTES];
	struct gp_python_text text = { .bytes = out, .room = room - 1 };
	out[0] = '\0';
	if (peek_pointer(name, l->object_type) != p->symbols.text_type ||
	    !gp_python_peek(name, copy, (size_t)l->text_other))
		return 0;
	const unsigned state = (unsigned)gp_int_at(copy, l->text_state);
	const int64_t length = gp_long_at(copy, l->text_length);
	const size_t bytes = (size_t)(l->text_other + length * (state >> 2 & 7));
	/* one that is not compact has its characters elsewhere */
	if (!(state >> 5 & 1) || length <= 0 || length > NAME_BYTES || bytes > sizeof copy ||
	    !gp_python_peek(name, copy, bytes))
		return 0;
	gp_python_text_copy(l, p->symbols.text_type, copy, &text);
	out[text.size] = '\0';
	return text.size;
}

/* The entries of a dictionary or of an instance, in the order in which they were added. */
struct table {
	const char *entries, *values; /* `values`: NULL if the entries have them */
	int64_t count, next;
	unsigned entry_bytes;
	unsigned char chunk[CHUNK * 3 * sizeof(void *)];
};

static bool open_keys(const struct gp_python_layout *l, const void *keys, const void *values,
		      struct table *t)
{
	unsigned char head[40]; /* refcount; then see below; indices follow */
	if ((uintptr_t)keys < 4096 || !gp_python_peek(keys, head, sizeof head))
		return false;
	int64_t index_bytes;
	bool has_hashes = true;
	if (l->minor < 11) {
		const int64_t size = gp_long_at(head, 8); /* dk_size, a power of two */
		index_bytes = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
	} else {
		index_bytes = INT64_C(1) << (head[9] & 31); /* dk_log2_index_bytes */
		has_hashes = head[10] == 0;		    /* dk_kind: DICT_KEYS_GENERAL */
	}
	*t = (struct table){ .entries = (const char *)keys + l->keys_indices + index_bytes,
			     .values = values,
			     .count = gp_long_at(head, l->keys_count),
			     .entry_bytes = (has_hashes ? 3 : 2) * sizeof(void *) };
	return index_bytes > 0 && t->count >= 0 && t->count <= ENTRIES_MOST;
}

static bool open_dict(const struct gp_python_layout *l, const void *dict, struct table *t)
{
	const char *type = peek_pointer(dict, l->object_type);
	const uintptr_t flags = (uintptr_t)peek_pointer(type, l->type_flags);
	if (!(flags & DICT_SUBCLASS))
		return false;
	const char *values = peek_pointer(dict, l->dict_values);
	return open_keys(l, peek_pointer(dict, l->dict_keys),
			 values ? values + l->values_first : NULL, t);
}

/* An instance's attributes. */
static bool open_attributes(const struct gp_python_layout *l, const char *object, struct table *t)
{
	const char *type = peek_pointer(object, l->object_type), *values = NULL;
	const uintptr_t flags = (uintptr_t)peek_pointer(type, l->type_flags);
	if (l->type_keys < 0 || !(flags & MANAGED_DICT)) {
		const int64_t at = (int64_t)(uintptr_t)peek_pointer(type, l->type_dict_at);
		return at > 0 && at < 4096 && open_dict(l, peek_pointer(object, (int)at), t);
	}
	const char *dict = peek_pointer(object, DICT_AT);
	if (l->minor == 11)
		values = peek_pointer(object, VALUES_AT);
	else if (l->minor == 12 && (uintptr_t)dict & 1) /* a tag */
		values = dict + 1;
	else if (l->minor > 12 && !dict && flags & INLINE_VALUES)
		values = object + (intptr_t)peek_pointer(type, l->type_bytes);
	if (!values)
		return open_dict(l, dict, t);
	return open_keys(l, peek_pointer(type, l->type_keys), values + l->values_first, t);
}

/* False: the table has no further entry. `value`: NULL if the name has none. */
static bool next_entry(struct table *t, const void **name, const void **value)
{
	const unsigned in_chunk = (unsigned)(t->next % CHUNK);
	if (t->next >= t->count)
		return false;
	if (in_chunk == 0) {
		const int64_t left = t->count - t->next;
		if (!gp_python_peek(t->entries + t->next * t->entry_bytes, t->chunk,
				    (size_t)(left < CHUNK ? left : CHUNK) * t->entry_bytes))
			return false;
	}
	const unsigned end = (in_chunk + 1) * t->entry_bytes;
	*name = gp_pointer_at(t->chunk, (int)end - 2 * (int)sizeof(void *));
	*value = gp_pointer_at(t->chunk, (int)end - (int)sizeof(void *));
	if (t->values)
		*value = t->values + t->next * (int64_t)sizeof(void *);
	t->next++;
	return true;
}

/* The value of the attribute `_modules`; NULL: there is none. Names are one object each, mostly. */
static const void *find_children(struct table *t)
{
	static _Atomic(const void *) last;
	const void *known = atomic_load_explicit(&last, memory_order_relaxed), *name, *value;
	char text[16];
	for (unsigned pass = known ? 0 : 1; pass < 2; pass++) {
		for (t->next = 0; next_entry(t, &name, &value);) {
			if (pass == 1)
				gp_python_module_name(name, text, sizeof text);
			if (pass == 1 ? strcmp(text, "_modules") != 0 : name != known)
				continue;
			atomic_store_explicit(&last, name, memory_order_relaxed);
			return t->values ? peek_pointer(value, 0) : value;
		}
	}
	return NULL;
}

static bool open_children(const struct gp_python_layout *l, const void *module, struct table *t)
{
	return open_attributes(l, module, t) && open_dict(l, find_children(t), t);
}

struct search {
	const struct gp_python_layout *layout;
	const void *module;
	unsigned *looks, levels;
	struct gp_python_path *path;
};

/* Compares the modules `levels` steps below the start. */
static bool search_below(const struct search *s, const void *from, unsigned step)
{
	struct table t;
	const void *name, *child;
	if (*s->looks == 0)
		return false;
	--*s->looks;
	if (!open_children(s->layout, from, &t))
		return false;
	while (next_entry(&t, &name, &child)) {
		if (t.next % LOOK_ENTRIES == 0 && (*s->looks == 0 || --*s->looks == 0))
			return false;
		if (t.values)
			child = peek_pointer(child, 0);
		s->path->step[step].module = child;
		s->path->step[step].name = name;
		s->path->steps = step + 1;
		if (step + 1 == s->levels ? child == s->module :
					    child && search_below(s, child, step + 1))
			return true;
	}
	return false;
}

bool gp_python_module_find(const void *from, const void *module, unsigned *looks,
			   struct gp_python_path *path)
{
	struct search s = { &gp_python_get()->layout, module, looks, 1, path };
	for (; s.levels <= GP_PYTHON_PATH_MOST && *looks > 0; s.levels++)
		if (search_below(&s, from, 0))
			return true;
	return false;
}
