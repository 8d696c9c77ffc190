/* The bytes of a block of lives, which gpuprof_lives.h describes: written and read again. */
#ifndef GP_LIFE_CODE_H
#define GP_LIFE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_life_row {
	uint64_t birth_ns;
	uint64_t span; /* 0: live at the end; else death - birth + 1 */
	uint64_t bytes, address, order;
	uint32_t group;
};

/* Sorts by birth, then by order. */
void gp_life_sort(struct gp_life_row *row, size_t rows);
/* True: `a` comes before `b`. */
bool gp_life_is_before(const struct gp_life_row *a, const struct gp_life_row *b);

/* Room for the bytes of so many lives. */
size_t gp_life_room(size_t rows);
/* Returns the first of *count bytes in `room`. Births must not descend. */
const unsigned char *gp_life_encode(const struct gp_life_row *row, size_t rows, unsigned char *room,
				    size_t *count);

#define GP_LIFE_COLUMNS 6u
/* Reads the lives of a block one by one. */
struct gp_life_reader {
	const unsigned char *at[GP_LIFE_COLUMNS], *end[GP_LIFE_COLUMNS];
	struct gp_life_row last;
	uint64_t left;
};
/* False: the bytes are not a block. They must stay while lives are read. */
bool gp_life_reader_open(struct gp_life_reader *reader, const unsigned char *bytes, size_t count);
/* The next life is in reader->last. False: there is none, or the bytes are damaged. */
bool gp_life_read(struct gp_life_reader *reader);

/*
 * Writes the numbers in front of the columns, which begin at `columns`; returns the first byte.
 * There must be GP_VARINT_MAX bytes of room for each.
 */
unsigned char *gp_life_header(const uint64_t *number, unsigned numbers, unsigned char *columns);

#endif
