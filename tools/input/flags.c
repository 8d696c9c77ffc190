/*
 * Option parsing. Not getopt: it cannot name the nearest option and does not report which word was
 * wrong.
 */
#include "flags.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../io/line_fit.h"
#include "../io/message.h"

struct parse {
	const struct gp_command *command;
	const struct gp_flag *flags;
	int argc, at;
	char **argv;
};

int gp_usage(const struct gp_command *command, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	gp_error("%s", line);
	gp_hint("usage: gpuprof %s", command->synopsis);
	return GP_EXIT_USAGE;
}

enum { HELP_LEFT = 28, HELP_WIDTH = 80, WORDS_MAX = 64 };

/* The words of a choice in the help: "WHAT=one|other". */
static const char *choice_words(const char *value)
{
	const char *equals = strchr(value, '=');
	return equals ? equals + 1 : value;
}

/* Splits "one|other" into pointers into `text`. */
static size_t words_split(const char *value, char *text, size_t capacity, const char **words)
{
	size_t count = 0;
	char *rest = text;
	snprintf(text, capacity, "%s", value);
	for (char *word; count < WORDS_MAX && (word = strsep(&rest, "|"));)
		words[count++] = word;
	return count;
}

static void words_join(const char *const *words, size_t count, char *out, size_t capacity)
{
	size_t n = 0;
	*out = '\0';
	for (size_t k = 0; k < count && n < capacity; k++)
		n += (size_t)snprintf(out + n, capacity - n, "%s%s", k ? ", " : "", words[k]);
}

int gp_flags_wrong_word(const char *option, const char *text, const char *const *words,
			size_t count)
{
	char list[1024];
	words_join(words, count, list, sizeof list);
	const char *near = gp_nearest(text, words, count);
	gp_error(count == 1 ? "bad value of '--%s': '%s'; only '%s' exists" :
			      "bad value of '--%s': '%s' is not one of %s",
		 option, text, list);
	if (near)
		gp_hint("did you mean '%s'?", near);
	return GP_EXIT_USAGE;
}

bool gp_flags_wrong_value(const char *option, const char *text, const char *kind, const char *form)
{
	gp_error("bad value of '--%s': '%s' is not a %s", option, text, kind);
	gp_hint("%s", form);
	return false;
}

/* Prints a text in the right column of the help, wrapped at spaces. */
static void print_wrapped(const char *left, const char *text)
{
	const char *const all = text;
	int column = printf("  %-*s", HELP_LEFT - 3, left);
	for (size_t n; *text; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		const bool is_first = text == all;
		if (is_first ? column >= HELP_LEFT : column + 1 + (int)n > HELP_WIDTH)
			column = printf("\n%*s", HELP_LEFT - 1, "") - 1;
		column += printf(" %.*s", (int)n, text);
	}
	putchar('\n');
}

/* "--light[=on|off]", "--rows 6..100", "--sort WHAT" of "WHAT=one|other", "--color=one|other". */
static void flag_form(const struct gp_flag *f, char *out, size_t capacity)
{
	const char *value = f->value ? f->value : "";
	const char *all = f->type == GP_FLAG_CHOICE ? choice_words(value) : value;
	const bool is_on_off = f->type == GP_FLAG_ON_OFF || f->type == GP_FLAG_OPTIONAL;
	const bool is_short = all != value && *f->text;
	snprintf(out, capacity, "--%s%s%.*s%s", f->name,
		 is_on_off	     ? "[=" :
		 *value && !*f->text ? "=" :
		 *value		     ? " " :
				       "",
		 is_short ? (int)(all - value) - 1 : -1, *f->text ? value : all,
		 is_on_off ? "]" : "");
}

void gp_flags_hint(const struct gp_flag *f)
{
	char form[256];
	flag_form(f, form, sizeof form);
	gp_hint("%s%s%s", form, *f->text ? ": " : "", f->text);
}

/* For "WHAT=one|other": WHAT on the left, its words after the text. */
static void print_flag(const struct gp_flag *f)
{
	char left[80], form[64], text[1024], list[512], copy[256];
	const char *value = f->value ? f->value : "", *words[WORDS_MAX];
	const char *all = f->type == GP_FLAG_CHOICE ? choice_words(value) : value;
	const bool is_named = all != value;
	words_join(words, words_split(all, copy, sizeof copy, words), list, sizeof list);
	flag_form(f, form, sizeof form);
	snprintf(left, sizeof left, "%c%c%s %s", f->letter ? '-' : ' ', f->letter ? f->letter : ' ',
		 f->letter ? "," : " ", form);
	snprintf(text, sizeof text, is_named ? "%s: %s" : "%s", f->text, list);
	print_wrapped(left, text);
}

