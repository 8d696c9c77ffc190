/*
 * `gpuprof doctor`: checks whether this machine can record a job. Loads the driver only in child
 * processes. Removes the file that it writes as a test. Only counts leftovers of other processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor/child_output.h"
#include "doctor/driver_probe.h"
#include "input/flags.h"
#include "io/amount.h"
#include "io/json.h"
#include "io/message.h"
#include "io/screen.h"
#include "io/sink.h"
#include "io/style.h"
#include "run/launch.h"

/* The driver takes seconds to start with many sleeping GPUs, python3 on a slow file system. */
#define ANSWER_LIMIT_MS 20000u
/*
 * The library uses a quarter of the free space and never the last 32 MiB. Less serves few threads.
 */
#define RING_PLACE_LEAST (64u << 20)
/* A job with many small allocations writes this in less than a minute. */
#define RECORDING_LEAST (64u << 20)

enum state { OK, NOTE, FAIL };
static const char *const state_names[] = { "ok", "note", "fail" };

struct check {
	const char *name;
	enum state state;
	char text[1024], hint[256];
};

struct doctor {
	struct check check[16];
	size_t checks;
	char library[4096]; /* "": not found */
	bool has_driver;
};

__attribute__((format(printf, 4, 5))) static struct check *
add(struct doctor *d, const char *name, enum state state, const char *format, ...)
{
	struct check *c = &d->check[d->checks++];
	va_list arguments;
	c->name = name;
	c->state = state;
	va_start(arguments, format);
	vsnprintf(c->text, sizeof c->text, format, arguments);
	va_end(arguments);
	return c;
}

static void advise(struct check *check, const char *hint)
{
	snprintf(check->hint, sizeof check->hint, "%s", hint);
}

/* ---- library, driver, hooks ---- */

static void check_library(struct doctor *d)
{
	const char *value = getenv("GPUPROF");
	if (!gp_library_find(NULL, d->library, sizeof d->library)) {
		d->library[0] = '\0';
		advise(add(d, "library", FAIL, "'libgpuprof.so' is not found"),
		       "set GPUPROF_LIB to the path of the library");
	} else if (value && gp_on_off_parse(value) == GP_OFF) {
		advise(add(d, "library", FAIL, "switched off: GPUPROF=%s", value), "unset GPUPROF");
	} else {
		add(d, "library", OK, "%s", d->library);
	}
}

static void probe(char **words, const char *preloaded, struct gp_captured *out)
{
	const struct gp_setting settings[] = {
		{ "LD_PRELOAD", preloaded },
		{ "GPUPROF", NULL },
		{ "GPUPROF_ONLY", NULL },
	};
	gp_capture(words, settings, sizeof settings / sizeof *settings, ANSWER_LIMIT_MS, out);
}

static void judge_driver(struct doctor *d, const char *path, const char *text)
{
	char version[32] = "0", result[32] = "", devices[32] = "0", why[256] = "no text";
	gp_captured_value(text, "version", version, sizeof version);
	gp_captured_value(text, "devices", devices, sizeof devices);
	gp_captured_value(text, "init_text", why, sizeof why);
	if (!gp_captured_value(text, "init", result, sizeof result)) {
		add(d, "driver", FAIL, "%s has no cuInit, or cuInit did not return", path);
		return;
	}
	if (strcmp(result, "0") != 0) {
		advise(add(d, "driver", FAIL, "%s does not start: cuInit returns %s (%s)", path,
			   result, why),
		       "does 'nvidia-smi' list a GPU here?");
		return;
	}
	long number = strtol(version, NULL, 10), count = strtol(devices, NULL, 10);
	add(d, "driver", OK, "%ld.%ld, %s, %s", number / 1000, number % 1000 / 10,
	    gp_plural((uint64_t)count, "device").s, path);
}

