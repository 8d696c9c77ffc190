/*
 * Opens the range to be captured three times; only the first counts. It is opened on another thread
 * than the one that launches. Ranges of the same name are open in another domain and inside it.
 */
#include "nvtx_client.h"

#if HAVE_NVTX
static struct driver driver;
static CUfunction kernel;

static void launch(int times)
{
	for (int k = 0; k < times; k++)
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
}

static void *open_range(void *range)
{
	*(nvtxRangeId_t *)range = nvtxRangeStartA("step");
	return NULL;
}

int main(void)
{
	pthread_t thread;
	nvtxRangeId_t range;
	driver = need_driver(FROM_PROC_ADDRESS);
	CUmodule module;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
	nvtxEventAttributes_t step = { .version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				       .messageType = NVTX_MESSAGE_TYPE_REGISTERED };
	step.message.registered = nvtxDomainRegisterStringA(domain, "step");
	launch(10);
	nvtxDomainRangePushEx(domain, &step);
	launch(20);
	nvtxDomainRangePop(domain);
	nvtxRangePushA("steps");
	launch(30);
	must(pthread_create(&thread, NULL, open_range, &range) == 0);
	pthread_join(thread, NULL);
	launch(3);
	nvtxRangePushA("step");
	launch(4);
	nvtxRangePop();
	launch(5);
	nvtxRangeEnd(range);
	launch(40);
	nvtxRangePushA("step");
	launch(50);
	nvtxRangePop();
	nvtxRangePop();
	claim("launch", 12);
	claim("captures", 1);
	claim("scope", 3);
	printf("done\n");
	return 0;
}
#else
int main(void)
{
	return no_nvtx();
}
#endif
