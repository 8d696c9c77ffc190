/*
 * Why a process is not among those that record: from the kernel's information on it and its mapped
 * files. Files of another user are never opened: their ring files are listed, not read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../file/recording.h"

#define RING_NAME "/gpuprof-ring-"

/* Finds another user's rings, if they lie where ours would. */
static void find_rings(unsigned pid, uint64_t start, struct gp_not_recording *out)
{
	const char *const places[] = { "/dev/shm", getenv("GPUPROF_RING_DIR") };
	struct stat st;
	for (size_t k = 0; k < sizeof places / sizeof *places && places[k] != NULL; k++) {
		snprintf(out->ring_path, sizeof out->ring_path, "%s" RING_NAME "%u-%u-%" PRIu64,
			 places[k], out->uid, pid, start);
		if (lstat(out->ring_path, &st) == 0 && st.st_uid == out->uid)
			return;
	}
	out->ring_path[0] = '\0';
}

/*
 * The shared page stays mapped after its file is gone, so "(deleted)" means a recording that has
 * ended. A line has: addresses, rights, offset, device, inode, then blanks and the path.
 */
static void look_at_line(char *line, struct gp_not_recording *out)
{
	char *path = strchr(line, '/'), *name = path != NULL ? strstr(path, RING_NAME) : NULL;
	if (path == NULL)
		return;
	if (name == NULL) {
		const char *last = strrchr(path, '/');
		if (out->why == GP_SILENT_APART && strncmp(last, "/libgpuprof.so", 14) == 0)
			out->why = GP_SILENT_EARLY;
		return;
	}
	if (strstr(name, " (deleted)") != NULL) {
		if (out->why != GP_SILENT_ELSEWHERE)
			out->why = GP_SILENT_ENDED;
		return;
	}
	out->why = GP_SILENT_ELSEWHERE;
	path[strcspn(path, "\n")] = '\0';
	snprintf(out->ring_path, sizeof out->ring_path, "%s", path);
}

static void look_at_maps(unsigned pid, struct gp_not_recording *out)
{
	char path[64], *line = NULL;
	size_t room = 0;
	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	FILE *maps = fopen(path, "re");
	out->why = maps != NULL ? GP_SILENT_APART : GP_SILENT_UNKNOWN;
	while (maps != NULL && getline(&line, &room, maps) > 0)
		look_at_line(line, out);
	free(line);
	if (maps != NULL)
		fclose(maps);
}

struct gp_not_recording gp_process_not_recording(unsigned pid)
{
	struct gp_not_recording out = { .why = GP_SILENT_NONE };
	char path[64];
	struct stat st;
	uint64_t start;
	snprintf(path, sizeof path, "/proc/%u", pid);
	if (stat(path, &st) != 0 || !gp_process_start(pid, &start))
		return out;
	out.uid = (unsigned)st.st_uid;
	if (out.uid == (unsigned)geteuid()) {
		look_at_maps(pid, &out);
		return out;
	}
	out.why = GP_SILENT_STRANGER;
	find_rings(pid, start, &out);
	return out;
}
