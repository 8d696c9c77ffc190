/* Names the places in which graphs are captured and captures fail, each stack once. */
#include "graph_places.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/row_table.h"
#include "../groups/disambiguate_keys.h"

struct place_stack {
	uint64_t key; /* hash of the shown stack, or of the reason that it is missing */
	char *text;
	uint32_t stack; /* one with these frames; 0: none was kept */
	int64_t at_ns;
};

struct places_naming {
	struct gp_recording *recording;
	struct gp_row_table stacks; /* struct place_stack */
	struct gp_read_stack *scratch;
};

static bool place_find(struct places_naming *n, struct gp_graph_place *p)
{
	struct gp_line name;
	gp_line_find(n->recording, p->stack, p->at_ns, n->scratch, &name);
	*p->without = name.without;
	*p->file = name.file;
	*p->line = name.line;
	const struct gp_identity identity =
		name.without != NULL ? gp_text_identity((struct gp_identity){ 0 }, name.key) :
				       gp_stack_identity(n->scratch);
	struct place_stack *row =
		gp_row_get_key(&n->stacks, sizeof *row, gp_identity_hash(identity));
	if (row == NULL)
		return false;
	p->row = (uint32_t)(row - (struct place_stack *)n->stacks.row);
	if (row->text != NULL)
		return true;
	if (name.without == NULL) {
		gp_line_text(n->scratch, name.key);
		row->stack = p->stack;
		row->at_ns = p->at_ns;
	}
	row->text = strdup(name.key);
	return row->text != NULL;
}

static bool place_read(void *context, size_t number, struct gp_read_stack *out)
{
	const struct places_naming *n = context;
	const struct place_stack *row = &((const struct place_stack *)n->stacks.row)[number];
	const struct gp_use use = { .stack = row->stack, .at_ns = row->at_ns };
	return gp_read_stack(n->recording, &use, false, out);
}

static bool places_distinguish(struct places_naming *n)
{
	struct place_stack *row = n->stacks.row;
	struct gp_keyed *keyed = calloc((size_t)n->stacks.rows + 1, sizeof *keyed);
	size_t count = 0;
	for (uint32_t k = 0; keyed != NULL && k < n->stacks.rows; k++)
		if (row[k].stack != 0)
			keyed[count++] = (struct gp_keyed){ &row[k].text, k };
	const bool is_fine = keyed != NULL && gp_keys_distinguish(keyed, count, place_read, n);
	free(keyed);
	return is_fine;
}

enum gp_status gp_graph_places_name(struct gp_recording *recording, struct gp_graph_place *place,
				    size_t places)
{
	struct places_naming n = { .recording = recording, .scratch = malloc(sizeof *n.scratch) };
	bool is_fine = n.scratch != NULL;
	for (size_t k = 0; k < places && is_fine; k++)
		is_fine = place_find(&n, &place[k]);
	is_fine = is_fine && places_distinguish(&n);
	struct place_stack *row = n.stacks.row;
	for (size_t k = 0; k < places && is_fine; k++) {
		*place[k].key = strdup(row[place[k].row].text);
		is_fine = *place[k].key != NULL;
	}
	for (uint32_t k = 0; k < n.stacks.rows; k++)
		free(row[k].text);
	gp_row_table_release(&n.stacks);
	free(n.scratch);
	return is_fine ? GP_OK : GP_E_MEMORY;
}
