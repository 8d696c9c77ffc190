/*
 * The label of a frame on one line: the name that users know, else the function's name, shortened
 * if necessary. The file's path begins at its package.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frame_names.h"
#include "name_text.h"

#define LONG_NAME 60u	 /* longer names lose their template arguments */
#define LONGEST_NAME 72u /* still longer names lose their middle */
#define NAME_ROOM 4096u

const char *gp_short_path(const char *path)
{
	static const char *const roots[] = { "/site-packages/", "/dist-packages/",
					     "/lib/python3." };
	for (size_t k = 0; k < sizeof roots / sizeof *roots; k++) {
		const char *at = strstr(path, roots[k]);
		if (at == NULL)
			continue;
		/* for the standard library, skip the version */
		at += strlen(roots[k]);
		const char *slash = roots[k][1] == 'l' ? strchr(at, '/') : NULL;
		return slash != NULL ? slash + 1 : at;
	}
	return path;
}

/*
 * Copies a name with each list of template arguments as "<...>". False: the brackets do not match.
 */
static bool cut_arguments(const char *name, char *out, size_t room)
{
	static const char sign[] = "operator";
	size_t used = 0, depth = 0;
	for (const char *at = name; *at != '\0'; at++) {
		bool is_sign = used >= sizeof sign - 1 && depth == 0 &&
			       memcmp(out + used - (sizeof sign - 1), sign, sizeof sign - 1) == 0;
		size_t signs = is_sign ? strspn(at, "<>=-") : 0;
		if (used + signs + sizeof "<...>" >= room)
			return false;
		memcpy(out + used, at, signs);
		used += signs;
		at += signs;
		if (*at == '\0')
			break;
		bool is_arrow = *at == '>' && at > name && at[-1] == '-';
		if (*at == '>' && !is_arrow) {
			if (depth-- == 0)
				return false;
		} else if (*at == '<') {
			if (depth++ == 0)
				used += (size_t)sprintf(out + used, "<...>");
		} else if (depth == 0) {
			out[used++] = *at;
		}
	}
	out[used] = '\0';
	return depth == 0;
}

void gp_short_name(const char *name, char *out, size_t room)
{
	char cut[NAME_ROOM];
	const char *text = name;
	if (strlen(name) > LONG_NAME && cut_arguments(name, cut, sizeof cut))
		text = cut;
	size_t bytes = strlen(text), half = (LONGEST_NAME - 3) / 2;
	if (bytes > LONGEST_NAME)
		snprintf(out, room, "%.*s...%s", (int)half, text, text + bytes - half);
	else
		snprintf(out, room, "%s", text);
}

static void frame_label_add(char *out, size_t room, const char *before, const char *text,
			    uint32_t line, const char *after)
{
	size_t used = strlen(out);
	if (line != 0)
		snprintf(out + used, room - used, "%s%s:%" PRIu32 "%s", before, text, line, after);
	else
		snprintf(out + used, room - used, "%s%s%s", before, text, after);
}

void gp_frame_label(const struct gp_frame *f, const char *below, char *out, size_t room)
{
	const struct gp_name_frame named = { f->function, f->module, f->file, f->is_python };
	char name[GP_NAME_MAX];
	gp_frame_role(&named, name);
	if (name[0] != '\0') {
		snprintf(out, room, "%s", name);
		return;
	}
	if (f->function != NULL)
		gp_short_name(f->function, out, room);
	else if (f->module != NULL)
		snprintf(out, room, "+0x%" PRIx64, f->module_offset);
	else if (f->unknown != NULL && f->address == 0)
		snprintf(out, room, "%s", f->unknown);
	else
		snprintf(out, room, "0x%" PRIx64, f->address);
	if (f->file != NULL) {
		size_t left_out = below != NULL ? strlen(below) : 0;
		bool is_below = left_out != 0 && strncmp(f->file, below, left_out) == 0;
		const char *file = !f->is_python ? file_of(f->file) :
				   is_below	 ? f->file + left_out :
						   gp_short_path(f->file);
		frame_label_add(out, room, " (", file, f->line, ")");
	} else if (f->module != NULL) {
		frame_label_add(out, room, " [", file_of(f->module), 0, "]");
	}
}
