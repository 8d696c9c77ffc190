/* Modules by number; the array grows with the numbers. */
#include "module_list.h"

#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"

#define MODULES_MAX 65536u /* the bound of a writer's numbers */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static uint32_t read_id(const char *text, size_t digits, unsigned char *id, uint32_t most)
{
	if (digits % 2 != 0 || digits / 2 > most)
		return 0;
	for (size_t i = 0; i < digits; i += 2) {
		int high = digit(text[i]), low = digit(text[i + 1]);
		if (high < 0 || low < 0)
			return 0;
		id[i / 2] = (unsigned char)(high << 4 | low);
	}
	return (uint32_t)(digits / 2);
}

static enum gp_status add_caveat(struct gp_module_list *list, const struct gp_record *record)
{
	const struct gp_module_caveat caveat = { record->aux, record->module.since,
						 record->module.until };
	if (!gp_array_reach(&list->module, &list->room, caveat.number, sizeof *list->module))
		return GP_E_MEMORY;
	uint32_t *known = &list->module[caveat.number].caveat;
	if (*known != 0) {
		/* The interval only grows. After a rewind it is read again from the start. */
		if (list->caveat[*known - 1].until < caveat.until) {
			list->caveat[*known - 1] = caveat;
			list->caveat_changes++;
		}
		return GP_OK;
	}
	struct gp_module_caveat *added =
		gp_array_append(&list->caveat, &list->caveats, sizeof *added);
	if (added == NULL)
		return GP_E_MEMORY;
	*added = caveat;
	list->caveat_changes++;
	*known = (uint32_t)list->caveats;
	return GP_OK;
}

/*
 * True: `record` replaces the known state of its module. Times are rounded. Of two records with
 * equal times, the one with the greater `until` is newer: a module is mapped first, then unloaded.
 */
static bool is_newer(const struct gp_record *record, const struct gp_listed_module *known)
{
	if (record->time != known->reported)
		return record->time > known->reported;
	return record->module.until > known->until;
}

enum gp_status gp_module_list_add(struct gp_module_list *list, const struct gp_record *record,
				  const char *text)
{
	if (record->aux == 0 || record->aux >= MODULES_MAX)
		return GP_OK;
	if (record->module.bytes == 0)
		return add_caveat(list, record);
	if (text == NULL)
		return GP_OK;
	const char *blank = strchr(text, ' ');
	if (!gp_array_reach(&list->module, &list->room, record->aux, sizeof *list->module))
		return GP_E_MEMORY;
	if (blank == NULL || blank[1] == '\0')
		return GP_OK;
	struct gp_listed_module *m = &list->module[record->aux];
	/*
	 * After a rewind each record is known already. Do not count it as a change, or users of the
	 * list would rebuild their data.
	 */
	if (m->path != NULL && !is_newer(record, m))
		return GP_OK;
	*m = (struct gp_listed_module){
		.path = blank + 1,
		.base = record->module.base,
		.bytes = record->module.bytes,
		.since = record->module.since,
		.until = record->module.until,
		.reported = record->time,
		.caveat = m->caveat,
	};
	m->build_id_bytes = read_id(text, (size_t)(blank - text), m->build_id, sizeof m->build_id);
	list->changes++;
	return GP_OK;
}

void gp_module_list_release(struct gp_module_list *list)
{
	free(list->module);
	free(list->caveat);
	*list = (struct gp_module_list){ 0 };
}
