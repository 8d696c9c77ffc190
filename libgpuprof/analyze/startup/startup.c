/*
 * Where the time goes until the end of the first step. Calls, captures and ranges are spans of
 * their part; a part has the moments that no part before it has. docs/ANALYSIS.md has the method.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "../groups/group_key.h"
#include "span_set.h"

/* Ranges of torch._dynamo.utils.dynamo_timed end with this. */
#define COMPILER " (dynamo_timed)"
#define LATE_NS 1000000000 /* an event comes at most so much later than one of the same moment */

const char *const gp_startup_part_names[GP_STARTUP_PARTS] = {
	"contexts",   "module_loads", "instantiated_graphs", "captures", "compile",
	"first_step", "copies",	      "before_first_call",   "other",
};

/* Module loads of one stack. */
struct place {
	uint64_t key; /* the stack */
	struct gp_startup_line sum;
};

struct thread {
	uint64_t key; /* its number */
	/* since when it is in its compiler, and how deep the range lies; -1: it is not */
	int64_t compile_ns;
	uint64_t compile_depth;
};

struct building {
	struct gp_recording *recording;
	struct gp_startup *out;
	int64_t step_ns; /* the first step's beginning; INT64_MAX: none */
	struct gp_span_set part[GP_STARTUP_PARTS];
	struct gp_startup_row row[GP_STARTUP_PARTS];
	bool has_events;
	uint64_t contexts;	   /* defined until now */
	int64_t first_ns, last_ns; /* beginning of the first recorded call; end of the last */
	uint64_t captures;	   /* under way */
	int64_t capture_ns;	   /* since when */
	struct gp_row_table threads, places, lines;
	bool is_out_of_memory;
};