static void check_unwinder(struct doctor *d, const char *text)
{
	char path[1024];
	if (gp_captured_value(text, "libunwind", path, sizeof path))
		add(d, "libunwind", OK, "%s", path);
	else
		add(d, "libunwind", NOTE, "not found; native stacks need it");
}

static void check_driver(struct doctor *d)
{
	char self[] = "/proc/self/exe", name[] = "doctor", option[] = "--probe-driver";
	char *words[] = { self, name, option, d->library, NULL };
	struct gp_captured heard;
	char path[1024], error[512];
	probe(words, NULL, &heard);
	d->has_driver = gp_captured_value(heard.text, "driver", path, sizeof path);
	if (d->has_driver && heard.is_late)
		add(d, "driver", FAIL, "%s does not start in %u s", path, ANSWER_LIMIT_MS / 1000);
	else if (d->has_driver)
		judge_driver(d, path, heard.text);
	else if (gp_captured_value(heard.text, "driver_error", error, sizeof error))
		advise(add(d, "driver", FAIL, "not found: %s", error),
		       "in a container: was it started with the GPU (docker --gpus all)?");
	else
		add(d, "driver", FAIL, "the test process did not return");
	check_unwinder(d, heard.text);
}

static void check_hooks(struct doctor *d)
{
	static const struct {
		const char *key, *text;
	} routes[] = { { "handle", "dlsym" },
		       { "global", "exported symbols" },
		       { "address", "cuGetProcAddress" } };
	char self[] = "/proc/self/exe", name[] = "doctor", option[] = "--probe";
	char *words[] = { self, name, option, d->library, NULL };
	struct gp_captured heard;
	char object[4096] = "";
	probe(words, d->library, &heard);
	if (!gp_captured_value(heard.text, "preloaded", object, sizeof object) ||
	    strcmp(object, "yes") != 0) {
		add(d, "hooks", FAIL, "the loader does not preload '%s'", d->library);
		return;
	}
	if (!d->has_driver) {
		add(d, "hooks", NOTE, "the library loads; not tested without a driver");
		return;
	}
	for (size_t k = 0; k < sizeof routes / sizeof *routes; k++) {
		if (!gp_captured_value(heard.text, routes[k].key, object, sizeof object)) {
			add(d, "hooks", FAIL, "%s finds no cuMemAlloc", routes[k].text);
			return;
		}
		if (strcmp(object, d->library) != 0) {
			add(d, "hooks", FAIL, "%s bypasses the library: it finds '%s'",
			    routes[k].text, object);
			return;
		}
	}
	add(d, "hooks", OK, "dlsym, exported symbols and cuGetProcAddress return the hooks");
}

/* ---- PyTorch ---- */

static void check_pytorch(struct doctor *d)
{
	/* find_spec does not import the package; its version is in a file of its own */
	char program[] = "python3", option[] = "-c",
	     script[] = "import importlib.util, os, re\n"
			"spec = importlib.util.find_spec('torch')\n"
			"if spec and spec.origin:\n"
			"    print('path', os.path.dirname(spec.origin))\n"
			"    text = open(os.path.join(os.path.dirname(spec.origin), "
			"'version.py')).read()\n"
			"    found = re.search(r'__version__\\s*=\\s*[\\'\"]([^\\'\"]+)', text)\n"
			"    print('version', found.group(1) if found else 'unknown')\n";
	char *words[] = { program, option, script, NULL };
	const struct gp_setting bare = { "LD_PRELOAD", NULL };
	struct gp_captured heard;
	char version[128] = "of unknown version", path[1024];
	gp_capture(words, &bare, 1, ANSWER_LIMIT_MS, &heard);
	gp_captured_value(heard.text, "version", version, sizeof version);
	if (gp_captured_value(heard.text, "path", path, sizeof path))
		add(d, "pytorch", OK, "%s, %s", version, path);
	else if (heard.is_late)
		add(d, "pytorch", NOTE, "python3 did not answer in %u s", ANSWER_LIMIT_MS / 1000);
	else if (!heard.is_started)
		add(d, "pytorch", NOTE, "not searched: no python3");
	else
		add(d, "pytorch", NOTE, "not found by python3");
}

