/*
 * The documents of a page: the JSON of other commands, byte for byte. Each command runs in a
 * process of its own, so that a crash or a refusal costs one document. One process starts the
 * commands that need nothing of others. Another process finds the answers that commands share
 * (gp_recording_prepare_reports), then starts the commands that use them or the steps.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../command.h"
#include "../io/message.h"
#include "../io/progress.h"
#include "../report/report.h"
#include "page.h"

enum document_replay { OWN, SHARED, REPLAYS };

/* Of each kind, those that take longest come first. */
static const struct {
	const char *name, *options;
	enum document_replay replay;
} document[] = {
	{ "info", "--steps --json", SHARED },
	{ "timeline", "--by role --json", SHARED },
	{ "phases", "--json", SHARED },
	{ "waits", "--json", SHARED },
	{ "frag", "--json", OWN },
	{ "leaks", "--json", SHARED },
	{ "collectives", "--json", SHARED },
	{ "startup", "--json", SHARED },
	{ "peak", "--json", OWN },
	{ "counters", "--json", OWN },
	{ "kernels", "--json", OWN },
	{ "graphs", "--json", OWN },
	{ "oom", "--json", OWN },
	{ "idle", "--json", OWN },
};
enum { DOCUMENTS = sizeof document / sizeof *document };

#define DOCUMENT_BYTES_MOST (16u << 20) /* a browser still parses it at once */
enum { EXIT_TOO_LARGE = 125, NOT_RUN = -1 };

/* Shared by the processes that run commands. */
struct document_queue {
	atomic_uint next[REPLAYS];
	int status[DOCUMENTS]; /* of waitpid, or NOT_RUN */
};

struct gp_page_documents {
	char *path; /* never like an option */
	struct gp_recording *recording;
	const struct gp_info *info;
	int out[DOCUMENTS], err[DOCUMENTS]; /* of each command; files in memory */
	struct document_queue *queue;
	pid_t worker[REPLAYS]; /* processes that start commands; 0: none */
};

/* ---- in the process of a command ---- */

struct document_stream {
	int fd;
	size_t bytes;
};

static ssize_t document_take(void *context, const char *bytes, size_t count)
{
	struct document_stream *stream = context;
	stream->bytes += count;
	if (stream->bytes > DOCUMENT_BYTES_MOST)
		_exit(EXIT_TOO_LARGE);
	return write(stream->fd, bytes, count);
}

