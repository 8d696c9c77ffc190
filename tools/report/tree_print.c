/*
 * A line is a chain: a call and the calls below it, as long as each has all of its caller's memory.
 * The first call and the user's calls have their file. Library frames between them have only names.
 * If a line is too long, library frames are omitted first, then native ones. The user's calls and
 * both ends are never omitted and continue on the next line.
 */
#include "tree_print.h"

#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "stack_print.h"

#define NUMBERS 29u /* columns before a call */
#define LINKS_MAX 64u
#define LABEL_MAX 512u
#define BELOW_MAX 1024u
#define DEPTH_MAX 40u
#define OF_THE_USER 2u

static const char arrow[] = " > ", gap[] = "... > ";

struct printer {
	FILE *out;
	const struct gp_tree *tree;
	uint64_t whole;
	unsigned columns;
	bool is_native;
	uint64_t hidden_bytes, hidden_count;
	char below[BELOW_MAX]; /* the directory that contains all of the user's files */
};

struct chain {
	char label[LINKS_MAX][LABEL_MAX];
	unsigned rank[LINKS_MAX]; /* the lowest is omitted first */
	bool is_after_gap[LINKS_MAX];
	size_t links;
};

/* ---- files ---- */

void gp_below_narrow(char *below, const char *file)
{
	size_t same = 0;
	while (below[same] && below[same] == file[same])
		same++;
	below[same] = '\0';
	char *slash = strrchr(below, '/');
	below[slash ? slash + 1 - below : 0] = '\0';
}

void gp_below_print(FILE *out, const char *below)
{
	if (below[0]) {
		fputs("; files below ", out);
		gp_name_print(out, below);
	}
	fputc('\n', out);
}

static void find_below(struct printer *p)
{
	bool has_one = false;
	p->below[0] = '\0';
	for (size_t k = 0; k < p->tree->nodes; k++) {
		const struct gp_frame *f = &p->tree->node[k].frame;
		if (!f->is_user || !f->file || f->file[0] != '/')
			continue;
		if (!has_one)
			snprintf(p->below, sizeof p->below, "%s", f->file);
		has_one = true;
		gp_below_narrow(p->below, f->file);
	}
	if (!p->below[0] || !p->below[1])
		p->below[0] = '\0';
}

/* ---- a chain ---- */

static void tree_print_drop(struct chain *c, size_t link)
{
	if (link + 1 < c->links)
		c->is_after_gap[link + 1] = true;
	c->links--;
	for (size_t k = link; k < c->links; k++) {
		memcpy(c->label[k], c->label[k + 1], LABEL_MAX);
		c->rank[k] = c->rank[k + 1];
		c->is_after_gap[k] = c->is_after_gap[k + 1];
	}
}

static void tree_print_add(const struct printer *p, struct chain *c, const struct gp_frame *f)
{
	if (c->links == LINKS_MAX)
		tree_print_drop(c, LINKS_MAX / 2);
	size_t at = c->links++;
	bool is_first = at == 0, is_library = f->is_python && !f->is_user && f->function;
	c->rank[at] = f->is_user ? OF_THE_USER : f->is_python ? 0 : 1;
	c->is_after_gap[at] = false;
	if (is_library && !is_first) {
		gp_short_name(f->function, c->label[at], LABEL_MAX);
		return;
	}
	gp_frame_label(f, p->below, c->label[at], LABEL_MAX);
	char *module = is_first || !f->function ? NULL : strstr(c->label[at], " [");
	if (module)
		*module = '\0';
}

static size_t width_of(const struct chain *c)
{
	size_t width = 0;
	for (size_t k = 0; k < c->links; k++)
		width += strlen(c->label[k]) + (k ? strlen(arrow) : 0) +
			 (c->is_after_gap[k] ? strlen(gap) : 0);
	return width;
}

static void fit(struct chain *c, size_t room)
{
	while (c->links > 2 && width_of(c) > room) {
		size_t least = 1;
		for (size_t k = 2; k + 1 < c->links; k++)
			if (c->rank[k] < c->rank[least])
				least = k;
		if (c->rank[least] == OF_THE_USER)
			return;
		tree_print_drop(c, least);
	}
}

static void print_chain(FILE *out, const struct chain *c, size_t room, const char *prefix)
{
	size_t used = 0, bars = strlen(prefix);
	if (bars >= 2 && prefix[bars - 2] == '+')
		bars -= 2;
	for (size_t k = 0; k < c->links; k++) {
		size_t width = strlen(c->label[k]) + (c->is_after_gap[k] ? strlen(gap) : 0);
		bool is_next_line = k && used + strlen(arrow) + width > room;
		if (is_next_line)
			fprintf(out, "\n%*s%.*s%s  ", (int)NUMBERS, "", (int)bars, prefix,
				bars < strlen(prefix) ? "| " : "");
		used = is_next_line ? 2 : used;
		fprintf(out, "%s%s", k ? arrow + is_next_line : "", c->is_after_gap[k] ? gap : "");
		gp_name_print(out, c->label[k]);
		used += width + (k ? strlen(arrow) : 0);
	}
}

