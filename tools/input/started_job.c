/*
 * Reads parents from /proc. A process that is not visible there has no parent.
 */
#include "started_job.h"

#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"

bool gp_process_read(const struct gp_command *command, const char *word, unsigned *pid)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);
	*pid = (unsigned)number;
	const bool is_fine = *word >= '1' && *word <= '9' && !*end && number <= INT32_MAX;
	if (!is_fine)
		gp_usage(command, "bad process '%s': not a number", word);
	return is_fine;
}

struct child_search {
	unsigned pid, found; /* found: 0 none yet */
	size_t count;
	bool is_recorded;
};

/* 0: not visible. */
static unsigned parent_of(unsigned pid)
{
	char path[32], line[512];
	unsigned parent = 0;
	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	/* the name in parentheses may contain any byte */
	const char *end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
	if (!end || sscanf(end, ") %*c %u", &parent) != 1)
		parent = 0;
	fclose(file);
	return parent;
}

static void find_child(void *context, const struct gp_process *process)
{
	struct child_search *s = context;
	if (!process->is_alive)
		return;
	s->is_recorded |= process->pid == s->pid;
	unsigned above = parent_of(process->pid);
	while (above > 1 && above != s->pid)
		above = parent_of(above);
	if (above != s->pid)
		return;
	s->count++;
	s->found = process->pid;
}

unsigned gp_started_job(unsigned pid)
{
	struct child_search s = { .pid = pid };
	gp_process_visit(find_child, &s);
	if (s.is_recorded || !s.found)
		return pid;
	if (s.count > 1)
		gp_error("process '%u' is not recorded; it started %s", pid,
			 gp_plural(s.count, "recorded job").s);
	else
		gp_error("this is process '%u', the job that '%u' started", s.found, pid);
	return s.count > 1 ? pid : s.found;
}
