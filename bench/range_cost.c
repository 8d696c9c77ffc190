/*
 * Measures an NVTX range, called through function tables as a library of the job has them:
 *	nvtx_ns		a push or a pop; names stay at one address
 *	range_ns	a push and a pop; names are written into one buffer, as Python does
 *	registered_ns	a push or a pop in a domain, registered names and payloads
 *	nccl_ns		a push and a pop of a call of NCCL, with its payload
 * Each is also measured without the recorder (_bare), where NVTX has no tool and only checks a
 * pointer.
 */
#include "../interpose/nvtx/nvtx_abi.h"
#include "burst.h"

#define PLACES 17
static gp_nvtx_function *word[GP_NVTX_MODULES][PLACES];
static gp_nvtx_function **table[GP_NVTX_MODULES][PLACES];

static int module_table(int module, gp_nvtx_function ****out, unsigned *count)
{
	for (unsigned k = 1; k < PLACES; k++)
		table[module][k] = &word[module][k];
	*out = table[module];
	*count = PLACES - 1;
	return 1;
}

static const struct gp_nvtx_callbacks callbacks = { sizeof callbacks, module_table };
static const void *get_table(uint32_t number)
{
	return number == GP_NVTX_CALLBACKS ? &callbacks : NULL;
}

static intptr_t schema_slot;

static void nvtx_open(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	must(path);
	void *library = dlopen(path, RTLD_LAZY);
	must(library);
	int (*begin)(gp_nvtx_get_table *);
	*(void **)&begin = dlsym(library, "InitializeInjectionNvtx2");
	must(begin && begin(get_table) == 1);
	int (*extend)(const struct gp_nvtx_extension *);
	*(void **)&extend = dlsym(library, "InitializeInjectionNvtxExtension");
	struct gp_nvtx_segment segment = { .slots = GP_NVTX_ENUM_REGISTER, .slot = &schema_slot };
	const struct gp_nvtx_extension extension = { .bytes = sizeof extension,
						     .module = GP_NVTX_PAYLOAD_MODULE,
						     .compatible = GP_NVTX_PAYLOAD_COMPATIBLE << 8,
						     .segments = 1,
						     .segment = &segment };
	must(extend && extend(&extension) == 1);
}

/* As NVTX's headers do it. */
static int push(const char *text)
{
	int (*function)(const char *) = (int (*)(const char *))word[GP_NVTX_CORE][9];
	return function ? function(text) : -2;
}
static int pop(void)
{
	int (*function)(void) = (int (*)(void))word[GP_NVTX_CORE][11];
	return function ? function() : -2;
}
static int domain_push(void *domain, const struct gp_nvtx_attributes *a)
{
	int (*function)(void *, const struct gp_nvtx_attributes *) =
		(int (*)(void *, const struct gp_nvtx_attributes *))word[GP_NVTX_CORE2][4];
	return function ? function(domain, a) : -2;
}
static int domain_pop(void *domain)
{
	int (*function)(void *) = (int (*)(void *))word[GP_NVTX_CORE2][5];
	return function ? function(domain) : -2;
}

#define NAMES 16u
#define RANGES (BURST / 2)
static char text[NAMES][40];
static void *domain, *registered[NAMES];

static void plain(void)
{
	for (unsigned i = 0; i < RANGES; i += 2) {
		push(text[i % NAMES]);
		push(text[(i + 1) % NAMES]);
		pop();
		pop();
	}
}

static void rewritten(void)
{
	static char buffer[40];
	for (unsigned i = 0; i < RANGES; i++) {
		memcpy(buffer, text[i % NAMES], sizeof buffer);
		push(buffer);
		pop();
	}
}

static void in_domain(void)
{
	struct gp_nvtx_attributes a = { .version = 3,
					.bytes = sizeof a,
					.payload_type = 1,
					.message_type = GP_NVTX_MESSAGE_REGISTERED };
	for (unsigned i = 0; i < RANGES; i++) {
		a.payload = i;
		a.message.registered = registered[i % NAMES];
		domain_push(domain, &a);
		domain_pop(domain);
	}
}

