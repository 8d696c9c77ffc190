/* The names in a directory, without opendir, which would call the job's malloc. */
#ifndef GP_LISTING_H
#define GP_LISTING_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct gp_listing {
	int directory;
	long at, bytes;
	_Alignas(8) char entries[4096];
};

struct gp_listing_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* `directory`: a descriptor, which the caller keeps; -1: an empty list. */
static inline void gp_listing_begin(struct gp_listing *listing, int directory)
{
	listing->directory = directory;
	listing->at = listing->bytes = 0;
}

/* NULL: no more. Valid until the next call. Includes "." and "..". */
static inline const char *gp_listing_next(struct gp_listing *listing)
{
	if (listing->at >= listing->bytes) {
		listing->at = 0;
		listing->bytes = syscall(SYS_getdents64, listing->directory, listing->entries,
					 sizeof listing->entries);
		if (listing->bytes <= 0)
			return NULL;
	}
	const struct gp_listing_entry *entry = (const void *)(listing->entries + listing->at);
	listing->at += entry->bytes;
	return entry->name;
}

/* The value of a name that is a number: a descriptor or a thread. */
static inline int gp_listing_number(const char *name)
{
	int number = 0;
	for (; *name >= '0' && *name <= '9'; name++)
		number = number * 10 + (*name - '0');
	return number;
}

#endif
