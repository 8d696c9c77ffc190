/*
 * Reports calls as NCCL does: schemas of the payload extension in the domain NCCL, ranges with
 * payloads, groups that launch at their end. Some schemas and payloads are wrong: huge numbers,
 * values outside of the payload, no pointers, unknown ids.
 *	nccl_calls [await]
 * await: first for the collection of GPU time.
 */
#include "nvtx_client.h"

#if HAVE_NVTX && __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>

#define ID(number) (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + (number))
enum {
	INIT = 0,
	ALL_GATHER = 4,
	ALL_REDUCE,
	BROADCAST,
	REDUCE_SCATTER,
	SEND = 9,
	RECV,
	SPLIT = 13
};
enum { ALL_TO_ALL = 16, UNKNOWN = 23, REDOP, WRONG = 40 };
#define WORLD 0x5a17c0de00000001u
#define HALF 0x5a17c0de00000002u

static struct driver driver;
static nvtxDomainHandle_t domain;
static CUfunction nccl, symmetric;

struct init {
	uint64_t communicator;
	int ranks, rank, device;
};
struct split {
	uint64_t communicator, parent;
	int ranks, rank, device, color, key;
};
struct call {
	uint64_t communicator;
	size_t bytes;
	int detail; /* reduction, root or peer */
};

#define AT(kind, label, place)                                     \
	{                                                          \
		.type = (kind), .name = (label), .offset = (place) \
	}
