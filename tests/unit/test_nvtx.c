/*
 * The recorder as a tool for NVTX, against tables like those of a library in the job: full, short
 * and wrong ones. The recorder's functions are replaced: they only note their calls.
 */
#include "../../interpose/nvtx/lookup_nvtx.c"
#include "../../interpose/nvtx/nccl_payload.c"
#include "../../interpose/nvtx/nvtx_calls.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#if defined(GP_HAVE_CUDA_HEADERS) && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
#else
#define HAVE_NVTX 0
#endif
#if HAVE_NVTX && __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#define HAVE_PAYLOADS 1
#else
#define HAVE_PAYLOADS 0
#endif

/* ---- replacements for the recorder ---- */

bool gp_lookups_open = true;
gp_dlsym_function *gp_libc_dlsym;
static bool is_preloaded = true;
unsigned gp_elf_position(const void *address)
{
	return address == (void *)gp_nvtx_offer ? (is_preloaded ? 1 : 9) : 5;
}

/* ---- a library's tables ---- */

#define PLACES 17
static gp_nvtx_function *word[GP_NVTX_MODULES][PLACES];
static gp_nvtx_function **table[GP_NVTX_MODULES][PLACES];
static unsigned counts[GP_NVTX_MODULES];
static uint32_t version_reported;

static int module_table(int module, gp_nvtx_function ****out, unsigned *count)
{
	if (module < 1 || module >= GP_NVTX_MODULES || counts[module] == 0)
		return 0;
	for (unsigned k = 1; k < PLACES; k++)
		table[module][k] = &word[module][k];
	*out = table[module];
	*count = counts[module];
	return 1;
}

static void set_version(uint32_t version)
{
	version_reported = version;
}

static struct gp_nvtx_callbacks callbacks;
static struct gp_nvtx_version_info version_info;
static const void *get_table(uint32_t number)
{
	return number == GP_NVTX_CALLBACKS    ? (const void *)&callbacks :
	       number == GP_NVTX_VERSION_INFO ? (const void *)&version_info :
						NULL;
}

static void not_filled(void)
{
}

static int fresh(void **state)
{
	(void)state;
	static const unsigned full[GP_NVTX_MODULES] = { 0, 16, 9, 15, 7, 16 };
	for (unsigned m = 0; m < GP_NVTX_MODULES; m++)
		for (unsigned k = 0; k < PLACES; k++)
			word[m][k] = not_filled;
	memcpy(counts, full, sizeof counts);
	callbacks = (struct gp_nvtx_callbacks){ sizeof callbacks, module_table };
	version_info = (struct gp_nvtx_version_info){ sizeof version_info, 3, 0, set_version };
	version_reported = 0;
	gp_lookups_open = is_preloaded = gp_settings.has_nvtx = true;
	return 0;
}

static void tables_are_filled(void **state)
{
	(void)state;
	assert_int_equal(InitializeInjectionNvtx2(get_table), 1);
	assert_int_equal(version_reported, 3);
	unsigned filled = 0;
	for (unsigned m = 1; m < GP_NVTX_MODULES; m++)
		for (unsigned k = 1; k < counts[m]; k++)
			filled += word[m][k] != not_filled;
	assert_int_equal(filled, GP_NVTX_ROWS);
	for (unsigned k = 0; k < GP_NVTX_ROWS; k++)
		assert_ptr_equal(word[gp_nvtx_rows[k].module][gp_nvtx_rows[k].number],
				 gp_nvtx_rows[k].function);
	/* functions of OpenCL and names of categories are not taken */
	assert_ptr_equal(word[3][1], not_filled);
	assert_ptr_equal(word[1][12], not_filled);
	assert_ptr_equal(word[1][16], not_filled);
}

