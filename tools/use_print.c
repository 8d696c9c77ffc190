/* Frames are asked of the recording each time: it keeps what it looked up. */
#include "use_print.h"

#include <inttypes.h>
#include <string.h>

#include "amount.h"
#include "flags.h"
#include "message.h"
#include "stack_print.h"

#define USER_FRAMES 3u

const char *const gp_curve_keys[GP_CURVES] = { "driver", "reserved", "allocated" };

/* ---- what is asked for ---- */

static const char *const by_names[] = { "stack", "operator", "node", "library", "line", "kind" };

static bool is_unknown(const struct gp_command *command, const char *option, const char *text,
		       const char *const *names, size_t count)
{
	const char *near = gp_nearest(text, names, count);
	gp_usage(command, "bad value of '--%s': '%s'", option, text);
	if (near)
		gp_hint("did you mean '%s'?", near);
	return false;
}

static bool by_read(struct gp_use_style *s, const struct gp_command *command)
{
	size_t count = sizeof by_names / sizeof *by_names;
	for (size_t k = 0; k < count; k++) {
		if (strcmp(s->by, by_names[k]) != 0)
			continue;
		s->grouping.by = (enum gp_by)k;
		return true;
	}
	return is_unknown(command, "by", s->by, by_names, count);
}

static bool of_read(struct gp_use_style *s, const struct gp_command *command)
{
	for (size_t k = 0; k < GP_CURVES; k++) {
		if (strcmp(s->of_text, gp_curve_keys[k]) == 0)
			return s->has_of[k] = true;
	}
	return is_unknown(command, "of", s->of_text, gp_curve_keys, GP_CURVES);
}

bool gp_use_style_read(struct gp_use_style *s, const struct gp_command *command)
{
	s->device = -1;
	s->grouping.is_native = s->is_native;
	s->grouping.library = s->library;
	if ((s->by && !by_read(s, command)) || (s->of_text && !of_read(s, command)))
		return false;
	if (!s->device_text || (!s->device_text[strspn(s->device_text, "0123456789")] &&
				gp_ns_parse(s->device_text, &s->device)))
		return true;
	gp_usage(command, "bad value of '--device': '%s' is not a number", s->device_text);
	return false;
}

bool gp_use_style_wants(const struct gp_use_style *s, unsigned device, enum gp_curve of,
			bool is_all)
{
	if (s->device >= 0 && device != (uint64_t)s->device)
		return false;
	return s->of_text ? s->has_of[of] : is_all || of != GP_CURVE_RESERVED;
}

int gp_use_judge(const struct gp_use_style *s, const char *file, size_t shown, size_t matched,
		 const char *libraries)
{
	if (s->library && shown && !matched) {
		gp_complain("there is no memory of library '%s' in '%s'", s->library, file);
		if (libraries[0])
			gp_hint("there is memory of: %s", libraries);
		return GP_EXIT_USAGE;
	}
	if (!shown && s->device >= 0) {
		gp_complain("cannot show GPU %lld of '%s': it has no such memory",
			    (long long)s->device, file);
		return GP_EXIT_USAGE;
	}
	return GP_EXIT_OK;
}

/* ---- for a person ---- */

void gp_use_device_print(FILE *out, const struct gp_info *info, unsigned device)
{
	fprintf(out, "GPU %u", device);
	for (size_t k = 0; k < info->devices; k++) {
		if (info->device[k].device != device || !info->device[k].name)
			continue;
		fputs(", ", out);
		gp_mask(out, info->device[k].name, strlen(info->device[k].name));
	}
}

static void print_frame(FILE *out, const struct gp_frame *frame, int indent)
{
	fprintf(out, "%*s", indent, "");
	gp_frame_print(out, frame);
	fputc('\n', out);
}

