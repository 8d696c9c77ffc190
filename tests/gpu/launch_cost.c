/*
 * Measures what --gpu-time adds to a kernel launch beside CUPTI's own cost, and what recording adds
 * to a copy, to a synchronization and to a launch of a graph, in one process under the preload:
 *	launch_cost GPUPROF RECORDING
 * Runs with GPUPROF_GPU_TIME=step:1/2@window, so that each end of a range "window" opens or closes
 * our window. All arms of a comparison take turns in each round, since launches of one process
 * differ by a microsecond between minutes. A figure is the median over rounds of the difference of
 * medians of bursts, with its 95% interval by order statistics. "CUPTI alone": nothing is recorded,
 * and the process itself collects what GPU time collects.
 */
#include "control_page.h"

#include <glob.h>
#include <nvtx3/nvToolsExt.h>
#include <sched.h>

#include "../../interpose/cupti/cupti_abi.h"
#include "../victims/victim.h"

#define LAUNCHES 200u /* in one burst: the queue of a stream has room for 1,024 */
#define NODES_FEW 10u
#define NODES_MANY 100u
#define BURSTS 9u
#define ROUNDS 200u

enum arm { ARM_OFF, ARM_RECORDED, ARM_COLLECTED, ARM_CUPTI, ARMS };

static struct driver driver;
static struct gp_control *control;
static CUfunction kernel;
static CUgraphExec replay; /* the graph that replay_graph launches */
static unsigned calls_in_burst = LAUNCHES;
static CUdeviceptr memory;
static void *pinned;
static bool is_window_open;
static uint32_t (*cupti_register)(gp_cupti_request *, gp_cupti_complete *);
static uint32_t (*cupti_enable)(uint32_t), (*cupti_disable)(uint32_t), (*cupti_flush)(uint32_t);

/* ---- what is measured ---- */

static void launch(void)
{
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == 0);
}

static void copy(void)
{
	must(driver.cuMemcpyHtoDAsync_v2(memory, pinned, 64, NULL) == 0);
}

static void replay_graph(void)
{
	must(driver.cuGraphLaunch(replay, NULL) == 0);
}

static void synchronize(void)
{
	must(driver.cuCtxSynchronize() == 0);
}

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double burst(void (*call)(void))
{
	const double from = now_ns();
	for (unsigned k = 0; k < calls_in_burst; k++)
		call();
	const double each = (now_ns() - from) / calls_in_burst;
	synchronize();
	return each;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* ---- arms ---- */

static void request(uint8_t **buffer, size_t *bytes, size_t *records_most)
{
	*bytes = 4 << 20;
	*buffer = aligned_alloc(8, *bytes);
	*records_most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	(void)context, (void)stream, (void)bytes, (void)valid;
	free(buffer);
}

static void toggle_window(void)
{
	nvtxRangePushA("window");
	nvtxRangePop();
	is_window_open = !is_window_open;
}

static const uint32_t kinds[] = { GP_CUPTI_CONCURRENT_KERNEL, GP_CUPTI_MEMCPY, GP_CUPTI_MEMCPY2,
				  GP_CUPTI_MEMSET };
#define KINDS (sizeof kinds / sizeof *kinds)

static void begin(enum arm arm)
{
	const bool is_recorded = arm == ARM_RECORDED || arm == ARM_COLLECTED;
	must(control_set(control, is_recorded ? GP_LEVEL_ALL : GP_LEVEL_OFF, 0));
	if (arm == ARM_COLLECTED)
		toggle_window();
	for (unsigned k = 0; arm == ARM_CUPTI && k < KINDS; k++)
		must(cupti_enable(kinds[k]) == 0);
}

static void end(enum arm arm)
{
	if (arm == ARM_COLLECTED)
		toggle_window();
	for (unsigned k = 0; arm == ARM_CUPTI && k < KINDS; k++)
		must(cupti_disable(kinds[k]) == 0);
	if (arm == ARM_CUPTI || arm == ARM_COLLECTED)
		must(cupti_flush(0) == 0);
}

static double measure(enum arm arm, void (*call)(void))
{
	double each[BURSTS];
	begin(arm);
	burst(call);
	burst(call);
	for (unsigned k = 0; k < BURSTS; k++)
		each[k] = burst(call);
	end(arm);
	qsort(each, BURSTS, sizeof *each, compare);
	return each[BURSTS / 2];
}

struct figure {
	double base, low, added, high; /* ns a call */
};

/* Subtracts a call of `base` from one of `arm`. */
static struct figure subtract(const char *name, const double *arm, const double *base)
{
	double sorted[ROUNDS], added[ROUNDS];
	for (unsigned k = 0; k < ROUNDS; k++)
		added[k] = arm[k] - base[k];
	memcpy(sorted, base, sizeof sorted);
	qsort(sorted, ROUNDS, sizeof *sorted, compare);
	qsort(added, ROUNDS, sizeof *added, compare);
	/* of 200: the 86th and the 115th */
	const struct figure figure = { sorted[ROUNDS / 2], added[85], added[ROUNDS / 2],
				       added[114] };
	printf("     %s: %.0f ns + %.1f ns (%.1f to %.1f)\n", name, figure.base, figure.added,
	       figure.low, figure.high);
	fflush(stdout);
	return figure;
}

/* Both lead in turn. */
static struct figure compare_recorded(const char *name, void (*call)(void))
{
	double off[ROUNDS], recorded[ROUNDS];
	for (unsigned k = 0; k < ROUNDS; k++) {
		if (k % 2)
			recorded[k] = measure(ARM_RECORDED, call);
		off[k] = measure(ARM_OFF, call);
		if (k % 2 == 0)
			recorded[k] = measure(ARM_RECORDED, call);
	}
	return subtract(name, recorded, off);
}

/* Each arm leads in turn. Returns what GPU time adds to CUPTI alone. */
static struct figure compare_launches(void)
{
	double each[ARMS][ROUNDS];
	for (unsigned k = 0; k < ROUNDS; k++)
		for (unsigned a = 0; a < ARMS; a++) {
			const unsigned arm = (a + k) % ARMS;
			each[arm][k] = measure((enum arm)arm, launch);
		}
	subtract("launch, recorded", each[ARM_RECORDED], each[ARM_OFF]);
	subtract("launch, CUPTI alone", each[ARM_CUPTI], each[ARM_OFF]);
	return subtract("launch with GPU time, beside CUPTI alone", each[ARM_COLLECTED],
			each[ARM_CUPTI]);
}

/* The kernels of one burst fit into the queue. */
static struct figure compare_replays(unsigned nodes)
{
	char name[64];
	CUstream stream;
	CUgraph graph;
	must(driver.cuStreamCreate(&stream, 1) == 0);
	must(driver.cuStreamBeginCapture_v2(stream, 0) == 0);
	for (unsigned k = 0; k < nodes; k++)
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL) == 0);
	must(driver.cuStreamEndCapture(stream, &graph) == 0);
	must(driver.cuGraphInstantiateWithFlags(&replay, graph, 0) == 0);
	snprintf(name, sizeof name, "graph of %u kernels, recorded", nodes);
	calls_in_burst = 5 * LAUNCHES / nodes;
	const struct figure figure = compare_recorded(name, replay_graph);
	calls_in_burst = LAUNCHES;
	return figure;
}

