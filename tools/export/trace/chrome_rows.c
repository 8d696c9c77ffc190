/* Texts, rows and places of events. */
#include "chrome_rows.h"

#include <stdlib.h>
#include <string.h>

#include "../../io/json.h"
#include "trace_process.h"

/* ---- texts ---- */

const char *gp_chrome_quote(struct gp_chrome *c, const char *text)
{
	static char *kept;
	size_t bytes;
	free(kept);
	kept = NULL;
	FILE *stream = open_memstream(&kept, &bytes);
	if (!stream) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	struct gp_json json;
	gp_json_init(&json, stream, 0);
	json.is_foreign = true;
	gp_json_text(&json, NULL, text);
	if (fclose(stream) || !kept) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	return kept;
}

const char *gp_chrome_quote_kept(struct gp_chrome *c, const char *text)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&c->quoted, gp_hash_text(text), 0, NULL);
	if (row && !row->text)
		row->text = strdup(gp_chrome_quote(c, text));
	if (!row || !row->text) {
		c->trace->is_out_of_memory = true;
		return "\"\"";
	}
	return row->text;
}

/* ---- events ---- */

void gp_chrome_event(struct gp_chrome *c)
{
	gp_chrome_reserve(&c->text);
	if (c->has_event)
		gp_chrome_fixed(&c->text, ",\n");
	c->has_event = true;
}

void gp_chrome_place(struct gp_chrome *c, uint32_t pid, uint32_t tid, int64_t at_ns)
{
	gp_chrome_fixed(&c->text, ",\"pid\":");
	gp_chrome_number(&c->text, pid);
	gp_chrome_fixed(&c->text, ",\"tid\":");
	gp_chrome_number(&c->text, tid);
	gp_chrome_fixed(&c->text, ",\"ts\":");
	gp_chrome_us(&c->text, c->zero_ns + at_ns);
}

void gp_chrome_duration(struct gp_chrome *c, int64_t ns)
{
	gp_chrome_fixed(&c->text, ",\"dur\":");
	gp_chrome_us(&c->text, ns);
}

void gp_chrome_name_row(struct gp_chrome *c, const char *what, uint32_t pid, uint32_t tid,
			const char *name)
{
	gp_chrome_event(c);
	gp_chrome_fixed(&c->text, "{\"ph\":\"M\",\"name\":\"");
	gp_chrome_long(&c->text, what);
	gp_chrome_fixed(&c->text, "\"");
	gp_chrome_place(c, pid, tid, 0);
	gp_chrome_fixed(&c->text, ",\"args\":{\"name\":");
	gp_chrome_long(&c->text, gp_chrome_quote(c, name));
	gp_chrome_fixed(&c->text, "}}");
}

bool gp_chrome_row_is_new(struct gp_chrome *c, uint32_t pid, uint64_t tid)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&c->rows, pid, tid, NULL);
	if (!row) {
		c->trace->is_out_of_memory = true;
		return false;
	}
	const bool is_new = row->memo == 0;
	row->memo = 1;
	return is_new;
}

uint32_t gp_chrome_thread(struct gp_chrome *c, uint32_t thread)
{
	struct gp_trace *t = c->trace;
	struct gp_trace_thread *of = NULL;
	char name[256];
	const uint32_t index = gp_trace_thread(t, thread);
	if (t->is_out_of_memory)
		return 0;
	of = &t->thread[index];
	if (of->piece == c->piece)
		return of->tid;
	const uint32_t tid = gp_recording_tid(t->e->recording, thread);
	of->piece = c->piece;
	of->tid = tid ? tid : thread;
	gp_trace_thread_name(t->e->recording, thread, tid, name, sizeof name);
	gp_chrome_name_row(c, "thread_name", c->pid, of->tid, name);
	return of->tid;
}

static void chrome_three(struct gp_chrome *c, uint64_t x, uint64_t y, uint64_t z)
{
	gp_chrome_fixed(&c->text, "[");
	gp_chrome_number(&c->text, x);
	gp_chrome_fixed(&c->text, ",");
	gp_chrome_number(&c->text, y);
	gp_chrome_fixed(&c->text, ",");
	gp_chrome_number(&c->text, z);
	gp_chrome_fixed(&c->text, "]");
}

void gp_chrome_shape(struct gp_chrome *c, uint64_t grid, uint64_t block)
{
	gp_chrome_fixed(&c->text, ",\"grid\":");
	chrome_three(c, grid & 0xffffffff, grid >> 32 & 0xffff, grid >> 48);
	gp_chrome_fixed(&c->text, ",\"block\":");
	chrome_three(c, block & 0xffff, block >> 16 & 0xffff, block >> 32 & 0xffff);
}

void gp_chrome_flow(struct gp_chrome *c, bool is_end, uint32_t pid, uint32_t tid, int64_t at_ns,
		    uint32_t id)
{
	gp_chrome_event(c);
	if (is_end)
		gp_chrome_fixed(&c->text, "{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
	else
		gp_chrome_fixed(&c->text, "{\"ph\":\"s\",\"id\":");
	gp_chrome_number(&c->text, id);
	gp_chrome_fixed(&c->text, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
	gp_chrome_place(c, pid, tid, at_ns);
	gp_chrome_fixed(&c->text, "}");
}
