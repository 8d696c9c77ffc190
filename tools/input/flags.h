/*
 * Command line options from one table for each command: parsing, range checks, `--help`, and the
 * nearest name for a misspelt option.
 */
#ifndef GP_FLAGS_H
#define GP_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "../command.h"
#include "../io/screen.h"
#include "../io/style.h"

enum gp_flag_type {
	GP_FLAG_SWITCH,	  /* bool *: --name sets it */
	GP_FLAG_TEXT,	  /* const char ** */
	GP_FLAG_LIST,	  /* char **: all its values, joined by commas; the caller frees it */
	GP_FLAG_NUMBER,	  /* uint64_t *: decimal; within the range in `value`, "6..100" or "1..N" */
	GP_FLAG_DEVICE,	  /* int64_t *: a GPU's number; -1, all, if not given */
	GP_FLAG_ON_OFF,	  /* const char **: --name, --name=off, --name off */
	GP_FLAG_OPTIONAL, /* const char **: --name, which is "on"; --name=VALUE */
	GP_FLAG_CHOICE,	  /* const char **: a word of `value`: "one|other", "WHAT=one|other" */
};

/* A table ends with a row whose name is NULL. */
struct gp_flag {
	const char *name;
	char letter; /* 0: none */
	enum gp_flag_type type;
	const char *value; /* "FILE"; NULL for a switch */
	void *out;
	const char *text;
};

/* Prints that `text` is not a word of --`option`, and the nearest word. Returns GP_EXIT_USAGE. */
int gp_flags_wrong_word(const char *option, const char *text, const char *const *words,
			size_t count);

/*
 * Prints that `text` is not a value of --`option`. `kind` is such as "size"; `form` is the hint,
 * which describes a size. Returns false.
 */
bool gp_flags_wrong_value(const char *option, const char *text, const char *kind, const char *form);

/* `kind` and `form` of values of many options. */
#define GP_FLAGS_SIZE "size", "a size is 4GiB, 1.5G, 512M or bytes"
#define GP_FLAGS_TIME "time", "a time is 20ms, 1.5s or 2min; a plain number is seconds"

/* Prints the hint after a wrong value: the flag's form and text. */
void gp_flags_hint(const struct gp_flag *flag);

/* Reads a number in the range of `value`, "6..100". False: printed on stderr. */
bool gp_flags_number_read(const struct gp_flag *flag, const char *text, uint64_t *out);

/* Values of `--at`, `--from` and `--to`, see gp_moment_find in report.h. */
#define GP_FLAGS_MOMENTS                              \
	"1.5s, 20ms, start, end, step:3, oom, peak, " \
	"peak:allocated|reserved|driver|pinned|unused"

/*
 * Options of all commands with text output, for screen.h and style.h. Their text is "", so that the
 * help has one line for all of them.
 */
#define GP_FLAGS_SCREEN                                                                  \
	{ "color", 0, GP_FLAG_CHOICE, "WHEN=auto|always|never", &gp_color_option, "" },  \
		{ "wide", 0, GP_FLAG_SWITCH, NULL, &gp_screen_options.is_wide, "" },     \
	{                                                                                \
		"no-pager", 0, GP_FLAG_SWITCH, NULL, &gp_screen_options.has_no_pager, "" \
	}

enum { GP_FLAGS_HELP = -1, GP_FLAGS_WRONG = -2, GP_FLAGS_UNREADABLE = -3, GP_FLAGS_FAILED = -4 };

/*
 * Parses argv[1..] and moves the words that are not options, in order, to argv[0..]. Returns their
 * number, or GP_FLAGS_HELP (help is printed: end with 0), or GP_FLAGS_WRONG (the error is printed:
 * end with GP_EXIT_USAGE). `stops_at_word`: the first word ends the options, as in `run CMD
 * --its-own-option`.
 */
int gp_flags_parse(const struct gp_command *command, const struct gp_flag *flags, int argc,
		   char **argv, bool stops_at_word);

/* The exit status for a negative result. */
static inline int gp_flags_exit(int result)
{
	return result == GP_FLAGS_HELP	     ? GP_EXIT_OK :
	       result == GP_FLAGS_UNREADABLE ? GP_EXIT_DAMAGED :
	       result == GP_FLAGS_FAILED     ? GP_EXIT_INTERNAL :
					       GP_EXIT_USAGE;
}

/* Prints the error in the arguments of `command`, and its usage. Returns GP_EXIT_USAGE. */
int gp_usage(const struct gp_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
