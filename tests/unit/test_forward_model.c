/*
 * Forwards of random ranges on three threads, against a model that keeps all events and looks back
 * from each backward. Compared are the rows of the tree by path, their calls and launches, and the
 * counts of forwards that are left out.
 */
#include "forward_loops.h"

#define EVENTS 600u
#define THREADS 3u
struct model_event {
	char what;     /* '(' and ')' of a range, 'L' a launch */
	char letter;   /* name of the range */
	unsigned pair; /* index of its other end; EVENTS: none yet */
};
struct model_forward {
	enum { NOT_THERE, THERE, BY_THE_JOB, NOT_CLEAR } verdict;
	unsigned from, to, launches;
	bool is_behind_engine;
	char needs[8];
};
static struct model_event event[THREADS][EVENTS];
static unsigned events[THREADS];
static bool is_a_step[128]; /* by letter */

static bool is_open_at(const struct model_event *e, unsigned push, unsigned at)
{
	return e[push].what == '(' && push < at && e[push].pair >= at;
}

/* The last range of these letters before `at`; EVENTS: none. */
static unsigned last_of(const struct model_event *e, unsigned at, const char *letters)
{
	while (at-- > 0)
		if (e[at].what != 'L' && strchr(letters, e[at].letter) != NULL)
			return at;
	return EVENTS;
}

static bool is_in_a(const struct model_event *e, unsigned behind, unsigned at, char letter)
{
	for (unsigned k = behind; k < at; k++)
		if (e[k].letter == letter && is_open_at(e, k, at))
			return true;
	return false;
}

static unsigned count_launches(const struct model_event *e, unsigned from, unsigned to)
{
	unsigned launches = 0;
	for (unsigned k = from; k < to; k++)
		launches += e[k].what == 'L';
	return launches;
}

/*
 * Searches the events before `at`, where the engine or zero_grad is entered. The parts [bound[k],
 * bound[k + 1]) lie one inside the other. The first begins after the last fence and after the
 * ranges around it that ended. Each other part begins at a range that is still open.
 */
static struct model_forward look_back(const struct model_event *e, unsigned at)
{
	struct model_forward found = { .verdict = NOT_THERE };
	const unsigned fence = last_of(e, at, "dzoB");
	unsigned bound[16], part = 0;
	bound[0] = fence != EVENTS ? fence + 1 : 0;
	for (unsigned k = bound[0]; k < at; k++)
		if (fence != EVENTS && e[k].what == ')' && e[k].pair < fence)
			bound[0] = k + 1;
	for (unsigned k = 0; k < bound[0]; k++)
		if (e[k].letter == 'b' && is_open_at(e, k, at))
			return found;
	unsigned end = at;
	for (unsigned k = bound[0]; k < end; k++) {
		if (!is_open_at(e, k, at))
			continue;
		if (e[k].letter == 'b')
			end = k;
		else
			bound[++part] = k + 1;
	}
	for (;; end = bound[part--] - 1) {
		found.launches = count_launches(e, bound[part], end);
		found.verdict = fence == EVENTS && part == 0 ? NOT_CLEAR :
				found.launches		     ? THERE :
							       NOT_THERE;
		if (found.launches != 0 || part == 0)
			break;
	}
	if (found.launches == 0)
		return found;
	found.from = bound[part] - 1;
	found.to = end;
	found.is_behind_engine = part == 0 && fence != EVENTS && e[fence].letter == 'B';
	for (unsigned k = part; k-- > 0;) {
		const size_t needs = strlen(found.needs);
		if ((fence != EVENTS || k > 0) && count_launches(e, bound[k], bound[k + 1]) == 0)
			continue;
		if (needs == 4)
			found.verdict = NOT_CLEAR;
		else
			found.needs[needs] = e[bound[k + 1] - 1].letter;
	}
	unsigned in_named = 0;
	for (unsigned k = bound[part]; k < end; k++)
		in_named += e[k].what == 'L' && is_in_a(e, bound[part], k, 'f');
	const bool is_unknown = fence == EVENTS && part == 0;
	if (is_unknown ? in_named != 0 : in_named * 2 >= found.launches)
		found.verdict = BY_THE_JOB;
	for (unsigned k = 0; k < end; k++)
		if (e[k].letter == 'f' && is_open_at(e, k, at))
			found.verdict = BY_THE_JOB;
	return found;
}