static void *nccl, *all_reduce;
static const struct {
	uint64_t communicator, bytes;
} call = { 0xc0ffee, 1 << 20 };
#define ALL_REDUCE (GP_NVTX_STATIC_ID + 5)

static void nccl_open(void)
{
	static const struct gp_nvtx_entry entry[] = {
		{ .type = 18, .name = "NCCL communicator ID" },
		{ .type = 22, .name = "Message size [bytes]", .offset = 8 },
	};
	const struct gp_nvtx_schema schema = { .fields = GP_NVTX_SCHEMA_TYPE |
							 GP_NVTX_SCHEMA_ENTRIES |
							 GP_NVTX_SCHEMA_COUNT | GP_NVTX_SCHEMA_ID,
					       .type = GP_NVTX_SCHEMA_STATIC,
					       .entry = entry,
					       .entries = 2,
					       .id = ALL_REDUCE };
	void *(*create)(const char *) = (void *(*)(const char *))word[GP_NVTX_CORE2][12];
	void *(*keep)(void *, const char *) =
		(void *(*)(void *, const char *))word[GP_NVTX_CORE2][10];
	nccl = create("NCCL");
	all_reduce = keep(nccl, "ncclAllReduce");
	must(((uint64_t(*)(void *, const struct gp_nvtx_schema *))schema_slot)(nccl, &schema) ==
	     ALL_REDUCE);
}

static void of_nccl(void)
{
	const struct gp_nvtx_payload payload = { ALL_REDUCE, sizeof call, &call };
	const struct gp_nvtx_attributes a = { .version = 3,
					      .bytes = sizeof a,
					      .payload_type = GP_NVTX_PAYLOAD_SCHEMA,
					      .payloads = 1,
					      .payload = (uintptr_t)&payload,
					      .message_type = GP_NVTX_MESSAGE_REGISTERED,
					      .message = { .registered = all_reduce } };
	for (unsigned i = 0; i < RANGES; i++) {
		domain_push(nccl, &a);
		domain_pop(nccl);
	}
}

static gp_nvtx_function *kept[GP_NVTX_MODULES][PLACES];
static double time_once(const struct bench *b, void (*run)(void), bool is_bare)
{
	if (is_bare)
		memset(word, 0, sizeof word);
	uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
	run();
	double ns = (double)(now_ns(CLOCK_MONOTONIC_RAW) - start);
	memcpy(word, kept, sizeof word);
	wait_for_quiet(b);
	return ns;
}

static void compare(const struct bench *b, const char *name, void (*run)(void), double calls)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		double pair[2][4];
		for (unsigned j = 0; j < 4; j++) {
			pair[0][j] = time_once(b, run, true);
			pair[1][j] = time_once(b, run, false);
		}
		double bare = median(pair[0], 4);
		printf("%s %.2f\n%s_bare %.2f\n", name, (median(pair[1], 4) - bare) / calls, name,
		       bare / calls);
	}
}

int main(int argc, char **argv)
{
	static struct bench b;
	bench_open(&b);
	nvtx_open();
	void *(*create)(const char *) = (void *(*)(const char *))word[GP_NVTX_CORE2][12];
	void *(*keep)(void *, const char *) =
		(void *(*)(void *, const char *))word[GP_NVTX_CORE2][10];
	domain = create("bench");
	for (unsigned k = 0; k < NAMES; k++) {
		snprintf(text[k], sizeof text[k], "layer.%u.self_attention.forward", k);
		registered[k] = keep(domain, text[k]);
	}
	nccl_open();
	memcpy(kept, word, sizeof word);
	/* for counting instructions: this number of ranges, or none */
	if (argc == 2) {
		for (int n = atoi(argv[1]); n > 0; n -= (int)RANGES)
			plain();
		return 0;
	}
	compare(&b, "nvtx_ns", plain, 2 * RANGES);
	compare(&b, "range_ns", rewritten, RANGES);
	compare(&b, "registered_ns", in_domain, 2 * RANGES);
	compare(&b, "nccl_ns", of_nccl, RANGES);
	wait_for_quiet(&b);
	printf("range_cost_lost %llu\n", (unsigned long long)lost_events(&b));
	return 0;
}
