/*
 * A recording has ended and its job goes on: the memory that the recorder took goes back. A thread
 * that was inside a call all the time still believes in its ring, so what a thread of the job may
 * hold stays good to write to. Runs on the drain thread, as its last.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder.h"

/*
 * Not a hole in the file, which a full tmpfs answers with SIGBUS, but fresh memory in the same
 * place, of which nobody reads. Chunks of the table of stacks stay, for who is in it believes what
 * it reads; so does the control page.
 */
static void empty_rings(const struct gp_recorder *r)
{
	/*
	 * Where the job can reach the descriptor its number may be another file's by now. And what
	 * could not be sealed is left to whoever adopts it.
	 */
	const bool is_file_ours =
		!r->is_private && !r->writer.is_shared_table && atomic_load(&gp_control->is_sealed);
	const uint32_t rings = atomic_load(&gp_control->rings);
	for (uint32_t k = 0; k < rings; k++) {
		struct gp_ring *ring = r->views[k].ring;
		if (atomic_load(&ring->state) == GP_RING_STACKS ||
		    mmap(ring, GP_RING_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
			 0) == MAP_FAILED)
			continue;
		madvise(ring, GP_RING_BYTES, MADV_DONTFORK);
		if (is_file_ours)
			fallocate(r->ring_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  (off_t)gp_ring_offset(k), GP_RING_BYTES);
	}
	if (is_file_ours)
		close(r->ring_fd);
}

void gp_give_back(struct gp_recorder *r)
{
	atomic_store(&gp_uses_wanted, 0);
	empty_rings(r);
	gp_live_close(r->live);
	gp_open_ranges_close(r->ranges);
	gp_definitions_close(&r->definitions);
	munmap(r->block, r->block_capacity);
	munmap(r->scratch, gp_block_scratch_bytes());
}