/* The engine is entered at event `at`. */
static struct model_forward model_of(const struct model_event *e, unsigned at)
{
	struct model_forward found = look_back(e, at), before = { .verdict = NOT_THERE };
	const unsigned other = last_of(e, at, "doB");
	for (unsigned k = other != EVENTS ? other + 1 : 0; k < at; k++) {
		if (e[k].what != '(' || e[k].letter != 'z')
			continue;
		const struct model_forward there = look_back(e, k);
		before = there.verdict != NOT_THERE ? there : before;
	}
	if (before.verdict == NOT_THERE)
		return found;
	if (found.verdict == NOT_THERE) {
		found = before;
		if (found.verdict == THERE && found.is_behind_engine)
			found.verdict = NOT_CLEAR;
	} else if (found.verdict == THERE && found.launches <= 4) {
		found.verdict = before.verdict == BY_THE_JOB ? BY_THE_JOB : NOT_CLEAR;
	}
	return found;
}

/* Rows by their path, a letter for each range; D is the derived forward. */
static struct model_row {
	char path[12];
	unsigned calls, launches;
} row[8192];
static size_t rows;

static struct model_row *row_of(const char *path)
{
	size_t k = 0;
	while (k < rows && strcmp(row[k].path, path) != 0)
		k++;
	if (k == rows) {
		assert_true(rows < sizeof row / sizeof *row);
		strcpy(row[rows++].path, path);
	}
	return &row[k];
}

/*
 * The ranges that are open around event `at` of a thread; with the forward [from, to) if `at` lies
 * in it.
 */
static void path_of(const struct model_event *e, unsigned at, const struct model_forward *forward,
		    char *path)
{
	bool is_due = forward != NULL && at > forward->from && at < forward->to;
	for (unsigned k = 0; k < at; k++) {
		if (!is_open_at(e, k, at))
			continue;
		if (is_due && k > forward->from) {
			*path++ = 'D';
			is_due = false;
		}
		*path++ = e[k].letter;
	}
	if (is_due)
		*path++ = 'D';
	*path = '\0';
}

static void count_row(const struct model_event *e, unsigned at, const struct model_forward *forward)
{
	char path[12];
	path_of(e, at, forward, path);
	if (e[at].what == '(') {
		size_t n = strlen(path);
		path[n] = e[at].letter;
		path[n + 1] = '\0';
		row_of(path)->calls++;
	}
	for (size_t n = strlen(path); e[at].what == 'L' && n > 0; n--) {
		path[n] = '\0';
		row_of(path)->launches++;
	}
	if (forward != NULL && at == forward->from + 1) {
		path_of(e, at, forward, path);
		*(strchr(path, 'D') + 1) = '\0';
		row_of(path)->calls++;
	}
}

static unsigned verdicts[4];

static void count_thread(const struct model_event *e, unsigned n)
{
	static struct model_forward forward[EVENTS];
	size_t forwards = 0;
	for (unsigned k = 0; k < n; k++) {
		if (e[k].what != '(' || e[k].letter != 'B' || is_in_a(e, 0, k, 'B'))
			continue;
		struct model_forward found = model_of(e, k);
		for (const char *need = found.needs; *need && found.verdict == THERE; need++)
			found.verdict = is_a_step[(unsigned)*need] ? THERE : NOT_CLEAR;
		verdicts[found.verdict]++;
		if (found.verdict == THERE)
			forward[forwards++] = found;
	}
	for (unsigned k = 0; k < n; k++) {
		const struct model_forward *in = NULL;
		for (size_t i = 0; i < forwards; i++)
			if (k > forward[i].from && k <= forward[i].to)
				in = &forward[i];
		count_row(e, k, in);
	}
}