/* ---- places ---- */

static const char *option_value(const char *variable, bool *is_set)
{
	const struct gp_option *option;
	size_t n = gp_options(&option);
	const char *value = getenv(variable);
	*is_set = value && *value;
	for (size_t k = 0; k < n && !*is_set; k++)
		if (strcmp(option[k].variable, variable) == 0)
			return option[k].initial;
	return *is_set ? value : "";
}

static bool space_of(const char *directory, uint64_t *out)
{
	struct statvfs fs;
	bool is_known = statvfs(directory, &fs) == 0;
	*out = is_known ? (uint64_t)fs.f_bavail * fs.f_frsize : 0;
	return is_known && access(directory, W_OK | X_OK) == 0;
}

static void check_rings(struct doctor *d)
{
	bool is_set;
	uint64_t space;
	const char *place = option_value("GPUPROF_RING_DIR", &is_set);
	if (!space_of(place, &space))
		advise(add(d, "rings", NOTE, "cannot use '%s': %s", place, gp_cause(errno)),
		       "rings are then stored beside the recording, on a local disk");
	else if (space < RING_PLACE_LEAST)
		advise(add(d, "rings", NOTE, "%s, only %s free", place, gp_bytes_text(space).s),
		       "give the container more shared memory, or set GPUPROF_RING_DIR");
	else
		add(d, "rings", OK, "%s, %s free", place, gp_bytes_text(space).s);
}

struct leftovers {
	uint64_t alive, dead, dead_bytes;
};

static void count_process(void *context, const struct gp_process *process)
{
	struct leftovers *l = context;
	l->alive += process->is_alive;
	l->dead += !process->is_alive;
	l->dead_bytes += process->is_alive ? 0 : process->bytes;
}

static void check_leftovers(struct doctor *d)
{
	struct leftovers l = { 0 };
	enum gp_status status = gp_process_visit(count_process, &l);
	char alive[80] = "no process records";
	if (l.alive)
		snprintf(alive, sizeof alive, "%s %s", gp_count_text(l.alive).s,
			 l.alive == 1 ? "process records" : "processes record");
	if (status)
		add(d, "processes", NOTE, "cannot be listed: %s", gp_status_text(status));
	else if (l.dead)
		advise(add(d, "processes", NOTE, "%s now, %llu ended and left rings of %s", alive,
			   (unsigned long long)l.dead, gp_bytes_text(l.dead_bytes).s),
		       "'gpuprof info RECORDING' moves them into their recordings");
	else
		add(d, "processes", OK, "%s now, no rings are left over", alive);
}

/* 0, or errno. Writes a file, since only that tests rights, mount options and quotas together. */
static int try_file(const char *directory)
{
	static const char page[4096];
	char path[4200];
	snprintf(path, sizeof path, "%s/gpuprof-doctor-XXXXXX", directory);
	int fd = mkostemp(path, O_CLOEXEC), error = fd < 0 ? errno : 0;
	if (fd < 0)
		return error;
	errno = ENOSPC; /* errno of a short write */
	if (write(fd, page, sizeof page) != (ssize_t)sizeof page)
		error = errno;
	close(fd);
	unlink(path);
	return error;
}

static void judge_output(struct doctor *d, const char *directory)
{
	uint64_t space;
	space_of(directory, &space);
	int error = try_file(directory);
	if (!error && space == 0)
		error = ENOSPC;
	if (error)
		advise(add(d, "recording", FAIL, "cannot write to '%s': %s", directory,
			   error == ENOENT && access(directory, F_OK) == 0 ?
				   "cannot create a file" :
				   gp_cause(error)),
		       "-o or GPUPROF_OUTPUT names another place");
	else if (space < RECORDING_LEAST)
		advise(add(d, "recording", NOTE, "'%s' can be written, only %s free", directory,
			   gp_bytes_text(space).s),
		       "-o or GPUPROF_OUTPUT names another place, GPUPROF_RING a smaller size");
	else
		add(d, "recording", OK, "'%s' can be written, %s free", directory,
		    gp_bytes_text(space).s);
}