/* Lists options without a text, which many commands share. gpuprof(1) documents them. */
static void print_shared(const struct gp_flag *flags)
{
	char list[256] = "", form[64];
	size_t n = 0;
	for (const struct gp_flag *f = flags; f->name && n < sizeof list; f++)
		if (!*f->text) {
			flag_form(f, form, sizeof form);
			n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "",
					      form);
		}
	if (n)
		print_wrapped("on a terminal", list);
}

static void print_help(const struct gp_command *command, const struct gp_flag *flags)
{
	char *usage;
	if (asprintf(&usage, "usage: gpuprof %s", command->synopsis) < 0)
		return;
	gp_line_put(stdout, usage, strlen(usage), HELP_WIDTH, "");
	free(usage);
	printf("\n\n%s\n\n", command->text);
	for (const struct gp_flag *f = flags; f->name; f++)
		if (*f->text)
			print_flag(f);
	print_shared(flags);
	print_wrapped("-h, --help", "this text");
}

static int unknown(const struct parse *p, const char *word, size_t length)
{
	const char *names[64];
	size_t n = 0;
	char name[64] = "";
	if (length < sizeof name)
		memcpy(name, word, length);
	for (const struct gp_flag *f = p->flags; f->name && n < 63; f++)
		names[n++] = f->name;
	names[n++] = "help";
	const char *near = gp_nearest(name, names, n);
	gp_error("unknown option '--%.*s' of '%s'", (int)length, word, p->command->name);
	if (near)
		gp_hint("did you mean '--%s'?", near);
	else
		gp_hint("usage: gpuprof %s", p->command->synopsis);
	return GP_FLAGS_WRONG;
}

bool gp_flags_number_read(const struct gp_flag *flag, const char *text, uint64_t *out)
{
	char *end;
	const char *range = strstr(flag->value, "..");
	const uint64_t least = range ? strtoull(flag->value, NULL, 10) : 0;
	const uint64_t most = range && range[2] != 'N' ? strtoull(range + 2, NULL, 10) : UINT64_MAX;
	errno = 0;
	*out = strtoull(text, &end, 10);
	const bool is_number = *text >= '0' && *text <= '9' && !*end && !errno;
	if (is_number && *out >= least && *out <= most)
		return true;
	gp_error("bad value of '--%s': '%s' is not a number%s%s", flag->name, text,
		 range ? " in " : "", range ? flag->value : "");
	gp_flags_hint(flag);
	return false;
}

static int store_device(const struct gp_flag *flag, const char *value)
{
	uint64_t device;
	_Static_assert(GP_DEVICES == 64, "the range of a GPU's number");
	const struct gp_flag number = {
		flag->name, 0, GP_FLAG_NUMBER, "0..63", &device, flag->text
	};
	if (!gp_flags_number_read(&number, value, &device))
		return GP_FLAGS_WRONG;
	*(int64_t *)flag->out = (int64_t)device;
	return 0;
}

static int store_choice(const struct gp_flag *flag, const char *value)
{
	char text[256];
	const char *words[WORDS_MAX], *all = choice_words(flag->value);
	if (!gp_is_chosen(all, value)) {
		size_t count = words_split(all, text, sizeof text, words);
		gp_flags_wrong_word(flag->name, value, words, count);
		if (!gp_nearest(value, words, count))
			gp_flags_hint(flag);
		return GP_FLAGS_WRONG;
	}
	*(const char **)flag->out = value;
	return 0;
}

static int store_list(const struct gp_flag *flag, const char *value)
{
	char **list = flag->out, *joined;
	if (asprintf(&joined, "%s%s%s", *list ? *list : "", *list ? "," : "", value) < 0)
		return GP_FLAGS_FAILED;
	free(*list);
	*list = joined;
	return 0;
}

/* Accepts fewer words than after '=': `run -v no` runs a command of that name. */
static bool is_on_off(const char *word)
{
	return word && (strcmp(word, "on") == 0 || strcmp(word, "off") == 0);
}