/* Sums of a damaged recording may exceed any bound. */
static void startup_sum(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

/* ---- events ---- */

static void startup_span(struct building *b, enum gp_startup_part part, int64_t from_ns,
			 int64_t to_ns)
{
	struct gp_startup_row *row = &b->row[part];
	if (row->at_ns > from_ns)
		row->at_ns = from_ns;
	if (!gp_span_set_add(&b->part[part], from_ns, to_ns))
		b->is_out_of_memory = true;
}

/* A call that returned at `at_ns`. `took` -1: unknown. */
static void startup_call(struct building *b, enum gp_startup_part part, int64_t at_ns, int64_t took,
			 uint64_t bytes)
{
	struct gp_startup_row *row = &b->row[part];
	if (at_ns > b->out->to_ns)
		return;
	row->count++;
	row->bytes += bytes;
	row->untimed += took < 0;
	startup_span(b, part, took > 0 ? at_ns - took : at_ns, at_ns);
}

static void startup_load(struct building *b, const struct gp_event *e, int64_t took)
{
	const struct gp_record *r = &e->record;
	startup_call(b, GP_STARTUP_MODULES, e->at_ns, took, r->module_load.bytes);
	if (e->at_ns > b->out->to_ns)
		return;
	struct place *p = gp_row_of_key(&b->places, sizeof *p, r->stack);
	if (p == NULL) {
		p = gp_row_get_key(&b->places, sizeof *p, r->stack);
		if (p == NULL) {
			b->is_out_of_memory = true;
			return;
		}
		p->sum.stack = r->stack;
		p->sum.longest_ns = -1;
		p->sum.at_ns = e->at_ns;
	}
	p->sum.count++;
	p->sum.bytes += r->module_load.bytes;
	p->sum.ptx += (r->aux & GP_MODULE_PTX) != 0;
	p->sum.untimed += took < 0;
	startup_sum(&p->sum.took_ns, took > 0 ? took : 0);
	if (took > p->sum.longest_ns) {
		p->sum.longest_ns = took;
		p->sum.at_ns = e->at_ns;
	}
}

/* Valid until the next call; NULL: out of memory. */
static struct thread *startup_thread(struct building *b, uint32_t number)
{
	struct thread *t = gp_row_of_key(&b->threads, sizeof *t, number);
	if (t != NULL)
		return t;
	t = gp_row_get_key(&b->threads, sizeof *t, number);
	if (t == NULL)
		b->is_out_of_memory = true;
	else
		t->compile_ns = -1;
	return t;
}

static bool is_compiler(const struct building *b, const struct gp_record *r)
{
	const char *name = r->range_push.source == GP_RANGE_TORCH ?
				   gp_recording_text(b->recording, GP_RANGE_NAME, r->aux) :
				   NULL;
	const size_t length = name != NULL ? strlen(name) : 0;
	return length >= sizeof COMPILER - 1 &&
	       strcmp(name + length - (sizeof COMPILER - 1), COMPILER) == 0;
}

/* The outermost range of the compiler on a thread counts. */
static void startup_range(struct building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	if (r->kind == GP_RANGE_PUSH && !is_compiler(b, r))
		return;
	struct thread *t = startup_thread(b, e->thread);
	if (t == NULL)
		return;
	if (r->kind == GP_RANGE_PUSH && t->compile_ns < 0) {
		t->compile_ns = e->at_ns;
		t->compile_depth = r->range_push.depth;
	} else if (r->kind == GP_RANGE_POP && t->compile_ns >= 0 &&
		   r->range_pop.depth <= t->compile_depth) {
		if (t->compile_ns <= b->out->to_ns)
			b->row[GP_STARTUP_COMPILE].count++;
		startup_span(b, GP_STARTUP_COMPILE, t->compile_ns, e->at_ns);
		t->compile_ns = -1;
	}
}

static void startup_capture(struct building *b, const struct gp_event *e)
{
	if (e->record.kind == GP_CAPTURE_BEGIN) {
		if (b->captures++ == 0)
			b->capture_ns = e->at_ns;
		if (e->at_ns <= b->out->to_ns)
			b->row[GP_STARTUP_CAPTURES].count++;
	} else if (b->captures != 0 && --b->captures == 0) {
		startup_span(b, GP_STARTUP_CAPTURES, b->capture_ns, e->at_ns);
	}
}

/* Of a context: the call that made it may be older than its definition. */
static void startup_context(struct building *b, const struct gp_record *r, int64_t at_ns)
{
	const struct gp_tick *tick = &b->recording->tick;
	const uint64_t made = r->context.made;
	b->contexts++;
	const uint64_t took = r->context.took < made ? r->context.took : made;
	if (took == 0)
		startup_call(b, GP_STARTUP_CONTEXTS, at_ns, -1, 0);
	else
		startup_call(b, GP_STARTUP_CONTEXTS, gp_tick_ns(tick, made),
			     gp_tick_ns(tick, made) - gp_tick_ns(tick, made - took), 0);
}

/* The duration of the call that the event is of; -1: unknown, or not of a call. */
static int64_t startup_took(const struct building *b, const struct gp_record *r)
{
	switch (r->kind) {
	case GP_COPY:
	case GP_WAIT:
		return gp_call_took_ns(b->recording, r);
	case GP_MODULE_LOAD:
		return gp_took_ns(b->recording, r, r->module_load.took);
	case GP_GRAPH_INSTANTIATE:
		return gp_took_ns(b->recording, r, r->graph_instantiate.took);
	default:
		return -1;
	}
}

static void startup_see(struct building *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const int64_t took = startup_took(b, r);
	if (gp_has_moment(r->kind) && !b->has_events)
		b->first_ns = e->at_ns - (took > 0 ? took : 0);
	b->has_events |= gp_has_moment(r->kind);
	if (gp_has_moment(r->kind) && e->at_ns > b->last_ns)
		b->last_ns = e->at_ns;
	switch (r->kind) {
	case GP_CONTEXT:
		startup_context(b, r, e->at_ns);
		break;
	case GP_MODULE_LOAD:
		if (r->code == 0)
			startup_load(b, e, took);
		break;
	case GP_GRAPH_INSTANTIATE:
		if (r->code == 0)
			startup_call(b, GP_STARTUP_GRAPHS, e->at_ns, took, 0);
		break;
	case GP_COPY:
	case GP_WAIT:
		if (e->at_ns <= b->step_ns)
			startup_call(b, GP_STARTUP_COPIES, e->at_ns, took,
				     r->kind == GP_COPY ? r->copy.bytes : 0);
		break;
	case GP_CAPTURE_BEGIN:
	case GP_CAPTURE_END:
		startup_capture(b, e);
		break;
	case GP_RANGE_PUSH:
	case GP_RANGE_POP:
		startup_range(b, e);
		break;
	case GP_LOST:
		if (r->lost.other != 0)
			b->captures = 0; /* its end may be lost */
		break;
	default:
		break;
	}
}

/* ---- rows ---- */

static int row_earlier(const void *left, const void *right)
{
	const struct gp_startup_row *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->part < b->part ? -1 : 1;
}

/* Each part gets the moments that no earlier part has. */
static enum gp_status startup_rows(struct building *b)
{
	struct gp_startup *out = b->out;
	struct gp_span_set all = { 0 };
	int64_t known = 0;
	enum gp_status status = GP_OK;
	for (unsigned part = 0; part < GP_STARTUP_PARTS && status == GP_OK; part++) {
		struct gp_startup_row *row = &b->row[part];
		row->part = part;
		if (part == GP_STARTUP_OTHER) {
			row->at_ns = gp_span_set_first_gap(&all, out->from_ns, out->to_ns);
			row->took_ns = out->to_ns - out->from_ns - known;
		} else {
			gp_span_set_settle(&b->part[part], out->from_ns, out->to_ns);
			if (!gp_span_set_unite(&all, &b->part[part]))
				status = GP_E_MEMORY;
			out->is_cut |= b->part[part].is_cut;
			const int64_t with = gp_span_set_ns(&all);
			row->took_ns = with - known;
			known = with;
		}
		if (row->at_ns < out->from_ns)
			row->at_ns = out->from_ns;
		if (row->count != 0 || row->took_ns > 0)
			out->row[out->rows++] = *row;
	}
	qsort(out->row, out->rows, sizeof *out->row, row_earlier);
	gp_span_set_release(&all);
	return status;
}

/* ---- lines ---- */

static int line_longest(const void *left, const void *right)
{
	const struct gp_startup_line *a = left, *b = right;
	if (a->took_ns != b->took_ns)
		return a->took_ns < b->took_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->key, b->key);
}

