/*
 * Paths are nodes of a tree of names. An allocation is identified by its order: an array of runs
 * has the path of each run of memory events. So frees need no handling.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "../../state/looks.h"
#include "phase_follow.h"
#include "phase_kind.h"
#include "range_fold.h"
#include "range_path.h"

#define RUNS_A_LOOK 4u /* runs that move in memory for one look */

/* Memory events without a hole between them. */
struct run {
	uint64_t order, count;
	uint32_t node; /* 0: outside */
};

struct made {
	struct gp_range_path path;
	uint32_t node;
};

struct started_path {
	uint64_t key;
	uint32_t name, domain;
	struct gp_range_path path; /* its texts when it is requested */
};

struct gp_range_paths {
	struct gp_recording *recording;
	struct gp_phase_follow follow;
	struct gp_range_watch watch;
	struct gp_phase_tree tree;
	struct made **made; /* by node; NULL: not needed */
	size_t makes;
	struct gp_range_fold fold; /* of these paths and possibly others */
	struct run *run;	   /* sorted by order */
	size_t runs, room;
	struct gp_looks looks; /* for moving runs when a late event comes between */
	/* calls by number, if requested; a mark has the number in its upper half */
	struct gp_range_call *call;
	size_t calls, call_room, calls_most;
	uint64_t calls_beyond;
	struct gp_row_table started; /* struct started_path */
	uint32_t thread;	     /* of the event that is seen */
	bool has_any;		     /* a range was opened */
	bool is_out_of_memory;
};

static const struct gp_range_path outside = { .known = GP_RANGE_OUTSIDE },
				  ambiguous = { .known = GP_RANGE_AMBIGUOUS },
				  beyond = { .known = GP_RANGE_BEYOND },
				  unrecorded = { .known = GP_RANGE_UNRECORDED };

/* ---- ranges ---- */

static uint32_t node_get(struct gp_range_paths *p, uint32_t up, const struct gp_open_range *range,
			 enum gp_phase_style style)
{
	uint32_t node =
		gp_phase_tree_get(&p->tree, up, range->name, range->domain, range->source, style);
	p->is_out_of_memory |= node == 0;
	if (node != 0)
		gp_phase_node_at(&p->tree, node)->is_seen = true;
	return node;
}

static uint32_t node_of_mark(struct gp_range_paths *p, uint64_t mark, bool is_ambiguous)
{
	if (is_ambiguous)
		return node_get(p, 0, &(struct gp_open_range){ 0 }, GP_PHASE_AMBIGUOUS);
	return (uint32_t)mark;
}

static void call_end(struct gp_range_call *call, int64_t at_ns)
{
	call->end_ns = at_ns > call->begin_ns ? at_ns : call->begin_ns;
}

/*
 * The mark of a range: its node, or its row in `started`, and the number of the call. A damaged
 * recording has ranges with a number that are on a stack.
 */
static uint64_t call_add(struct gp_range_paths *p, uint32_t up, uint32_t node,
			 const struct gp_open_range *range, bool is_started)
{
	if (p->calls >= p->calls_most) {
		p->calls_beyond += p->calls_most != 0;
		return node;
	}
	if (!gp_array_reserve(&p->call, &p->call_room, p->calls, 2, sizeof *p->call)) {
		p->is_out_of_memory = true;
		return node;
	}
	p->call[++p->calls] = (struct gp_range_call){
		.up = up,
		.node = node,
		.thread = range->thread,
		.end_thread = range->thread,
		.is_started = is_started,
		.begin_ns = gp_tick_ns(&p->recording->tick, range->time),
	};
	call_end(&p->call[p->calls], (int64_t)p->recording->info.duration_ns);
	return (uint64_t)p->calls << 32 | node;
}

/* Not in the tree: their names may be as many as the requests of a server. */
static uint32_t started_get(struct gp_range_paths *p, const struct gp_open_range *range)
{
	const uint64_t key = gp_hash_pair(gp_hash_pair(range->name, range->domain), range->source);
	struct started_path *s = gp_row_get_key(&p->started, sizeof *s, key);
	p->is_out_of_memory |= s == NULL;
	if (s == NULL)
		return 0;
	s->name = range->name;
	s->domain = range->domain;
	s->path.source = range->source;
	return (uint32_t)(s - (struct started_path *)p->started.row);
}