/* From the user's innermost frame outwards: Python that is his, or what his program is made of. */
static void print_user(FILE *out, const struct gp_frame *frame, size_t frames, size_t user,
		       int indent)
{
	bool has_user = frame[user].is_user;
	size_t shown = 0;
	for (size_t k = user; k < frames && shown < USER_FRAMES; k++) {
		if (frame[k].is_python != frame[user].is_python || (has_user && !frame[k].is_user))
			continue;
		bool is_there = frame[k].function && frame[k].module && frame[user].module &&
				strcmp(frame[k].module, frame[user].module) == 0;
		if (!frame[k].is_python && !is_there)
			break;
		print_frame(out, &frame[k], indent);
		shown++;
	}
}

void gp_use_frames_print(FILE *out, struct gp_recording *recording, const struct gp_use *use,
			 const struct gp_use_style *style, int indent)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names;
	if (use->without || !gp_recording_stack(recording, use->stack, use->at_ns, GP_STACK_SYMBOLS,
						&s, frame, GP_FRAMES_MAX))
		return;
	gp_recording_names(recording, frame, s.frames, &names);
	if (!style->has_stacks) {
		if (names.user != SIZE_MAX)
			print_user(out, frame, s.frames, names.user, indent);
		return;
	}
	for (size_t k = 0; k < s.frames; k++)
		if (style->is_native || !frame[k].is_interpreter)
			print_frame(out, &frame[k], indent);
	if (s.missing)
		fprintf(out, "%*s... %s\n", indent, "", s.missing);
}

static bool is_shown(const struct gp_tree_node *node, uint64_t whole)
{
	return node->bytes * 100 >= whole && node->bytes > 0;
}

static void print_node(FILE *out, const struct gp_tree_node *node, uint64_t whole,
		       const char *prefix)
{
	fprintf(out, "%10s %6.1f%% %8s  %s", gp_bytes_text(node->bytes).s,
		whole ? 100.0 * (double)node->bytes / (double)whole : 0.0,
		gp_count_text(node->count).s, prefix);
	if (node->frame.function || node->frame.module || node->frame.address ||
	    !node->frame.unknown)
		gp_frame_print(out, &node->frame);
	else
		fputs(node->frame.unknown, out);
	fputc('\n', out);
}

static void print_nodes(FILE *out, const struct gp_tree *tree, size_t first, uint64_t whole,
			unsigned depth)
{
	/* a chain without branches stays in its column */
	size_t shown = 0, hidden = 0;
	uint64_t hidden_bytes = 0, hidden_count = 0;
	for (size_t k = first; k != SIZE_MAX; k = tree->node[k].next) {
		bool is_one = is_shown(&tree->node[k], whole);
		shown += is_one;
		hidden += !is_one;
		hidden_bytes += is_one ? 0 : tree->node[k].bytes;
		hidden_count += is_one ? 0 : tree->node[k].count;
	}
	bool is_branch = shown + (hidden > 0) > 1;
	unsigned deeper = depth + is_branch;
	char prefix[128];
	snprintf(prefix, sizeof prefix, "%.*s%s", (int)(2 * (depth < 40 ? depth : 40)),
		 "| | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | | ",
		 is_branch ? "+ " : "");
	for (size_t k = first; k != SIZE_MAX; k = tree->node[k].next) {
		if (!is_shown(&tree->node[k], whole))
			continue;
		print_node(out, &tree->node[k], whole, prefix);
		print_nodes(out, tree, tree->node[k].child, whole, deeper);
	}
	if (hidden && shown)
		fprintf(out, "%10s %6.1f%% %8s  %s%s\n", gp_bytes_text(hidden_bytes).s,
			whole ? 100.0 * (double)hidden_bytes / (double)whole : 0.0,
			gp_count_text(hidden_count).s, prefix, gp_plural(hidden, "smaller call").s);
}

void gp_use_tree_print(FILE *out, const struct gp_tree *tree, uint64_t whole)
{
	fprintf(out, "%10s %7s %8s  call tree, outermost first\n", "bytes", "share", "count");
	print_nodes(out, tree, tree->root, whole, 0);
}

