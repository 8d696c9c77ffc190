/*
 * The functions of NVTX for libraries of the job: pushes and pops, starts and ends, marks, domains,
 * registered strings, names of threads and CUDA objects. Our handles are numbers of names.
 * Libraries that name the same domain get the same one. Colours and categories are not recorded.
 */
#include "nvtx_calls.h"

#include "../../libgpuprof/record/ranges/range_mark.h"
#include "nccl_payload.h"

/* Handles are never NULL and never aligned, so that any other pointer is rejected. */
enum handle_of { OF_DOMAIN = 1, OF_STRING = 3, OF_RESOURCE = 5 };

static void *handle_make(enum handle_of what, uint32_t name)
{
	return (void *)((uintptr_t)name << 3 | what);
}

/* 0: no name, or not a handle of ours. */
GP_HOT uint32_t name_in(enum handle_of what, const void *handle)
{
	uintptr_t bits = (uintptr_t)handle;
	return gp_likely((bits & 7) == what && bits >> 3 <= GP_RANGE_NAMES) ?
		       (uint32_t)(bits >> 3) :
		       0;
}

/* NULL is the default domain. */
GP_HOT uint32_t domain_in(const void *handle)
{
	return gp_likely(!handle) ? 0 : name_in(OF_DOMAIN, handle);
}

/* ---- wide texts: UTF-32 here ---- */

struct narrow {
	char text[GP_RANGE_NAME_MAX +
		  5]; /* longer than the kept part: the name is cut there, with a mark */
	size_t bytes;
};

static size_t put_utf8(char *to, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	const unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
	to[0] = (char)(first[more] | c >> 6 * more);
	for (unsigned k = 1; k <= more; k++)
		to[k] = (char)(0x80 | (c >> 6 * (more - k) & 0x3f));
	return more + 1;
}

static GP_COLD const char *narrow_text(struct narrow *n, const wchar_t *wide)
{
	n->bytes = 0;
	if (!wide)
		return NULL;
	for (; *wide && n->bytes <= GP_RANGE_NAME_MAX; wide++)
		n->bytes += put_utf8(n->text + n->bytes, (uint32_t)*wide);
	return n->text;
}

/* ---- ranges ---- */

GP_HOT struct gp_range of_text(uint32_t domain, const char *text, size_t bytes)
{
	return (struct gp_range){
		.source = GP_RANGE_NVTX, .domain = domain, .text = text, .bytes = bytes
	};
}

static struct gp_range of_wide(struct narrow *n, const wchar_t *wide)
{
	const char *text = narrow_text(n, wide);
	return of_text(0, text, n->bytes);
}

GP_HOT void take_payload(struct gp_range *range, const struct gp_nvtx_attributes *a)
{
	if (gp_likely(a->payload_type < GP_PAYLOAD_UINT64 || a->payload_type > GP_PAYLOAD_FLOAT))
		return;
	range->payload_type = (enum gp_payload)a->payload_type;
	/* the bytes after a value of four bytes are undefined */
	range->payload = a->payload_type < GP_PAYLOAD_UINT32 ? a->payload : (uint32_t)a->payload;
}

/* Attributes of an older, shorter version become a range without a name. */
GP_HOT struct gp_range of_attributes(uint32_t domain, const struct gp_nvtx_attributes *a,
				     struct narrow *n)
{
	struct gp_range range = of_text(domain, NULL, 0);
	if (gp_unlikely(!a || a->bytes < sizeof *a))
		return range;
	take_payload(&range, a);
	if (a->message_type == GP_NVTX_MESSAGE_ASCII) {
		range.text = a->message.ascii;
		range.bytes = GP_TO_NUL;
	} else if (a->message_type == GP_NVTX_MESSAGE_REGISTERED) {
		range.name = name_in(OF_STRING, a->message.registered);
		if (gp_unlikely(!range.name))
			gp_range_name_refuse();
	} else if (a->message_type == GP_NVTX_MESSAGE_UNICODE) {
		range.text = narrow_text(n, a->message.unicode);
		range.bytes = n->bytes;
	}
	return range;
}

GP_HOT_TEXT static int push_a(const char *text)
{
	const struct gp_range range = of_text(0, text, GP_TO_NUL);
	return (int)gp_range_push(&range);
}

static int push_w(const wchar_t *text)
{
	struct narrow n;
	const struct gp_range range = of_wide(&n, text);
	return (int)gp_range_push(&range);
}

/* The payload after the push, so that its event lies in the range. */
static GP_COLD int push_other(void *domain, const struct gp_nvtx_attributes *a)
{
	struct narrow n;
	const struct gp_range range = of_attributes(domain_in(domain), a, &n);
	const int level = (int)gp_range_push(&range);
	if (a && a->bytes >= sizeof *a && a->payload_type == GP_NVTX_PAYLOAD_SCHEMA &&
	    a->payloads > 0)
		gp_nccl_payload_see(range.domain,
				    (const struct gp_nvtx_payload *)(uintptr_t)a->payload,
				    (uint64_t)a->payloads);
	return level;
}

