/*
 * Captures, instantiates, launches and destroys graphs. While a capture runs, the recorder must not
 * make driver calls.
 */
#include "victim.h"

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	CUstream stream;
	CUmodule module;
	CUfunction kernel;
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	for (int i = 0; i < 5; i++) {
		CUgraph graph = NULL;
		CUgraphExec exec = NULL;
		must(driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
		for (int k = 0; k < 10; k++)
			must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL,
						   NULL) == CUDA_SUCCESS);
		must(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph);
		must(driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS && exec);
		for (int k = 0; k < 20; k++)
			must(driver.cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
		must(driver.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
		must(driver.cuGraphDestroy(graph) == CUDA_SUCCESS);
	}
	must(driver.cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
	claim("capture_begin", 5);
	claim("capture_end", 5);
	claim("graph_instantiate", 5);
	claim("graph_launch", 100);
	claim("graph_exec_destroy", 5);
	claim("graph_destroy", 5);
	claim("launch", 50);
	printf("5 graphs\n");
	return 0;
}
