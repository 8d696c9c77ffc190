/*
 * Correct program: a kernel is captured with a buffer that only launches of the graph use from then
 * on. Another buffer of the capture's warm-up is never used again. With an argument, the captured
 * kernel was not launched before, so its parameters are unknown.
 *	replayed_uses [new]
 */
#include "victim.h"

#define REPLAYS 60
#define WARM 40
#define MIB ((size_t)1 << 20)

static struct driver driver;
static CUfunction warmed, captured;

static void launch(CUfunction kernel, CUdeviceptr address, CUstream stream)
{
	void *parameters[] = { &address };
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL) ==
	     CUDA_SUCCESS);
}

int main(int argc, char **argv)
{
	(void)argv;
	bool is_new = argc > 1;
	driver = need_driver(FROM_PROC_ADDRESS);
	CUstream stream;
	CUmodule module;
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&warmed, module, "step.8") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&captured, module, is_new ? "new.8" : "step.8") ==
	     CUDA_SUCCESS);
	CUdeviceptr replayed = must_alloc(&driver, 64 * MIB), warm = must_alloc(&driver, 32 * MIB);
	for (int k = 0; k < (is_new ? WARM : 1); k++)
		launch(warmed, warm, stream);
	must(driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
	launch(captured, replayed, stream);
	launch(captured, replayed + 4096, stream);
	launch(captured, replayed, stream);
	must(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph);
	must(driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS && exec);
	must(driver.cuGraphDestroy(graph) == CUDA_SUCCESS);
	for (int k = 0; k < REPLAYS; k++) {
		must(driver.cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
		if (k == REPLAYS / 2) { /* the peak */
			CUdeviceptr more = must_alloc(&driver, MIB);
			must(driver.cuMemFree_v2(more) == CUDA_SUCCESS);
		}
	}
	must(driver.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
	claim("launch", is_new ? WARM + 3 : 4);
	claim("use", is_new ? WARM : 4);
	claim("graph_launch", REPLAYS);
	printf("%d launches of a graph\n", REPLAYS);
	return 0;
}
