/*
 * Drives a fuzz target without a fuzzer, for any compiler. It first runs files, each with every
 * choice of the target, then mutations of them from a fixed random sequence. The input of a run
 * that ends the process is kept as fuzz-crash-NAME in the working directory.
 *   PROGRAM [-n RUNS] [-s SEED] [-c CHOICE] [FILE...]
 *   PROGRAM -w DIR FILE...     writes the files as inputs, for fuzzers: one choice each, in turn
 *   PROGRAM -r INPUT...        runs inputs as fuzzers keep them, with the choosing byte
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX (1u << 20)
#define HANG_CPU_S 10
#define HANG_S 300 /* blocked; wall-clock time, so generous for a busy machine */

struct input {
	uint8_t *data; /* with the choosing byte, if the target has one */
	size_t bytes;
	bool is_raw;
};

static const struct fuzz_target *target;
static struct input *inputs;
static size_t input_count;
static const struct input *volatile running;

/* ---- keeps the input of a run that ends the process ---- */

static void keep_input(void)
{
	char path[128];
	const struct input *in = running;
	running = NULL;
	if (!in)
		return;
	snprintf(path, sizeof path, "fuzz-crash-%s-%d", fuzz_name, (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, in->data, in->bytes) < 0)
		return;
	dprintf(STDERR_FILENO, "fuzz: the input is in %s\n", path);
}

static void end_here(int signal)
{
	if (signal != SIGABRT)
		dprintf(STDERR_FILENO, "fuzz: still running after %d s\n",
			signal == SIGPROF ? HANG_CPU_S : HANG_S);
	keep_input();
	_exit(1);
}

/* The sanitizers' own callback, where the program is built with one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "hard_rss_limit_mb=1024:quarantine_size_mb=16:handle_abort=0";
}

/* ---- inputs ---- */

static void add(const uint8_t *data, size_t bytes, bool is_raw)
{
	inputs = realloc(inputs, (input_count + 1) * sizeof *inputs);
	uint8_t *copy = malloc(bytes + 1);
	if (!inputs || !copy)
		abort();
	memcpy(copy, data, bytes);
	inputs[input_count++] = (struct input){ copy, bytes, is_raw };
}

static void add_file(const char *path, bool is_raw)
{
	static uint8_t data[INPUT_MAX];
	size_t at = target->choices > 0 && !is_raw;
	FILE *file = fopen(path, "rbe");
	if (!file) {
		perror(path);
		exit(2);
	}
	data[0] = 0;
	size_t bytes = at + fread(data + at, 1, sizeof data - at, file);
	if (bytes == sizeof data)
		fprintf(stderr, "fuzz: %s is cut at %u bytes\n", path, INPUT_MAX);
	fclose(file);
	add(data, bytes, is_raw);
}

static void set_limits(unsigned cpu_s, unsigned s)
{
	const struct itimerval timer = { .it_value.tv_sec = cpu_s };
	setitimer(ITIMER_PROF, &timer, NULL);
	alarm(s);
}

static void run(const struct input *in)
{
	/* exactly the input's length, so that the sanitizer detects a read of one byte more */
	uint8_t *exact = malloc(in->bytes ? in->bytes : 1);
	if (!exact)
		abort();
	memcpy(exact, in->data, in->bytes);
	running = in;
	set_limits(HANG_CPU_S, HANG_S);
	LLVMFuzzerTestOneInput(exact, in->bytes);
	set_limits(0, 0);
	running = NULL;
	free(exact);
}

/* With every choice, or with the requested one. */
static unsigned long replay(const struct input *in, int choice)
{
	unsigned from = choice >= 0 ? (unsigned)choice : 0;
	unsigned until = choice >= 0 ? from + 1 : target->choices;
	if (target->choices == 0 || in->is_raw) {
		run(in);
		return 1;
	}
	for (unsigned k = from; k < until; k++) {
		in->data[0] = (uint8_t)k;
		run(in);
	}
	return until - from;
}

static void write_inputs(const char *dir)
{
	char path[4096];
	for (size_t i = 0; i < input_count; i++) {
		struct input *in = &inputs[i];
		if (target->choices > 0 && in->bytes > 0)
			in->data[0] = (uint8_t)(i % target->choices);
		snprintf(path, sizeof path, "%s/%s-%03zu", dir, fuzz_name, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0 || write(fd, in->data, in->bytes) != (ssize_t)in->bytes) {
			perror(path);
			exit(2);
		}
		close(fd);
	}
}

/* `choice` < 0: each run has another one, since the replay leaves the last one in all inputs. */
static void mutate_and_run(unsigned long runs, int choice)
{
	static uint8_t data[INPUT_MAX];
	for (unsigned long i = 0; i < runs; i++) {
		const struct input *from = &inputs[fuzz_below(input_count)];
		const struct input *other = &inputs[fuzz_below(input_count)];
		struct input in = { data, from->bytes, true };
		memcpy(data, from->data, from->bytes);
		in.bytes = fuzz_below(8) ? fuzz_mutate(target, data, from->bytes, sizeof data) :
					   fuzz_cross(target, data, from->bytes, sizeof data,
						      other->data, other->bytes);
		if (target->choices > 0 && in.bytes > 0)
			data[0] = choice >= 0 ? (uint8_t)choice :
						(uint8_t)fuzz_below(target->choices);
		run(&in);
	}
}

int main(int argc, char **argv)
{
	unsigned long runs = 0, replayed = 0;
	uint64_t seed = 1;
	int choice = -1;
	const char *dir = NULL;
	bool is_raw = false;
	target = fuzz_target_get(fuzz_name);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
			runs = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-c") == 0 && i + 1 < argc)
			choice = atoi(argv[++i]);
		else if (strcmp(argv[i], "-w") == 0 && i + 1 < argc)
			dir = argv[++i];
		else if (strcmp(argv[i], "-r") == 0)
			is_raw = true;
		else
			add_file(argv[i], is_raw);
	}
	fuzz_random_begin(seed);
	if (dir) {
		write_inputs(dir);
		return 0;
	}
	signal(SIGALRM, end_here);
	signal(SIGPROF, end_here);
	signal(SIGABRT, end_here);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(keep_input);
	for (size_t i = 0; i < input_count; i++)
		replayed += replay(&inputs[i], choice);
	if (input_count > 0)
		mutate_and_run(runs, choice);
	printf("%s: %zu files in %lu runs, %lu mutations, 0 failures\n", fuzz_name, input_count,
	       replayed, runs);
	return 0;
}