static void limit(const char *what, double value, double most)
{
	printf("%s gpu_time_cost: %s %.1f ns (limit %.0f ns)\n", value <= most ? "PASS" : "FAIL",
	       what, value, most);
}

/* ---- start ---- */

static void find_control(void)
{
	char pattern[256];
	glob_t found;
	const char *folder = getenv("GPUPROF_RING_DIR");
	snprintf(pattern, sizeof pattern, "%s/gpuprof-ring-%u-%d-*", folder ? folder : "/dev/shm",
		 getuid(), (int)getpid());
	must(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
	must(control = control_open(found.gl_pathv[0]));
	globfree(&found);
}

/* CUPTI opens on a thread of its own. Its result is in the recording. */
static void await_gpu_time(const char *gpuprof, const char *recording)
{
	char command[4096];
	snprintf(command, sizeof command,
		 "unset LD_PRELOAD; %s dump --json --bare --kind fact '%s' 2>/dev/null | "
		 "grep '\"key\": %d,' | grep -q '\"value\": 1,'",
		 gpuprof, recording, GP_FACT_GPU_TIME);
	for (unsigned k = 0; system(command) != 0; k++) {
		must(k < 600);
		usleep(100000);
	}
}

/* A thread that changes its processor disturbs more than what is measured. */
static void stay_on_processor(void)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	must(sched_setaffinity(0, sizeof one, &one) == 0);
}

int main(int argc, char **argv)
{
	static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				    ".visible .entry empty() { ret; }\n";
	CUmodule module;
	must(argc == 3);
	driver = need_driver(FROM_PROC_ADDRESS);
	must(driver.cuModuleLoadData(&module, image) == 0);
	must(driver.cuModuleGetFunction(&kernel, module, "empty") == 0);
	must(driver.cuMemAllocHost_v2(&pinned, 4096) == 0);
	memory = must_alloc(&driver, 4096);
	find_control();
	await_gpu_time(argv[1], argv[2]);
	stay_on_processor();
	*(void **)&cupti_register = dlsym(RTLD_DEFAULT, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti_enable = dlsym(RTLD_DEFAULT, "cuptiActivityEnable");
	*(void **)&cupti_disable = dlsym(RTLD_DEFAULT, "cuptiActivityDisable");
	*(void **)&cupti_flush = dlsym(RTLD_DEFAULT, "cuptiActivityFlushAll");
	must(cupti_register && cupti_enable && cupti_disable && cupti_flush);

	const struct figure copied = compare_recorded("copy, recorded", copy);
	const struct figure waited = compare_recorded("synchronization, recorded", synchronize);
	const struct figure few = compare_replays(NODES_FEW), many = compare_replays(NODES_MANY);
	must(cupti_register(request, complete) ==
	     0); /* last: windows are then opened by a thread */
	const struct figure launched = compare_launches();
	must(control_set(control, GP_LEVEL_ALL, 0));
	limit("a launch, beside CUPTI's own cost", launched.added, 50);
	limit("a copy", copied.added, 30);
	limit("a synchronization", waited.added, 30);
	limit("a launch of a graph", few.added, 60);
	limit("a launch of a larger graph", many.added, 60);
	return 0;
}
