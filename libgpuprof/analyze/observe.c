/*
 * One replay for all analyses. Each event is passed to those that look at it before, then applied,
 * then passed to those that look at it after. An analysis that needs no more is left out, and the
 * replay ends with the last one.
 */
#include "observe.h"

#include "settle.h"

/* The most analyses of one replay. */
#define TOGETHER 8u

typedef enum gp_status observe_see(void *context, uint32_t thread, const struct gp_record *record);

/* The functions that are still called. */
struct calls {
	struct {
		observe_see *see;
		void *context;
		struct gp_analysis *analysis;
	} call[TOGETHER];
	size_t calls;
};

struct observing {
	struct gp_recording *recording;
	struct gp_analysis *analysis;
	size_t analyses;
	size_t left;	  /* that need further events */
	bool is_one_over; /* and is still among the calls */
	bool needs_moved;
	struct calls before, after;
	const struct gp_live *live; /* the state, and its checkpoint */
	size_t loaded;
};

static void moved_see(struct observing *o)
{
	bool has_host;
	const uint64_t devices = gp_live_take_all_moved(o->recording->live, &has_host);
	if (devices == 0 && !has_host)
		return;
	for (size_t k = 0; k < o->analyses; k++)
		if (o->analysis[k].moved != NULL) {
			o->analysis[k].moved->devices |= devices;
			o->analysis[k].moved->has_host |= has_host;
		}
}

/* A checkpoint was loaded. */
static void loaded_see(struct observing *o)
{
	o->live = o->recording->live;
	o->loaded = o->recording->loaded;
	moved_see(o);
}

static void calls_add(struct calls *s, observe_see *see, struct gp_analysis *a)
{
	if (see == NULL || a->is_over)
		return;
	s->call[s->calls].see = see;
	s->call[s->calls].context = a->context;
	s->call[s->calls++].analysis = a;
}

static void calls_list(struct observing *o)
{
	o->before.calls = o->after.calls = 0;
	o->is_one_over = false;
	for (size_t k = 0; k < o->analyses; k++) {
		calls_add(&o->before, o->analysis[k].observer.before, &o->analysis[k]);
		calls_add(&o->after, o->analysis[k].observer.after, &o->analysis[k]);
	}
}

/* The analysis needs no further event. */
static enum gp_status observe_end(struct observing *o, struct gp_analysis *a)
{
	a->is_over = true;
	o->left--;
	o->is_one_over = true;
	return a->observer.end != NULL ? a->observer.end(a->context) : GP_OK;
}

static inline __attribute__((always_inline)) enum gp_status
calls_make(struct observing *o, const struct calls *s, uint32_t thread,
	   const struct gp_record *record)
{
	for (size_t k = 0; k < s->calls; k++) {
		enum gp_status status = s->call[k].see(s->call[k].context, thread, record);
		if (__builtin_expect(status == GP_END, 0))
			status = observe_end(o, s->call[k].analysis);
		if (__builtin_expect(status != GP_OK, 0))
			return status;
	}
	return GP_OK;
}

static enum gp_status observe_begin(struct observing *o)
{
	enum gp_status status = gp_recording_rewind(o->recording);
	if (status == GP_OK)
		loaded_see(o);
	for (size_t k = 0; k < o->analyses && status == GP_OK; k++) {
		struct gp_analysis *a = &o->analysis[k];
		a->is_over = false;
		o->needs_moved |= a->moved != NULL;
		if (a->observer.begin != NULL)
			status = a->observer.begin(a->context);
	}
	return status;
}

static enum gp_status observe_replay(struct observing *o)
{
	struct gp_recording *r = o->recording;
	enum gp_status status = observe_begin(o);
	o->left = o->analyses;
	calls_list(o);
	while (status == GP_OK && o->left > 0) {
		uint32_t thread = 0;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		if (r->live != o->live || r->loaded != o->loaded)
			loaded_see(o);
		status = calls_make(o, &o->before, thread, record);
		if (__builtin_expect(o->is_one_over, 0))
			calls_list(o);
		if (status == GP_OK && o->left > 0)
			status = gp_recording_apply(r, record);
		if (status != GP_OK || o->left == 0)
			continue;
		if (o->needs_moved)
			moved_see(o);
		status = calls_make(o, &o->after, thread, record);
		if (__builtin_expect(o->is_one_over, 0))
			calls_list(o);
	}
	if (status != GP_END)
		return status;
	status = GP_OK;
	for (size_t k = 0; k < o->analyses && status == GP_OK; k++)
		if (!o->analysis[k].is_over)
			status = observe_end(o, &o->analysis[k]);
	return status;
}

static enum gp_status observe_attempt(void *observing, const struct gp_info *info)
{
	struct observing *o = observing;
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < o->analyses && status == GP_OK; k++)
		if (o->analysis[k].prepare != NULL)
			status = o->analysis[k].prepare(o->analysis[k].context, info);
	if (status == GP_OK)
		status = observe_replay(o);
	for (size_t k = 0; k < o->analyses && status == GP_OK; k++)
		status = o->analysis[k].answer(o->analysis[k].context, info);
	for (size_t k = 0; k < o->analyses; k++)
		o->analysis[k].settle(o->analysis[k].context);
	return status;
}

static void observe_forget(void *observing)
{
	struct observing *o = observing;
	for (size_t k = 0; k < o->analyses; k++)
		o->analysis[k].forget(o->analysis[k].context);
}

enum gp_status gp_analyse_once(struct gp_recording *recording, struct gp_analysis *analysis,
			       size_t analyses)
{
	if (analyses > TOGETHER)
		return GP_E_ARGUMENT;
	struct observing o = { .recording = recording, .analysis = analysis, .analyses = analyses };
	const struct gp_info *info;
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK)
		status = observe_attempt(&o, info);
	if (status != GP_OK)
		observe_forget(&o);
	return status;
}

enum gp_status gp_analyse(struct gp_recording *recording, struct gp_analysis *analysis,
			  size_t analyses)
{
	if (analyses > TOGETHER)
		return GP_E_ARGUMENT;
	struct observing o = { .recording = recording, .analysis = analysis, .analyses = analyses };
	enum gp_status status =
		gp_retry_if_overwritten(recording, observe_attempt, observe_forget, &o);
	if (status != GP_OK)
		observe_forget(&o);
	return status;
}
