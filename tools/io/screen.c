/*
 * Holds lines back until the screen is full. Then starts a pager, or without one writes them to
 * stdout.
 */
#include "screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "keys.h"
#include "line_fit.h"
#include "message.h"
#include "pager.h"
#include "progress.h"
#include "style.h"
#include "terminal_width.h"

enum { ROWS_DEFAULT = 24 };

enum state {
	CLOSED,
	HELD,  /* fits on the screen so far */
	SHOWN, /* written to stdout */
	PAGED,
	LEFT, /* the user ended the pager: later lines are dropped */
};

static struct screen {
	enum state state;
	FILE *stream; /* what printers write to */
	FILE *out;    /* stdout, or the pager's input */
	unsigned columns, rows, used;
	char *line; /* incomplete */
	size_t bytes, room;
	FILE *kept; /* memory stream of held lines; NULL: none */
	char *kept_text;
	size_t kept_bytes;
	int error;
} screen;

struct gp_screen_options gp_screen_options;

static unsigned screen_number_of(const char *variable)
{
	const char *value = getenv(variable);
	const unsigned long number = value ? strtoul(value, NULL, 10) : 0;
	return number < 100000 ? (unsigned)number : 0;
}

bool gp_terminal_size(int fd, unsigned *columns, unsigned *rows)
{
	struct winsize size = { 0 };
	if (!isatty(fd))
		return false;
	if (ioctl(fd, TIOCGWINSZ, &size) != 0)
		size = (struct winsize){ 0 };
	*columns = screen_number_of("COLUMNS");
	*columns = *columns ? *columns : size.ws_col;
	*rows = screen_number_of("LINES");
	*rows = *rows ? *rows : size.ws_row;
	return true;
}

/* ---- output of lines ---- */

static void kept_drop(void)
{
	if (screen.kept)
		fclose(screen.kept);
	free(screen.kept_text);
	screen.kept = NULL;
	screen.kept_text = NULL;
}

static void note_error(FILE *out)
{
	if (fflush(out) != 0 || ferror(out))
		screen.error = screen.error ? screen.error : errno ? errno : EIO;
}

/* Writes held lines to stdout, and all later lines, too. */
static void screen_show(void)
{
	screen.state = SHOWN;
	screen.out = stdout;
	gp_progress_clear();
	if (screen.kept && fflush(screen.kept) == 0)
		fwrite(screen.kept_text, 1, screen.kept_bytes, stdout);
	kept_drop();
	note_error(stdout);
}

static void pager_over(void)
{
	fclose(screen.out);
	gp_pager_end();
	screen.state = LEFT;
}

static bool open_pager(void)
{
	const char *terminal = getenv("TERM");
	if (gp_screen_options.has_no_pager || !terminal || strcmp(terminal, "dumb") == 0)
		return false;
	const int input = gp_pager_begin();
	if (input < 0)
		return false;
	screen.out = fdopen(input, "w");
	if (!screen.out) {
		close(input);
		gp_pager_end();
		return false;
	}
	screen.state = PAGED;
	return true;
}

static void hold_no_longer(void)
{
	gp_progress_clear();
	if (!open_pager()) {
		screen_show();
		return;
	}
	if (fflush(screen.kept) == 0)
		fwrite(screen.kept_text, 1, screen.kept_bytes, screen.out);
	kept_drop();
}

/* A command must be copied as one line, so the terminal wraps it. */
static bool is_command(const char *line, size_t bytes)
{
	static const char next[] = "next: ";
	return bytes > sizeof next && memcmp(line, next, sizeof next - 1) == 0;
}

/* Writes one line as it will appear on the terminal. */
static void put_line(const char *line, size_t bytes)
{
	const char *mark = gp_cut_mark();
	const bool is_whole = gp_screen_options.is_wide || is_command(line, bytes);
	FILE *out = screen.kept ? screen.kept : screen.out;
	const bool is_ended = bytes && line[bytes - 1] == '\n';
	size_t rows = 1;
	if (is_whole) {
		const size_t width = gp_line_fit(out, line, bytes - is_ended, 0, mark);
		rows = screen.columns && width ? (width - 1) / screen.columns + 1 : 1;
	} else {
		rows = gp_line_put(out, line, bytes - is_ended, screen.columns, mark);
	}
	if (is_ended)
		fputc('\n', out);
	if (screen.state != HELD)
		return;
	screen.used += (unsigned)rows;
	if (screen.used >= screen.rows)
		hold_no_longer();
}