/* A signal that ends the command must not remove the page's unfinished file. */
static void signals_restore(void)
{
	struct sigaction action;
	for (int signal = 1; signal < NSIG; signal++)
		if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

static const struct gp_command *command_find(const char *name)
{
	const struct gp_command *const *c = gp_commands;
	while (*c && strcmp((*c)->name, name) != 0)
		c++;
	return *c;
}

static _Noreturn void command_run(struct gp_page_documents *d, unsigned which)
{
	struct document_stream stream = { .fd = d->out[which] };
	char name[16], options[32], *rest = options, *argv[8] = { name };
	int argc = 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signals_restore();
	FILE *out = fopencookie(&stream, "w", (cookie_io_functions_t){ .write = document_take });
	if (!out || dup2(d->err[which], STDERR_FILENO) < 0 ||
	    dup2(d->out[which], STDOUT_FILENO) < 0)
		_exit(GP_EXIT_INTERNAL);
	stdout = out;
	gp_progress_clear(); /* its line is the parent's */
	if (ftruncate(STDERR_FILENO, 0) != 0 || lseek(STDERR_FILENO, 0, SEEK_SET) != 0)
		_exit(GP_EXIT_INTERNAL);
	snprintf(name, sizeof name, "%s", document[which].name);
	snprintf(options, sizeof options, "%s", document[which].options);
	for (char *word; (word = strsep(&rest, " ")) != NULL;)
		argv[argc++] = word;
	argv[argc++] = d->path;
	argv[argc] = NULL;
	gp_report_keep(d->recording, d->info);
	const struct gp_command *command = command_find(argv[0]);
	const int status = command ? command->run(command, argc, argv) : GP_EXIT_INTERNAL;
	_exit(fflush(stdout) == 0 ? status : GP_EXIT_INTERNAL);
}

/* ---- in the processes that start commands ---- */

static int wait_for(pid_t child)
{
	int status = NOT_RUN;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_RUN;
	return status;
}

static void document_show(const struct gp_page_documents *d, unsigned which)
{
	char text[64];
	if (!gp_progress_is_seen() || !gp_progress_is_due())
		return;
	snprintf(text, sizeof text, "%s, %u of %d", document[which].name, which + 1, DOCUMENTS);
	gp_progress_show("reporting on", d->path, text);
}

static void documents_run(struct gp_page_documents *d, enum document_replay replay, bool is_shown)
{
	unsigned which;
	while ((which = atomic_fetch_add(&d->queue->next[replay], 1)) < DOCUMENTS) {
		if (document[which].replay != replay)
			continue;
		if (is_shown)
			document_show(d, which);
		const pid_t child = fork();
		if (child == 0)
			command_run(d, which);
		d->queue->status[which] = child < 0 ? NOT_RUN : wait_for(child);
	}
}

/* gp_page_documents_finish runs what the process leaves. */
static void worker_start(struct gp_page_documents *d, enum document_replay replay)
{
	const pid_t worker = fork();
	if (worker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signals_restore();
		gp_recording_watch(d->recording, NULL, NULL); /* the progress is the parent's */
		/* after a failure each command replays the recording itself */
		if (replay == SHARED)
			gp_recording_prepare_reports(d->recording, GP_TIMELINE_POINTS);
		documents_run(d, replay, false);
		_exit(0);
	}
	d->worker[replay] = worker > 0 ? worker : 0;
}

/* ---- the page ---- */

struct gp_page_documents *gp_page_documents_begin(const char *path, struct gp_recording *recording,
						  const struct gp_info *info)
{
	struct gp_page_documents *d = calloc(1, sizeof *d);
	bool has_files = d != NULL;
	if (!d)
		return NULL;
	d->recording = recording;
	d->info = info;
	d->queue = mmap(NULL, sizeof *d->queue, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (asprintf(&d->path, "%s%s", *path == '-' ? "./" : "", path) < 0)
		d->path = NULL;
	for (unsigned k = 0; k < DOCUMENTS; k++) {
		d->out[k] = memfd_create("document", MFD_CLOEXEC);
		d->err[k] = memfd_create("messages", MFD_CLOEXEC);
		has_files = has_files && d->out[k] >= 0 && d->err[k] >= 0;
	}
	if (d->queue == MAP_FAILED || !d->path || !has_files) {
		gp_page_documents_free(d);
		return NULL;
	}
	for (unsigned k = 0; k < DOCUMENTS; k++)
		d->queue->status[k] = NOT_RUN;
	worker_start(d, OWN);
	return d;
}

void gp_page_documents_share(struct gp_page_documents *d)
{
	gp_recording_prepare(d->recording);
	worker_start(d, SHARED);
}

void gp_page_documents_finish(struct gp_page_documents *d)
{
	documents_run(d, OWN, true);
	for (unsigned replay = 0; replay < REPLAYS; replay++)
		if (d->worker[replay] != 0)
			wait_for(d->worker[replay]);
	documents_run(d, SHARED, true); /* those that an ended process left */
}

/* The text of a file in memory, with a 0 behind it; NULL: out of memory. */
static char *file_text(int fd, size_t *bytes)
{
	struct stat st;
	char *text = fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
	ssize_t n = 0;
	*bytes = 0;
	while (text && (size_t)st.st_size > *bytes &&
	       (n = pread(fd, text + *bytes, (size_t)st.st_size - *bytes, (off_t)*bytes)) > 0)
		*bytes += (size_t)n;
	if (text)
		text[*bytes] = '\0';
	return text;
}

/* Whether the command wrote all of its report. Its status may be that of a damaged recording. */
static bool document_is_whole(int status, const char *text, size_t bytes)
{
	return status != NOT_RUN && WIFEXITED(status) && WEXITSTATUS(status) <= GP_EXIT_INTERNAL &&
	       bytes > 2 && text[0] == '{' && text[bytes - 2] == '}' && text[bytes - 1] == '\n';
}

/* Reason for a missing document: the last message of its command, else its end. */
static void missing_write(const struct gp_page_documents *d, unsigned which, struct gp_json *json)
{
	static const char begin[] = "gpuprof: ";
	const int status = d->queue->status[which];
	size_t bytes;
	char *text = file_text(d->err[which], &bytes), *last = NULL, why[64];
	for (char *at = text; at && (at = strstr(at, begin)); at++)
		if (at == text || at[-1] == '\n')
			last = at + sizeof begin - 1;
	if (last)
		last[strcspn(last, "\n")] = '\0';
	if (status == NOT_RUN)
		snprintf(why, sizeof why, "the command did not run");
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "signal %d ended the command", WTERMSIG(status));
	else if (WEXITSTATUS(status) == EXIT_TOO_LARGE)
		snprintf(why, sizeof why, "the document has more than %u MiB",
			 DOCUMENT_BYTES_MOST >> 20);
	else
		snprintf(why, sizeof why, "the command ended with status %d", WEXITSTATUS(status));
	const bool is_refused = last && status != NOT_RUN && WIFEXITED(status) &&
				WEXITSTATUS(status) != EXIT_TOO_LARGE;
	if (!is_refused)
		gp_error("'%s' has no '%s' on the page: %s", d->path, document[which].name, why);
	gp_json_text(json, document[which].name, is_refused ? last : why);
	free(text);
}

static void command_write(const struct gp_page_documents *d, unsigned which, struct gp_json *json)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (out) {
		fprintf(out, "gpuprof %s %s ", document[which].name, document[which].options);
		gp_path_print(out, d->path);
		if (fclose(out) != 0)
			bytes = 0;
	}
	gp_json_bytes(json, document[which].name, text ? text : "", bytes);
	free(text);
}