static void short_tables_are_filled_as_far_as_they_go(void **state)
{
	(void)state;
	counts[GP_NVTX_CORE] = 8;
	counts[GP_NVTX_CORE2] = 0;
	version_info.bytes = 8;
	assert_int_equal(InitializeInjectionNvtx2(get_table), 1);
	assert_int_equal(version_reported, 0);
	assert_ptr_not_equal(word[GP_NVTX_CORE][7], not_filled);
	assert_ptr_equal(word[GP_NVTX_CORE][8], not_filled);
	assert_ptr_equal(word[GP_NVTX_CORE2][4], not_filled);
}

static const void *no_table(uint32_t number)
{
	(void)number;
	return NULL;
}

static void useless_tables_are_refused(void **state)
{
	(void)state;
	assert_int_equal(InitializeInjectionNvtx2(NULL), 0);
	assert_int_equal(InitializeInjectionNvtx2(no_table), 0);
	callbacks.bytes = sizeof callbacks - 1;
	assert_int_equal(InitializeInjectionNvtx2(get_table), 0);
	callbacks.bytes = sizeof callbacks;
	gp_settings.has_nvtx = false;
	assert_int_equal(InitializeInjectionNvtx2(get_table), 0);
	gp_settings.has_nvtx = true;
	gp_lookups_open = false;
	assert_int_equal(InitializeInjectionNvtx2(get_table), 0);
	gp_lookups_open = true;
	is_preloaded = false; /* a child that has the variable and not the preload */
	assert_int_equal(InitializeInjectionNvtx2(get_table), 0);
	for (unsigned k = 1; k < PLACES; k++)
		assert_ptr_equal(word[GP_NVTX_CORE][k], not_filled);
	assert_int_equal(InitializeInjectionNvtxExtension(NULL), 0);
}

/* NCCL up to 2.21 has two slots. */
static void payload_slots_are_filled_as_far_as_they_go(void **state)
{
	(void)state;
	intptr_t slot[6] = { 0 };
	struct gp_nvtx_segment segment = { .slots = 6, .slot = slot };
	struct gp_nvtx_extension e = { .bytes = sizeof e,
				       .module = GP_NVTX_PAYLOAD_MODULE,
				       .compatible = 0x0103,
				       .segments = 1,
				       .segment = &segment };
	assert_int_equal(InitializeInjectionNvtxExtension(&e), 1);
	for (unsigned k = 0; k < GP_NVTX_PAYLOAD_ROWS; k++)
		assert_true(slot[gp_nvtx_payload_rows[k].slot] ==
			    (intptr_t)gp_nvtx_payload_rows[k].function);
	assert_int_equal(slot[2], 0);
	memset(slot, 0, sizeof slot);
	segment.slots = 2;
	assert_int_equal(InitializeInjectionNvtxExtension(&e), 1);
	assert_true(slot[0] != 0 && slot[1] != 0 && slot[3] == 0 && slot[4] == 0);
	memset(slot, 0, sizeof slot);
	segment.slot = NULL;
	assert_int_equal(InitializeInjectionNvtxExtension(&e), 0);
	segment.slot = slot;
	e.module = 3; /* counters */
	assert_int_equal(InitializeInjectionNvtxExtension(&e), 0);
	e.module = GP_NVTX_PAYLOAD_MODULE;
	e.compatible = 0x0200;
	assert_int_equal(InitializeInjectionNvtxExtension(&e), 0);
	e.compatible = 0x0104;
	e.bytes = sizeof e - 1;
	assert_int_equal(InitializeInjectionNvtxExtension(&e), 0);
	assert_int_equal(slot[0], 0);
}

static void wide_texts_become_utf8(void **state)
{
	(void)state;
	struct narrow n;
	static const wchar_t wide[] = { 'a', 0xe4, 0x20ac, 0x1f600, 0xd800, 0x110000, 0 };
	assert_ptr_equal(narrow_text(&n, wide), n.text);
	assert_int_equal(n.bytes, 1 + 2 + 3 + 4 + 3 + 3);
	assert_memory_equal(n.text, "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd",
			    n.bytes);
	static wchar_t much[2000];
	wmemset(much, 0x10ffff, 1999);
	narrow_text(&n, much);
	assert_true(n.bytes > GP_RANGE_NAME_MAX && n.bytes <= sizeof n.text);
	assert_null(narrow_text(&n, NULL));
	assert_int_equal(n.bytes, 0);
}