/* ---- the stream ---- */

static bool line_add(const char *text, size_t bytes)
{
	if (screen.bytes + bytes > screen.room) {
		const size_t room = 2 * (screen.bytes + bytes);
		char *grown = realloc(screen.line, room);
		if (!grown)
			return false;
		screen.line = grown;
		screen.room = room;
	}
	memcpy(screen.line + screen.bytes, text, bytes);
	screen.bytes += bytes;
	return true;
}

static ssize_t screen_take(void *context, const char *text, size_t bytes)
{
	(void)context;
	gp_progress_clear();
	for (size_t at = 0, n; at < bytes && screen.state != LEFT; at += n) {
		const char *end = memchr(text + at, '\n', bytes - at);
		n = end ? (size_t)(end - text) + 1 - at : bytes - at;
		if (!line_add(text + at, n)) {
			errno = ENOMEM;
			return 0;
		}
		if (!end)
			continue;
		put_line(screen.line, screen.bytes);
		screen.bytes = 0;
	}
	if (screen.state == PAGED && fflush(screen.out) != 0)
		pager_over();
	return (ssize_t)bytes;
}

FILE *gp_screen_open(void)
{
	unsigned columns, rows;
	gp_report_colour(STDOUT_FILENO);
	if (!gp_terminal_size(STDOUT_FILENO, &columns, &rows))
		return stdout;
	screen = (struct screen){ .columns = columns, .rows = rows ? rows : ROWS_DEFAULT };
	screen.kept = open_memstream(&screen.kept_text, &screen.kept_bytes);
	screen.stream = screen.kept ? fopencookie(NULL, "w",
						  (cookie_io_functions_t){ .write = screen_take }) :
				      NULL;
	if (!screen.stream) {
		kept_drop();
		return stdout;
	}
	screen.state = HELD;
	return screen.stream;
}

int gp_screen_close(void)
{
	if (screen.state == CLOSED)
		return 0;
	if (fclose(screen.stream) != 0)
		screen.error = errno;
	if (screen.bytes && screen.state != LEFT)
		put_line(screen.line, screen.bytes);
	if (screen.state == HELD)
		screen_show();
	if (screen.state == PAGED)
		pager_over();
	if (screen.state == SHOWN)
		note_error(stdout);
	kept_drop();
	free(screen.line);
	const int error = screen.error;
	screen = (struct screen){ .state = CLOSED };
	return error;
}

unsigned gp_screen_columns(void)
{
	return screen.state != CLOSED && !gp_screen_options.is_wide ? screen.columns : 0;
}

bool gp_screen_is_below(unsigned columns)
{
	return gp_screen_columns() && gp_screen_columns() < columns;
}

bool gp_screen_is_left(void)
{
	return screen.state == LEFT;
}

FILE *gp_screen_messages(unsigned *columns)
{
	unsigned rows;
	gp_keys_close(); /* the message would vanish with the alternate screen */
	gp_progress_clear();
	if (screen.state != CLOSED) {
		fflush(screen.stream);
		const bool is_behind =
			screen.state == PAGED || (screen.state == HELD && screen.used);
		if (is_behind && isatty(STDERR_FILENO))
			return screen.stream;
	}
	if (!gp_terminal_size(STDERR_FILENO, columns, &rows))
		*columns = 0;
	return stderr;
}

bool gp_screen_is_free(void)
{
	return screen.state != PAGED && screen.state != LEFT;
}

/* ---- names ---- */

void gp_name_begin(FILE *out)
{
	if (screen.state != CLOSED)
		fputc(GP_NAME_BEGIN, out);
}

void gp_name_end(FILE *out)
{
	if (screen.state != CLOSED)
		fputc(GP_NAME_END, out);
}

void gp_name_print(FILE *out, const char *text)
{
	gp_name_begin(out);
	gp_mask(out, text, strlen(text));
	gp_name_end(out);
}