static void see_opened(void *context, struct gp_open_range *range,
		       const struct gp_range_stack *stack)
{
	struct gp_range_paths *p = context;
	bool is_ambiguous;
	if (stack == NULL && range->source != GP_RANGE_DERIVED) { /* it is a started range */
		if (p->calls_most != 0)
			range->mark = call_add(p, 0, started_get(p, range), range, true);
		return;
	}
	const uint64_t up = gp_phase_follow_up(&p->follow, range, &is_ambiguous);
	const uint32_t node =
		node_get(p, node_of_mark(p, up, is_ambiguous), range, GP_PHASE_NESTED);
	range->mark = call_add(p, is_ambiguous ? 0 : (uint32_t)(up >> 32), node, range, false);
	p->has_any = !p->is_out_of_memory;
	if (p->has_any)
		gp_phase_node_at(&p->tree, node)->own.calls++;
}

static void range_path_closed(void *context, const struct gp_open_range *range,
			      enum gp_range_end how, const struct gp_record *by)
{
	struct gp_range_paths *p = context;
	(void)how;
	if (range->mark >> 32 == 0)
		return;
	struct gp_range_call *call = &p->call[range->mark >> 32];
	call_end(call, gp_tick_ns(&p->recording->tick, by->time));
	call->end_thread = call->is_started ? p->thread : call->thread;
}

static uint32_t node_of(struct gp_range_paths *p, uint32_t thread)
{
	bool is_ambiguous;
	if (!p->has_any)
		return 0;
	const uint64_t mark = gp_phase_follow_mark(&p->follow, thread, &is_ambiguous);
	return node_of_mark(p, mark, is_ambiguous);
}

/* ---- memory events ---- */

/* The index of the first run that begins after `order`. */
static size_t run_behind(const struct gp_range_paths *p, uint64_t order)
{
	return gp_row_rank(p->run, p->runs, sizeof *p->run, order);
}

static void add_run(struct gp_range_paths *p, size_t at, uint64_t order, uint32_t node)
{
	if (!gp_array_reserve(&p->run, &p->room, p->runs, 1, sizeof *p->run)) {
		p->is_out_of_memory = true;
		return;
	}
	memmove(&p->run[at + 1], &p->run[at], (p->runs - at) * sizeof *p->run);
	p->run[at] = (struct run){ .order = order, .count = 1, .node = node };
	p->runs++;
}

/* The path of such events is never needed: they join the run before. */
static bool ends_something(const struct gp_record *r)
{
	return r->kind == GP_FREE || r->kind == GP_BLOCK_FREE || r->kind == GP_BLOCK_COMPLETED;
}

static void keep_order(struct gp_range_paths *p, uint32_t thread, const struct gp_record *r)
{
	struct run *last = p->runs > 0 ? &p->run[p->runs - 1] : NULL;
	const bool is_next = last != NULL && r->order == last->order + last->count;
	const uint32_t node = is_next && ends_something(r) ? last->node : node_of(p, thread);
	if (is_next && last->node == node) {
		last->count++;
		return;
	}
	/* a late event comes before others, in a hole */
	size_t at = last == NULL || r->order >= last->order ? p->runs : run_behind(p, r->order);
	bool is_new = at == 0 || r->order - p->run[at - 1].order >= p->run[at - 1].count;
	if (is_new && gp_looks_take(&p->looks, (p->runs - at) / RUNS_A_LOOK))
		add_run(p, at, r->order, node);
}

void gp_range_paths_see(struct gp_range_paths *p, uint32_t thread, const struct gp_record *r)
{
	p->thread = thread;
	gp_phase_follow_end(&p->follow);
	gp_phase_follow_before(&p->follow, r);
	gp_phase_follow_apply(&p->follow, thread, r);
	if (r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY)
		keep_order(p, thread, r);
	gp_looks_add(&p->looks);
}

/* ---- paths ---- */

/* The path of that node, empty at first; NULL: out of memory. */
static struct made *made_get(struct gp_range_paths *p, uint32_t number)
{
	if (!gp_array_reach(&p->made, &p->makes, number, sizeof(struct made *)))
		return NULL;
	if (p->made[number] == NULL)
		p->made[number] = calloc(1, sizeof(struct made));
	return p->made[number];
}

