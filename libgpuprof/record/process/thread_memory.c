/* Bytes that threads hold, and their limit. Relaxed: neither publishes other memory. */
#include "thread_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../../state/live_table.h"
#include "../hot.h"
#include "held_signals.h"

static _Atomic uint64_t counted, counted_most = UINT64_MAX;
/* The kernel had no memory for a piece of that size: otherwise each new stack would try again. */
static _Atomic uint64_t refused = UINT64_MAX;

static bool fits(uint64_t now, uint64_t more)
{
	const uint64_t most = atomic_load_explicit(&counted_most, memory_order_relaxed);
	return most >= now && most - now >= more;
}

GP_COLD bool gp_thread_memory_take(uint64_t more)
{
	uint64_t now = gp_thread_memory();
	do {
		if (!fits(now, more))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&counted, &now, now + more, memory_order_relaxed, memory_order_relaxed));
	return true;
}

void gp_thread_memory_add(uint64_t more)
{
	atomic_fetch_add_explicit(&counted, more, memory_order_relaxed);
}

/* Never below zero: a forked child may free what its parent counted. */
void gp_thread_memory_give(uint64_t less)
{
	uint64_t now = atomic_load_explicit(&counted, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&counted, &now,
						      now - (less < now ? less : now),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

uint64_t gp_thread_memory(void)
{
	return atomic_load_explicit(&counted, memory_order_relaxed);
}

void gp_thread_memory_bound(uint64_t most)
{
	atomic_store_explicit(&counted_most, most, memory_order_relaxed);
	atomic_store_explicit(&refused, UINT64_MAX, memory_order_relaxed);
}

void gp_thread_memory_begin(void)
{
	atomic_store_explicit(&counted, 0, memory_order_relaxed);
}

/*
 * No piece moves or is unmapped before the thread ends. A handler may jump away at any time. A walk
 * that seemed to have ended may continue, on the stack of a coroutine, and write to its memo. Not
 * covered: a coroutine that another thread resumes after this thread has ended.
 */
/* At the beginning of its mapping. */
struct gp_thread_piece {
	struct gp_thread_piece *before;
	size_t bytes; /* including this */
};

#define PAGE 4096u
/*
 * Pieces begin at different distances from the start of a page. The most used fields come first. A
 * processor's first cache has few places for one distance: eight in a Zen 4, twelve in a Sapphire
 * Rapids.
 */
#define DISTANCE 512u
#define DISTANCES (PAGE / DISTANCE)

static size_t piece_offset(const struct gp_thread_pieces *pieces)
{
	return 64u + pieces->count % DISTANCES * DISTANCE;
}
_Static_assert(sizeof(struct gp_thread_piece) <= 64, "it precedes the memory");

/* With signals blocked: a jump out of a handler would leak the mapping. */
static struct gp_thread_piece *piece_open(struct gp_thread_pieces *pieces, size_t bytes,
					  bool is_cache)
{
	if (!is_cache)
		gp_thread_memory_add(bytes);
	else if (!gp_thread_memory_take(bytes))
		return NULL;
	struct gp_thread_piece *piece = gp_pages_map(bytes);
	if (!piece) {
		gp_thread_memory_give(bytes);
		atomic_store_explicit(&refused, bytes, memory_order_relaxed);
		return NULL;
	}
	*piece = (struct gp_thread_piece){ pieces->last, bytes };
	pieces->last = piece;
	pieces->count++;
	return piece;
}

GP_COLD void *gp_thread_piece(struct gp_thread_pieces *pieces, size_t bytes, bool is_cache)
{
	const int error = errno;
	const size_t offset = piece_offset(pieces);
	const size_t mapped = (offset + bytes + PAGE - 1) / PAGE * PAGE;
	uint64_t signals;
	/* without a system call: each new stack may call it */
	if (mapped >= atomic_load_explicit(&refused, memory_order_relaxed) ||
	    (is_cache && !fits(gp_thread_memory(), mapped)))
		return NULL;
	gp_signals_hold(&signals);
	struct gp_thread_piece *piece = piece_open(pieces, mapped, is_cache);
	gp_signals_release(&signals);
	errno = error;
	return piece ? (char *)piece + offset : NULL;
}

GP_COLD void gp_thread_pieces_close(struct gp_thread_pieces *pieces)
{
	const int error = errno;
	for (struct gp_thread_piece *piece; (piece = pieces->last);) {
		const size_t bytes = piece->bytes;
		pieces->last = piece->before;
		munmap(piece, bytes);
		gp_thread_memory_give(bytes);
	}
	pieces->count = 0;
	errno = error;
}
