/*
 * A training loop that marks its work through NVTX: phases of its steps, layers in a domain of
 * their own, a checkpoint that starts on one thread and ends on another, a mark. It has one pop too
 * many, and leaves the last epoch open.
 *	training_ranges [STEPS [await]]
 * await: first for the collection of GPU time.
 */
#include "nvtx_client.h"

#if HAVE_NVTX
#include "training.h"

static nvtxDomainHandle_t model;
static nvtxStringHandle_t layer;
static struct driver driver;
static CUfunction kernel;

static void launch(unsigned number)
{
	for (unsigned k = 0; k < number; k++)
		must(driver.cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
}

static void layers(unsigned launches)
{
	nvtxEventAttributes_t a = { .version = NVTX_VERSION,
				    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				    .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
				    .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
				    .message = { .registered = layer } };
	for (a.payload.ullValue = 0; a.payload.ullValue < LAYERS; a.payload.ullValue++) {
		nvtxDomainRangePushEx(model, &a);
		launch(launches);
		nvtxDomainRangePop(model);
	}
}

static void step(struct training *t)
{
	void *kept[LAYERS][KEPT_A_LAYER];
	nvtxRangePushA("step");
	nvtxRangePushA("data");
	work_for(20000);
	nvtxRangePop();
	nvtxRangePushA("forward");
	forward(t, kept);
	layers(3);
	nvtxRangePop();
	nvtxRangePushA("backward");
	backward(t, kept);
	layers(6);
	nvtxRangePop();
	nvtxRangePushA("optimizer");
	optimize(t);
	launch(LAYERS);
	nvtxRangePop();
	nvtxRangePop();
	t->steps++;
}

static void *save(void *range)
{
	must(driver_use(&driver, 0));
	nvtxRangePushA("copy weights");
	must_alloc(&driver, 1 << 20);
	nvtxRangePop();
	nvtxRangeEnd(*(nvtxRangeId_t *)range);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct training t;
	pthread_t thread;
	CUmodule module;
	unsigned long steps = count_argument(argc, argv, 6);
	training_init(&t, need_c10());
	driver = need_driver(FROM_DLSYM);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	model = nvtxDomainCreateA("model");
	layer = nvtxDomainRegisterStringA(model, "layer");
	await_collection(argc, argv);
	nvtxRangePushA("epoch");
	for (unsigned long i = 0; i < steps; i++)
		step(&t);
	nvtxMarkA("saving");
	nvtxRangeId_t range = nvtxRangeStartA("checkpoint");
	must(pthread_create(&thread, NULL, save, &range) == 0);
	pthread_join(thread, NULL);
	nvtxDomainRangePop(model);
	training_print(&t);
	claim("range_push", 1 + steps * (5 + 2 * LAYERS) + 1);
	claim("range_pop", steps * (5 + 2 * LAYERS) + 2);
	claim("launch", steps * 10 * LAYERS);
	return 0;
}
#else
int main(void)
{
	return no_nvtx();
}
#endif
