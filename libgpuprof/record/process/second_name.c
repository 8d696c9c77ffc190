/*
 * Prints the name of a recording on stderr if a file of the requested name exists. Children inherit
 * the library, and their stderr may be data for their parent. So one process of a job prints it:
 * the first that records, if its stderr is that of the process that the user started. The taken
 * names and O_EXCL decide, without a mark in the environment. All on the drain thread. If /proc
 * does not show the ancestors, no line is printed. Two jobs with one name that begin at the same
 * time count as one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../recorder.h"

#define ANCESTORS_MOST 64u
#define NS_IN_S 1000000000u
/*
 * File times are those of the last kernel tick; start times of processes are rounded down to a
 * tick.
 */
#define TICK_NS 10000000u
#define ENVIRONMENT_BYTES 65536u /* ignores the rest of the line */

struct process {
	uint32_t pid, parent;
	uint64_t start_ticks; /* since boot */
};

static size_t read_of(uint32_t pid, const char *file, char *text, size_t capacity)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/%s", pid, file);
	return gp_file_read_text(path, text, capacity);
}

static bool process_look(uint32_t pid, struct process *out)
{
	char text[1024];
	read_of(pid, "stat", text, sizeof text);
	const char *at = strrchr(text, ')'); /* the name may contain blanks and brackets */
	*out = (struct process){ .pid = pid };
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at + 1, ' ');
		if (at && field == 3)
			out->parent = (uint32_t)strtoul(at + 1, NULL, 10);
	}
	out->start_ticks = at ? strtoull(at + 1, NULL, 10) : 0;
	return at != NULL;
}

uint64_t gp_own_process_start(void)
{
	struct process own;
	process_look((uint32_t)getpid(), &own);
	return own.start_ticks;
}

/* True if LD_PRELOAD in the start environment of a process names this library. */
static bool is_preloaded(uint32_t pid)
{
	static const char variable[] = "LD_PRELOAD=";
	char text[ENVIRONMENT_BYTES];
	const char *end = text + read_of(pid, "environ", text, sizeof text);
	for (const char *entry = text; entry < end; entry += strlen(entry) + 1)
		if (strncmp(entry, variable, sizeof variable - 1) == 0)
			return strstr(entry, "libgpuprof") != NULL;
	return false;
}

/* The ancestor that was started with the library by a process without it. */
static bool find_first_of_job(struct process *out)
{
	if (!process_look((uint32_t)getpid(), out))
		return false;
	for (unsigned k = 0; k < ANCESTORS_MOST && is_preloaded(out->parent); k++)
		if (!process_look(out->parent, out))
			return false;
	return true;
}

static uint64_t unix_start_ns(const struct process *p)
{
	const uint64_t ticks_per_s = getauxval(AT_CLKTCK);
	const uint64_t since_boot_ns =
		ticks_per_s ? p->start_ticks * (NS_IN_S / ticks_per_s) : UINT64_MAX / 2;
	return gp_clock_raw_ns(CLOCK_REALTIME) - gp_clock_raw_ns(CLOCK_BOOTTIME) + since_boot_ns;
}

static bool is_reported_here(uint64_t taken_ns)
{
	struct process first;
	char stderr_of_first[64];
	if (!find_first_of_job(&first) || taken_ns + TICK_NS >= unix_start_ns(&first))
		return false;
	snprintf(stderr_of_first, sizeof stderr_of_first, "/proc/%u/fd/2", first.pid);
	return first.pid == (uint32_t)getpid() || gp_log_goes_to(stderr_of_first);
}

void gp_name_write(const struct gp_file_writer *w)
{
	gp_list_add("", w->path);
	/* `gpuprof run` prints the names of the recordings at its end */
	const bool is_second = w->taken_ns != 0 && !gp_settings.list[0];
	if (is_second && is_reported_here(w->taken_ns))
		gp_log(true, "a file of the given name exists, recording into", w->path);
	else
		gp_log(false, "records into", w->path);
}