static const struct gp_range_path *path_of(struct gp_range_paths *p, uint32_t number)
{
	if (number == 0 || p->is_out_of_memory)
		return &outside;
	const struct gp_phase_node *node = gp_phase_node_at(&p->tree, number);
	if (node->style != GP_PHASE_NESTED)
		return node->style == GP_PHASE_AMBIGUOUS ? &ambiguous : &beyond;
	struct made *made = made_get(p, number);
	if (made == NULL) {
		p->is_out_of_memory = true;
		return &outside;
	}
	struct gp_range_path *path = &made->path;
	if (made->node == 0) {
		made->node = number;
		path->source = node->source;
		path->up = node->parent != 0 ? path_of(p, node->parent) : NULL;
	}
	/* the record of a name may follow its use */
	if (path->name == NULL) {
		path->name = gp_phase_node_text(node, p->recording);
		path->domain = gp_phase_node_domain(node, p->recording);
	}
	return path;
}

const struct gp_range_path *gp_range_paths_of(struct gp_range_paths *p, uint32_t thread)
{
	return path_of(p, node_of(p, thread));
}

void gp_range_paths_keep_calls(struct gp_range_paths *p, size_t most)
{
	p->calls_most = most;
}

uint32_t gp_range_paths_call(struct gp_range_paths *p, uint32_t thread)
{
	bool is_ambiguous;
	const uint64_t mark =
		p->has_any ? gp_phase_follow_mark(&p->follow, thread, &is_ambiguous) : 0;
	return mark != 0 && !is_ambiguous ? (uint32_t)(mark >> 32) : 0;
}

const struct gp_range_call *gp_range_paths_calls(const struct gp_range_paths *p, size_t *calls)
{
	*calls = p->calls;
	return p->call;
}

uint64_t gp_range_paths_beyond(const struct gp_range_paths *p)
{
	return p->calls_beyond;
}

const struct gp_range_path *gp_range_paths_called(struct gp_range_paths *p,
						  const struct gp_range_call *call)
{
	if (!call->is_started || p->is_out_of_memory)
		return path_of(p, call->node);
	struct started_path *s = (struct started_path *)p->started.row + call->node;
	const struct gp_phase_node node = { .name = s->name,
					    .domain = s->domain,
					    .source = s->path.source };
	s->path.name = gp_phase_node_text(&node, p->recording);
	s->path.domain = gp_phase_node_domain(&node, p->recording);
	return &s->path;
}

const struct gp_range_path *gp_range_paths_at(struct gp_range_paths *p, uint64_t order)
{
	size_t behind = run_behind(p, order);
	const struct run *run = behind > 0 ? &p->run[behind - 1] : NULL;
	if (run == NULL || order - run->order >= run->count)
		return &unrecorded;
	return path_of(p, run->node);
}

void gp_range_paths_forget(struct gp_range_paths *p)
{
	if (p->runs < 2)
		return;
	p->run[0] = p->run[p->runs - 1];
	p->runs = 1;
}

/* Sets the folded path of each path that was returned. */
static bool set_folded(struct gp_range_paths *p, const struct gp_range_fold *fold,
		       const uint32_t *into)
{
	for (uint32_t k = 1; k < p->makes; k++) {
		if (p->made[k] == NULL)
			continue;
		path_of(p, k); /* its name may be known by now */
		p->made[k]->path.folded = gp_range_fold_at(fold, into[k]);
	}
	return !p->is_out_of_memory;
}

static bool fold_all(struct gp_range_paths *const *paths, size_t count, uint32_t **into,
		     struct gp_range_fold *fold)
{
	bool is_fine = true;
	for (size_t k = 0; k < count && is_fine; k++) {
		const struct gp_range_paths *p = paths[k];
		if (p == NULL)
			continue;
		into[k] = calloc((size_t)p->tree.nodes.rows + 1, sizeof **into);
		is_fine =
			into[k] != NULL && gp_range_fold_add(fold, &p->tree, p->recording, into[k]);
	}
	is_fine = is_fine && gp_range_fold_settle(fold);
	for (size_t k = 0; k < count && is_fine; k++)
		is_fine = paths[k] == NULL || set_folded(paths[k], fold, into[k]);
	return is_fine;
}

