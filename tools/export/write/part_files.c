/* A nameless file of the folder is copied when it gets its name: sinks are open one at a time. */
#include "part_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../command.h"
#include "../../io/message.h"
#include "../../io/sink.h"

bool gp_folders_make(const char *path)
{
	char name[PATH_MAX];
	const int n = snprintf(name, sizeof name, "%s", path);
	bool is_made = n > 0 && n < (int)sizeof name;
	errno = ENAMETOOLONG;
	for (char *slash = is_made ? strchr(name + 1, '/') : NULL; slash && is_made;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		is_made = mkdir(name, 0777) == 0 || errno == EEXIST;
		*slash = '/';
	}
	if (!is_made)
		gp_error("cannot create '%s': %s", path, gp_cause(errno));
	return is_made;
}

/* NULL: errno. */
static FILE *part_open(const char *folder)
{
	char name[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && snprintf(name, sizeof name, "%s.XXXXXX", folder) < (int)sizeof name) {
		/* file systems without nameless files, such as NFS */
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	}
	return fd < 0 ? NULL : fdopen(fd, "w+");
}

static bool part_name(const struct gp_part_files *files, size_t part, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s%s%s", files->folder, files->format->selections[part],
			files->format->part_ending) < PATH_MAX;
}

static void parts_release(struct gp_part_files *files)
{
	for (size_t k = 0; files->file && k < files->parts; k++)
		if (files->file[k])
			fclose(files->file[k]);
	free(files->file);
	files->file = NULL;
}

int gp_part_files_open(struct gp_part_files *files, const struct gp_export_format *format,
		       const char *folder, bool may_replace, char *const *inputs, int count)
{
	char name[PATH_MAX];
	int exit_status = GP_EXIT_OK;
	*files = (struct gp_part_files){ format, folder, may_replace, 0, NULL, 0 };
	while (format->selections[files->parts])
		files->parts++;
	if (!gp_folders_make(folder))
		return GP_EXIT_INTERNAL;
	for (size_t k = 0; k < files->parts && !exit_status; k++)
		exit_status = part_name(files, k, name) ?
				      gp_sink_check(name, may_replace, inputs, count) :
				      GP_EXIT_INTERNAL;
	if (exit_status)
		return exit_status;
	files->file = calloc(files->parts, sizeof(FILE *));
	for (size_t k = 0; files->file && k < files->parts; k++)
		if (!(files->file[k] = part_open(folder)))
			exit_status = GP_EXIT_INTERNAL;
	if (files->file && !exit_status)
		return GP_EXIT_OK;
	gp_error("cannot write in '%s': %s", folder, gp_cause(errno));
	parts_release(files);
	return GP_EXIT_INTERNAL;
}

/* False: errno. */
static bool part_copy(struct gp_part_files *files, FILE *from, FILE *to)
{
	char bytes[1 << 16];
	size_t n;
	if (fflush(from) != 0 || ferror(from))
		return false;
	rewind(from);
	while ((n = fread(bytes, 1, sizeof bytes, from)) > 0) {
		files->bytes += n;
		if (fwrite(bytes, 1, n, to) < n)
			return false;
	}
	return !ferror(from);
}

static int part_keep(struct gp_part_files *files, size_t part, char *const *inputs, int count)
{
	static struct gp_sink sink;
	char name[PATH_MAX];
	part_name(files, part, name); /* it fitted before */
	int exit_status = gp_sink_open(&sink, name, files->may_replace, false, inputs, count);
	if (exit_status)
		return exit_status;
	sink.has_report = part_copy(files, files->file[part], sink.out);
	if (!sink.has_report)
		exit_status = GP_EXIT_INTERNAL;
	if (exit_status && !ferror(sink.out)) /* else gp_sink_close prints it */
		gp_error("cannot write '%s': %s", name, gp_cause(errno));
	/* its room on the disk is free for the copy of the next one */
	fclose(files->file[part]);
	files->file[part] = NULL;
	return gp_sink_close(&sink, exit_status);
}

int gp_part_files_close(struct gp_part_files *files, bool is_kept, char *const *inputs, int count)
{
	char name[PATH_MAX];
	int exit_status = GP_EXIT_OK;
	size_t kept = 0;
	while (is_kept && kept < files->parts && !exit_status)
		exit_status = part_keep(files, kept++, inputs, count);
	for (size_t k = 0; exit_status && k + 1 < kept; k++)
		if (part_name(files, k, name))
			unlink(name);
	parts_release(files);
	return exit_status;
}
