/*
 * `gpuprof report`: writes a page for a browser, with the reports of other commands on one or more
 * recordings and the lives of their memory. docs/PAGE.md has its content.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/message.h"
#include "page/page.h"
#include "report/reading.h"

struct unreadable {
	const char *path;
	char reason[512];
};

struct report {
	struct gp_reading r;
	struct gp_page page;
	struct gp_page_ranks ranks;
	struct unreadable *unreadable; /* as many as there are recordings */
	size_t unreadables;
	char *path;	    /* of the page; NULL: stdout */
	sigset_t unblocked; /* signals while the page is written */
	bool is_blocked;
};

/* Also for a recording without documents. */
static void report_unopened(struct gp_reading *r)
{
	struct report *x = (struct report *)r;
	struct unreadable *unreadable = &x->unreadable[x->unreadables++];
	unreadable->path = r->path;
	snprintf(unreadable->reason, sizeof unreadable->reason, "%s", gp_report_reason());
}

static void report_write_unreadable(struct report *x)
{
	struct gp_json *json = &x->page.json;
	gp_json_array(json, "unreadable");
	for (size_t k = 0; k < x->unreadables; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "file", x->unreadable[k].path);
		gp_json_text(json, "reason", x->unreadable[k].reason);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static int report_one(struct gp_reading *r)
{
	struct report *x = (struct report *)r;
	struct gp_json *json = &x->page.json;
	struct gp_page_documents *documents =
		gp_page_documents_begin(r->path, r->recording, r->info);
	if (!documents) {
		const int failed = gp_report_failed("report on", r->path, GP_E_MEMORY);
		report_unopened(r);
		return failed;
	}
	gp_page_documents_share(documents);
	struct gp_lives lives;
	const enum gp_status status = gp_page_lives_build(&x->page, r->recording, &lives);
	if (status)
		gp_report_failed("find the lives of memory in", r->path, status);
	struct gp_lanes lanes;
	const char *no_lanes;
	const enum gp_status lanes_status =
		gp_page_lanes_build(&x->page, r->recording, &lanes, &no_lanes);
	if (lanes_status)
		gp_report_failed("find the GPU time of", r->path, lanes_status);
	gp_page_documents_finish(documents);
	gp_json_object(json, NULL);
	gp_json_text(json, "file", r->path);
	gp_page_documents_write(documents, json, status ? gp_status_text(status) : NULL, no_lanes);
	if (status)
		gp_json_null(json, "lives");
	else
		gp_page_lives_write(json, &lives, r->info->alloc_conf);
	gp_page_lanes_write(json, &lanes);
	gp_json_end(json);
	if (!gp_page_ranks_add(&x->ranks, r->path, r->recording, r->info, documents))
		gp_report_failed("compare", r->path, GP_E_MEMORY);
	gp_page_documents_free(documents);
	gp_lives_free(&lives);
	gp_lanes_free(&lanes);
	r->sink.has_report = true;
	return GP_EXIT_OK;
}

static void report_begin(struct gp_reading *r)
{
	struct report *x = (struct report *)r;
	struct gp_json *json = &x->page.json;
	if (!gp_page_gzip_begin(&x->page.report))
		return;
	gp_json_init(json, x->page.report.in, 0);
	json->is_foreign = true;
	gp_json_object(json, NULL);
	gp_json_number(json, "page", 1);
	gp_json_text(json, "made_by", "gpuprof " GP_VERSION);
	gp_json_array(json, "recordings");
}

/* From here on a signal would leave a folder of data behind. */
static int report_end(struct gp_reading *r, int worst)
{
	struct report *x = (struct report *)r;
	sigset_t all;
	if (!r->sink.has_report)
		return worst;
	gp_json_end(&x->page.json); /* of the recordings */
	report_write_unreadable(x);
	gp_page_ranks_write(&x->ranks, &x->page.json);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &x->unblocked);
	x->is_blocked = true;
	const int exit_status =
		gp_page_write(&x->page, r->out, r->sink.written[0] ? x->path : NULL, r->is_forced);
	r->sink.has_report = exit_status == GP_EXIT_OK;
	return exit_status ? exit_status : worst;
}

/* "train.gpr" -> "train.html" */
static bool path_choose(struct report *x, int recordings, char *const *paths)
{
	const size_t n = strlen(paths[0]);
	const bool has_suffix = n > 4 && strcmp(paths[0] + n - 4, ".gpr") == 0;
	if (x->r.output && strcmp(x->r.output, "-") == 0)
		return true;
	if (!x->r.output && recordings > 1)
		return gp_usage(x->r.command, "no name for the page of %d recordings", recordings),
		       false;
	if (!x->r.output &&
	    asprintf(&x->path, "%.*s.html", (int)(has_suffix ? n - 4 : n), paths[0]) < 0)
		x->path = NULL;
	if (x->r.output)
		x->path = strdup(x->r.output);
	x->r.output = x->path;
	return x->path;
}

static int report_run(const struct gp_command *command, int argc, char **argv)
{
	struct report x = { .r.command = command };
	struct gp_flag flags[GP_READING_FLAGS];
	gp_reading_flags(&x.r, NULL, flags);
	const int recordings = gp_inputs_parse(command, flags, argc, &argv);
	if (recordings < 0)
		return gp_flags_exit(recordings);
	int exit_status = gp_reading_check(&x.r, recordings);
	if (exit_status || !path_choose(&x, recordings, argv))
		return GP_EXIT_USAGE;
	x.unreadable = calloc((size_t)recordings, sizeof *x.unreadable);
	if (!x.unreadable) {
		gp_error("cannot report: %s", gp_status_text(GP_E_MEMORY));
		free(x.path);
		return GP_EXIT_INTERNAL;
	}
	const char *slash = strrchr(argv[0], '/');
	x.r.is_text = false;
	x.page.title = slash ? slash + 1 : argv[0];
	exit_status = gp_reading_show(&x.r, recordings, argv);
	gp_page_settle(&x.page, exit_status != GP_EXIT_USAGE && exit_status != GP_EXIT_INTERNAL);
	if (x.is_blocked)
		sigprocmask(SIG_SETMASK, &x.unblocked, NULL);
	gp_page_ranks_release(&x.ranks);
	gp_page_release(&x.page);
	free(x.unreadable);
	free(x.path);
	return exit_status;
}

const struct gp_command gp_command_report = {
	.name = "report",
	.synopsis = "report [-o FILE.html [--force]] RECORDING...",
	.text = "write a page for a browser: reports and memory over time",
	.run = report_run,
	.options = GP_OPTION_OUTPUT,
	.inputs = GP_INPUTS_DIRECTORIES,
	.one = report_one,
	.unopened = report_unopened,
	.begin = report_begin,
	.end = report_end,
};