void gp_page_documents_write(const struct gp_page_documents *d, struct gp_json *json,
			     const char *no_lives, const char *no_lanes)
{
	bool is_there[DOCUMENTS];
	gp_json_object(json, "documents");
	for (unsigned k = 0; k < DOCUMENTS; k++) {
		size_t bytes;
		char *text = file_text(d->out[k], &bytes);
		is_there[k] = text && document_is_whole(d->queue->status[k], text, bytes);
		if (is_there[k])
			gp_json_written(json, document[k].name, text, bytes - 1);
		free(text);
	}
	gp_json_end(json);
	gp_json_object(json, "missing");
	for (unsigned k = 0; k < DOCUMENTS; k++)
		if (!is_there[k])
			missing_write(d, k, json);
	if (no_lives)
		gp_json_text(json, "lives", no_lives);
	if (no_lanes)
		gp_json_text(json, "gpu", no_lanes);
	gp_json_end(json);
	gp_json_object(json, "commands");
	for (unsigned k = 0; k < DOCUMENTS; k++)
		command_write(d, k, json);
	gp_json_end(json);
}

char *gp_page_documents_text(const struct gp_page_documents *d, const char *name, size_t *bytes)
{
	unsigned which = 0;
	while (which + 1 < DOCUMENTS && strcmp(document[which].name, name) != 0)
		which++;
	char *text = file_text(d->out[which], bytes);
	if (text && document_is_whole(d->queue->status[which], text, *bytes))
		return text;
	free(text);
	return NULL;
}

void gp_page_documents_free(struct gp_page_documents *d)
{
	for (unsigned k = 0; k < DOCUMENTS; k++) {
		if (d->out[k] >= 0)
			close(d->out[k]);
		if (d->err[k] >= 0)
			close(d->err[k]);
	}
	if (d->queue != MAP_FAILED)
		munmap(d->queue, sizeof *d->queue);
	free(d->path);
	free(d);
}
