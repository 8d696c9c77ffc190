/*
 * The binary interface between NVTX 3 and an injected tool, as far as we use it. It has our own
 * names, so that it builds without NVIDIA's headers. tests/unit/test_nvtx.c compares it with these
 * headers if they are found.
 */
#ifndef GP_NVTX_ABI_H
#define GP_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef void gp_nvtx_function(void);

enum gp_nvtx_module {
	GP_NVTX_CORE = 1,
	GP_NVTX_CUDA = 2,
	GP_NVTX_CUDART = 4,
	GP_NVTX_CORE2 = 5,
	GP_NVTX_MODULES,
};

/* Export tables, by number: 1 and 3. */
#define GP_NVTX_CALLBACKS 1u
#define GP_NVTX_VERSION_INFO 3u
typedef const void *gp_nvtx_get_table(uint32_t number);

struct gp_nvtx_callbacks {
	size_t bytes;
	/* a table of pointers to the words that hold the functions; word 0 is not used */
	int (*module_table)(int module, gp_nvtx_function ****table, unsigned *count);
};

struct gp_nvtx_version_info {
	size_t bytes;
	uint32_t version, zero;
	void (*set_version)(uint32_t version);
};
#define GP_NVTX_VERSION 3u

enum gp_nvtx_message_type {
	GP_NVTX_MESSAGE_ASCII = 1,
	GP_NVTX_MESSAGE_UNICODE = 2,
	GP_NVTX_MESSAGE_REGISTERED = 3,
};

union gp_nvtx_message {
	const char *ascii;
	const wchar_t *unicode;
	void *registered;
};

/*
 * Payload types 1 to 6 are enum gp_payload. With GP_NVTX_PAYLOAD_SCHEMA `payload` is the address of
 * `payloads` structs gp_nvtx_payload.
 */
#define GP_NVTX_PAYLOAD_SCHEMA ((int32_t)0xdfbd0009)
struct gp_nvtx_attributes {
	uint16_t version, bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, payloads;
	uint64_t payload;
	int32_t message_type;
	union gp_nvtx_message message;
};

struct gp_nvtx_resource {
	uint16_t version, bytes;
	int32_t type; /* class << 16 | number */
	uint64_t handle;
	int32_t message_type;
	union gp_nvtx_message message;
};

/* ---- the payload extension ---- */

#define GP_NVTX_PAYLOAD_MODULE 2u
#define GP_NVTX_PAYLOAD_COMPATIBLE 1u /* the high byte of `compatible`; 1.3 and 1.4 exist */

struct gp_nvtx_segment {
	size_t id, slots;
	intptr_t *slot; /* functions, to be filled in */
};
struct gp_nvtx_extension {
	uint16_t version, bytes, module, compatible;
	size_t segments;
	struct gp_nvtx_segment *segment;
	intptr_t (*get_export)(uint32_t number);
	const void *info;
};
enum gp_nvtx_payload_slot {
	GP_NVTX_SCHEMA_REGISTER = 0,
	GP_NVTX_ENUM_REGISTER = 1,
	GP_NVTX_PUSH_PAYLOAD = 3,
	GP_NVTX_POP_PAYLOAD = 4,
};

/* Types of entries: up to 23 they are C's; from here on ids of schemas and enums. */
#define GP_NVTX_STATIC_ID (UINT64_C(1) << 24)
struct gp_nvtx_entry {
	uint64_t flags; /* 0: a plain value */
	uint64_t type;
	const char *name, *description;
	uint64_t detail, offset; /* offset 0, but not the first: after the entry before, aligned */
	const void *semantics, *reserved;
};

/* Bits of `fields`: the members that are set. */
enum gp_nvtx_schema_field {
	GP_NVTX_SCHEMA_TYPE = 1 << 2,
	GP_NVTX_SCHEMA_ENTRIES = 1 << 4,
	GP_NVTX_SCHEMA_COUNT = 1 << 5,
	GP_NVTX_SCHEMA_BYTES = 1 << 6,
	GP_NVTX_SCHEMA_ID = 1 << 8,
};
#define GP_NVTX_SCHEMA_STATIC 1u /* type: a struct of fixed layout */
struct gp_nvtx_schema {
	uint64_t fields;
	const char *name;
	uint64_t type, flags;
	const struct gp_nvtx_entry *entry;
	size_t entries, bytes, alignment;
	uint64_t id;
};

enum gp_nvtx_enum_field { GP_NVTX_ENUM_BYTES = 1 << 4, GP_NVTX_ENUM_ID = 1 << 5 };
struct gp_nvtx_enum {
	uint64_t fields;
	const char *name;
	const void *entry;
	size_t entries, bytes;
	uint64_t id;
};

struct gp_nvtx_payload {
	uint64_t schema;
	size_t bytes; /* SIZE_MAX: that of the schema */
	const void *data;
};

#endif