static void handles_of_others_have_no_names(void **state)
{
	(void)state;
	void *domain = create_a("of tests"), *other = create_w(L"of tests");
	assert_non_null(domain);
	assert_ptr_equal(domain, other);
	assert_int_not_equal(domain_in(domain), 0);
	assert_int_equal(domain_in(NULL), 0);
	void *string = register_a(domain, "text");
	assert_ptr_equal(string, register_w(domain, L"text"));
	assert_ptr_not_equal(string, register_a(NULL, "text"));
	assert_int_equal(name_in(OF_STRING, domain), 0);
	assert_int_equal(name_in(OF_STRING, (void *)0x7fff12345678), 0);
	assert_int_equal(name_in(OF_STRING, (void *)0x7fff1234567b), 0);
	assert_int_equal(name_in(OF_STRING, string), (uintptr_t)string >> 3);
	assert_non_null(create_resource(NULL, NULL));
}

static void attributes_are_read_as_far_as_they_are_known(void **state)
{
	(void)state;
	struct narrow n;
	struct gp_nvtx_attributes a = { .version = 3,
					.bytes = sizeof a,
					.payload_type = GP_PAYLOAD_INT32,
					.payload = 0xabababab00000007,
					.message_type = GP_NVTX_MESSAGE_ASCII,
					.message = { .ascii = "text" } };
	struct gp_range range = of_attributes(0, &a, &n);
	assert_string_equal(range.text, "text");
	assert_int_equal(range.payload_type, GP_PAYLOAD_INT32);
	assert_int_equal(range.payload, 7);
	a.payload_type = (int32_t)0xDFBD0009; /* described by a schema */
	range = of_attributes(0, &a, &n);
	assert_int_equal(range.payload_type, GP_PAYLOAD_NONE);
	assert_int_equal(range.payload, 0);
	a.message_type = 77;
	assert_null(of_attributes(0, &a, &n).text);
	a.message_type = GP_NVTX_MESSAGE_ASCII;
	a.bytes = 40;
	assert_null(of_attributes(0, &a, &n).text);
	assert_null(of_attributes(0, NULL, &n).text);
}

