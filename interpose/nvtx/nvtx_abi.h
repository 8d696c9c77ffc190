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

/* Payload types 1 to 6 are enum gp_payload. Other types are pointers that need a schema. */
struct gp_nvtx_attributes {
	uint16_t version, bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, zero;
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

#endif
