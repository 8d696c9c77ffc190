/*
 * Selects the rings to adopt. These are the rings of dead owners in the ring places, and those of a
 * recording that is read, even if it was moved. Only for the latter it waits for another adopter,
 * and for a limited time. A ring file is removed once its recording has all its events. A ring file
 * whose recording is not found stays for days, because the path may be valid elsewhere. Then it is
 * removed from anywhere, or rings for removed directories would stay forever.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../file/recording.h"

#define STILLBORN_S 60
#define TURN_NS 10000000
#define PRINT_AFTER_NS 1000000000u

struct adoption {
	unsigned adopted;
	FILE *report;
	const char *recording; /* adopt its rings only; NULL: all rings */
	struct gp_file_header header;
	uint64_t *wait_ns; /* remaining time; NULL: do not wait */
};

static bool is_locked_by_us(const struct gp_ring_file *rings)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	return fcntl(rings->fd, F_SETLK, &lock) == 0;
}

static void print_waiting(const struct adoption *to, const struct gp_ring_file *rings)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	if (to->report == NULL || fcntl(rings->fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		return;
	fprintf(to->report, "gpuprof: waiting for process %d, which adopts '%s'\n", (int)lock.l_pid,
		to->recording);
	fflush(to->report);
}

/*
 * True: we have the lock, and the file is still in the directory. The kernel frees the lock of an
 * adopter that dies. Polled: F_SETLKW has no time limit, and interrupting it would take a signal of
 * the caller's process.
 */
static bool take_lock(const struct adoption *to, const struct gp_ring_file *rings)
{
	struct stat st;
	const uint64_t begin = gp_clock_read(CLOCK_MONOTONIC);
	uint64_t waited = 0, most = to->recording != NULL && to->wait_ns != NULL ? *to->wait_ns : 0;
	bool is_printed = false, is_ours;
	while (!(is_ours = is_locked_by_us(rings)) && waited < most) {
		nanosleep(&(struct timespec){ .tv_nsec = TURN_NS }, NULL);
		waited = gp_clock_read(CLOCK_MONOTONIC) - begin;
		if (!is_printed && waited >= PRINT_AFTER_NS)
			print_waiting(to, rings);
		is_printed = waited >= PRINT_AFTER_NS;
	}
	if (most > 0)
		*to->wait_ns = waited < most ? most - waited : 0;
	if (!is_ours && to->recording != NULL && to->report != NULL)
		fprintf(to->report,
			"gpuprof: '%s' may lack what another process is still adopting into it\n",
			to->recording);
	return is_ours && fstat(rings->fd, &st) == 0 && st.st_nlink == 1;
}

/*
 * Removes an empty ring file. Its owner was killed after it created the file and before it gave it
 * a size, which takes a living owner microseconds.
 */
static void remove_stillborn(const char *path)
{
	struct stat st;
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size == 0 && st.st_nlink == 1 && time(NULL) - st.st_mtime > STILLBORN_S)
		unlink(path);
}

/* True: for days it was not written, and its owner had no heartbeat that this boot can see. */
static bool is_old(const struct gp_ring_file *rings)
{
	const uint64_t now = gp_clock_read(CLOCK_MONOTONIC_RAW);
	const uint64_t beat = atomic_load(&rings->control->heartbeat_ns);
	struct stat st;
	bool is_beat_old = beat > now || now - beat > GP_RING_KEEP_S * 1000000000ull;
	return is_beat_old && fstat(rings->fd, &st) == 0 &&
	       time(NULL) - st.st_mtime > GP_RING_KEEP_S;
}

struct cause {
	char text[128];
};

static struct cause cause_of(enum gp_status status, int error)
{
	struct cause cause;
	snprintf(cause.text, sizeof cause.text, "%s",
		 error != 0 ? strerror(error) : gp_status_text(status));
	cause.text[0] = (char)tolower((unsigned char)cause.text[0]);
	return cause;
}

