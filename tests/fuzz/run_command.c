/* Runs commands in this process. */
#include "run_command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/command.h"
#include "fuzz.h"

#define WORDS 24

static int run(int argc, char **argv)
{
	for (const struct gp_command *const *c = gp_commands; *c; c++)
		if (strcmp((*c)->name, argv[0]) == 0)
			return (*c)->run(*c, argc, argv);
	fprintf(stderr, "fuzz: no command '%s'\n", argv[0]);
	abort();
}

/* glibc allows a program to assign another stream to stderr and stdout. */
static int run_quietly(int argc, char **argv)
{
	static FILE *quiet;
	FILE *out = stdout, *err = stderr;
	if (!quiet)
		quiet = fopen("/dev/null", "we");
	if (!quiet)
		abort();
	if (!getenv("FUZZ_SHOW"))
		stdout = stderr = quiet;
	int status = run(argc, argv);
	fflush(quiet);
	stdout = out;
	stderr = err;
	return status;
}

void run_command(const char *line, const char *recording, const char *other, size_t bytes)
{
	char words[256], path[2][PATH_MAX], *argv[WORDS], *rest = words;
	int argc = 0;
	snprintf(words, sizeof words, "%s", line);
	snprintf(path[0], PATH_MAX, "%s", recording);
	for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS - 1;) {
		if (strcmp(word, "@") == 0) {
			word = path[0];
		} else if (word[0] == '#') {
			snprintf(path[1], PATH_MAX, "%s%s", other, word + 1);
			word = path[1];
		}
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	fuzz_limit_begin();
	int status = run_quietly(argc, argv);
	fuzz_limit_end(bytes, line);
	if (status < GP_EXIT_OK || status > GP_EXIT_INTERNAL)
		abort();
}