enum gp_status gp_range_paths_fold(struct gp_range_paths *const *paths, size_t count)
{
	struct gp_range_fold fold = { 0 };
	uint32_t **into = calloc(count + 1, sizeof(uint32_t *));
	const bool is_fine = into != NULL && fold_all(paths, count, into, &fold);
	for (size_t k = 0; k < count && is_fine; k++) {
		if (paths[k] == NULL)
			continue;
		gp_range_fold_release(&paths[k]->fold);
		paths[k]->fold = fold;
		fold = (struct gp_range_fold){ 0 };
	}
	gp_range_fold_release(&fold);
	for (size_t k = 0; k < count && into != NULL; k++)
		free(into[k]);
	free(into);
	return is_fine ? GP_OK : GP_E_MEMORY;
}

enum gp_status gp_range_paths_status(const struct gp_range_paths *p)
{
	return p->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

static struct gp_range_paths *make(struct gp_recording *recording)
{
	struct gp_range_paths *p = calloc(1, sizeof *p);
	if (p == NULL)
		return NULL;
	p->recording = recording;
	gp_looks_open(&p->looks);
	p->watch = (struct gp_range_watch){ .opened = see_opened,
					    .closed = range_path_closed,
					    .context = p };
	return p;
}

enum gp_status gp_range_paths_open(struct gp_recording *recording, struct gp_range_paths **out)
{
	struct gp_range_paths *p = *out = make(recording);
	if (p == NULL)
		return GP_E_MEMORY;
	return gp_phase_follow_open(&p->follow, recording, false, &p->watch);
}

enum gp_status gp_range_paths_prepare(struct gp_recording *recording, struct gp_range_paths **out)
{
	struct gp_range_paths *p = *out = make(recording);
	if (p == NULL)
		return GP_E_MEMORY;
	return gp_phase_follow_prepare(&p->follow, recording,
				       gp_phases_by(&recording->info) == GP_PHASES_BY_FRAMES, false,
				       &p->watch);
}

enum gp_status gp_range_paths_begin(struct gp_range_paths *p)
{
	return gp_phase_follow_begin(&p->follow);
}

enum gp_status gp_range_paths_derive(struct gp_recording *recording, struct gp_range_paths **out)
{
	enum gp_status status = gp_range_paths_prepare(recording, out);
	if (status == GP_OK)
		status = gp_recording_rewind(recording);
	return status == GP_OK ? gp_range_paths_begin(*out) : status;
}

void gp_range_paths_close(struct gp_range_paths *p)
{
	if (p == NULL)
		return;
	gp_phase_follow_close(&p->follow);
	gp_phase_tree_release(&p->tree);
	for (size_t k = 0; k < p->makes; k++)
		free(p->made[k]);
	free(p->made);
	gp_range_fold_release(&p->fold);
	free(p->run);
	free(p->call);
	gp_row_table_release(&p->started);
	free(p);
}

/* ---- texts ---- */

#define DEEP (2u * GP_RANGES_DEEP) /* of its own thread, inside those of the thread in the engine */
static const char between[] = " > ";

static const char *name_of(const struct gp_range_path *path)
{
	static const char *const others[] = {
		[GP_RANGE_OUTSIDE] = "(outside of any range)",
		[GP_RANGE_AMBIGUOUS] = "(ambiguous)",
		[GP_RANGE_BEYOND] = "(further ranges)",
		[GP_RANGE_UNRECORDED] = "(not known: from before what is kept, or lost)",
	};
	if (path->known != GP_RANGE_IN)
		return others[path->known];
	if (path->name == NULL)
		return path->source == GP_RANGE_ENGINE ? "(autograd engine)" : "(no name)";
	return path->name[0] != '\0' ? path->name : "\"\"";
}

static const char *domain_of(const struct gp_range_path *path)
{
	return path->domain != NULL ? path->domain : "";
}

static const char *label_of(const struct gp_range_path *path)
{
	return path->source == GP_RANGE_FRAMES ? " (frames)" : "";
}

void gp_range_path_text(const struct gp_range_path *path, char *out, size_t room)
{
	static const char left_out[] = "... > ";
	const char *label = label_of(path);
	const struct gp_range_path *chain[DEEP];
	size_t deep = 0, used = sizeof left_out + strlen(label);
	for (; path != NULL && deep < DEEP; path = path->up) {
		used += strlen(name_of(path)) + strlen(domain_of(path)) + sizeof between;
		if (deep > 0 && used > room)
			break;
		chain[deep++] = path;
	}
	used = (size_t)snprintf(out, room, "%s", path != NULL ? left_out : "");
	for (size_t k = deep; k-- > 0 && used < room;)
		used += (size_t)snprintf(out + used, room - used, "%s%s%s%s", domain_of(chain[k]),
					 chain[k]->domain != NULL ? ":" : "", name_of(chain[k]),
					 k > 0 ? between : label);
}

void gp_range_path_own_text(const struct gp_range_path *path, char *out, size_t room)
{
	snprintf(out, room, "%s:%s%s", domain_of(path), name_of(path), label_of(path));
}

struct gp_identity gp_range_identity(struct gp_identity before, const struct gp_range_path *path)
{
	before = gp_text_identity(before, path != NULL ? label_of(path) : NULL);
	for (; path != NULL; path = path->up) {
		before = gp_text_identity(before, domain_of(path));
		before = gp_text_identity(before, name_of(path));
	}
	return before;
}

/* ---- matching ---- */

#define NAME_ROOM (2u * GP_RANGE_NAME_MAX + 2u) /* with its domain */

/*
 * Matches "forward", "layer*", "job:forward", and the texts that reports use for paths without a
 * name.
 */
static bool is_shown_as(const struct gp_range_path *path, const char *pattern)
{
	char whole[NAME_ROOM];
	if (strcmp(name_of(path), pattern) == 0)
		return true;
	if (path->known != GP_RANGE_IN || path->name == NULL)
		return false;
	if (fnmatch(pattern, path->name, 0) == 0)
		return true;
	const int used = snprintf(whole, sizeof whole, "%s:%s", domain_of(path), name_of(path));
	return path->domain != NULL && (size_t)used < sizeof whole &&
	       (strcmp(whole, pattern) == 0 || fnmatch(pattern, whole, 0) == 0);
}

/* Matches the job's own name, or the name that it is folded to. */
static bool is_called(const struct gp_range_path *path, const char *pattern)
{
	return is_shown_as(path, pattern) ||
	       (path->folded != NULL && is_shown_as(path->folded, pattern));
}

/* The index after the last " > " of the first `length` letters. */
static size_t last_part(const char *pattern, size_t length)
{
	const size_t n = strlen(between);
	while (length > n && memcmp(pattern + length - n, between, n) != 0)
		length--;
	return length > n ? length : 0;
}

/* True: "..." stands for outer ranges that the text had no room for. */
static bool is_left_out(const struct gp_range_path *path, const char *pattern, size_t length)
{
	return path != NULL && length == 3 && memcmp(pattern, "...", 3) == 0;
}

/*
 * "step > forward": matches the latter directly inside the former. A name may contain " > " as
 * well, so each one is tried as the separator.
 */
static bool ends_with(const struct gp_range_path *path, const char *pattern, size_t length)
{
	char part[NAME_ROOM];
	size_t at = length, behind = length;
	while (path != NULL && at > 0) {
		at = last_part(pattern, behind);
		if (length - at >= sizeof part)
			return false;
		memcpy(part, pattern + at, length - at);
		part[length - at] = '\0';
		behind = at > 0 ? at - strlen(between) : 0;
		if (is_called(path, part) && (at == 0 || is_left_out(path->up, pattern, behind) ||
					      ends_with(path->up, pattern, behind)))
			return true;
	}
	return false;
}

bool gp_range_path_has(const struct gp_range_path *path, const char *name)
{
	size_t length = strlen(name);
	const char *label = path != NULL ? label_of(path) : "";
	const size_t n = strlen(label);
	if (length > n && strcmp(name + length - n, label) == 0)
		length -= n;
	for (; path != NULL; path = path->up)
		if (is_called(path, name) || ends_with(path, name, length))
			return true;
	return false;
}

const struct gp_range_path *gp_range_path_shown(const struct gp_range_path *path,
						const char *pattern)
{
	const bool is_folded = path != NULL && path->folded != NULL &&
			       (pattern == NULL || gp_range_path_has(path->folded, pattern));
	return is_folded ? path->folded : path;
}

const struct gp_range_path *gp_range_path_phase(const struct gp_range_path *path)
{
	const struct gp_range_path *phase = path;
	for (; path != NULL; path = path->up)
		if (path->known == GP_RANGE_IN &&
		    (path->source == GP_RANGE_FRAMES ||
		     gp_phase_kind_of(path->source, path->name) != GP_PHASE_OTHER))
			phase = path;
	return phase;
}
