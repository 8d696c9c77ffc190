/*
 * The file of a page: HTML with script, style, report and data. Data that would make it too large
 * is in script files beside it, because a page from a disk may load no other files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../command.h"
#include "../io/message.h"
#include "page.h"

#define INLINE_BYTES_MOST (3u << 20) /* of a page with its data; a browser shows it at once */
#define TITLE_MOST 200u

/* page_bundle.S */
extern const char gp_page_script[], gp_page_script_end[];
extern const char gp_page_style[], gp_page_style_end[];
extern const char gp_page_hashes[]; /* of the script, then of the style, a line each */

/* ---- parts ---- */

static void base64_write(FILE *out, const unsigned char *bytes, size_t count)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789+/";
	for (size_t k = 0; k < count; k += 3) {
		const unsigned second = k + 1 < count ? bytes[k + 1] : 0;
		const unsigned third = k + 2 < count ? bytes[k + 2] : 0;
		putc_unlocked(digit[bytes[k] >> 2], out);
		putc_unlocked(digit[(bytes[k] & 3) << 4 | second >> 4], out);
		putc_unlocked(k + 1 < count ? digit[(second & 15) << 2 | third >> 6] : '=', out);
		putc_unlocked(k + 2 < count ? digit[third & 63] : '=', out);
	}
}

static size_t base64_bytes(size_t count)
{
	return (count + 2) / 3 * 4;
}

static void script_write(FILE *out, const char *id, const struct gp_page_gzip *gzip)
{
	fprintf(out, "<script type=\"text/plain\" id=\"gpuprof-%s\">", id);
	base64_write(out, gzip->bytes, gzip->count);
	fputs("</script>\n", out);
}

/* The name without directories and ".html", for the folder and for `data[].file`. */
static int stem_bytes(const char *path)
{
	const size_t n = strlen(path);
	return (int)(n > 5 && strcmp(path + n - 5, ".html") == 0 ? n - 5 : n);
}

/* A relative reference for a browser: "./NAME_data/3.js", with escapes as in an address. */
static void reference_make(char *out, size_t capacity, const char *path, size_t block)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.-";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int n = snprintf(out, capacity, "./");
	for (int k = 0; k < stem_bytes(name); k++)
		n += snprintf(out + n, capacity - (size_t)n,
			      strchr(plain, name[k]) ? "%c" : "%%%02X", (unsigned char)name[k]);
	snprintf(out + n, capacity - (size_t)n, "_data/%zu.js", block);
}

/* ---- the folder of data ---- */

/* Counts a folder's blocks; `is_removed`: removes them. -1: errno, ENOTEMPTY for other files. */
static int folder_blocks(const char *path, bool is_removed)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	int blocks = 0;
	if (!folder && fd >= 0)
		close(fd);
	if (!folder)
		return -1;
	for (struct dirent *e; (e = readdir(folder));) {
		const size_t digits = strspn(e->d_name, "0123456789");
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (!digits || strcmp(e->d_name + digits, ".js") != 0) {
			blocks = -1;
			break;
		}
		blocks++;
		if (is_removed)
			unlinkat(fd, e->d_name, 0);
	}
	closedir(folder);
	if (blocks < 0)
		errno = ENOTEMPTY;
	return blocks;
}

static void folder_remove(const char *path)
{
	if (folder_blocks(path, true) < 0 || rmdir(path) != 0)
		gp_error("cannot remove '%s': %s", path, gp_cause(errno));
}

static bool folder_write(const char *path, const struct gp_page *page)
{
	char name[32];
	const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_written = folder >= 0;
	for (size_t k = 0; is_written && k < page->blocks; k++) {
		snprintf(name, sizeof name, "%zu.js", k);
		const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
		is_written = out;
		if (!out)
			break;
		fprintf(out, "gpuprofData(%zu,\"", k);
		base64_write(out, page->data[k].bytes, page->data[k].count);
		fputs("\")\n", out);
		is_written = fflush(out) == 0 && !ferror(out) && fsync(fd) == 0;
		is_written = fclose(out) == 0 && is_written;
	}
	const int error = errno;
	if (folder >= 0)
		close(folder);
	errno = error;
	return is_written;
}

static bool folder_place(struct gp_page *page, bool is_forced)
{
	if (renameat2(AT_FDCWD, page->written, AT_FDCWD, page->folder, RENAME_NOREPLACE) == 0)
		return true;
	if (!is_forced || errno != EEXIST || folder_blocks(page->folder, false) < 0)
		return false;
	page->is_exchanged =
		renameat2(AT_FDCWD, page->written, AT_FDCWD, page->folder, RENAME_EXCHANGE) == 0;
	return page->is_exchanged;
}

static bool folder_name(struct gp_page *page, const char *path)
{
	return snprintf(page->folder, sizeof page->folder, "%.*s_data", stem_bytes(path), path) <
	       (int)sizeof page->folder;
}

