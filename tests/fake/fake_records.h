/* The records of the fake CUPTI: their sizes and fields. Part of fake_cupti.c. */
#ifndef FAKE_RECORDS_H
#define FAKE_RECORDS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../interpose/cupti/cupti_abi.h"
#include "fake_operation.h"

enum { KIND_DRIVER = 4, KIND_RUNTIME = 5, KINDS = 64 };
#define NAMES 64
static char *names[NAMES];

static unsigned long setting(const char *name, unsigned long standard)
{
	const char *text = getenv(name);
	return text && *text ? strtoul(text, NULL, 0) : standard;
}

static size_t record_bytes(uint32_t kind)
{
	const bool is_old = setting("FAKE_CUPTI_VERSION", 130001) <= 28;
	switch (kind) {
	case GP_CUPTI_CONCURRENT_KERNEL:
	case GP_CUPTI_KERNEL:
		return is_old ? 208 : 216;
	case GP_CUPTI_MEMCPY:
		return is_old ? 88 : 96;
	case GP_CUPTI_MEMSET:
		return 88;
	case KIND_DRIVER:
	case KIND_RUNTIME:
		return 40;
	default:
		return 0;
	}
}

static void put(uint8_t *record, size_t at, const void *value, size_t bytes)
{
	memcpy(record + at, value, bytes);
}
#define PUT(record, at, type, value)                           \
	do {                                                   \
		const type put_value = (type)(value);          \
		put(record, at, &put_value, sizeof put_value); \
	} while (0)

static const char *interned(const char *name)
{
	unsigned k = 0;
	while (k < NAMES - 1 && names[k] && strcmp(names[k], name) != 0)
		k++;
	if (!names[k])
		names[k] = strdup(name);
	return names[k];
}

static void fill_kernel(uint8_t *r, const struct fake_operation *o, unsigned node, uint32_t id)
{
	PUT(r, 6, uint16_t, 32);
	PUT(r, 40, uint32_t, o->device);
	PUT(r, 44, uint32_t, o->context);
	PUT(r, 48, uint32_t, o->stream);
	put(r, 52, o->grid, 12);
	put(r, 64, o->block, 12);
	PUT(r, 80, uint32_t, o->shared);
	PUT(r, 92, uint32_t, id);
	PUT(r, 104, const char *, interned(o->name));
	PUT(r, 144, uint64_t, o->nodes ? o->node[node] : 0);
}

static void fill_copy(uint8_t *r, const struct fake_operation *o, uint32_t id)
{
	if (o->kind == GP_CUPTI_MEMCPY) {
		r[4] = o->what, r[5] = o->from, r[6] = o->to, r[7] = o->is_async;
	} else {
		PUT(r, 48, uint16_t, o->is_async);
		PUT(r, 50, uint16_t, 3);
	}
	PUT(r, 8, uint64_t, o->bytes);
	PUT(r, 32, uint32_t, o->device);
	PUT(r, 36, uint32_t, o->context);
	PUT(r, 40, uint32_t, o->stream);
	PUT(r, 44, uint32_t, id);
}

#endif
