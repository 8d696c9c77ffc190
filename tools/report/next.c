/*
 * The last line of every report: the next command for that recording, chosen by its findings, and
 * quoted for a shell.
 */
#include <string.h>

#include "../io/message.h"
#include "../io/stdin_recording.h"
#include "report.h"

/* ---- the choice ---- */

uint64_t gp_overwritten_ooms(const struct gp_info *info)
{
	return info->kept_from_ns ? info->counts[GP_OOM] - info->kept[GP_OOM] : 0;
}

bool gp_next_has_oom(struct gp_recording *recording, const struct gp_info *info)
{
	struct gp_ooms ooms;
	if (!info->counts[GP_OOM] && !info->counts[GP_ALLOC_FAILED])
		return false;
	if (info->counts[GP_OOM] && !info->kept_from_ns)
		return true;
	/*
	 * overwritten OOMs cannot be reported, and a failed call may have been retried with success
	 */
	if (gp_ooms_build(recording, NULL, &ooms) != GP_OK)
		return false;
	const bool has_oom = ooms.ooms > 0;
	gp_ooms_free(&ooms);
	return has_oom;
}

const char *gp_next_of(struct gp_recording *recording, const struct gp_info *info,
		       const char *otherwise)
{
	if (info->is_damaged)
		return "verify";
	if (gp_next_has_oom(recording, info))
		return "oom";
	if (otherwise)
		return otherwise;
	return info->has_stacks ? "peak" : "timeline";
}

/* ---- quoting ---- */

static bool is_masked(const char *word, size_t bytes)
{
	for (size_t n; bytes; word += n, bytes -= n) {
		n = gp_printable(word, bytes);
		if (!n)
			return true;
	}
	return false;
}

/* Quotes any word for a shell; if bytes are masked, as bash and zsh read them: $'run\xff.gpr'. */
static void print_word(FILE *out, const char *word, size_t bytes)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./,:=@%+-";
	const bool is_plain = strspn(word, plain) >= bytes, has_escapes = is_masked(word, bytes);
	if (!is_plain)
		fputs(has_escapes ? "$'" : "'", out);
	for (size_t at = 0; at < bytes;) {
		size_t n = 0;
		while (at + n < bytes && word[at + n] != '\'' &&
		       !(has_escapes && word[at + n] == '\\'))
			n++;
		gp_mask(out, word + at, n);
		at += n;
		if (at < bytes && has_escapes)
			fprintf(out, "\\%c", word[at]);
		else if (at < bytes)
			fputs("'\\''", out);
		at++;
	}
	if (!is_plain)
		fputc('\'', out);
}

void gp_path_print(FILE *out, const char *path)
{
	if (*path == '-') /* a name that looks like an option */
		fputs("./", out);
	print_word(out, path, strlen(path));
}

void gp_next_print(FILE *out, const char *command, const char *path)
{
	if (gp_is_stdin(path)) /* a pipe cannot be read again */
		return;
	fprintf(out, "next: gpuprof %s ", command);
	gp_path_print(out, path);
	fputc('\n', out);
}

void gp_command_print(FILE *out, const char *command)
{
	for (const char *at = command; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		if (at != command)
			fputc(' ', out);
		print_word(out, at, n);
		at += n;
	}
}
