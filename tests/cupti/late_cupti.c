/*
 * A program without CUPTI, for which libgpuprof-cupti.so loads one, and which loads another CUPTI
 * later. Its calls must reach its own, whether they bind to our exports or are looked up in it.
 *   late_cupti LIBRARY [looked_up]
 */
#include "../../interpose/cupti/cupti_abi.h"
#include "../victims/victim.h"
#include "gpu_sink.h"

static void no_request(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = NULL;
	*bytes = *most = 0;
}

static void no_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	(void)context, (void)stream, (void)buffer, (void)bytes, (void)valid;
}

int main(int argc, char **argv)
{
	struct gpu_sink *sink = dlsym(RTLD_DEFAULT, "gpu_sink");
	must(argc >= 2 && sink && sink->source);
	need_driver(FROM_DLSYM);
	uint32_t (*enable)(uint32_t) = NULL;
	uint32_t (*enroll)(gp_cupti_request *, gp_cupti_complete *) = NULL;
	*(void **)&enable = dlsym(RTLD_DEFAULT, "cuptiActivityEnable");
	*(void **)&enroll = dlsym(RTLD_DEFAULT, "cuptiActivityRegisterCallbacks");
	must(enable && enroll);
	must(enable(GP_CUPTI_MEMCPY) == GP_CUPTI_NOT_INITIALIZED); /* there is none yet */
	sink->source->start();
	while (!sink->states(GP_GPU_TIME_ON))
		usleep(1000);
	void *own = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL),
	     *ours = dlopen("libcupti.so.13", RTLD_NOLOAD | RTLD_LAZY);
	bool (*is_enabled[2])(int) = { NULL, NULL };
	must(own && ours && own != ours);
	*(void **)&is_enabled[0] = dlsym(ours, "fake_cupti_is_enabled");
	*(void **)&is_enabled[1] = dlsym(own, "fake_cupti_is_enabled");
	must(is_enabled[0](GP_CUPTI_CONCURRENT_KERNEL) &&
	     !is_enabled[1](GP_CUPTI_CONCURRENT_KERNEL));
	if (argc > 2) { /* as dlsym answers while libgpuprof.so stands before it */
		void *found = dlsym(own, "cuptiActivityRegisterCallbacks");
		*(void **)&enroll = sink->source->route(found);
		*(void **)&enable = sink->source->route(dlsym(own, "cuptiActivityEnable"));
		must(found && sink->states(GP_GPU_TIME_TAKEN) == 1);
	}
	must(enroll(no_request, no_complete) == GP_CUPTI_SUCCESS);
	must(enable(GP_CUPTI_CONCURRENT_KERNEL) == GP_CUPTI_SUCCESS);
	must(!is_enabled[0](GP_CUPTI_CONCURRENT_KERNEL) &&
	     is_enabled[1](GP_CUPTI_CONCURRENT_KERNEL));
	must(sink->states(GP_GPU_TIME_TAKEN) == 1);
	sink->source->end();
	return 0;
}