GP_HOT_TEXT static int domain_push(void *domain, const struct gp_nvtx_attributes *a)
{
	/* one comparison also for take_payload */
	if (gp_unlikely(!a || (uint32_t)a->payload_type > GP_PAYLOAD_FLOAT))
		return push_other(domain, a);
	struct narrow n;
	const struct gp_range range = of_attributes(domain_in(domain), a, &n);
	return (int)gp_range_push(&range);
}

GP_HOT_TEXT static int push_ex(const struct gp_nvtx_attributes *a)
{
	return domain_push(NULL, a);
}

GP_HOT_TEXT static int pop(void)
{
	return (int)gp_range_pop(GP_RANGE_NVTX, 0);
}

GP_HOT_TEXT static int domain_pop(void *domain)
{
	return (int)gp_range_pop(GP_RANGE_NVTX, domain_in(domain));
}

static uint64_t start_a(const char *text)
{
	const struct gp_range range = of_text(0, text, GP_TO_NUL);
	return gp_range_start(&range);
}

static uint64_t start_w(const wchar_t *text)
{
	struct narrow n;
	const struct gp_range range = of_wide(&n, text);
	return gp_range_start(&range);
}

static uint64_t domain_start(void *domain, const struct gp_nvtx_attributes *a)
{
	struct narrow n;
	const struct gp_range range = of_attributes(domain_in(domain), a, &n);
	return gp_range_start(&range);
}

static uint64_t start_ex(const struct gp_nvtx_attributes *a)
{
	return domain_start(NULL, a);
}

static void nvtx_calls_end(uint64_t number)
{
	gp_range_end(GP_RANGE_NVTX, number);
}

static void domain_end(void *domain, uint64_t number)
{
	(void)domain;
	gp_range_end(GP_RANGE_NVTX, number);
}

static void mark_a(const char *text)
{
	const struct gp_range range = of_text(0, text, GP_TO_NUL);
	gp_range_mark(&range);
}

static void mark_w(const wchar_t *text)
{
	struct narrow n;
	const struct gp_range range = of_wide(&n, text);
	gp_range_mark(&range);
}

static void domain_mark(void *domain, const struct gp_nvtx_attributes *a)
{
	struct narrow n;
	const struct gp_range range = of_attributes(domain_in(domain), a, &n);
	gp_range_mark(&range);
}

static void mark_ex(const struct gp_nvtx_attributes *a)
{
	domain_mark(NULL, a);
}

/* ---- ranges with payloads alone ---- */

static int push_payload(void *domain, const struct gp_nvtx_payload *payload, size_t payloads)
{
	const struct gp_range range = of_text(domain_in(domain), NULL, 0);
	const int level = (int)gp_range_push(&range);
	gp_nccl_payload_see(range.domain, payload, payloads);
	return level;
}

static int pop_payload(void *domain, const struct gp_nvtx_payload *payload, size_t payloads)
{
	gp_nccl_payload_see(domain_in(domain), payload, payloads);
	return domain_pop(domain);
}

/* Ids that a tool would choose are not given out: 0. */
static uint64_t schema_register(void *domain, const struct gp_nvtx_schema *schema)
{
	gp_nccl_schema_learn(domain_in(domain), schema);
	return schema && schema->fields & GP_NVTX_SCHEMA_ID ? schema->id : 0;
}

static uint64_t enum_register(void *domain, const struct gp_nvtx_enum *attributes)
{
	gp_nccl_enum_learn(domain_in(domain), attributes);
	return attributes && attributes->fields & GP_NVTX_ENUM_ID ? attributes->id : 0;
}

/* ---- domains and strings ---- */

static void *create_a(const char *name)
{
	return handle_make(OF_DOMAIN, gp_range_name(0, name, GP_TO_NUL));
}

static void *create_w(const wchar_t *name)
{
	struct narrow n;
	const char *text = narrow_text(&n, name);
	return handle_make(OF_DOMAIN, gp_range_name(0, text, n.bytes));
}

static void *register_a(void *domain, const char *text)
{
	return handle_make(OF_STRING, gp_range_name(domain_in(domain), text, GP_TO_NUL));
}

static void *register_w(void *domain, const wchar_t *wide)
{
	struct narrow n;
	const char *text = narrow_text(&n, wide);
	return handle_make(OF_STRING, gp_range_name(domain_in(domain), text, n.bytes));
}

/* ---- names of things ---- */

#define NAMED(function, what, type)                                                       \
	static void function##_a(type handle, const char *text)                           \
	{                                                                                 \
		gp_range_name_object(what, (uint64_t)(uintptr_t)handle, text, GP_TO_NUL); \
	}                                                                                 \
	static void function##_w(type handle, const wchar_t *wide)                        \
	{                                                                                 \
		struct narrow n;                                                          \
		const char *text = narrow_text(&n, wide);                                 \
		gp_range_name_object(what, (uint64_t)(uintptr_t)handle, text, n.bytes);   \
	}
