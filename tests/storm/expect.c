/*
 * The judge of the victims: compares their claims with every recording that they left, and prints
 * each difference.
 *
 *   expect CLAIMS RECORDING...
 *
 * A claim is "PID = KEY VALUE", with >= or <= likewise; pid 0 stands for the whole run (key
 * `recordings`). Keys: the name of an event kind (number of events), lost_memory, lost_launch,
 * lost_other, stacks_cut, framework_events, mismatches, anomalies, threads, complete, captures,
 * recordings, {driver,reserved,allocated}_peak:DEVICE. Counts of one pid's recordings (exec) are
 * added up. Every recording must be undamaged and, unless claimed otherwise, have 0 mismatches and
 * 0 anomalies. A busy machine may give the recorder no processor for long. The recorder counts the
 * events that it then loses: recorded and lost memory events together are those that happened, and
 * peaks may be too low. A process with few memory events must lose none, however late the recorder
 * runs. Exit 0: all claims hold. 1: a claim failed. 2: usage.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../libgpuprof/gpuprof.h"

#define KEY_BYTES 64
#define FEW_EVENTS 256 /* half of the first size of each ring */

struct figure {
	unsigned pid;
	char key[KEY_BYTES];
	uint64_t value;
};

static struct figure *figures;
static size_t figure_count, figure_room;
static unsigned failures, checks;

static struct figure *figure_find(unsigned pid, const char *key)
{
	for (size_t i = 0; i < figure_count; i++)
		if (figures[i].pid == pid && strcmp(figures[i].key, key) == 0)
			return &figures[i];
	return NULL;
}

static struct figure *figure_get(unsigned pid, const char *key)
{
	struct figure *found = figure_find(pid, key);
	if (found)
		return found;
	if (figure_count == figure_room) {
		figure_room = figure_room ? figure_room * 2 : 1024;
		figures = realloc(figures, figure_room * sizeof *figures);
		if (!figures)
			abort();
	}
	found = &figures[figure_count++];
	*found = (struct figure){ .pid = pid };
	snprintf(found->key, sizeof found->key, "%s", key);
	return found;
}

static void add(unsigned pid, const char *key, uint64_t value)
{
	figure_get(pid, key)->value += value;
}

static void fail(const char *path, const char *what, uint64_t expected, uint64_t found)
{
	printf("not so: %s: %s: expected %" PRIu64 ", found %" PRIu64 "\n", path, what, expected,
	       found);
	failures++;
}

static void read_peaks(struct gp_recording *recording, unsigned pid, const char *path)
{
	static const char *const name[GP_CURVES] = { "driver_peak", "reserved_peak",
						     "allocated_peak" };
	struct gp_timeline timeline;
	enum gp_status status = gp_timeline_build(recording, 100, 0, INT64_MAX, &timeline);
	if (status != GP_OK) {
		printf("not so: %s: no timeline: %s\n", path, gp_status_text(status));
		failures++;
		return;
	}
	for (size_t d = 0; d < timeline.devices; d++)
		for (int c = 0; c < GP_CURVES; c++) {
			char key[KEY_BYTES];
			snprintf(key, sizeof key, "%s:%u", name[c], timeline.device[d].device);
			struct figure *f = figure_get(pid, key);
			if (timeline.device[d].peak_bytes[c] > f->value)
				f->value = timeline.device[d].peak_bytes[c];
		}
	gp_timeline_free(&timeline);
}

static void read_recording(const char *path)
{
	struct gp_recording *recording;
	struct gp_damage why;
	const struct gp_info *info;
	enum gp_status status = gp_recording_open(path, &recording, &why);
	if (status != GP_OK) {
		printf("not so: %s: cannot be opened: %s: %s\n", path, gp_status_text(status),
		       why.what);
		failures++;
		return;
	}
	status = gp_recording_info(recording, &info);
	if (status != GP_OK) {
		printf("not so: %s: no info: %s\n", path, gp_status_text(status));
		failures++;
		gp_recording_close(recording);
		return;
	}
	if (info->is_damaged || info->damages)
		fail(path, info->damages ? info->damage[0].what : "damaged places", 0,
		     info->damages);
	unsigned pid = info->pid;
	add(0, "recordings", 1);
	add(pid, "recordings", 1);
	for (unsigned k = 0; k < GP_KINDS; k++) {
		if (gp_event_infos[k].name)
			add(pid, gp_event_infos[k].name, info->counts[k]);
		if (gp_event_infos[k].class == GP_CLASS_MEMORY)
			add(pid, "memory_events", info->counts[k]);
	}
	add(pid, "lost_memory", info->lost_memory);
	add(pid, "lost_launch", info->lost_launch);
	add(pid, "lost_other", info->lost_other);
	add(pid, "stacks_cut", info->stacks_cut);
	add(pid, "framework_events", info->framework_events);
	add(pid, "mismatches", info->mismatches);
	add(pid, "anomalies", info->anomalies);
	add(pid, "threads", info->threads);
	add(pid, "complete", info->is_complete);
	add(pid, "captures", info->captures);
	add(pid, "ended_by", info->ended_by);
	read_peaks(recording, pid, path);
	gp_recording_close(recording);
}