static int folder_make(struct gp_page *page, const char *path, bool is_forced)
{
	const mode_t mask = umask(0);
	const int n = snprintf(page->written, sizeof page->written, "%.*s_data.XXXXXX",
			       stem_bytes(path), path);
	umask(mask);
	errno = ENAMETOOLONG;
	const bool is_made =
		folder_name(page, path) && n < (int)sizeof page->written && mkdtemp(page->written);
	if (is_made && chmod(page->written, 0777 & ~mask) == 0 &&
	    folder_write(page->written, page) && folder_place(page, is_forced))
		return GP_EXIT_OK;
	const int error = errno;
	if (is_made)
		folder_remove(page->written);
	gp_error("cannot create '%s': %s", page->folder, gp_cause(error));
	if (error == EEXIST)
		gp_hint("--force replaces it");
	page->folder[0] = '\0';
	return error == EEXIST ? GP_EXIT_USAGE : GP_EXIT_INTERNAL;
}

void gp_page_settle(struct gp_page *page, bool is_kept)
{
	if (page->is_left && is_kept && folder_blocks(page->folder, false) > 0)
		folder_remove(page->folder);
	if (page->is_left || !page->folder[0])
		return;
	if (!is_kept && page->is_exchanged)
		renameat2(AT_FDCWD, page->written, AT_FDCWD, page->folder, RENAME_EXCHANGE);
	if (page->is_exchanged)
		folder_remove(page->written);
	else if (!is_kept)
		folder_remove(page->folder);
	if (is_kept)
		gp_hint("keep '%s' beside the page: it has the page's data", page->folder);
}

/* ---- the page ---- */

static bool page_report_end(struct gp_page *page, const char *path)
{
	char reference[3 * 4096 + 64];
	gp_json_array(&page->json, "data");
	for (size_t k = 0; k < page->blocks; k++) {
		gp_json_object(&page->json, NULL);
		if (path)
			reference_make(reference, sizeof reference, path, k);
		gp_json_text(&page->json, "file", path ? reference : NULL);
		gp_json_number(&page->json, "bytes", page->data[k].count_in);
		gp_json_end(&page->json);
	}
	gp_json_end(&page->json);
	gp_json_end(&page->json);
	return gp_page_gzip_end(&page->report);
}

static void html_write(const struct gp_page *page, FILE *out, bool has_folder)
{
	const char *const hash = gp_page_hashes;
	const int first = (int)strcspn(hash, "\n"), second = (int)strcspn(hash + first + 1, "\n");
	char id[32];
	fprintf(out,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '%.*s'%s; style-src '%.*s'; img-src data: blob:; base-uri 'none'; "
		"form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		"<title>gpuprof: ",
		first, hash, has_folder ? " file:" : "", second, hash + first + 1);
	gp_xml_put(out, page->title, TITLE_MOST);
	fputs("</title>\n<style>", out);
	fwrite(gp_page_style, 1, (size_t)(gp_page_style_end - gp_page_style), out);
	fputs("</style></head><body><noscript>This page needs JavaScript.</noscript>"
	      "<div id=\"page\"></div>\n",
	      out);
	script_write(out, "report", &page->report);
	for (size_t k = 0; !has_folder && k < page->blocks; k++) {
		snprintf(id, sizeof id, "data-%zu", k);
		script_write(out, id, &page->data[k]);
	}
	fputs("<script>", out);
	fwrite(gp_page_script, 1, (size_t)(gp_page_script_end - gp_page_script), out);
	fputs("</script></body></html>\n", out);
}

int gp_page_write(struct gp_page *page, FILE *out, const char *path, bool is_forced)
{
	size_t bytes = base64_bytes(gp_page_gzip_so_far(&page->report)) +
		       (size_t)(gp_page_script_end - gp_page_script) +
		       (size_t)(gp_page_style_end - gp_page_style);
	for (size_t k = 0; k < page->blocks; k++)
		bytes += base64_bytes(page->data[k].count);
	const bool has_folder = path && page->blocks && bytes > INLINE_BYTES_MOST;
	if (!page_report_end(page, has_folder ? path : NULL)) {
		gp_error("cannot report: %s", gp_status_text(GP_E_MEMORY));
		return GP_EXIT_INTERNAL;
	}
	page->is_left = path && is_forced && !has_folder && folder_name(page, path);
	const int exit_status = has_folder ? folder_make(page, path, is_forced) : GP_EXIT_OK;
	if (exit_status == GP_EXIT_OK)
		html_write(page, out, has_folder);
	return exit_status;
}

void gp_page_release(struct gp_page *page)
{
	gp_page_gzip_release(&page->report);
	for (size_t k = 0; k < page->blocks; k++)
		gp_page_gzip_release(&page->data[k]);
	free(page->data);
	page->data = NULL;
	page->blocks = 0;
}