static void line_merge(struct gp_startup_line *to, const struct gp_startup_line *from)
{
	to->count += from->count;
	to->untimed += from->untimed;
	to->bytes += from->bytes;
	to->ptx += from->ptx;
	startup_sum(&to->took_ns, from->took_ns);
	if (from->longest_ns > to->longest_ns) {
		to->longest_ns = from->longest_ns;
		to->at_ns = from->at_ns;
		to->stack = from->stack;
	}
}

/* Lines by their text. */
struct startup_key {
	uint64_t key;
	size_t line; /* 1 + index; 0: new */
};

static enum gp_status line_add(struct building *b, const struct gp_startup_line *sum,
			       struct gp_read_stack *scratch)
{
	struct gp_startup *out = b->out;
	struct gp_line name;
	gp_line_find(b->recording, sum->stack, sum->at_ns, scratch, &name);
	const uint64_t hash =
		gp_identity_hash(gp_text_identity((struct gp_identity){ 1, 0 }, name.key));
	struct startup_key *known = gp_row_get_key(&b->lines, sizeof *known, hash);
	if (known == NULL)
		return GP_E_MEMORY;
	if (known->line != 0) {
		line_merge(&out->line[known->line - 1], sum);
		return GP_OK;
	}
	struct gp_startup_line *line = &out->line[out->lines];
	*line = *sum;
	line->without = name.without;
	line->file = name.file;
	line->line = name.line;
	line->key = strdup(name.key);
	if (line->key == NULL)
		return GP_E_MEMORY;
	known->line = ++out->lines;
	return GP_OK;
}

static enum gp_status startup_lines(struct building *b)
{
	struct gp_startup *out = b->out;
	struct gp_read_stack *scratch = malloc(sizeof *scratch);
	out->line = calloc((size_t)b->places.rows + 1, sizeof *out->line);
	enum gp_status status = scratch != NULL && out->line != NULL ? GP_OK : GP_E_MEMORY;
	for (uint32_t k = 0; k < b->places.rows && status == GP_OK; k++)
		status = line_add(b, &((struct place *)b->places.row)[k].sum, scratch);
	free(scratch);
	if (status == GP_OK)
		qsort(out->line, out->lines, sizeof *out->line, line_longest);
	return status;
}

/* ---- the whole ---- */

/* The first step, where the recording has the job's start. */
static enum gp_status startup_find_step(struct building *b)
{
	struct gp_steps steps;
	struct gp_startup *out = b->out;
	const struct gp_info *info;
	enum gp_status status = gp_recording_info(b->recording, &info);
	if (status != GP_OK)
		return status;
	if (info->kept_from_ns > 0 || info->is_late) {
		out->why = info->is_late ? "recording began when the job was under way" :
					   "the start of the recording was overwritten";
		return GP_OK;
	}
	status = gp_steps_find(b->recording, &steps);
	if (status != GP_OK)
		return status;
	out->no_step = steps.why;
	out->has_first_step = steps.steps != 0;
	if (out->has_first_step) {
		b->step_ns = steps.step[0].begin_ns;
		out->to_ns = steps.step[0].end_ns;
	}
	gp_steps_free(&steps);
	return gp_recording_rewind(b->recording);
}