static void check_output(struct doctor *d)
{
	bool is_set;
	char directory[4096];
	snprintf(directory, sizeof directory, "%s", option_value("GPUPROF_OUTPUT", &is_set));
	char *slash = strrchr(directory, '/');
	if (!slash)
		strcpy(directory, ".");
	else
		slash[slash == directory] = '\0';
	if (strchr(directory, '%'))
		add(d, "recording", NOTE, "its directory depends on the process: '%s'", directory);
	else
		judge_output(d, directory);
}

/* ---- surroundings ---- */

static const char *container_name(void)
{
	static const char *const words[] = { "docker", "kubepods", "containerd", "libpod", "lxc" };
	static char line[512];
	if (getenv("KUBERNETES_SERVICE_HOST"))
		return "Kubernetes";
	if (getenv("APPTAINER_CONTAINER") || getenv("SINGULARITY_CONTAINER"))
		return "Apptainer";
	if (access("/.dockerenv", F_OK) == 0)
		return "Docker";
	if (access("/run/.containerenv", F_OK) == 0)
		return "Podman";
	FILE *groups = fopen("/proc/1/cgroup", "re");
	const char *found = NULL;
	while (groups && !found && fgets(line, sizeof line, groups))
		for (size_t k = 0; k < sizeof words / sizeof *words && !found; k++)
			found = strstr(line, words[k]) ? words[k] : NULL;
	if (groups)
		fclose(groups);
	return found;
}

static void check_container(struct doctor *d)
{
	const char *name = container_name();
	if (name)
		add(d, "container", NOTE,
		    "%s: 'gpuprof ctl' finds only processes that share its '/dev/shm'", name);
	else
		add(d, "container", OK, "none detected");
}

