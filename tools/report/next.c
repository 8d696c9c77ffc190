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

/* Quotes any word for a shell. */
static void print_word(FILE *out, const char *word, size_t bytes)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./,:=@%+-";
	bool is_plain = strspn(word, plain) >= bytes;
	if (!is_plain)
		fputc('\'', out);
	for (size_t at = 0; at < bytes;) {
		const char *quote = memchr(word + at, '\'', bytes - at);
		size_t n = quote ? (size_t)(quote - word) - at : bytes - at;
		gp_mask(out, word + at, n);
		at += n + (quote != NULL);
		if (quote)
			fputs("'\\''", out);
	}
	if (!is_plain)
		fputc('\'', out);
}

void gp_next_print(FILE *out, const char *command, const char *path)
{
	if (gp_is_stdin(path)) /* a pipe cannot be read again */
		return;
	/* a name that looks like an option */
	fprintf(out, "next: gpuprof %s %s", command, *path == '-' ? "./" : "");
	print_word(out, path, strlen(path));
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