size_t gp_use_shown(const struct gp_use_style *style, const struct gp_groups *groups,
		    struct gp_group *rest)
{
	size_t shown = groups->groups;
	*rest = (struct gp_group){ .is_rest = true };
	/* one that is left over is as well shown itself */
	if (style->top && style->top + 1 < groups->groups)
		shown = (size_t)style->top;
	for (size_t k = shown; k < groups->groups; k++) {
		const struct gp_group *g = &groups->group[k];
		rest->stacks += g->stacks;
		rest->use.bytes += g->use.bytes;
		rest->use.count += g->use.count;
		rest->use.live_bytes += g->use.live_bytes;
		rest->use.live_count += g->use.live_count;
		rest->use.freed += g->use.freed;
		rest->use.short_lived += g->use.short_lived;
	}
	return groups->groups - shown;
}

void gp_use_next_print(FILE *out, const struct gp_info *info, const char *command, const char *path)
{
	if (info->has_stacks) {
		gp_next_print(out, command, path);
		return;
	}
	fputs("next: gpuprof run --stacks=all -- ", out);
	const char *what = info->command ? info->command : "COMMAND";
	gp_mask(out, what, strlen(what));
	fputc('\n', out);
}

/* ---- for a program ---- */

void gp_use_tree_write(struct gp_json *json, const struct gp_tree *tree)
{
	gp_json_array(json, "tree");
	for (size_t k = 0; k < tree->nodes; k++) {
		const struct gp_tree_node *n = &tree->node[k];
		gp_json_object(json, NULL);
		if (n->parent == SIZE_MAX)
			gp_json_null(json, "parent");
		else
			gp_json_number(json, "parent", n->parent);
		gp_json_number(json, "bytes", n->bytes);
		gp_json_number(json, "count", n->count);
		gp_json_text(json, "function", n->frame.function);
		gp_json_text(json, "file", n->frame.file);
		if (n->frame.line)
			gp_json_number(json, "line", n->frame.line);
		else
			gp_json_null(json, "line");
		gp_json_text(json, "module", n->frame.module);
		gp_json_text(json, "why", n->frame.unknown);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_name(struct gp_json *json, const char *key, const char *name)
{
	gp_json_text(json, key, name[0] ? name : NULL);
}

void gp_use_group_write(struct gp_json *json, struct gp_recording *recording,
			const struct gp_group *group, const struct gp_use_style *style)
{
	const struct gp_use *use = &group->use;
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names = { 0 };
	bool has_stack = !use->without && use->stack &&
			 gp_recording_stack(recording, use->stack, use->at_ns, GP_STACK_SYMBOLS, &s,
					    frame, GP_FRAMES_MAX);
	if (has_stack)
		gp_recording_names(recording, frame, s.frames, &names);
	write_name(json, "operator", names.operator);
	write_name(json, "node", names.node);
	write_name(json, "library", names.library);
	gp_json_text(json, "kind",
		     use->space && use->space < GP_SPACES ? gp_space_names[use->space] : NULL);
	gp_json_bool(json, "segment", use->is_segment);
	gp_json_text(json, "why", use->without ? use->without : has_stack ? s.missing : NULL);
	gp_json_number(json, "stacks", group->stacks);
	if (has_stack) {
		gp_stack_write(json, recording, use->stack, use->at_ns,
			       style->is_native ? GP_STACK_SYMBOLS : GP_STACK_FOLDED);
		return;
	}
	gp_json_array(json, "stack");
	gp_json_end(json);
}

void gp_use_head_write(struct gp_json *json, const char *path, const struct gp_info *info)
{
	gp_json_text(json, "file", path);
	gp_json_bool(json, "complete", info->is_complete);
	gp_json_bool(json, "damaged", info->is_damaged);
	gp_json_object(json, "lost");
	gp_json_number(json, "memory", info->lost_memory);
	gp_json_number(json, "launch", info->lost_launch);
	gp_json_number(json, "other", info->lost_other + info->nested);
	gp_json_end(json);
	gp_json_number(json, "kept_from_ns", info->kept_from_ns);
	gp_report_doubts(json, info);
	gp_json_bool(json, "has_stacks", info->has_stacks);
}