#define ENTRY(type, member, kind, name) AT(kind, name, offsetof(type, member))
static const nvtxPayloadSchemaEntry_t init_entries[] = {
	ENTRY(struct init, communicator, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID"),
	ENTRY(struct init, ranks, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks"),
	ENTRY(struct init, rank, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank"),
	ENTRY(struct init, device, NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device"),
};
static const nvtxPayloadSchemaEntry_t split_entries[] = {
	ENTRY(struct split, communicator, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID"),
	ENTRY(struct split, parent, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "Parent NCCL communicator ID"),
	ENTRY(struct split, ranks, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks"),
	ENTRY(struct split, rank, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank"),
	ENTRY(struct split, device, NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device"),
	ENTRY(struct split, color, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Color"),
	ENTRY(struct split, key, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Key"),
};
#define CALL_ENTRIES(kind, name)                                                 \
	{                                                                        \
		ENTRY(struct call, communicator, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, \
		      "NCCL communicator ID"),                                   \
			ENTRY(struct call, bytes, NVTX_PAYLOAD_ENTRY_TYPE_SIZE,  \
			      "Message size [bytes]"),                           \
			ENTRY(struct call, detail, kind, name),                  \
	}
static const nvtxPayloadSchemaEntry_t reduce_entries[] =
	CALL_ENTRIES(ID(REDOP), "Reduction operation");
static const nvtxPayloadSchemaEntry_t root_entries[] =
	CALL_ENTRIES(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Root");
static const nvtxPayloadSchemaEntry_t peer_entries[] =
	CALL_ENTRIES(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Peer rank");

static void schema(unsigned number, const nvtxPayloadSchemaEntry_t *entries, size_t count,
		   size_t bytes)
{
	const nvtxPayloadSchemaAttr_t a = {
		.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
			     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
		.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
		.entries = entries,
		.numEntries = count,
		.payloadStaticSize = bytes,
		.schemaId = ID(number),
	};
	nvtxPayloadSchemaRegister(domain, &a);
}

static void schemas(void)
{
	static const nvtxPayloadEnum_t operators[] = { { "Sum", 0, 0 }, { "Max", 2, 0 } };
	const nvtxPayloadEnumAttr_t a = { .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
						       NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
						       NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
						       NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
					  .entries = operators,
					  .numEntries = 2,
					  .sizeOfEnum = 4,
					  .schemaId = ID(REDOP) };
	nvtxPayloadEnumRegister(domain, &a);
	schema(INIT, init_entries, 4, sizeof(struct init));
	schema(SPLIT, split_entries, 7, sizeof(struct split));
	schema(ALL_GATHER, peer_entries, 2, offsetof(struct call, detail));
	schema(ALL_TO_ALL, peer_entries, 2, offsetof(struct call, detail));
	schema(ALL_REDUCE, reduce_entries, 3, sizeof(struct call));
	schema(REDUCE_SCATTER, reduce_entries, 3, sizeof(struct call));
	schema(BROADCAST, root_entries, 3, sizeof(struct call));
	schema(SEND, peer_entries, 3, sizeof(struct call));
	schema(RECV, peer_entries, 3, sizeof(struct call));
}

/* ---- what NCCL does ---- */

static nvtxEventAttributes_t named(const char *name)
{
	return (nvtxEventAttributes_t){ .version = NVTX_VERSION,
					.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
					.message = { .registered = nvtxDomainRegisterStringA(
							     domain, name) } };
}

static void push(const char *name)
{
	const nvtxEventAttributes_t a = named(name);
	nvtxDomainRangePushEx(domain, &a);
}

static void push_with(const char *name, const nvtxPayloadData_t *payload, int32_t payloads)
{
	nvtxEventAttributes_t a = named(name);
	a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	a.reserved0 = payloads;
	a.payload.ullValue = (uintptr_t)payload;
	nvtxDomainRangePushEx(domain, &a);
}

static void pop(void)
{
	nvtxDomainRangePop(domain);
}

static void launch(CUfunction function)
{
	must(driver.cuLaunchKernel(function, 8, 1, 1, 512, 1, 1, 0, NULL, NULL, NULL) ==
	     CUDA_SUCCESS);
}

static void call(unsigned number, const char *name, uint64_t communicator, size_t bytes, int detail,
		 CUfunction function)
{
	const struct call c = { communicator, bytes, detail };
	const nvtxPayloadData_t payload = { ID(number),
					    number == ALL_GATHER || number == ALL_TO_ALL ?
						    offsetof(struct call, detail) :
						    sizeof c,
					    &c };
	push_with(name, &payload, 1);
	if (function != NULL)
		launch(function);
	pop();
}

/* As PyTorch does with each call: the kernel comes with the end of the group. */
static void group_begin(void)
{
	push("ncclGroupStart");
	pop();
}

static void group_end(void)
{
	push("ncclGroupEnd");
	launch(nccl);
	pop();
}

static void communicators(void)
{
	const struct init world = { WORLD, 4, 1, 0 };
	const struct split half = { HALF, WORLD, 4, 1, 0, 1, 0 };
	const nvtxPayloadData_t of_world = { ID(INIT), sizeof world, &world };
	const nvtxPayloadData_t of_half = { ID(SPLIT), sizeof half, &half };
	push("ncclCommInitRank");
	nvtxRangePopPayload(domain, &of_world, 1);
	push("ncclCommSplit");
	nvtxRangePopPayload(domain, &of_half, 1);
}

static void collectives(void)
{
	for (int k = 0; k < 3; k++)
		call(ALL_REDUCE, "ncclAllReduce", WORLD, 1 << 20, 0, nccl);
	for (int k = 0; k < 2; k++) {
		group_begin();
		call(ALL_GATHER, "ncclAllGather", WORLD, 3000, 0, NULL);
		group_end();
	}
	call(REDUCE_SCATTER, "ncclReduceScatter", WORLD, 4096, 2, symmetric);
	call(BROADCAST, "ncclBroadcast", WORLD, 5000, 3, nccl);
	group_begin(); /* an all-to-all as PyTorch makes it */
	for (int k = 0; k < 4; k++) {
		call(SEND, "ncclSend", WORLD, 2048, k, NULL);
		call(RECV, "ncclRecv", WORLD, 2048, k, NULL);
	}
	group_end();
	group_begin(); /* of different calls */
	call(SEND, "ncclSend", WORLD, 700, 2, NULL);
	call(RECV, "ncclRecv", WORLD, 800, 0, NULL);
	group_end();
	call(ALL_TO_ALL, "ncclAlltoAll", WORLD, 512, 0, nccl);
	call(ALL_REDUCE, "ncclAllReduce", HALF, 64, 0, nccl);
	launch(nccl); /* of no call */
}

/* ---- what it never does ---- */

static void wrong_schemas(void)
{
	static const nvtxPayloadSchemaEntry_t far[] = {
		AT(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", 0),
		AT(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", 1 << 15),
		AT(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Root", UINT64_MAX - 1),
		AT(UINT64_MAX, NULL, 0),
	};
	static const nvtxPayloadSchemaEntry_t array[] = {
		{ .flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE |
			   NVTX_PAYLOAD_ENTRY_FLAG_POINTER,
		  .type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE,
		  .name = "Message size [bytes]",
		  .arrayOrUnionDetail = 1 << 30 },
	};
	schema(WRONG, far, 4, SIZE_MAX);
	schema(WRONG + 1, NULL, 4, 16);
	schema(WRONG + 2, far, SIZE_MAX, 16);
	schema(WRONG + 3, far, 0, 16);
	schema(WRONG + 4, array, 1, 16);
	schema(UINT32_MAX, far, 4, 16);
	nvtxPayloadSchemaRegister(domain, NULL);
	nvtxPayloadEnumRegister(domain, NULL);
	nvtxPayloadSchemaRegister((nvtxDomainHandle_t)(uintptr_t)(16000 << 3 | 1),
				  &(nvtxPayloadSchemaAttr_t){ 0 });
}

static void wrong_payloads(void)
{
	static const struct call c = { WORLD, 1, 1 };
	const nvtxPayloadData_t payload[] = {
		{ ID(WRONG), sizeof c, &c },   { ID(WRONG + 1), 16, &c },
		{ ID(WRONG + 2), 16, &c },     { ID(WRONG + 3), 16, &c },
		{ ID(WRONG + 4), 16, &c },     { ID(ALL_REDUCE), 8, &c },
		{ ID(ALL_REDUCE), 0, &c },     { ID(ALL_REDUCE), sizeof c, NULL },
		{ ID(UNKNOWN), sizeof c, &c }, { UINT64_MAX, sizeof c, &c },
		{ 0, SIZE_MAX, (void *)1 },
	};
	for (size_t k = 0; k < sizeof payload / sizeof *payload; k++) {
		push_with("ncclAllReduce", &payload[k], 1);
		pop();
	}
	push_with("ncclAllReduce", NULL, INT32_MAX);
	push_with("ncclAllReduce", payload, 0);
	push_with("ncclAllReduce", payload, INT32_MIN);
	for (int k = 0; k < 3; k++)
		pop();
	nvtxRangePushPayload(domain, NULL, SIZE_MAX);
	nvtxRangePopPayload(domain, NULL, SIZE_MAX);
	nvtxRangePopPayload(NULL, payload, 1);
}

int main(int argc, char **argv)
{
	CUmodule module;
	domain = nvtxDomainCreateA("NCCL");
	schemas();
	communicators(); /* they are recorded when recording begins */
	driver = need_driver(FROM_PROC_ADDRESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(
		     &nccl, module,
		     "_Z38ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorage") ==
	     CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&symmetric, module,
					"ncclSymkDevKernel_ReduceScatter_LD_f32") == CUDA_SUCCESS);
	must_alloc(&driver, 4096);
	communicators(); /* once more, as by their ends */
	await_collection(argc, argv);
	collectives();
	wrong_schemas();
	wrong_payloads();
	claim("collective", 3 + 2 + 1 + 1 + 8 + 2 + 1 + 1);
	claim("communicator", 2);
	claim("launch", 12);
	puts("NCCL was here");
	return 0;
}
#else
int main(void)
{
	return no_nvtx();
}
#endif
