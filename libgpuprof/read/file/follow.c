/*
 * Reading on in a recording that is being written. It begins at the newest checkpoint, so its cost
 * does not depend on the length of the recording. After that each block is read once. The job is
 * not woken, and only its shared memory and its file are read.
 */
#include <sys/stat.h>

#include "recording.h"

/* The writer changes counts in the header in place. A torn one fails its checksum. */
static void follow_header(struct gp_recording *r)
{
	unsigned char bytes[GP_FILE_HEADER];
	struct gp_file_header header;
	struct stat st;
	if (fstat(r->file.fd, &st) == 0)
		r->file.bytes = (uint64_t)st.st_size;
	if (gp_file_read(&r->file, 0, bytes, sizeof bytes) == GP_OK &&
	    gp_file_header_decode(bytes, &header) == GP_OK)
		r->file.header = header;
}

enum gp_status gp_follow_begin(struct gp_recording *r)
{
	enum gp_status status = gp_recording_load_names(r);
	r->is_followed = true;
	return status == GP_OK ? gp_recording_seek(r, gp_segment_by_order(r, UINT64_MAX)) : status;
}

/* The job was faster by a whole ring: its newest checkpoint is behind the known segments. */
static enum gp_status follow_again(struct gp_recording *r)
{
	gp_merge_forget_overtaken(r->merge);
	gp_index_release(&r->index);
	enum gp_status status = gp_index_build(&r->file, &r->index);
	r->first = gp_index_first(&r->index);
	r->unsought = SIZE_MAX;
	return status == GP_OK ? gp_follow_begin(r) : status;
}

enum gp_status gp_follow_more(struct gp_recording *r)
{
	uint64_t written;
	follow_header(r);
	r->is_running =
		r->is_running && gp_ring_file_position(&r->file.header, &r->unwritten, &written);
	if (!r->is_running)
		return GP_OK;
	const size_t known = r->index.segments;
	const bool is_at_end = r->segment >= known && r->left < known;
	if (!gp_index_extend(&r->file, written, &r->index) || !is_at_end ||
	    gp_index_is_overwritten(&r->file, &r->index, r->left))
		return follow_again(r);
	r->segment = r->left;
	r->is_ended_early = false;
	r->is_begun = true;
	return gp_merge_extend(r->merge);
}
