/* The program `gpuprof`: finds the command, or names the nearest one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "io/message.h"
#include "io/progress.h"
#include "io/screen.h"

static void print_commands(void)
{
	puts("usage: gpuprof COMMAND [options] ...\n\n"
	     "Records each event that moves GPU memory of an unmodified CUDA job; replays it.\n");
	for (const struct gp_command *const *c = gp_commands; *c; c++)
		printf("  %-10s %s\n", (*c)->name, (*c)->text);
	puts("\n  -V, --version  print the version\n  -h, --help     this text\n\n"
	     "gpuprof COMMAND --help lists the options; its manual page is\n"
	     "gpuprof-COMMAND(1), in the source tree docs/man/gpuprof-COMMAND.1.md.\n"
	     "Begin with: gpuprof run -- python3 train.py");
}

static const struct gp_command *main_find(const char *name)
{
	for (const struct gp_command *const *c = gp_commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

static int unknown(const char *word)
{
	const char *names[64];
	size_t n = 0;
	for (const struct gp_command *const *c = gp_commands; *c && n < 63; c++)
		names[n++] = (*c)->name;
	names[n++] = "help";
	bool is_version = strcmp(word, "version") == 0;
	const char *near = is_version ? "--version" : gp_nearest(word, names, n);
	gp_error("unknown %s '%s'", *word == '-' ? "option" : "command", word);
	if (near)
		gp_hint("did you mean 'gpuprof %s'?", near);
	else
		gp_hint("'gpuprof help' lists the commands");
	return GP_EXIT_USAGE;
}

/* Wraps a sentence at 80 columns. */
static void print_sentence(const char *text)
{
	size_t column = 0;
	for (const char *word = text; *word;) {
		const size_t length = strcspn(word, " ");
		const bool is_last = word[length] == '\0';
		if (column && column + 1 + length + is_last > 80) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "", (int)length, word);
		word += length + strspn(word + length, " ");
	}
	puts(".\n");
}

/* Prints one Markdown section for each option: docs/ENVIRONMENT.md below its introduction. */
static int print_environment(void)
{
	const struct gp_option *option;
	size_t n = gp_options(&option);
	for (const struct gp_option *o = option; o < option + n; o++) {
		printf("## %s\n\n", o->variable);
		print_sentence(o->text);
		printf("- value: `%s`\n", o->value ? o->value : "on|off");
		if (*o->initial)
			printf("- default: `%s`\n", o->initial);
		else
			puts("- default: unset");
		if (o->flag && o->letter)
			printf("- option of `gpuprof run`: `-%c`, `--%s`\n", o->letter, o->flag);
		else if (o->flag)
			printf("- option of `gpuprof run`: `--%s`\n", o->flag);
		if (o + 1 < option + n)
			putchar('\n');
	}
	return GP_EXIT_OK;
}

static void print_help_of_help(void)
{
	puts("usage: gpuprof help [COMMAND]\n\nlist the commands, or print the options of one\n\n"
	     "      --environment         the page of the variables that the library reads");
}

static int help(int argc, char **argv)
{
	if (argc < 2) {
		print_commands();
		return GP_EXIT_OK;
	}
	if (strcmp(argv[1], "--environment") == 0)
		return print_environment();
	if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0) {
		print_help_of_help();
		return GP_EXIT_OK;
	}
	const struct gp_command *command = main_find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	char name[64], option[] = "--help";
	snprintf(name, sizeof name, "%s", command->name);
	char *words[] = { name, option, NULL };
	return command->run(command, 2, words);
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		gp_error("no command given");
		gp_hint("'gpuprof help' lists the commands");
		return GP_EXIT_USAGE;
	}
	const char *word = argv[1];
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		puts("gpuprof " GP_VERSION);
		return GP_EXIT_OK;
	}
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help(argc - 1, argv + 1);
	const struct gp_command *command = main_find(word);
	return command ? command->run(command, argc - 1, argv + 1) : unknown(word);
}

int main(int argc, char **argv)
{
	gp_message_prepare(gp_screen_messages);
	int exit_status = dispatch(argc, argv);
	gp_progress_clear();
	errno = 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && exit_status == GP_EXIT_OK) {
		gp_error("cannot write to stdout: %s", gp_cause(errno));
		return GP_EXIT_INTERNAL;
	}
	return exit_status;
}
