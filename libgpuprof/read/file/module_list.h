/*
 * The modules that a recording tells of, newest word on each, by number. A rewind forgets none: a
 * stack may stand in code that was mapped before the first event that is kept. Not for tools/.
 */
#ifndef GP_MODULE_LIST_H
#define GP_MODULE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "../../format/event.h"
#include "../../format/status.h"

struct gp_listed_module {
	const char *path; /* NULL: nothing is known of this number */
	uint64_t base, bytes;
	uint64_t since, until; /* ticks; until 0: still mapped when last heard of */
	uint64_t told;	       /* ticks: when this was said */
	unsigned char build_id[20];
	uint32_t build_id_bytes; /* 0: it has none, or none was readable */
	uint32_t doubt;		 /* 1 + which of the list's doubts has this number; 0: none */
};

/* Something was unloaded then: between two looks another library may have been where one is. */
struct gp_module_doubt {
	uint32_t number;
	uint64_t since, until; /* ticks */
};

/* Number 1 is the program itself. */
struct gp_module_list {
	struct gp_listed_module *module; /* by number; [0] is none */
	size_t room;
	uint64_t changes;
	struct gp_module_doubt *doubt;
	size_t doubts;
	uint64_t doubt_changes;
};

/*
 * Learns a MODULE. `text`: its build id in hexadecimal or "-", a blank, its path; kept as given, it
 * must live as long as the list.
 */
enum gp_status gp_module_list_add(struct gp_module_list *list, const struct gp_record *record,
				  const char *text);
void gp_module_list_release(struct gp_module_list *list);

#endif