/* Reports misspelt variables. */
static void check_variables(struct doctor *d)
{
	const char *names[64] = { "GPUPROF_LIB", "GPUPROF_LIST", "GPUPROF_PAGER" };
	const struct gp_option *option;
	size_t options = gp_options(&option), count = 3;
	for (size_t k = 0; k < options && count < 64; k++)
		names[count++] = option[k].variable;
	for (char **entry = environ; *entry; entry++) {
		char name[128];
		bool is_known = false;
		if (strncmp(*entry, "GPUPROF_", 8) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
		for (size_t k = 0; k < count; k++)
			is_known = is_known || strcmp(name, names[k]) == 0;
		const char *near = is_known ? NULL : gp_nearest(name, names, count);
		if (!is_known && near)
			add(d, "variables", FAIL, "unknown variable '%s', did you mean '%s'?", name,
			    near);
		else if (!is_known)
			add(d, "variables", FAIL, "unknown variable '%s'", name);
		if (!is_known)
			return; /* one is enough for a hint */
	}
	add(d, "variables", OK, "all known");
}

/* ---- reports ---- */

static unsigned failures(const struct doctor *d)
{
	unsigned count = 0;
	for (size_t k = 0; k < d->checks; k++)
		count += d->check[k].state == FAIL;
	return count;
}

static void print_options(FILE *out)
{
	const struct gp_option *option;
	size_t n = gp_options(&option);
	for (size_t k = 0; k < n; k++) {
		bool is_set;
		const char *value = option_value(option[k].variable, &is_set);
		fprintf(out, "      %-17s ", option[k].variable);
		gp_mask(out, *value ? value : "unset", strlen(*value ? value : "unset"));
		fprintf(out, " (%s)\n", is_set ? "environment" : "default");
	}
}

static void print_person(FILE *out, const struct doctor *d)
{
	unsigned count = failures(d);
	if (count)
		fprintf(out, "gpuprof " GP_VERSION ": %s%u of %zu checks failed%s\n",
			gp_on(GP_ROLE_BAD), count, d->checks, gp_off());
	else
		fprintf(out, "gpuprof " GP_VERSION ": %sall %zu checks passed%s\n",
			gp_on(GP_ROLE_GOOD), d->checks, gp_off());
	for (size_t k = 0; k < d->checks; k++) {
		const struct check *c = &d->check[k];
		const bool is_bad = c->state == FAIL;
		fprintf(out, "%s%-5s%s %-10s ", is_bad ? gp_on(GP_ROLE_BAD) : "",
			state_names[c->state], is_bad ? gp_off() : "", c->name);
		gp_mask(out, c->text, strlen(c->text));
		fputc('\n', out);
		if (c->hint[0])
			fprintf(out, "      hint: %s\n", c->hint);
	}
	fputs("      options\n", out);
	print_options(out);
	fputs(count ? "next: fix the failed checks, then run gpuprof doctor\n" :
		      "next: gpuprof run -- python3 train.py\n",
	      out);
}

static void write_options(struct gp_json *json)
{
	const struct gp_option *option;
	size_t n = gp_options(&option);
	gp_json_array(json, "options");
	for (size_t k = 0; k < n; k++) {
		bool is_set;
		const char *value = option_value(option[k].variable, &is_set);
		gp_json_object(json, NULL);
		gp_json_text(json, "variable", option[k].variable);
		gp_json_text(json, "value", *value ? value : NULL);
		gp_json_text(json, "origin", is_set ? "environment" : "default");
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void doctor_write_program(const struct doctor *d)
{
	struct gp_json json;
	gp_json_init(&json, stdout, 3);
	gp_json_object(&json, NULL);
	gp_json_text(&json, "version", GP_VERSION);
	gp_json_bool(&json, "ok", failures(d) == 0);
	gp_json_array(&json, "checks");
	for (size_t k = 0; k < d->checks; k++) {
		const struct check *c = &d->check[k];
		gp_json_object(&json, NULL);
		gp_json_text(&json, "name", c->name);
		gp_json_text(&json, "state", state_names[c->state]);
		gp_json_text(&json, "text", c->text);
		gp_json_text(&json, "hint", c->hint[0] ? c->hint : NULL);
		gp_json_end(&json);
	}
	gp_json_end(&json);
	write_options(&json);
	gp_json_end(&json);
}

static int doctor_run(const struct gp_command *command, int argc, char **argv)
{
	struct doctor d = { .checks = 0 };
	bool is_json = false;
	const struct gp_flag flags[] = {
		{ "json", 0, GP_FLAG_SWITCH, NULL, &is_json,
		  "for a program: docs/JSON.md lists the keys" },
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	/* for our own child processes; not an option for users */
	if (argc == 3 && strcmp(argv[1], "--probe-driver") == 0)
		return gp_driver_probe(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--probe") == 0)
		return gp_lookup_probe(argv[2]);
	int words = gp_flags_parse(command, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words > 0)
		return gp_usage(command, "too many words: '%s'", argv[0]);
	check_library(&d);
	check_driver(&d);
	if (d.library[0])
		check_hooks(&d);
	check_pytorch(&d);
	check_rings(&d);
	check_leftovers(&d);
	check_output(&d);
	check_container(&d);
	check_variables(&d);
	const int exit_status = failures(&d) ? GP_EXIT_FOUND : GP_EXIT_OK;
	if (is_json) {
		doctor_write_program(&d);
		return exit_status;
	}
	struct gp_sink sink;
	gp_sink_open(&sink, NULL, false, true, NULL, 0);
	print_person(sink.out, &d);
	return gp_sink_close(&sink, exit_status);
}

const struct gp_command gp_command_doctor = {
	.name = "doctor",
	.synopsis = "doctor [--json] [options]",
	.text = "check whether this machine can record a job",
	.run = doctor_run,
};