NAMED(name_thread, GP_OBJECT_THREAD, uint32_t)
NAMED(name_device, GP_OBJECT_DEVICE, uint32_t)
NAMED(name_context, GP_OBJECT_CONTEXT, void *)
NAMED(name_stream, GP_OBJECT_STREAM, void *)
NAMED(name_event, GP_OBJECT_EVENT, void *)

/* The object types with names of their own; 0: others, such as locks. */
static enum gp_object object_of(int32_t type)
{
	switch (type) {
	case 1 << 16 | 3:
		return GP_OBJECT_THREAD;
	case 4 << 16 | 1:
	case 5 << 16 | 0:
		return GP_OBJECT_DEVICE;
	case 4 << 16 | 2:
		return GP_OBJECT_CONTEXT;
	case 4 << 16 | 3:
	case 5 << 16 | 1:
		return GP_OBJECT_STREAM;
	case 4 << 16 | 4:
	case 5 << 16 | 2:
		return GP_OBJECT_EVENT;
	default:
		return 0;
	}
}

static void *create_resource(void *domain, const struct gp_nvtx_resource *r)
{
	struct narrow n;
	enum gp_object what = r && r->bytes >= sizeof *r ? object_of(r->type) : 0;
	(void)domain;
	if (what && r->message_type == GP_NVTX_MESSAGE_ASCII) {
		gp_range_name_object(what, r->handle, r->message.ascii, GP_TO_NUL);
	} else if (what && r->message_type == GP_NVTX_MESSAGE_UNICODE) {
		const char *text = narrow_text(&n, r->message.unicode);
		gp_range_name_object(what, r->handle, text, n.bytes);
	}
	return handle_make(OF_RESOURCE, 0);
}

/*
 * NVTX fills in empty functions for omitted rows, such as names of categories and the end of a
 * domain.
 */
#define ROW(module, number, function)                        \
	{                                                    \
		module, number, (gp_nvtx_function *)function \
	}
const struct gp_nvtx_row gp_nvtx_rows[GP_NVTX_ROWS] = {
	ROW(GP_NVTX_CORE, 1, mark_ex),
	ROW(GP_NVTX_CORE, 2, mark_a),
	ROW(GP_NVTX_CORE, 3, mark_w),
	ROW(GP_NVTX_CORE, 4, start_ex),
	ROW(GP_NVTX_CORE, 5, start_a),
	ROW(GP_NVTX_CORE, 6, start_w),
	ROW(GP_NVTX_CORE, 7, nvtx_calls_end),
	ROW(GP_NVTX_CORE, 8, push_ex),
	ROW(GP_NVTX_CORE, 9, push_a),
	ROW(GP_NVTX_CORE, 10, push_w),
	ROW(GP_NVTX_CORE, 11, pop),
	ROW(GP_NVTX_CORE, 14, name_thread_a),
	ROW(GP_NVTX_CORE, 15, name_thread_w),
	ROW(GP_NVTX_CORE2, 1, domain_mark),
	ROW(GP_NVTX_CORE2, 2, domain_start),
	ROW(GP_NVTX_CORE2, 3, domain_end),
	ROW(GP_NVTX_CORE2, 4, domain_push),
	ROW(GP_NVTX_CORE2, 5, domain_pop),
	ROW(GP_NVTX_CORE2, 6, create_resource),
	ROW(GP_NVTX_CORE2, 10, register_a),
	ROW(GP_NVTX_CORE2, 11, register_w),
	ROW(GP_NVTX_CORE2, 12, create_a),
	ROW(GP_NVTX_CORE2, 13, create_w),
	ROW(GP_NVTX_CUDA, 1, name_device_a),
	ROW(GP_NVTX_CUDA, 2, name_device_w),
	ROW(GP_NVTX_CUDA, 3, name_context_a),
	ROW(GP_NVTX_CUDA, 4, name_context_w),
	ROW(GP_NVTX_CUDA, 5, name_stream_a),
	ROW(GP_NVTX_CUDA, 6, name_stream_w),
	ROW(GP_NVTX_CUDA, 7, name_event_a),
	ROW(GP_NVTX_CUDA, 8, name_event_w),
	ROW(GP_NVTX_CUDART, 1, name_device_a),
	ROW(GP_NVTX_CUDART, 2, name_device_w),
	ROW(GP_NVTX_CUDART, 3, name_stream_a),
	ROW(GP_NVTX_CUDART, 4, name_stream_w),
	ROW(GP_NVTX_CUDART, 5, name_event_a),
	ROW(GP_NVTX_CUDART, 6, name_event_w),
};
const struct gp_nvtx_payload_row gp_nvtx_payload_rows[GP_NVTX_PAYLOAD_ROWS] = {
	{ GP_NVTX_SCHEMA_REGISTER, (gp_nvtx_function *)schema_register },
	{ GP_NVTX_ENUM_REGISTER, (gp_nvtx_function *)enum_register },
	{ GP_NVTX_PUSH_PAYLOAD, (gp_nvtx_function *)push_payload },
	{ GP_NVTX_POP_PAYLOAD, (gp_nvtx_function *)pop_payload },
};
