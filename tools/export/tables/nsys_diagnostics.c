/*
 * What the file lacks, in the table that scripts for Nsight Systems read before they trust a file:
 * losses of the recording, as the table `losses` of `--format sqlite` has them, and limits of this
 * format.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "../../io/message.h"
#include "../../report/report.h"
#include "nsys_rows.h"
#include "table_rest.h"

struct nsys_losses {
	struct gp_table_sink sink; /* first */
	struct gp_nsys *n;
};

static void diagnostic_add(struct gp_nsys *n, int64_t at_ns, int source, int severity,
			   const char *text)
{
	struct gp_rows *row = &n->row;
	gp_row_signed(row, at_ns);
	gp_row_number(row, 1);
	gp_row_signed(row, source);
	gp_row_signed(row, severity);
	gp_row_text(row, text);
	gp_row_signed(row, gp_nsys_pid(n));
	gp_nsys_add(n, NSYS_DIAGNOSTIC_EVENT);
}

/* recording, kind, from_ns, to_ns, count, text */
static enum gp_status loss_take(struct gp_table_sink *sink, enum gp_table_id table,
				const struct gp_value *value)
{
	struct gp_nsys *n = ((struct nsys_losses *)sink)->n;
	const struct gp_value *kind = &value[1], *from = &value[2], *to = &value[3],
			      *count = &value[4], *text = &value[5];
	char line[1024], until[64] = "", number[64] = "";
	(void)table;
	if (to->is == GP_VALUE_INTEGER && to->integer != INT64_MAX)
		snprintf(until, sizeof until, " until %" PRId64 " ns", to->integer);
	if (count->is == GP_VALUE_INTEGER)
		snprintf(number, sizeof number, " %" PRId64, count->integer);
	const bool has_text = text->is == GP_VALUE_TEXT;
	snprintf(line, sizeof line, "%.*s:%s%s%s%.*s", (int)kind->bytes, kind->text, number, until,
		 !has_text		 ? "" :
		 (number[0] || until[0]) ? ", " :
					   " ",
		 has_text ? (int)text->bytes : 0, has_text ? text->text : "");
	diagnostic_add(n, from->is == GP_VALUE_INTEGER ? from->integer : 0, NSYS_FROM_RECORDER,
		       NSYS_WARNING, line);
	return n->file.status;
}

static void limit_add(struct gp_nsys *n, int severity, uint64_t count, const char *noun,
		      const char *fact)
{
	char line[256];
	if (!count)
		return;
	snprintf(line, sizeof line, "%s %s", gp_plural(count, noun).s, fact);
	diagnostic_add(n, 0, NSYS_FROM_EXPORT, severity, line);
	if (severity > NSYS_INFO)
		gp_error("%s", line);
}

void gp_nsys_diagnostics_write(struct gp_nsys *n)
{
	const struct gp_export *e = n->e;
	struct nsys_losses losses = { .sink.row = loss_take, .n = n };
	losses.sink.is_requested[GP_TABLE_losses] = true;
	struct gp_rows rows = { .sink = &losses.sink, .recording = 1 };
	gp_table_rest_write(n->e, &rows, NULL);
	gp_rows_release(&rows);
	const struct gp_gpu *gpu = &n->gpu;
	limit_add(n, NSYS_INFO, n->ends_unknown, "call",
		  "without a recorded end: it equals the start");
	diagnostic_add(n, 0, NSYS_FROM_EXPORT, NSYS_INFO,
		       "allocations, copies, sets and waits have names of the runtime's functions");
	limit_add(n, NSYS_WARNING, n->untimed, "operation of the GPU",
		  "without a time on the job's clock: left out");
	limit_add(n, NSYS_WARNING, gpu->dropped + gpu->lost, "operation of the GPU", "lost");
	limit_add(n, NSYS_WARNING, gpu->beyond, "operation of the GPU",
		  "beyond the memory for a report: left out");
	if (gpu->has_operations)
		limit_add(n, NSYS_WARNING, gpu->joined[GP_GPU_UNJOINED], "operation of the GPU",
			  "without a call");
	limit_add(n, NSYS_WARNING, n->stacks_beyond, "stack",
		  "beyond the memory for a report: without frames");
	if (e->from_ns != INT64_MIN || e->to_ns != INT64_MAX || e->device != GP_DEVICE_UNKNOWN)
		diagnostic_add(n, 0, NSYS_FROM_EXPORT, NSYS_INFO,
			       "the file has a part of the recording: --from, --to, --device");
	if (!rows.status || n->file.status)
		return;
	n->file.status = rows.status;
}
