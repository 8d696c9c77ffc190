/*
 * Groups as tables and as JSON. Frames are looked up in the recording each time, since it caches
 * them.
 */
#include "use_print.h"

#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "again.h"
#include "report.h"
#include "role_print.h"
#include "stack_print.h"
#include "tree_print.h"

#define CALLERS 2u
#define LINES_SHOWN 3u
#define NEGLIGIBLE 2000u /* a smaller share would read 0.0% */
#define LABEL_MAX 1024u

const char *const gp_curve_keys[GP_CURVE_KEYS] = {
	[GP_CURVE_DRIVER] = "driver",
	[GP_CURVE_RESERVED] = "reserved",
	[GP_CURVE_ALLOCATED] = "allocated",
	[GP_CURVE_PINNED] = "pinned",
};

static const char segments[] = "PyTorch reserved (see above)";

uint64_t gp_use_fold_segments(struct gp_holders *h)
{
	struct gp_use all = { .without = segments, .at_ns = h->at_ns };
	size_t kept = 0;
	for (size_t k = 0; k < h->uses; k++) {
		if (!h->use[k].is_segment) {
			h->use[kept++] = h->use[k];
			continue;
		}
		all.bytes += h->use[k].bytes;
		all.count += h->use[k].count;
	}
	if (kept < h->uses)
		h->use[kept++] = all;
	h->uses = kept;
	return h->live_bytes - all.bytes;
}

bool gp_use_is_segments(const char *key)
{
	return strcmp(key, segments) == 0;
}

/* ---- for a person ---- */

void gp_use_device_print(FILE *out, const struct gp_info *info, unsigned device)
{
	if (device == GP_DEVICE_UNKNOWN) {
		fputs("Host", out);
		return;
	}
	fprintf(out, "GPU %u", device);
	for (size_t k = 0; k < info->devices; k++) {
		if (info->device[k].device != device || !info->device[k].name)
			continue;
		fputs(", ", out);
		gp_mask(out, info->device[k].name, strlen(info->device[k].name));
	}
}

void gp_use_device_write(struct gp_json *json, unsigned device)
{
	gp_json_number_if(json, "device", device != GP_DEVICE_UNKNOWN, device);
}

uint64_t gp_use_registered(const struct gp_holders *h)
{
	uint64_t bytes = 0;
	for (size_t k = 0; k < h->uses; k++)
		bytes += h->use[k].space == GP_SPACE_HOST_REGISTER ? h->use[k].bytes : 0;
	return bytes;
}

static void print_frame(FILE *out, const struct gp_frame *frame, int indent)
{
	char label[LABEL_MAX];
	fprintf(out, "%*s", indent, "");
	gp_frame_label(frame, NULL, label, sizeof label);
	gp_name_print(out, label);
	fputc('\n', out);
}

/*
 * Callers of the user's innermost frame, which the key names already. Prints only the user's Python
 * code, or modules of the program itself.
 */
