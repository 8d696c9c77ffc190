/*
 * Memory by role. A role needs the whole run, so a child process reads the recording from its
 * beginning, with low priority. That is done only where it is cheap, and for 1% of the time.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../io/monotonic.h"
#include "watch_view.h"

#define FILE_MOST (64u << 20) /* some 18 million events, which take seconds */
#define COST 100	      /* a child may run for 1 of these parts of the time */

/* The child writes one for each group, then one with `is_end`. */
struct role_record {
	int64_t at_ns;
	bool is_end;
	unsigned device, of;
	char key[24];
	uint64_t bytes, count;
};

static bool role_write(int fd, const struct role_record *record)
{
	return write(fd, record, sizeof *record) == sizeof *record;
}

static bool role_write_groups(struct gp_recording *r, const struct gp_holders *h, int fd)
{
	const struct gp_grouping how = { .by = GP_BY_ROLE };
	struct gp_groups groups;
	bool is_fine = gp_groups_build(r, h->use, h->uses, &how, &groups) == GP_OK;
	for (size_t k = 0; is_fine && k < groups.groups; k++) {
		struct role_record record = { .at_ns = h->at_ns,
					      .device = h->device,
					      .of = h->of,
					      .bytes = groups.group[k].use.bytes,
					      .count = groups.group[k].use.count };
		snprintf(record.key, sizeof record.key, "%s", groups.group[k].key);
		is_fine = role_write(fd, &record);
	}
	gp_groups_free(&groups);
	return is_fine;
}

static _Noreturn void role_child(const char *path, int fd)
{
	struct gp_recording *r;
	struct gp_peak peak;
	setpriority(PRIO_PROCESS, 0, 19);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bool is_fine = gp_recording_open(path, &r, NULL) == GP_OK &&
		       gp_peak_build_with(r, GP_AT_TIME, INT64_MAX, GP_WITH_ROLES, &peak) == GP_OK;
	for (size_t k = 0; is_fine && k < peak.holders; k++)
		if (peak.holder[k].of == GP_CURVE_ALLOCATED)
			is_fine = role_write_groups(r, &peak.holder[k], fd);
	if (is_fine)
		role_write(fd, &(struct role_record){ .is_end = true });
	_exit(!is_fine);
}

static void role_start(struct gp_watch_view *v)
{
	struct gp_watch_roles *roles = &v->roles;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	fflush(NULL);
	roles->child = fork();
	if (roles->child == 0) {
		close(ends[0]);
		role_child(v->path, ends[1]);
	}
	close(ends[1]);
	roles->fd = ends[0];
	roles->records = 0;
	if (roles->child < 0) {
		close(ends[0]);
		roles->child = 0;
	}
}

/* Takes what the child wrote so far. False: it has not ended. */
static bool role_take(struct gp_watch_roles *roles, bool waits)
{
	struct pollfd ready = { .fd = roles->fd, .events = POLLIN };
	while (poll(&ready, 1, waits ? -1 : 0) > 0) {
		struct role_record record;
		const ssize_t n = read(roles->fd, &record, sizeof record);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof record)
			return true;
		struct gp_watch_role *to = &roles->coming[roles->records];
		if (record.is_end) {
			memcpy(roles->now, roles->coming, sizeof roles->now);
			roles->rows = roles->records;
			roles->has_rows = true;
		} else if (roles->records < GP_WATCH_ROLES) {
			*to = (struct gp_watch_role){ record.at_ns, record.device, "", record.bytes,
						      record.count };
			memcpy(to->key, record.key, sizeof to->key);
			roles->records++;
		}
	}
	return false;
}

void gp_watch_roles_tend(struct gp_watch_view *v)
{
	struct gp_watch_roles *roles = &v->roles;
	struct rusage used;
	if (gp_watch_bys[v->by].by != GP_BY_ROLE)
		return;
	v->roles.is_too_large = v->info->file_bytes > FILE_MOST;
	if (!roles->child && !roles->is_too_large && gp_monotonic_ns() >= roles->due_ns)
		role_start(v);
	if (!roles->child || !role_take(roles, !v->info->is_running))
		return;
	close(roles->fd);
	if (wait4(roles->child, NULL, 0, &used) == roles->child) {
		const struct timeval *user = &used.ru_utime, *kernel = &used.ru_stime;
		const int64_t took_ns = (user->tv_sec + kernel->tv_sec) * INT64_C(1000000000) +
					(user->tv_usec + kernel->tv_usec) * INT64_C(1000);
		roles->due_ns = gp_monotonic_ns() + COST * took_ns;
	}
	roles->child = 0;
	if (!roles->is_marked && roles->has_rows) {
		memcpy(roles->mark, roles->now, sizeof roles->mark);
		roles->marks = roles->rows;
		roles->is_marked = true;
	}
}

void gp_watch_roles_end(struct gp_watch_view *v)
{
	if (!v->roles.child)
		return;
	kill(v->roles.child, SIGKILL);
	waitpid(v->roles.child, NULL, 0);
	close(v->roles.fd);
	v->roles.child = 0;
}

enum gp_status gp_watch_roles_rows(const struct gp_watch_view *v, unsigned device,
				   struct gp_watch_rows *out)
{
	const struct gp_watch_roles *roles = &v->roles;
	*out = (struct gp_watch_rows){ .of = GP_CURVE_ALLOCATED, .at_ns = -1 };
	out->row = calloc(roles->rows + roles->marks + 1, sizeof *out->row);
	if (!out->row)
		return GP_E_MEMORY;
	for (size_t k = 0; k < roles->rows + roles->marks; k++) {
		const bool is_now = k < roles->rows;
		const struct gp_watch_role *from =
			is_now ? &roles->now[k] : &roles->mark[k - roles->rows];
		if (from->device != device)
			continue;
		size_t at = 0;
		while (at < out->rows && strcmp(out->row[at].key, from->key) != 0)
			at++;
		out->rows += at == out->rows;
		struct gp_watch_row *to = &out->row[at];
		to->key = from->key;
		*(is_now ? &to->bytes : &to->marked_bytes) = from->bytes;
		*(is_now ? &to->count : &to->marked_count) = from->count;
		out->bytes += is_now ? from->bytes : 0;
		out->at_ns = is_now ? from->at_ns : out->at_ns;
	}
	return GP_OK;
}
