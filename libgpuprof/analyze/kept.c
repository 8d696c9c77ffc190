/*
 * One place for each kind of answer. An answer is from the state of the file at that time: it is
 * dropped once the owner of a ring overwrote a part of it.
 */
#include "kept.h"

#include <stdlib.h>

struct gp_kept {
	struct {
		void *answer; /* NULL: none */
		void (*drop)(void *answer);
		uint64_t key;
		unsigned overtakes; /* of the recording then */
	} of[GP_KEPTS];
};

static void kept_drop(struct gp_kept *kept, enum gp_kept_what what)
{
	if (kept->of[what].answer != NULL)
		kept->of[what].drop(kept->of[what].answer);
	kept->of[what].answer = NULL;
}

static void kept_close(struct gp_kept *kept)
{
	for (unsigned what = 0; what < GP_KEPTS; what++)
		kept_drop(kept, what);
	free(kept);
}

void gp_keep(struct gp_recording *recording, enum gp_kept_what what, uint64_t key, void *answer,
	     void (*drop)(void *answer))
{
	if (recording->kept == NULL)
		recording->kept = calloc(1, sizeof *recording->kept);
	recording->close_kept = kept_close;
	if (recording->kept == NULL) {
		drop(answer);
		return;
	}
	kept_drop(recording->kept, what);
	recording->kept->of[what].answer = answer;
	recording->kept->of[what].drop = drop;
	recording->kept->of[what].key = key;
	recording->kept->of[what].overtakes = recording->overtakes;
}

void *gp_kept_get(struct gp_recording *recording, enum gp_kept_what what, uint64_t key)
{
	struct gp_kept *kept = recording->kept;
	if (kept == NULL || kept->of[what].answer == NULL || kept->of[what].key != key)
		return NULL;
	if (kept->of[what].overtakes != recording->overtakes)
		kept_drop(kept, what);
	return kept->of[what].answer;
}

void *gp_kept_take(struct gp_recording *recording, enum gp_kept_what what, uint64_t key)
{
	void *answer = gp_kept_get(recording, what, key);
	if (answer != NULL)
		recording->kept->of[what].answer = NULL;
	return answer;
}

void gp_kept_forget(struct gp_recording *recording, enum gp_kept_what what)
{
	if (recording->kept != NULL)
		kept_drop(recording->kept, what);
}