static void report_ring(FILE *out, const struct gp_ring_file *rings, enum gp_status status,
			const struct gp_adopted *got, bool is_given_up)
{
	const unsigned pid = rings->control->pid;
	if (status == GP_OK && got->events > 0)
		fprintf(out,
			"gpuprof: adopted %llu events that process %u left in '%s' into '%s'\n",
			(unsigned long long)got->events, pid, rings->path, got->recording);
	else if (is_given_up)
		fprintf(out,
			"gpuprof: removed '%s' of process %u: its recording '%s' was not read for "
			"7 "
			"days\n",
			rings->path, pid, got->recording);
	else if (status != GP_OK && got->is_nowhere)
		fprintf(out, "gpuprof: kept '%s' of process %u: its recording is not at '%s'\n",
			rings->path, pid, got->recording);
	else if (status != GP_OK)
		fprintf(out, "gpuprof: cannot adopt into '%s' what process %u left in '%s': %s\n",
			got->recording, pid, rings->path, cause_of(status, got->error).text);
}

/* A recording whose header has no ring path is identified by its own path. */
static bool adoption_is_due(const struct adoption *to, const struct gp_ring_file *rings)
{
	struct stat a, b;
	if (to->recording == NULL)
		return true;
	if (!gp_is_recording_of(&to->header, rings))
		return false;
	return to->header.ring_path[0] != '\0' ||
	       (stat(to->recording, &a) == 0 && stat(rings->control->output, &b) == 0 &&
		a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static void adopt_open(struct adoption *to, struct gp_ring_file *rings)
{
	struct gp_control *c = rings->control;
	if (c->output[sizeof c->output - 1] !=
	    '\0') /* an unnecessary write would renew the file's time */
		c->output[sizeof c->output - 1] = '\0';
	enum gp_owner owner = gp_ring_file_owner(rings);
	if ((owner != GP_OWNER_DEAD && owner != GP_OWNER_INHERITED) ||
	    !adoption_is_due(to, rings) || !take_lock(to, rings))
		return;
	struct gp_adopted got = { .recording = c->output };
	enum gp_status status = GP_OK;
	if (atomic_load(&c->is_sealed) == 0)
		status = gp_adopt_ring_file(rings, to->recording, &got);
	bool is_given_up = status != GP_OK && got.is_nowhere && is_old(rings);
	if (status == GP_OK || is_given_up) {
		atomic_store(&c->is_sealed, 1);
		unlink(rings->path);
		to->adopted += status == GP_OK;
	}
	if (to->report != NULL)
		report_ring(to->report, rings, status, &got, is_given_up);
}

static void adopt_path(void *context, const char *path)
{
	struct adoption *to = context;
	struct gp_ring_file rings;
	const char *ours = strrchr(path, '/'), *named = strrchr(to->header.ring_path, '/');
	if (to->recording != NULL && named != NULL && ours != NULL && strcmp(ours, named) != 0)
		return;
	if (gp_ring_file_open(path, true, &rings) != GP_OK) {
		remove_stillborn(path);
		return;
	}
	adopt_open(to, &rings);
	gp_ring_file_close(&rings);
}

enum gp_status gp_adopt(unsigned *adopted, FILE *report)
{
	struct adoption to = { .report = report };
	gp_ring_file_visit(NULL, adopt_path, &to);
	if (adopted != NULL)
		*adopted = to.adopted;
	return GP_OK;
}

static bool directory_of(const char *recording, char *out, size_t capacity)
{
	const char *slash = strrchr(recording, '/');
	size_t n = slash == NULL ? 0 : slash == recording ? 1 : (size_t)(slash - recording);
	if (n >= capacity)
		return false;
	memcpy(out, n != 0 ? recording : ".", n != 0 ? n : 1);
	out[n != 0 ? n : 1] = '\0';
	return true;
}

enum gp_status gp_adopt_into(const char *recording, uint64_t *wait_ns, unsigned *adopted,
			     FILE *report)
{
	struct adoption to = { .report = report, .recording = recording, .wait_ns = wait_ns };
	char directory[1024];
	struct gp_file file;
	if (adopted != NULL)
		*adopted = 0;
	if (!directory_of(recording, directory, sizeof directory))
		return GP_E_ARGUMENT;
	enum gp_status status = gp_file_open(recording, &file, NULL);
	if (status != GP_OK)
		return status;
	to.header = file.header;
	gp_file_release(&file);
	gp_ring_file_visit(directory, adopt_path, &to);
	if (adopted != NULL)
		*adopted = to.adopted;
	return GP_OK;
}