/* Captures and ranges that are still under way end with the report. */
static void startup_close(struct building *b)
{
	struct gp_startup *out = b->out;
	const struct gp_file_header *header = &b->recording->file.header;
	const int64_t loaded_ns = gp_tick_ns(&b->recording->tick, header->loaded_ticks);
	out->has_program_start = header->loaded_ticks != 0 && loaded_ns <= b->first_ns;
	out->from_ns = loaded_ns;
	if (!out->has_program_start)
		out->from_ns = b->first_ns;
	/* a context may be older than the first recorded call */
	for (size_t k = 0; k < b->part[GP_STARTUP_CONTEXTS].spans && !out->has_program_start; k++)
		if (b->part[GP_STARTUP_CONTEXTS].span[k].from_ns < out->from_ns)
			out->from_ns = b->part[GP_STARTUP_CONTEXTS].span[k].from_ns;
	if (!out->has_first_step)
		out->to_ns = b->last_ns;
	if (out->to_ns < out->from_ns)
		out->to_ns = out->from_ns;
	if (b->captures != 0)
		startup_span(b, GP_STARTUP_CAPTURES, b->capture_ns, out->to_ns);
	for (uint32_t k = 0; k < b->threads.rows; k++) {
		const struct thread *t = &((const struct thread *)b->threads.row)[k];
		if (t->compile_ns < 0)
			continue;
		b->row[GP_STARTUP_COMPILE].count += t->compile_ns <= out->to_ns;
		startup_span(b, GP_STARTUP_COMPILE, t->compile_ns, out->to_ns);
	}
	startup_span(b, GP_STARTUP_BEFORE, out->from_ns, b->first_ns);
	if (out->has_first_step) {
		b->row[GP_STARTUP_FIRST_STEP].count = 1;
		startup_span(b, GP_STARTUP_FIRST_STEP, b->step_ns, out->to_ns);
	}
}

/* No later event changes a part. A context may be defined long after it was made. */
static bool startup_is_over(const struct building *b, const struct gp_event *e)
{
	return b->out->has_first_step && gp_has_moment(e->record.kind) &&
	       e->at_ns - b->out->to_ns > LATE_NS &&
	       b->contexts == b->recording->info.kept[GP_CONTEXT];
}

enum gp_status gp_startup_build(struct gp_recording *recording, struct gp_startup *out)
{
	struct building b = { .recording = recording, .out = out, .step_ns = INT64_MAX };
	struct gp_event e;
	*out = (struct gp_startup){ .to_ns = INT64_MAX };
	b.last_ns = INT64_MIN;
	for (unsigned part = 0; part < GP_STARTUP_PARTS; part++)
		b.row[part].at_ns = INT64_MAX;
	enum gp_status status = startup_find_step(&b);
	while (status == GP_OK && out->why == NULL &&
	       (status = gp_recording_next(recording, &e)) == GP_OK) {
		startup_see(&b, &e);
		if (b.is_out_of_memory)
			status = GP_E_MEMORY;
		else if (startup_is_over(&b, &e))
			status = gp_recording_end(recording);
	}
	if (out->why == NULL && status == GP_END && !b.has_events)
		out->why = "no calls were recorded";
	if (status == GP_END)
		status = GP_OK;
	if (status == GP_OK && out->why == NULL) {
		startup_close(&b);
		status = b.is_out_of_memory ? GP_E_MEMORY : startup_rows(&b);
	}
	if (status == GP_OK && out->why == NULL)
		status = startup_lines(&b);
	if (out->why != NULL)
		out->from_ns = out->to_ns = 0;
	for (unsigned part = 0; part < GP_STARTUP_PARTS; part++)
		gp_span_set_release(&b.part[part]);
	gp_row_table_release(&b.threads);
	gp_row_table_release(&b.places);
	gp_row_table_release(&b.lines);
	if (status != GP_OK)
		gp_startup_free(out);
	return status;
}

void gp_startup_free(struct gp_startup *startup)
{
	for (size_t k = 0; k < startup->lines; k++)
		free(startup->line[k].key);
	free(startup->line);
	*startup = (struct gp_startup){ 0 };
}
