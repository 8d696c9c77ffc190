/*
 * Ranges that end twice, on another thread, in a child, with their thread, or never; names of a
 * megabyte, wide names, names of NULL.
 */
#include "nvtx_client.h"

#if HAVE_NVTX
#include <string.h>
#include <sys/syscall.h>
#include <wchar.h>

static struct driver driver;
static nvtxDomainHandle_t domain;

static void *end_of_another(void *range)
{
	must(driver_use(&driver, 0));
	nvtxRangeEnd(*(nvtxRangeId_t *)range);
	nvtxRangePop();
	nvtxRangePushA("ended with its thread");
	must_alloc(&driver, 512);
	return NULL;
}

static nvtxEventAttributes_t attributes(int message_type, nvtxMessageValue_t message)
{
	nvtxEventAttributes_t a = { .version = NVTX_VERSION,
				    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				    .payloadType = NVTX_PAYLOAD_TYPE_DOUBLE,
				    .messageType = message_type,
				    .message = message };
	a.payload.dValue = 0.5;
	return a;
}

static void child(void)
{
	/* the parent's open ranges are open here, too */
	must(nvtxRangePop() >= 0 || !getenv("LD_PRELOAD"));
	must_alloc(&driver, 512);
	nvtxRangePushA("child");
	claim("range_push", 1);
	claim("range_pop", 0);
	claim("range_resumed", 1);
	_exit(0);
}

static void long_and_wide(void)
{
	char *text = malloc(1 << 20);
	wchar_t wide[700];
	must(text);
	memset(text, 'x', (1 << 20) - 1);
	text[(1 << 20) - 1] = '\0';
	wmemset(wide, 0x20ac, 699);
	wide[699] = L'\0';
	nvtxRangePushA(text);
	nvtxRangePushW(wide);
	nvtxRangePushW(L"gr\u00fcn \U0001f600");
	nvtxMarkW(wide);
	nvtxRangePushA(NULL);
	nvtxRangePushEx(NULL);
	for (unsigned k = 0; k < 5; k++)
		nvtxRangePop();
	free(text);
}

static void in_a_domain(void)
{
	nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "registered");
	nvtxEventAttributes_t a = attributes(NVTX_MESSAGE_TYPE_REGISTERED,
					     (nvtxMessageValue_t){ .registered = string });
	nvtxDomainRangePushEx(domain, &a);
	a.message.registered = (nvtxStringHandle_t)(uintptr_t)0x1234567890; /* not registered */
	nvtxDomainMarkEx(domain, &a);
	a = attributes(NVTX_MESSAGE_TYPE_ASCII, (nvtxMessageValue_t){ .ascii = "crossing" });
	nvtxRangePushEx(&a);
	nvtxDomainRangePop(domain);
	nvtxDomainRangePop(domain); /* one pop too many */
	nvtxRangePop();
}

int main(void)
{
	pthread_t thread;
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "before the first event");
	driver = need_driver(FROM_PROC_ADDRESS);
	must_alloc(&driver, 4096);
	domain = nvtxDomainCreateA("ours");
	nvtxRangePop(); /* no range is open */
	nvtxRangePushA("step");
	nvtxRangePushA("inner");
	nvtxRangePop();
	nvtxRangeId_t range = nvtxRangeStartA("across threads");
	must(pthread_create(&thread, NULL, end_of_another, &range) == 0);
	pthread_join(thread, NULL);
	nvtxRangeEnd(range); /* again */
	nvtxRangePushA("forking");
	pid_t pid = fork();
	if (pid == 0)
		child();
	must(wait_for(pid) == 0);
	nvtxRangePop();
	long_and_wide();
	in_a_domain();
	claim("range_push", 2 + 1 + 1 + 5 + 2);
	claim("range_pop", 1 + 1 + 1 + 1 + 1 + 5 + 3); /* one of them at a thread's end */
	claim("range_start", 1);
	claim("range_end", 2);
	claim("mark", 2);
	claim("object_name", 1);
	claim("complete", 1);
	claim("lost_other", 0);
	printf("done\n");
	return 0;
}
#else
int main(void)
{
	return no_nvtx();
}
#endif
