/*
 * Drives a fuzz target without libFuzzer: seeds (files, and some bytes of its own), then mutations
 * of them from a fixed random sequence.  PROGRAM [-n RUNS] [-s SEED] [FILE...]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
/* The target's own seeds, where it has some: number `n` into `data`, its length; 0: no more. */
__attribute__((weak)) size_t fuzz_seed(unsigned n, uint8_t *data, size_t room);

#define INPUT_MAX (1u << 20)

struct input {
	uint8_t *data;
	size_t bytes;
};

static struct input *inputs;
static size_t input_count;
static uint64_t state;

static uint32_t random_below(size_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % (limit ? limit : 1));
}

static void add(const uint8_t *data, size_t bytes)
{
	inputs = realloc(inputs, (input_count + 1) * sizeof *inputs);
	uint8_t *copy = malloc(bytes ? bytes : 1);
	if (!inputs || !copy)
		abort();
	memcpy(copy, data, bytes);
	inputs[input_count++] = (struct input){ copy, bytes };
}

/* A byte 0 goes before the file: fuzz_recording reads the rest as the file itself. */
static void add_file(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	if (!file)
		return;
	data[0] = 0;
	size_t bytes = fread(data + 1, 1, sizeof data - 1, file);
	fclose(file);
	add(data, bytes + 1);
}

static void run(const uint8_t *data, size_t bytes)
{
	/* exactly as long as it says, so that the sanitizer sees a byte too many */
	uint8_t *exact = malloc(bytes ? bytes : 1);
	if (!exact)
		abort();
	memcpy(exact, data, bytes);
	LLVMFuzzerTestOneInput(exact, bytes);
	free(exact);
}

static size_t mutate(uint8_t *data, size_t bytes)
{
	static const uint8_t edge[] = { 0, 1, 0x7f, 0x80, 0xff, 16, 64, 0xfe };
	for (uint32_t n = 1 + random_below(8); n && bytes; n--) {
		size_t at = random_below(bytes);
		switch (random_below(5)) {
		case 0:
			data[at] ^= (uint8_t)(1u << random_below(8));
			break;
		case 1:
			data[at] = edge[random_below(sizeof edge)];
			break;
		case 2:
			data[at] = (uint8_t)random_below(256);
			break;
		case 3:
			bytes = at + 1;
			break;
		default:
			if (bytes + 32 < INPUT_MAX) {
				memmove(data + at + 16, data + at, bytes - at);
				bytes += 16;
			}
		}
	}
	return bytes;
}

int main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX + 64];
	unsigned long runs = 20000;
	state = 1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
			runs = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
			state = strtoul(argv[++i], NULL, 10);
		else
			add_file(argv[i]);
	}
	for (int i = 0; i < 64; i++) {
		for (size_t b = 0; b < 512; b++)
			data[b] = (uint8_t)random_below(i % 2 ? 256 : 8);
		data[0] = 1;
		add(data, 64 + random_below(448));
	}
	size_t bytes;
	for (unsigned n = 0; fuzz_seed && (bytes = fuzz_seed(n, data, INPUT_MAX)) > 0; n++)
		add(data, bytes);
	for (size_t i = 0; i < input_count; i++)
		run(inputs[i].data, inputs[i].bytes);
	for (unsigned long i = 0; i < runs; i++) {
		const struct input *from = &inputs[random_below(input_count)];
		memcpy(data, from->data, from->bytes);
		run(data, mutate(data, from->bytes));
	}
	printf("%lu inputs, %zu seeds\n", runs, input_count);
	return 0;
}
