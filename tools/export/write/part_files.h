/*
 * Files in a folder, one for each part of an export. They have no names until all are complete, so
 * a failure leaves none.
 */
#ifndef GP_PART_FILES_H
#define GP_PART_FILES_H

#include "export.h"

struct gp_part_files {
	const struct gp_export_format *format;
	const char *folder; /* with a slash at its end */
	bool may_replace;
	size_t parts;
	FILE **file;	/* by the format's selections */
	uint64_t bytes; /* result */
};

/* Makes all folders that a path names before its last slash. False: the error is printed. */
bool gp_folders_make(const char *path);

/*
 * Checks the names, as gp_sink_check does, and opens a file for each part. `inputs`: the recordings
 * that the export reads. Returns the exit status of the command; 0: opened.
 */
int gp_part_files_open(struct gp_part_files *files, const struct gp_export_format *format,
		       const char *folder, bool may_replace, char *const *inputs, int count);
/* Names the files if `is_kept`, else drops them. Returns the exit status of the command. */
int gp_part_files_close(struct gp_part_files *files, bool is_kept, char *const *inputs, int count);

#endif