static void print_user(FILE *out, const struct gp_frame *frame, size_t frames, size_t user,
		       int indent)
{
	bool has_user = frame[user].is_user;
	size_t shown = 0;
	for (size_t k = user + 1; k < frames && shown < CALLERS; k++) {
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
	if (!style->has_stacks && !style->is_native) {
		if (names.user != SIZE_MAX)
			print_user(out, frame, s.frames, names.user, indent);
		return;
	}
	size_t shown = style->is_native ? s.frames : gp_frames_shorten(frame, s.frames);
	for (size_t k = 0; k < shown; k++) {
		if (!style->is_native) {
			print_frame(out, &frame[k], indent);
			continue;
		}
		fprintf(out, "%*s", indent, "");
		gp_frame_print(out, &frame[k]);
		fputc('\n', out);
	}
	const char *missing = style->is_native ? s.missing_native : s.missing;
	if (missing)
		fprintf(out, "%*s... %s\n", indent, "", missing);
}

/* The directory that contains the files of all lines; "": it would not shorten them. */
static void find_below(const struct gp_groups *groups, char *below, size_t room)
{
	below[0] = '\0';
	for (size_t k = 0; k < groups->groups; k++) {
		const char *key = groups->group[k].key;
		if (key[0] != '/')
			continue;
		if (!below[0])
			snprintf(below, room, "%s", key);
		gp_below_narrow(below, key);
	}
	if (!below[0] || !below[1])
		below[0] = '\0';
}

/* Adds up the groups after the first `style->top` in *rest. Returns their number. */
static size_t rest_of(const struct gp_use_style *style, const struct gp_groups *groups,
		      struct gp_group *rest)
{
	size_t shown = groups->groups;
	*rest = (struct gp_group){ .is_rest = true };
	/* a last single row is shown instead of "1 more" */
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

void gp_use_callers_print(FILE *out)
{
	fprintf(out, " (callers of the first %u; --stacks shows all frames)", GP_USE_WITH_FRAMES);
}

void gp_use_groups_print(FILE *out, struct gp_recording *recording, const struct gp_groups *groups,
			 const struct gp_use_style *style, const struct gp_use_shape *shape,
			 uint64_t whole)
{
	struct gp_group rest;
	size_t left = rest_of(style, groups, &rest);
	bool has_stacks = style->grouping.by == GP_BY_STACK;
	if (!groups->groups)
		return;
	char below[LABEL_MAX] = "";
	if (style->grouping.by == GP_BY_LINE)
		find_below(groups, below, sizeof below);
	fprintf(out, "%s  %s", shape->titles, style->by ? style->by : "stack");
	if (has_stacks && !style->has_stacks && !style->is_native &&
	    groups->groups - left > GP_USE_WITH_FRAMES)
		gp_use_callers_print(out);
	gp_below_print(out, below);
	for (size_t k = 0; k < groups->groups - left; k++) {
		const struct gp_group *g = &groups->group[k];
		shape->print_row(out, &g->use, whole);
		const char *key = g->key;
		if (below[0] && strncmp(key, below, strlen(below)) == 0)
			key += strlen(below);
		gp_name_print(out, key);
		if (g->class) {
			fputs("  ", out);
			gp_name_print(out, g->class);
		}
		if (g->stacks > 1 && !g->is_rest && !has_stacks && style->grouping.by != GP_BY_KIND)
			fprintf(out, "  (%s)", gp_plural(g->stacks, "stack").s);
		/* mark a stack that was cut */
		if (g->cut)
			fprintf(out, "  (%s)", g->cut);
		fputc('\n', out);
		if (style->has_why && g->rule)
			gp_role_rules_print(out, g);
		if (style->has_stacks || style->is_native || (k < GP_USE_WITH_FRAMES && has_stacks))
			gp_use_frames_print(out, recording, &g->use, style,
					    (int)strlen(shape->titles) + 4);
	}
	if (!left)
		return;
	shape->print_row(out, &rest.use, whole);
	fprintf(out, "%s; %s shows all\n", gp_plural(left, "more group").s,
		style->all_text ? style->all_text : "--top 0");
}

bool gp_use_has_names(const struct gp_groups *groups)
{
	size_t rests = 0;
	for (size_t k = 0; k < groups->groups; k++) {
		if (!groups->group[k].is_rest)
			return true;
		rests += groups->group[k].use.without != segments;
	}
	return rests > 1;
}

bool gp_use_lines_differ(const struct gp_groups *lines, const struct gp_groups *stacks)
{
	for (size_t k = 0; k < LINES_SHOWN && k < lines->groups && k < stacks->groups; k++)
		if (lines->group[k].use.bytes != stacks->group[k].use.bytes)
			return true;
	return false;
}

void gp_use_lines_list(FILE *out, const struct gp_groups *lines, uint64_t whole)
{
	for (size_t k = 0; k < LINES_SHOWN && k < lines->groups; k++) {
		const struct gp_use *use = &lines->group[k].use;
		const char *key = lines->group[k].key, *slash = strrchr(key, '/');
		if (k && use->bytes < whole / NEGLIGIBLE)
			break;
		key = slash ? slash + 1 : key;
		fputs(k ? ", " : "", out);
		gp_mask(out, key, strlen(key)); /* never cut: it is the answer */
		fprintf(out, " %s (%.1f%%)", gp_bytes_text(use->bytes).s,
			whole ? 100.0 * (double)use->bytes / (double)whole : 0.0);
	}
}

bool gp_use_lines_print(FILE *out, struct gp_recording *recording, const struct gp_holders *h,
			const struct gp_groups *stacks, const struct gp_use_style *style)
{
	struct gp_groups lines;
	struct gp_grouping how = style->grouping;
	how.by = GP_BY_LINE;
	if (style->grouping.by != GP_BY_STACK ||
	    gp_groups_build(recording, h->use, h->uses, &how, &lines))
		return false;
	const bool is_shown = gp_use_lines_differ(&lines, stacks);
	if (is_shown) {
		fputs("by line: ", out);
		gp_use_lines_list(out, &lines, h->live_bytes);
		fputc('\n', out);
	}
	gp_groups_free(&lines);
	return is_shown;
}

/* ---- live memory ---- */

static const char *curve_text(enum gp_curve of)
{
	switch (of) {
	case GP_CURVE_ALLOCATED:
		return "allocated by PyTorch";
	case GP_CURVE_RESERVED:
		return "in PyTorch segments";
	case GP_CURVE_PINNED:
		return "of pinned memory";
	case GP_CURVE_DRIVER:
	case GP_CURVES:
	case GP_CURVE_REGISTERED:
		break;
	}
	return "of driver memory";
}

/* Prints why figures may be too low. */
static void print_caveats(FILE *out, const struct gp_info *info, const struct gp_holders *h,
			  enum gp_moment moment)
{
	if (h->is_overwritten)
		fprintf(out,
			"  at least: the peak, %s at %s, is older than the kept events (from %s); "
			"this is the highest since\n",
			gp_bytes_text(h->peak_bytes).s, gp_ns_text(h->peak_at_ns).s,
			gp_ns_text((int64_t)info->kept_from_ns).s);
	else if (moment == GP_AT_PEAK && h->of == GP_CURVE_PINNED && !gp_has_whole_pinned(info))
		fputs("  at least: the peak may be older than the kept events\n", out);
	else if (moment == GP_AT_PEAK && !gp_has_whole_figures(info))
		fprintf(out, "  at least: %s, the peak may be higher\n",
			info->ended_by ? "the recording ended before the job did" :
					 "events are missing");
}

const struct gp_range_path *gp_use_phase_of(const struct gp_holders *h)
{
	const struct gp_range_path *path = gp_range_path_shown(h->range, NULL);
	const bool is_known = path && path->known != GP_RANGE_UNRECORDED;
	return is_known ? gp_range_path_phase(path) : NULL;
}

/* Only ranges show the phase of the moment. */
static void print_phase(FILE *out, const struct gp_info *info, const struct gp_holders *h)
{
	char text[LABEL_MAX];
	const struct gp_range_path *path = gp_use_phase_of(h);
	if (!path || gp_phases_by(info) == GP_PHASES_BY_NOTHING)
		return;
	gp_range_path_text(path, text, sizeof text);
	if (path->known == GP_RANGE_OUTSIDE)
		snprintf(text, sizeof text, "outside of any range");
	fputs(path->known == GP_RANGE_IN ? ", in " : ", ", out);
	gp_mask(out, text, strlen(text));
}

void gp_use_moment_print(FILE *out, const struct gp_info *info, const struct gp_holders *h,
			 enum gp_moment moment, uint64_t outside)
{
	gp_use_device_print(out, info, h->device);
	fprintf(out, ": %s%s %s ", h->is_overwritten ? "at least " : "",
		gp_bytes_text(h->live_bytes).s, curve_text(h->of));
	if (moment == GP_AT_PEAK)
		fprintf(out, "at peak, %s", gp_ns_text(h->at_ns).s);
	else
		fprintf(out, "%sat %s, %.1f%% of the peak",
			moment == GP_AT_OOM ? "when it ran out of memory, " : "",
			gp_ns_text(h->at_ns).s,
			h->peak_bytes ? 100.0 * (double)h->live_bytes / (double)h->peak_bytes :
					0.0);
	if (moment != GP_AT_TIME)
		print_phase(out, info, h);
	if (outside != h->live_bytes)
		fprintf(out, "; %s outside PyTorch",
			outside ? gp_bytes_text(outside).s : "nothing");
	if (h->unmapped_bytes && h->unmapped_bytes <= h->live_bytes)
		fprintf(out, "; the driver maps %s of it",
			gp_bytes_text(h->live_bytes - h->unmapped_bytes).s);
	uint64_t registered = gp_use_registered(h);
	if (registered)
		fprintf(out, "; %s of it registered by the job", gp_bytes_text(registered).s);
	fputc('\n', out);
	print_caveats(out, info, h, moment);
}

void gp_use_held_print(FILE *out, const struct gp_use *use, uint64_t whole)
{
	fprintf(out, "%10s %6.1f%% %8s  ", gp_bytes_text(use->bytes).s,
		whole ? 100.0 * (double)use->bytes / (double)whole : 0.0,
		use->count ? gp_count_text(use->count).s : "-");
}

static void write_held(struct gp_json *json, const struct gp_use *use)
{
	gp_json_number(json, "bytes", use->bytes);
	gp_json_number(json, "count", use->count);
}

const struct gp_use_shape gp_use_held_shape = { "     bytes   share    count", gp_use_held_print,
						write_held };

void gp_use_no_ranges_print(FILE *out, const char *side, const struct gp_info *info,
			    const struct gp_use_style *style)
{
	if (style->grouping.by == GP_BY_MODULE && info->modules_cut)
		fprintf(out, "%s%s without their module: no room or no time for more names\n", side,
			gp_plural(info->modules_cut, "stack").s);
	if (!gp_use_has_ranges(style))
		return;
	if (info->lost_other)
		fprintf(out,
			"%sranges may be among what was lost: their memory counts as outside, or "
			"as of those around them\n",
			side);
	else if (gp_phases_by(info) == GP_PHASES_BY_NOTHING)
		fprintf(out, "%sno ranges were recorded\n", side);
	else if (gp_phases_by(info) == GP_PHASES_BY_FRAMES)
		fprintf(out,
			"%sno ranges %s recorded: what stacks show of phases is marked (frames)\n",
			side, info->has_ranges ? "but backward were" : "were");
	gp_no_ranges_print(out, side, info);
}

void gp_use_next_print(FILE *out, struct gp_recording *recording, const struct gp_info *info,
		       const char *command, const char *path)
{
	const char *next = gp_next_of(recording, info, command);
	gp_mask_line(out, info->no_python);
	gp_mask_line(out, info->no_native);
	const unsigned lacks = gp_again_lacks(info, GP_LACK_STACKS);
	if (lacks && next == command)
		gp_again_print(out, info, lacks);
	else if (*next)
		gp_next_print(out, next, path);
}

/* ---- for a program ---- */

static void write_name(struct gp_json *json, const char *key, const char *name)
{
	gp_json_text(json, key, name[0] ? name : NULL);
}

void gp_use_stack_write(struct gp_json *json, struct gp_recording *recording,
			const struct gp_use *use, size_t stacks, const struct gp_use_style *style)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names = { 0 };
	bool has_stack = !use->without && use->stack &&
			 gp_recording_stack(recording, use->stack, use->at_ns, GP_STACK_SYMBOLS, &s,
					    frame, GP_FRAMES_MAX);
	if (has_stack)
		gp_recording_names(recording, frame, s.frames, &names);
	write_name(json, "operator", names.operator);
	write_name(json, "outer_operator", names.outer_operator);
	write_name(json, "node", names.node);
	write_name(json, "library", names.library);
	gp_json_text(json, "kind",
		     use->space && use->space < GP_SPACES ? gp_space_names[use->space] : NULL);
	gp_json_bool(json, "segment", use->is_segment);
	const char *missing = style->is_native ? s.missing_native : s.missing;
	gp_json_text(json, "why", use->without ? use->without : has_stack ? missing : NULL);
	gp_json_number(json, "stacks", stacks);
	if (has_stack) {
		gp_stack_write(json, recording, use->stack, use->at_ns,
			       style->is_native ? GP_STACK_SYMBOLS : GP_STACK_FOLDED);
		return;
	}
	gp_stack_write(json, recording, 0, 0, GP_STACK_FOLDED);
}

/* Writes outer names first, by recursion: a range has at most a few hundred names. */
static void write_names(struct gp_json *json, const struct gp_range_path *range)
{
	if (range->up)
		write_names(json, range->up);
	gp_json_text(json, NULL, range->known == GP_RANGE_IN ? range->name : NULL);
}

void gp_use_ranges_write(struct gp_json *json, const struct gp_range_path *range)
{
	if (!range || (range->known != GP_RANGE_IN && range->known != GP_RANGE_OUTSIDE)) {
		gp_json_null(json, "ranges");
		return;
	}
	gp_json_array(json, "ranges");
	if (range->known == GP_RANGE_IN)
		write_names(json, range);
	gp_json_end(json);
}

void gp_use_phase_write(struct gp_json *json, const struct gp_range_path *path)
{
	char text[LABEL_MAX];
	if (path)
		gp_range_path_text(path, text, sizeof text);
	gp_json_text(json, "phase", path ? text : NULL);
}

static void write_range(struct gp_json *json, const struct gp_range_path *range)
{
	gp_use_ranges_write(json, range);
	gp_use_phase_write(json,
			   range ? gp_range_path_phase(gp_range_path_shown(range, NULL)) : NULL);
}

void gp_use_groups_write(struct gp_json *json, struct gp_recording *recording,
			 const struct gp_groups *groups, const struct gp_use_style *style,
			 const struct gp_use_shape *shape)
{
	struct gp_group rest;
	size_t left = rest_of(style, groups, &rest);
	rest.use.without = "beyond --top";
	gp_json_array(json, "groups");
	for (size_t k = 0; k < groups->groups - left + (left > 0); k++) {
		bool is_rest = k == groups->groups - left;
		const struct gp_group *g = is_rest ? &rest : &groups->group[k];
		gp_json_object(json, NULL);
		gp_json_text(json, "key", is_rest ? gp_plural(left, "more group").s : g->key);
		if (style->grouping.by == GP_BY_MODULE)
			gp_json_text(json, "class", g->class);
		if (style->grouping.by == GP_BY_RANGE)
			write_range(json, g->is_rest ? NULL : g->use.range);
		if (g->rule)
			gp_role_rules_write(json, g);
		shape->write_sums(json, &g->use);
		gp_use_stack_write(json, recording, &g->use, g->stacks, style);
		gp_json_end(json);
	}
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
	gp_report_caveats(json, info);
	gp_json_bool(json, "has_stacks", info->has_stacks);
}

void gp_use_library_hint(const char *libraries, const char *again)
{
	if (libraries[0])
		gp_hint("libraries with memory: %s", libraries);
	else
		gp_hint("no stacks were recorded that name libraries; '%s' records them", again);
}

void gp_use_phases_by_write(struct gp_json *json, const struct gp_info *info,
			    const struct gp_use_style *style)
{
	static const char *const names[] = {
		[GP_PHASES_BY_RANGES] = "ranges", [GP_PHASES_BY_FRAMES] = "frames"
	};
	if (gp_use_has_ranges(style))
		gp_json_text(json, "phases_by", names[gp_phases_by(info)]);
}