static uint64_t found_of(unsigned pid, const char *key)
{
	const struct figure *f = figure_find(pid, key);
	return f ? f->value : 0;
}

static void check(unsigned pid, const char *operator, const char * key, uint64_t value)
{
	uint64_t found = found_of(pid, key);
	bool holds = strcmp(operator, ">=") == 0 ? found >= value :
		     strcmp(operator, "<=") == 0 ? found <= value :
						   found == value;
	checks++;
	if (holds)
		return;
	printf("not so: pid %u: %s %s %" PRIu64 ", found %" PRIu64 "\n", pid, key, operator, value,
	       found);
	failures++;
}

/* The counter of lost events for this key; NULL: the key does not count events. */
static const char *loss_key(const char *key)
{
	if (strcmp(key, "framework_events") == 0)
		return "lost_memory";
	for (unsigned k = 0; k < GP_KINDS; k++)
		if (gp_event_infos[k].name && strcmp(gp_event_infos[k].name, key) == 0)
			return gp_event_infos[k].class == GP_CLASS_MEMORY ? "lost_memory" :
			       gp_event_infos[k].class == GP_CLASS_LAUNCH ? "lost_launch" :
									    "lost_other";
	return NULL;
}

struct claim {
	unsigned pid;
	char operator[4], key[KEY_BYTES];
	uint64_t value;
};

static struct claim *claims;
static size_t claim_count;

static bool read_claims(const char *path)
{
	FILE *file = fopen(path, "r");
	if (!file) {
		printf("not so: %s: no claims\n", path);
		return false;
	}
	struct claim c;
	while (fscanf(file, "%u %3s %63s %" SCNu64, &c.pid, c.operator, c.key, &c.value) == 4) {
		claims = realloc(claims, (claim_count + 1) * sizeof *claims);
		if (!claims)
			abort();
		claims[claim_count++] = c;
	}
	bool is_whole = feof(file);
	fclose(file);
	return is_whole && claim_count > 0;
}

static bool is_claimed(unsigned pid, const char *key)
{
	for (size_t i = 0; i < claim_count; i++)
		if (claims[i].pid == pid && strcmp(claims[i].key, key) == 0)
			return true;
	return false;
}

/*
 * Compares numbers of events when some were lost: all missing events must be among the lost ones.
 */
static void check_lossy(const struct claim *c, const char *loss)
{
	uint64_t found = found_of(c->pid, c->key), lost = found_of(c->pid, loss);
	uint64_t missing = found < c->value ? c->value - found : 0;
	char key[KEY_BYTES];
	/* each lost event explains one missing event; one of the framework also has a kind */
	const bool is_framework = strcmp(c->key, "framework_events") == 0;
	snprintf(key, sizeof key, "%s of %s", loss, is_framework ? "the framework" : "kinds");
	struct figure *explained = figure_get(c->pid, key);
	explained->value += missing;
	checks++;
	/* a lost launch also loses its uses, which are not counted */
	const bool is_with_launch =
		strcmp(c->key, "use") == 0 && found_of(c->pid, "lost_launch") != 0;
	if (is_with_launch && found <= c->value)
		return;
	if (explained->value <= lost && (found <= c->value || c->operator[0] == '>'))
		return;
	printf("not so: pid %u: %s %s %" PRIu64 ", found %" PRIu64 ", %s %" PRIu64 "\n", c->pid,
	       c->key, c->operator, c->value, found, loss, lost);
	failures++;
}

static void check_claim(const struct claim *c)
{
	const char *loss = loss_key(c->key);
	if (strstr(c->key, "_peak:") && found_of(c->pid, "lost_memory"))
		return;
	if (loss && found_of(c->pid, loss) && c->operator[0] != '<')
		check_lossy(c, loss);
	else
		check(c->pid, c->operator, c->key, c->value);
}

/* Requirements that every recording must meet without a claim. */
static void check_everybody(void)
{
	static const char *const zero[] = { "mismatches", "anomalies" };
	size_t count = figure_count;
	for (size_t i = 0; i < count; i++) {
		if (figures[i].pid == 0 || strcmp(figures[i].key, "recordings") != 0)
			continue;
		for (size_t z = 0; z < sizeof zero / sizeof *zero; z++)
			if (!is_claimed(figures[i].pid, zero[z]))
				check(figures[i].pid, "=", zero[z], 0);
		uint64_t happened = found_of(figures[i].pid, "memory_events") +
				    found_of(figures[i].pid, "lost_memory");
		if (happened < FEW_EVENTS && !is_claimed(figures[i].pid, "lost_memory"))
			check(figures[i].pid, "=", "lost_memory", 0);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: expect CLAIMS RECORDING...\n");
		return 2;
	}
	gp_adopt(NULL, stdout);
	for (int i = 2; i < argc; i++) /* rings that lie beside it */
		gp_adopt_into(argv[i], NULL, NULL, stdout);
	if (!read_claims(argv[1]))
		return 1;
	for (int i = 2; i < argc; i++)
		read_recording(argv[i]);
	for (size_t i = 0; i < claim_count; i++)
		check_claim(&claims[i]);
	check_everybody();
	if (failures == 0)
		printf("%u claims hold\n", checks);
	return failures != 0;
}