/* ---- lines ---- */

static void print_numbers(const struct printer *p, uint64_t bytes, uint64_t count,
			  const char *prefix)
{
	fprintf(p->out, "%10s %6.1f%% %8s  %s", gp_bytes_text(bytes).s,
		p->whole ? 100.0 * (double)bytes / (double)p->whole : 0.0, gp_count_text(count).s,
		prefix);
}

/* The line that begins at `node`. Returns the last node on it. */
static size_t tree_print_line(const struct printer *p, size_t node, const char *prefix)
{
	const struct gp_tree_node *n = &p->tree->node[node], *next;
	struct chain chain;
	chain.links = 0;
	print_numbers(p, n->bytes, n->count, prefix);
	bool is_reason = n->frame.unknown && !n->frame.module && !n->frame.address;
	if (p->is_native && !is_reason) {
		gp_frame_print(p->out, &n->frame);
		fputc('\n', p->out);
		return node;
	}
	tree_print_add(p, &chain, &n->frame);
	/* why the rest above the following calls was cut off */
	if (is_reason && n->child != SIZE_MAX)
		snprintf(chain.label[0], LABEL_MAX, "... %s", n->frame.unknown);
	while (!p->is_native && n->child != SIZE_MAX) {
		next = &p->tree->node[n->child];
		if (next->next != SIZE_MAX || next->bytes != n->bytes || next->count != n->count)
			break;
		node = n->child;
		n = next;
		tree_print_add(p, &chain, &n->frame);
	}
	size_t used = NUMBERS + strlen(prefix);
	size_t room = p->columns > used ? p->columns - used : 0;
	fit(&chain, room);
	print_chain(p->out, &chain, room, prefix);
	fputc('\n', p->out);
	return node;
}

static bool tree_print_is_shown(const struct gp_tree_node *node, uint64_t whole)
{
	return node->bytes * 100 >= whole && node->bytes > 0;
}

static void print_nodes(struct printer *p, size_t first, unsigned depth)
{
	const struct gp_tree_node *node = p->tree->node;
	size_t shown = 0;
	for (size_t k = first; k != SIZE_MAX; k = node[k].next) {
		bool is_one = tree_print_is_shown(&node[k], p->whole);
		shown += is_one;
		p->hidden_bytes += is_one ? 0 : node[k].bytes;
		p->hidden_count += is_one ? 0 : node[k].count;
	}
	/* a call without siblings keeps its column */
	bool is_branch = shown > 1;
	char prefix[2 * DEPTH_MAX + 3] = "";
	for (unsigned k = 0; k < depth && k < DEPTH_MAX; k++)
		strcat(prefix, "| ");
	strcat(prefix, is_branch ? "+ " : "");
	for (size_t k = first; k != SIZE_MAX; k = node[k].next)
		if (tree_print_is_shown(&node[k], p->whole))
			print_nodes(p, node[tree_print_line(p, k, prefix)].child,
				    depth + is_branch);
}

void gp_tree_print(FILE *out, const struct gp_tree *tree, uint64_t whole, unsigned columns,
		   bool is_native)
{
	struct printer p = {
		.out = out, .tree = tree, .whole = whole, .columns = columns, .is_native = is_native
	};
	if (!is_native)
		find_below(&p);
	fprintf(out, "%10s %7s %8s  %s, outermost first", "bytes", "share", "count",
		tree->is_of_modules ? "modules" : "call tree");
	gp_below_print(out, p.below);
	print_nodes(&p, tree->root, 0);
	if (p.hidden_bytes == 0)
		return;
	print_numbers(&p, p.hidden_bytes, p.hidden_count, "");
	fprintf(out, "left out above: %s of less than 1%%\n",
		tree->is_of_modules ? "modules" : "calls");
}

/* ---- for a program ---- */

void gp_tree_write(struct gp_json *json, const struct gp_tree *tree)
{
	gp_json_array(json, "tree");
	for (size_t k = 0; k < tree->nodes; k++) {
		const struct gp_tree_node *n = &tree->node[k];
		gp_json_object(json, NULL);
		gp_json_number_if(json, "parent", n->parent != SIZE_MAX, n->parent);
		gp_json_number(json, "bytes", n->bytes);
		gp_json_number(json, "count", n->count);
		gp_json_text(json, "function", n->frame.function);
		gp_json_text(json, "file", n->frame.file);
		gp_json_number_if(json, "line", n->frame.line, n->frame.line);
		gp_json_text(json, "module", n->frame.module);
		gp_json_text(json, "why", n->frame.unknown);
		gp_json_end(json);
	}
	gp_json_end(json);
}
