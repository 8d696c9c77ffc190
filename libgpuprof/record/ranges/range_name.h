/*
 * Every name of a range or mark once: an id that all threads share. A look-up takes no lock and no
 * system call; a new name is copied into memory of a fixed limit. Names that do not fit are
 * counted. A forked child keeps the ids and defines them anew.
 */
#ifndef GP_RANGE_NAME_H
#define GP_RANGE_NAME_H

#include <string.h>

#include "../record.h"

#define GP_RANGE_NAMES 16384u		/* different names */
#define GP_RANGE_NAMES_BYTES (2u << 20) /* bytes of their definitions, which each segment repeats */
#define GP_TO_NUL SIZE_MAX		/* as a length: up to the first zero byte */

struct gp_range_name {
	_Atomic uint32_t reported; /* gp_thread.generation in which it was last defined */
	uint32_t hash;
	uint32_t domain; /* id of its name; 0: the default domain */
	uint32_t text;	 /* offset in gp_range_names.text */
	uint16_t bytes;
	uint16_t is_cut; /* the name was truncated */
};

#define GP_RANGE_NAME_PLACES (2 * GP_RANGE_NAMES)

struct gp_range_names {
	_Atomic uint32_t index[GP_RANGE_NAME_PLACES]; /* id, tag; 0: free */
	_Atomic uint32_t count, record_bytes, text_bytes;
	struct gp_range_name name[GP_RANGE_NAMES + 1]; /* number 0 means none */
	char text[GP_RANGE_NAMES_BYTES];
};
extern _Atomic(struct gp_range_names *) gp_range_names GP_HOT_DATA
	__attribute__((visibility("hidden")));

/*
 * Id of the name `text` of `bytes` in `domain`, truncated at GP_RANGE_NAME_MAX. 0: no room, or
 * there is no text. The first call maps memory.
 */
uint32_t gp_range_name(uint32_t domain, const char *text, size_t bytes);
/* `id` must be a result of gp_range_name. */
GP_HOT struct gp_range_name *gp_range_name_of(uint32_t id)
{
	return &atomic_load_explicit(&gp_range_names, memory_order_relaxed)->name[id];
}
/* Its text, without a NUL, and its length. */
size_t gp_range_name_text(uint32_t id, const char **text);
/* True if `text` is its whole text. Reads no byte after the text's end. */
GP_HOT bool gp_range_name_is(const struct gp_range_name *e, const char *text, size_t bytes)
{
	const char *known =
		atomic_load_explicit(&gp_range_names, memory_order_relaxed)->text + e->text;
	if (bytes != GP_TO_NUL)
		return (e->is_cut ? bytes > e->bytes : bytes == e->bytes) &&
		       memcmp(text, known, e->bytes) == 0;
	return strncmp(text, known, e->bytes) == 0 && (text[e->bytes] != '\0') == e->is_cut;
}
/*
 * Defines it, and its domain, in the caller's ring. Call inside, if it is not defined in this
 * process yet.
 */
void gp_range_name_write(uint32_t id);
/* Ranges and marks of this recording without a name: the count; a reset; one more. */
uint64_t gp_range_names_refused(void);
void gp_range_names_begin(void);
void gp_range_name_refuse(void);
/* Bytes that the table has touched. */
uint64_t gp_range_names_memory(void);

#endif
