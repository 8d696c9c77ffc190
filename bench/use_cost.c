/*
 * Measures what GPUPROF_TRACK_ACCESS adds to a launch. The same launches run with the scan and
 * without, in turns, in one process, toggled through the control page. A kernel takes 68 words, as
 * an average one of a training step does. Five of them are pointers: three of its own and two in a
 * struct.
 *	use_cost		prints use_scan_ns, use_copy_ns
 *	use_cost N on|off	only launches N kernels: for counting instructions
 */
#include "burst.h"

#define WORDS 68u

static uint64_t structure[WORDS - 3]; /* and three pointers before it */
static CUdeviceptr buffer[5];
static void *parameters[] = { &buffer[0], &buffer[1], &buffer[2], structure };

static struct gp_control *open_control(const struct bench *b)
{
	char pattern[128];
	glob_t found;
	(void)b;
	snprintf(pattern, sizeof pattern, "/dev/shm/gpuprof-ring-%u-%d-*", (unsigned)getuid(),
		 (int)getpid());
	must(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
	int file = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	must(file >= 0);
	void *page =
		mmap(NULL, sizeof(struct gp_control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	must(page != MAP_FAILED);
	close(file);
	globfree(&found);
	return page;
}

/* The drain thread applies the change at its next turn. */
static void turn_uses(const struct bench *b, struct gp_control *control, uint32_t on)
{
	atomic_store(&control->requested_uses, on);
	while (atomic_load(&control->uses) != on)
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	wait_for_quiet(b);
}

static void launch(const struct bench *b, CUfunction kernel, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		b->wrapped.launch(kernel, 64 + (i & 7), 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
}

static double time_launches(const struct bench *b, CUfunction kernel)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
	launch(b, kernel, BURST);
	double ns = (double)(now_ns(CLOCK_MONOTONIC_RAW) - start);
	wait_for_quiet(b);
	return ns / BURST;
}

/* ---- the anchor: the words themselves, copied into a ring ---- */

static unsigned char plain_ring[4096][WORDS * 8];

static __attribute__((noinline)) void keep(unsigned at)
{
	unsigned char *out = plain_ring[at % 4096];
	for (unsigned k = 0; k < 3; k++)
		memcpy(out + 8 * k, parameters[k], 8);
	memcpy(out + 24, parameters[3], sizeof structure);
	__asm__ volatile("" ::: "memory");
}

static double time_copies(void)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
	for (unsigned i = 0; i < BURST; i++)
		keep(i);
	return (double)(now_ns(CLOCK_MONOTONIC_RAW) - start) / BURST;
}

int main(int argc, char **argv)
{
	static struct bench b;
	CUmodule module;
	CUfunction kernel;
	bench_open(&b);
	struct gp_control *control = open_control(&b);
	must(atomic_load(&control->requested_uses) == 1); /* GPUPROF_TRACK_ACCESS=on */
	must(b.driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(b.driver.cuModuleGetFunction(&kernel, module, "gemm.8,8,8,520") == CUDA_SUCCESS);
	for (unsigned k = 0; k < 5; k++)
		must(b.wrapped.alloc(&buffer[k], 1 << 20) == CUDA_SUCCESS);
	for (unsigned k = 0; k < WORDS - 3; k++)
		structure[k] = k % 7 ? 1024 + k : k;
	structure[5] = buffer[3];
	structure[40] = buffer[4];
	if (argc == 3) {
		turn_uses(&b, control, strcmp(argv[2], "on") == 0);
		launch(&b, kernel, (unsigned)atoi(argv[1]));
		return 0;
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		double off[4], on[4];
		for (unsigned j = 0; j < 4; j++) {
			turn_uses(&b, control, 0);
			off[j] = time_launches(&b, kernel);
			turn_uses(&b, control, 1);
			on[j] = time_launches(&b, kernel);
		}
		printf("use_scan_ns %.2f\nuse_copy_ns %.2f\n", median(on, 4) - median(off, 4),
		       time_copies());
	}
	printf("use_cost_lost %llu\n", (unsigned long long)lost_events(&b));
	return 0;
}