/* NVIDIA's own structs, if their headers are installed. */
static void our_layout_is_its_own(void **state)
{
	(void)state;
#if HAVE_NVTX
	assert_int_equal(sizeof(struct gp_nvtx_attributes), sizeof(nvtxEventAttributes_t));
#define SAME(ours, theirs)                                          \
	assert_int_equal(offsetof(struct gp_nvtx_attributes, ours), \
			 offsetof(nvtxEventAttributes_t, theirs))
	SAME(bytes, size);
	SAME(payload_type, payloadType);
	SAME(payload, payload);
	SAME(message_type, messageType);
	SAME(message, message);
	assert_int_equal(sizeof(struct gp_nvtx_resource), sizeof(nvtxResourceAttributes_t));
	assert_int_equal(offsetof(struct gp_nvtx_resource, handle),
			 offsetof(nvtxResourceAttributes_t, identifier));
	assert_int_equal(offsetof(struct gp_nvtx_resource, message),
			 offsetof(nvtxResourceAttributes_t, message));
	assert_int_equal(sizeof(struct gp_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
	assert_int_equal(sizeof(struct gp_nvtx_version_info), sizeof(NvtxExportTableVersionInfo));
	/* the numbers of each kind of call */
	static const struct {
		uint32_t module, number;
		gp_nvtx_function *function;
	} known[] = {
		{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, (gp_nvtx_function *)push_a },
		{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, (gp_nvtx_function *)pop },
		{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartW, (gp_nvtx_function *)start_w },
		{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_MarkEx, (gp_nvtx_function *)mark_ex },
		{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_NameOsThreadA,
		  (gp_nvtx_function *)name_thread_a },
		{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop,
		  (gp_nvtx_function *)domain_pop },
		{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringW,
		  (gp_nvtx_function *)register_w },
		{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA,
		  (gp_nvtx_function *)create_a },
		{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainResourceCreate,
		  (gp_nvtx_function *)create_resource },
		{ NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_NameCuEventW,
		  (gp_nvtx_function *)name_event_w },
		{ NVTX_CB_MODULE_CUDART, NVTX_CBID_CUDART_NameCudaStreamA,
		  (gp_nvtx_function *)name_stream_a },
	};
	assert_int_equal(InitializeInjectionNvtx2(get_table), 1);
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		assert_ptr_equal(word[known[k].module][known[k].number], known[k].function);
#else
	skip();
#endif
}

static void our_payloads_are_its_own(void **state)
{
	(void)state;
#if HAVE_PAYLOADS
#undef SAME
#define SAME(ours, theirs, our, their)                         \
	assert_int_equal(offsetof(struct gp_nvtx_##ours, our), \
			 offsetof(nvtxPayload##theirs##_t, their))
	assert_int_equal(GP_NVTX_PAYLOAD_SCHEMA, NVTX_PAYLOAD_TYPE_EXT);
	assert_int_equal(GP_NVTX_PAYLOAD_MODULE, NVTX_EXT_PAYLOAD_MODULEID);
	assert_int_equal(GP_NVTX_PAYLOAD_COMPATIBLE, NVTX_EXT_PAYLOAD_COMPATID >> 8);
	assert_int_equal(GP_NVTX_STATIC_ID, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
	assert_int_equal(offsetof(struct gp_nvtx_attributes, payloads),
			 offsetof(nvtxEventAttributes_t, reserved0));
	assert_int_equal(sizeof(struct gp_nvtx_extension), sizeof(nvtxExtModuleInfo_t));
	assert_int_equal(offsetof(struct gp_nvtx_extension, compatible),
			 offsetof(nvtxExtModuleInfo_t, compatId));
	assert_int_equal(offsetof(struct gp_nvtx_extension, segment),
			 offsetof(nvtxExtModuleInfo_t, segments));
	assert_int_equal(offsetof(struct gp_nvtx_segment, slot),
			 offsetof(nvtxExtModuleSegment_t, functionSlots));
	assert_int_equal(sizeof(struct gp_nvtx_payload), sizeof(nvtxPayloadData_t));
	SAME(payload, Data, bytes, size);
	SAME(payload, Data, data, payload);
	assert_int_equal(sizeof(struct gp_nvtx_entry), sizeof(nvtxPayloadSchemaEntry_t));
	SAME(entry, SchemaEntry, type, type);
	SAME(entry, SchemaEntry, name, name);
	SAME(entry, SchemaEntry, offset, offset);
	SAME(schema, SchemaAttr, type, type);
	SAME(schema, SchemaAttr, entry, entries);
	SAME(schema, SchemaAttr, entries, numEntries);
	SAME(schema, SchemaAttr, bytes, payloadStaticSize);
	SAME(schema, SchemaAttr, id, schemaId);
	SAME(enum, EnumAttr, bytes, sizeOfEnum);
	SAME(enum, EnumAttr, id, schemaId);
	assert_int_equal(GP_NVTX_SCHEMA_BYTES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
	assert_int_equal(GP_NVTX_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
	assert_int_equal(GP_NVTX_ENUM_BYTES, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE);
	assert_int_equal(GP_NVTX_ENUM_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
	assert_int_equal(GP_NVTX_PUSH_PAYLOAD, NVTX3EXT_CBID_nvtxRangePushPayload);
	assert_int_equal(GP_NVTX_POP_PAYLOAD, NVTX3EXT_CBID_nvtxRangePopPayload);
	/* sizes of the types */
	const nvtxPayloadEntryTypeInfo_t *info =
		NVTX_EXT_PAYLOAD_VERSIONED_ID(nvtxExtPayloadTypeInfo);
	for (uint64_t type = 1; type <= NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS; type++)
		assert_int_equal(type_bytes(type), info[type].size);
#else
	skip();
#endif
}

/* ---- payloads ---- */

static const struct gp_nvtx_entry *entries_of(struct gp_nvtx_entry out[2], uint64_t type,
					      const char *name, uint64_t flags)
{
	out[0] = (struct gp_nvtx_entry){ .type = 5, .name = "Root" };
	out[1] = (struct gp_nvtx_entry){ .flags = flags, .type = type, .name = name };
	return out;
}

static struct gp_nvtx_schema schema_of(const struct gp_nvtx_entry *entry, size_t entries,
				       uint64_t number)
{
	return (struct gp_nvtx_schema){ .fields = GP_NVTX_SCHEMA_TYPE | GP_NVTX_SCHEMA_ENTRIES |
						  GP_NVTX_SCHEMA_COUNT | GP_NVTX_SCHEMA_ID,
					.type = GP_NVTX_SCHEMA_STATIC,
					.entry = entry,
					.entries = entries,
					.id = GP_NVTX_STATIC_ID + number };
}

/* As NCCL 2.21 describes a broadcast: no communicator, and the offset of the first entry only. */
static void fields_are_found_by_their_names(void **state)
{
	(void)state;
	const uint32_t nccl = domain_in(create_a("NCCL")), other = domain_in(create_a("MPI"));
	static const struct {
		uint64_t bytes;
		int root;
	} data = { 123456789012, -1 };
	const struct gp_nvtx_entry entry[] = { { .type = 22, .name = "Bytes" },
					       { .type = 5, .name = "Root" } };
	struct gp_nvtx_schema schema = schema_of(entry, 2, GP_BROADCAST);
	struct gp_nvtx_payload payload = { schema.id, sizeof data, &data };
	struct values v;
	gp_nccl_schema_learn(other, &schema);
	gp_nccl_schema_learn(0, &schema);
	assert_false(payload_read(&v, &payload));
	gp_nccl_schema_learn(nccl, &schema);
	assert_true(payload_read(&v, &payload));
	assert_true(v.has[BYTES] && v.has[PEER] && !v.has[COMMUNICATOR]);
	assert_int_equal(v.of[BYTES], 123456789012);
	assert_int_equal(v.of[PEER], -1);
	assert_int_equal(one_more(&v, PEER), 0);
	assert_int_equal(v.operation, GP_BROADCAST);
	/* values that do not lie in the payload are missing */
	payload.bytes = 11;
	assert_true(payload_read(&v, &payload));
	assert_true(v.has[BYTES] && !v.has[PEER]);
	payload.bytes = SIZE_MAX; /* that of the schema */
	assert_true(payload_read(&v, &payload));
	assert_true(v.has[PEER]);
	payload.data = NULL;
	assert_false(payload_read(&v, &payload));
	/* another NCCL in the process has another layout */
	payload.data = &data;
	gp_nccl_schema_learn(nccl, &schema);
	assert_true(payload_read(&v, &payload));
	schema.entries = 1;
	gp_nccl_schema_learn(nccl, &schema);
	assert_false(payload_read(&v, &payload));
}

static void wrong_schemas_are_refused(void **state)
{
	(void)state;
	struct gp_nvtx_entry entry[2];
	struct layout layout;
	struct gp_nvtx_schema s = schema_of(entries_of(entry, 22, "Bytes", 0), 2, 20);
	assert_true(layout_read(&layout, &s));
	assert_int_equal(layout.of[BYTES].offset, 8); /* aligned */
	assert_int_equal(layout.bytes, 16);
	entries_of(entry, 22, "Bytes", 2); /* a pointer */
	assert_true(layout_read(&layout, &s));
	assert_int_equal(layout.of[BYTES].bytes, 0);
	entries_of(entry, 20, "Bytes", 0); /* a double */
	assert_true(layout_read(&layout, &s));
	assert_int_equal(layout.of[BYTES].bytes, 0);
	entries_of(entry, 22, "Bytes", 0);
	entry[1].offset = UINT64_MAX - 3;
	assert_true(layout_read(&layout, &s));
	assert_int_equal(layout.of[BYTES].bytes, 0);
	entries_of(entry, GP_NVTX_STATIC_ID + 30, "Reduction operation", 0); /* an unknown enum */
	assert_true(layout_read(&layout, &s));
	assert_int_equal(layout.of[REDUCTION].bytes, 0);
	gp_nccl_enum_learn(domain_in(create_a("NCCL")),
			   &(struct gp_nvtx_enum){ .fields = GP_NVTX_ENUM_BYTES | GP_NVTX_ENUM_ID,
						   .bytes = 4,
						   .id = GP_NVTX_STATIC_ID + 30 });
	assert_true(layout_read(&layout, &s));
	assert_int_equal(layout.of[REDUCTION].offset, 4);
	s.entries = SIZE_MAX;
	assert_false(layout_read(&layout, &s));
	s.entries = 0;
	assert_false(layout_read(&layout, &s));
	s.entries = 2;
	s.entry = NULL;
	assert_false(layout_read(&layout, &s));
	s.entry = entry;
	s.type = 2; /* dynamic */
	assert_false(layout_read(&layout, &s));
	/* a number that no domain has */
	assert_false(is_nccl(GP_RANGE_NAMES));
}

/* Another tool's name stays; our own name, and that of a copy, are replaced. */
static void another_tool_is_left_alone(void **state)
{
	(void)state;
	setenv(VARIABLE, "/opt/tool/libToolsInjection64.so", 1);
	gp_nvtx_offer();
	assert_string_equal(getenv(VARIABLE), "/opt/tool/libToolsInjection64.so");
	assert_string_equal(taken_by, "/opt/tool/libToolsInjection64.so");
	taken_by[0] = '\0';
	unsetenv(VARIABLE);
	is_preloaded = false;
	gp_nvtx_offer();
	assert_null(getenv(VARIABLE));
	is_preloaded = true;
	gp_settings.has_nvtx = false;
	gp_nvtx_offer();
	assert_null(getenv(VARIABLE));
	gp_settings.has_nvtx = true;
	gp_nvtx_offer();
	const char *own = getenv(VARIABLE);
	assert_non_null(own);
	assert_int_equal(own[0], '/');
	char copy[PATH_MAX], first[PATH_MAX];
	strcpy(first, own);
	snprintf(copy, sizeof copy, "/elsewhere%s", strrchr(own, '/'));
	setenv(VARIABLE, copy, 1);
	gp_nvtx_offer();
	assert_string_equal(getenv(VARIABLE), first);
	assert_int_equal(taken_by[0], '\0');
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fresh)
	const struct CMUnitTest tests[] = {
		TEST(tables_are_filled),
		TEST(short_tables_are_filled_as_far_as_they_go),
		TEST(useless_tables_are_refused),
		TEST(wide_texts_become_utf8),
		TEST(handles_of_others_have_no_names),
		TEST(attributes_are_read_as_far_as_they_are_known),
		TEST(payload_slots_are_filled_as_far_as_they_go),
		TEST(our_layout_is_its_own),
		TEST(our_payloads_are_its_own),
		TEST(fields_are_found_by_their_names),
		TEST(wrong_schemas_are_refused),
		TEST(another_tool_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