/* `value`: the text after '=' or after the letter, or NULL. */
static int store(struct parse *p, const struct gp_flag *flag, const char *value)
{
	const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
	switch (flag->type) {
	case GP_FLAG_SWITCH:
		if (value) {
			gp_error("option '--%s' takes no value", flag->name);
			gp_flags_hint(flag);
			return GP_FLAGS_WRONG;
		}
		*(bool *)flag->out = true;
		return 0;
	case GP_FLAG_ON_OFF:
		if (!value && is_on_off(next))
			value = p->argv[++p->at];
		if (value && gp_on_off_parse(value) == GP_NEITHER) {
			gp_error("bad value of '--%s': '%s' is neither on nor off", flag->name,
				 value);
			gp_flags_hint(flag);
			return GP_FLAGS_WRONG;
		}
		*(const char **)flag->out = value ? value : "on";
		return 0;
	case GP_FLAG_OPTIONAL:
		*(const char **)flag->out = value ? value : "on";
		return 0;
	case GP_FLAG_TEXT:
	case GP_FLAG_LIST:
	case GP_FLAG_NUMBER:
	case GP_FLAG_DEVICE:
	case GP_FLAG_CHOICE:
		break;
	}
	if (!value) {
		if (!next) {
			gp_error("option '--%s' needs a value: %s", flag->name,
				 flag->type == GP_FLAG_CHOICE ? choice_words(flag->value) :
								flag->value);
			return GP_FLAGS_WRONG;
		}
		value = p->argv[++p->at];
	}
	if (flag->type == GP_FLAG_NUMBER)
		return gp_flags_number_read(flag, value, flag->out) ? 0 : GP_FLAGS_WRONG;
	if (flag->type == GP_FLAG_DEVICE)
		return store_device(flag, value);
	if (flag->type == GP_FLAG_CHOICE)
		return store_choice(flag, value);
	if (flag->type == GP_FLAG_LIST)
		return store_list(flag, value);
	*(const char **)flag->out = value;
	return 0;
}

static int parse_long(struct parse *p, const char *word)
{
	size_t length = strcspn(word, "=");
	const char *value = word[length] ? word + length + 1 : NULL;
	if (strcmp(word, "help") == 0)
		return GP_FLAGS_HELP;
	for (const struct gp_flag *f = p->flags; f->name; f++)
		if (strlen(f->name) == length && memcmp(f->name, word, length) == 0)
			return store(p, f, value);
	return unknown(p, word, length);
}

static int parse_letters(struct parse *p, const char *letters)
{
	for (; *letters; letters++) {
		const struct gp_flag *f = p->flags;
		if (*letters == 'h')
			return GP_FLAGS_HELP;
		while (f->name && f->letter != *letters)
			f++;
		if (!f->name) {
			gp_error("unknown option '-%c' of '%s'", *letters, p->command->name);
			gp_hint("usage: gpuprof %s", p->command->synopsis);
			return GP_FLAGS_WRONG;
		}
		bool takes_rest = (f->type == GP_FLAG_TEXT || f->type == GP_FLAG_LIST ||
				   f->type == GP_FLAG_NUMBER) &&
				  letters[1];
		int result = store(p, f, takes_rest ? letters + 1 : NULL);
		if (result || takes_rest)
			return result;
	}
	return 0;
}

int gp_flags_parse(const struct gp_command *command, const struct gp_flag *flags, int argc,
		   char **argv, bool stops_at_word)
{
	for (const struct gp_flag *f = flags; f->name; f++)
		if (f->type == GP_FLAG_DEVICE)
			*(int64_t *)f->out = -1;
	struct parse p = { command, flags, argc, 1, argv };
	int words = 0;
	bool is_over = false;
	for (; p.at < argc; p.at++) {
		char *word = argv[p.at];
		int result = 0;
		if (is_over || word[0] != '-' || !word[1]) {
			is_over = is_over || stops_at_word;
			argv[words++] = word;
		} else if (strcmp(word, "--") == 0) {
			is_over = true;
		} else if (word[1] == '-') {
			result = parse_long(&p, word + 2);
		} else {
			result = parse_letters(&p, word + 1);
		}
		if (result == GP_FLAGS_HELP)
			print_help(command, flags);
		if (result)
			return result;
	}
	argv[words] = NULL;
	return words;
}