static void put_random(struct writer *w, unsigned thread, uint64_t seed)
{
	/* the letters that loops consist of are more frequent */
	static const char letters[] = "dzzoBBBsmfbelx";
	struct model_event *e = event[thread];
	unsigned *n = &events[thread], what = (unsigned)(seed >> 40) % 10;
	unsigned depth = 0, innermost = EVENTS;
	for (unsigned k = 0; k < *n; k++)
		if (is_open_at(e, k, *n)) {
			innermost = k;
			depth++;
		}
	struct model_event *now = &e[*n];
	*now = (struct model_event){ 'L', 0, EVENTS };
	if (what < 3 && depth < 5) {
		*now = (struct model_event){ '(', letters[(seed >> 20) % (sizeof letters - 1)],
					     EVENTS };
		for (unsigned k = 0; strchr("dzo", now->letter) && k < *n; k++)
			if (is_open_at(e, k, *n) && !is_in_a(e, 0, *n, 'B'))
				is_a_step[(unsigned)e[k].letter] |=
					strchr("smelx", e[k].letter) != NULL;
		put_open(w, thread, now->letter);
	} else if (what < 6 && depth > 0) {
		*now = (struct model_event){ ')', e[innermost].letter, innermost };
		e[innermost].pair = *n;
		put_end(w, thread);
	} else {
		put_launches(w, thread, 1);
	}
	++*n;
}

static char letter_of(const struct gp_phase *phase)
{
	if (phase->source == GP_RANGE_DERIVED)
		return 'D';
	for (size_t k = 0; k < NAMES; k++)
		if (strcmp(range_names[k].text, phase->name) == 0)
			return range_names[k].letter;
	return '?';
}

static void assert_rows(const struct gp_phases *p)
{
	char path[12] = "";
	size_t seen = 0;
	for (size_t k = 0; k < p->phases; k++) {
		const struct gp_phase *phase = &p->phase[k];
		if (phase->style != GP_PHASE_NESTED)
			continue;
		path[phase->depth] = letter_of(phase);
		path[phase->depth + 1] = '\0';
		const struct model_row *expected = row_of(path);
		if (phase->calls != expected->calls || phase->launches != expected->launches)
			fail_msg("%s: %u calls, %u launches, not %u, %u", path,
				 (unsigned)phase->calls, (unsigned)phase->launches, expected->calls,
				 expected->launches);
		seen++;
	}
	assert_int_equal(seen, rows);
}

static void random_ranges_match_a_model(void **state)
{
	(void)state;
	uint64_t seed = 88172645463325252u;
	unsigned derived = 0;
	for (unsigned turn = 0; turn < 40; turn++) {
		struct writer w;
		struct gp_phases p;
		start(&w, "random.gpr");
		define_thread(&w, 3, "pt_autograd_0");
		memset(events, 0, sizeof events);
		memset(verdicts, 0, sizeof verdicts);
		memset(is_a_step, 0, sizeof is_a_step);
		memset(row, 0, sizeof row);
		rows = 0;
		for (unsigned k = 0; k < EVENTS; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			put_random(&w, (unsigned)(seed >> 60) % THREADS, seed);
		}
		for (unsigned t = 0; t < THREADS; t++)
			count_thread(event[t], events[t]);
		struct gp_recording *r = finish(&w, &p);
		assert_int_equal(p.forwards, verdicts[THERE]);
		assert_int_equal(p.forwards_named, verdicts[BY_THE_JOB]);
		assert_int_equal(p.forwards_none, verdicts[NOT_THERE]);
		assert_int_equal(p.forwards_unclear, verdicts[NOT_CLEAR]);
		assert_rows(&p);
		derived += verdicts[THERE];
		close_all(r, &p);
		unlink(w.path);
	}
	assert_true(derived > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_ranges_match_a_model),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
