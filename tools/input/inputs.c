/*
 * Expands directories to the recordings in them, and reads a recording from stdin.
 */
#include "inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../io/message.h"
#include "../io/progress.h"
#include "../io/stdin_recording.h"

/* One command a program: the recordings live until it ends. */
static struct inputs {
	char **path;
	size_t count, capacity;
	const char *directory; /* the only word, if it is a directory; else NULL */
} inputs;

static bool inputs_add(char *path)
{
	if (path && inputs.count == inputs.capacity) {
		size_t capacity = inputs.capacity ? 2 * inputs.capacity : 64;
		char **paths = realloc(inputs.path, capacity * sizeof *paths);
		if (paths) {
			inputs.path = paths;
			inputs.capacity = capacity;
		}
	}
	if (path && inputs.count < inputs.capacity) {
		inputs.path[inputs.count++] = path;
		return true;
	}
	gp_error("cannot list the recordings: out of memory");
	return false;
}

static bool is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Skips pipes and directories with such a name: opening one may wait forever. */
static bool is_recording_name(const char *path)
{
	static const char suffix[] = ".gpr";
	const char *name = strrchr(path, '/') + 1;
	size_t n = strlen(name);
	struct stat st;
	return *name != '.' && n >= sizeof suffix && strcmp(name + n - 4, suffix) == 0 &&
	       stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool inputs_add_entry(const char *path, const char *name)
{
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
	char *file;
	if (asprintf(&file, "%s%s%s", path, slash, name) < 0)
		file = NULL;
	if (file && !is_recording_name(file)) {
		free(file);
		return true;
	}
	return inputs_add(file);
}

static bool inputs_add_directory(const char *path)
{
	const size_t first = inputs.count;
	bool is_whole = true;
	DIR *directory = opendir(path);
	if (!directory) {
		gp_error("cannot open '%s': %s", path, gp_cause(errno));
		return false;
	}
	for (struct dirent *e; is_whole && (e = readdir(directory));)
		is_whole = inputs_add_entry(path, e->d_name);
	closedir(directory);
	if (!is_whole)
		return false;
	if (inputs.count == first) {
		gp_error("cannot find a recording in '%s'", path);
		gp_hint("only files ending in '.gpr' are read");
		return false;
	}
	qsort(inputs.path + first, inputs.count - first, sizeof *inputs.path, by_name);
	return true;
}

/* 0, or a negative result of gp_inputs_parse. */
static int inputs_add_stdin(char *word)
{
	int exit_status;
	if (gp_stdin_take(&exit_status))
		return inputs_add(word) ? 0 : GP_FLAGS_FAILED;
	return exit_status == GP_EXIT_USAGE   ? GP_FLAGS_WRONG :
	       exit_status == GP_EXIT_DAMAGED ? GP_FLAGS_UNREADABLE :
						GP_FLAGS_FAILED;
}

static int inputs_add_word(const struct gp_command *command, char *word, unsigned takes)
{
	const bool is_stdin = gp_is_stdin(word);
	if (is_stdin && takes & GP_INPUTS_STDIN)
		return inputs_add_stdin(word);
	if (!is_stdin && !is_directory(word))
		return inputs_add(word) ? 0 : GP_FLAGS_FAILED;
	if (!is_stdin && takes & GP_INPUTS_DIRECTORIES)
		return inputs_add_directory(word) ? 0 : GP_FLAGS_UNREADABLE;
	if (is_stdin)
		gp_usage(command, "'%s' takes files, and '-' is stdin", command->name);
	else
		gp_usage(command, "'%s' takes recordings, not a directory such as '%s'",
			 command->name, word);
	return GP_FLAGS_WRONG;
}

int gp_inputs_parse(const struct gp_command *command, const struct gp_flag *flags, int argc,
		    char ***argv)
{
	const unsigned takes =
		command->inputs ? command->inputs : GP_INPUTS_DIRECTORIES | GP_INPUTS_STDIN;
	int words = gp_flags_parse(command, flags, argc, *argv, false);
	inputs.count = 0; /* a program may run commands in turn: tests/fuzz does */
	if (words < 0 || (words == 0 && takes & GP_INPUTS_NONE))
		return words;
	if (words == 0) {
		gp_usage(command, "no recording given");
		return GP_FLAGS_WRONG;
	}
	for (int k = 0; k < words; k++) {
		int result = inputs_add_word(command, (*argv)[k], takes);
		if (result)
			return result;
	}
	inputs.directory = words == 1 && is_directory((*argv)[0]) ? (*argv)[0] : NULL;
	*argv = inputs.path;
	gp_progress_expect((unsigned)inputs.count);
	return (int)inputs.count;
}

const char *gp_inputs_directory(void)
{
	return inputs.directory;
}

bool gp_inputs_is_one(const struct gp_command *command, const char *what, int recordings)
{
	if (recordings > 1)
		gp_usage(command, "'%s' takes one recording, not %d", what, recordings);
	return recordings <= 1;
}
