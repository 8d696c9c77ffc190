/*
 * The modules of a recording by number, each in its newest state. A rewind keeps them all: a stack
 * may have frames in code that was mapped before the first kept event. Not for tools/.
 */
#ifndef GP_MODULE_LIST_H
#define GP_MODULE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "../../format/event.h"
#include "../../format/status.h"

struct gp_listed_module {
	const char *path; /* NULL: this number is not defined */
	uint64_t base, bytes;
	uint64_t since, until; /* ticks; until 0: mapped in its newest record */
	uint64_t reported;     /* ticks: time of its newest record */
	unsigned char build_id[20];
	uint32_t build_id_bytes; /* 0: the module has no readable build id */
	uint32_t caveat;	 /* 1 + index of the module's caveat in the list; 0: none */
};

/*
 * An interval in which a module was unloaded. The recorder looks at modules now and then. Between
 * two looks another library may have been mapped at the same place.
 */
struct gp_module_caveat {
	uint32_t number;
	uint64_t since, until; /* ticks */
};

/* Number 1 is the program itself. */
struct gp_module_list {
	struct gp_listed_module *module; /* by number; module[0] is unused */
	size_t room;
	uint64_t changes;
	struct gp_module_caveat *caveat;
	size_t caveats;
	uint64_t caveat_changes;
};

/*
 * Adds a MODULE record. `text` is its build id in hexadecimal or "-", a blank, its path. The text
 * is not copied: it must live as long as the list.
 */
enum gp_status gp_module_list_add(struct gp_module_list *list, const struct gp_record *record,
				  const char *text);
void gp_module_list_release(struct gp_module_list *list);

#endif
