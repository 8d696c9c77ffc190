/*
 * Schemas of NCCL, the payloads that they describe, and its communicators. Layouts come from the
 * schemas that the job's NCCL registers; only their ids and the names of entries are known here
 * (NCCL 2.18 to 2.30). No malloc, no lock: schemas and communicators have tables of fixed size.
 */
#include "nccl_payload.h"

#include <stdatomic.h>
#include <string.h>

#include "../../libgpuprof/record/ranges/range_name.h"
#include "../../libgpuprof/record/record.h"

#define SCHEMAS 64u /* ids of NCCL 2.30 are below 25 */
#define ENTRIES 32u /* of a schema; NCCL's have 7 at most */
#define COMMUNICATORS 1024u
#define COMMUNICATOR_SPLIT 13u /* its ranks are those of the parent */

enum field { COMMUNICATOR, PARENT, BYTES, RANKS, RANK, DEVICE, PEER, REDUCTION, FIELDS };

static const struct {
	const char *name;
	enum field field;
} entry_names[] = {
	{ "NCCL communicator ID", COMMUNICATOR },
	{ "Parent NCCL communicator ID", PARENT },
	{ "Message size [bytes]", BYTES },
	{ "Bytes", BYTES }, /* up to 2.24, of Broadcast, Send and Recv */
	{ "No. of ranks", RANKS },
	{ "No. of devices", RANKS }, /* ncclCommInitAll: a rank on each */
	{ "Rank", RANK },
	{ "CUDA device", DEVICE },
	{ "Root", PEER },
	{ "Peer rank", PEER },
	{ "Reduction operation", REDUCTION },
};

struct place {
	uint16_t offset;
	uint8_t bytes; /* 0: the schema has no such entry */
	bool is_signed;
};
struct layout {
	uint64_t bytes; /* of a payload; 0: not registered */
	struct place of[FIELDS];
};

enum schema_state {
	SCHEMA_FREE,
	SCHEMA_FILLING,
	SCHEMA_READY,
	SCHEMA_UNCLEAR /* two NCCLs of this process differ */
};
static struct {
	_Atomic uint32_t state; /* enum schema_state */
	struct layout layout;
} schemas[SCHEMAS];
static _Atomic uint32_t enum_bytes[SCHEMAS]; /* 0: not registered */
static _Atomic uint32_t nccl_domain;	     /* 0: not seen yet */

static struct communicator {
	uint64_t id, parent;
	uint32_t ranks, rank; /* as of COMMUNICATOR */
	uint32_t device;
} communicators[COMMUNICATORS];
static _Atomic uint32_t communicators_kept[COMMUNICATORS]; /* 1: complete */
static _Atomic uint32_t communicators_count;

/* ---- schemas ---- */

static bool is_nccl(uint32_t domain)
{
	static const char name[] = "NCCL";
	const struct gp_range_names *names =
		atomic_load_explicit(&gp_range_names, memory_order_relaxed);
	const char *text;
	/* the job may pass a number that only looks like a domain of ours */
	if (domain == 0 || names == NULL ||
	    domain > atomic_load_explicit(&names->count, memory_order_relaxed))
		return false;
	if (domain == atomic_load_explicit(&nccl_domain, memory_order_relaxed))
		return true;
	if (gp_range_name_of(domain)->domain != 0 ||
	    gp_range_name_text(domain, &text) != sizeof name - 1 ||
	    memcmp(text, name, sizeof name - 1) != 0)
		return false;
	atomic_store_explicit(&nccl_domain, domain, memory_order_relaxed);
	return true;
}

/* SCHEMAS: not an id that NCCL chose. */
static uint64_t schema_number(uint64_t id)
{
	const uint64_t number = id - GP_NVTX_STATIC_ID;
	return number < SCHEMAS ? number : SCHEMAS;
}

/* 0: unknown. */
static uint32_t type_bytes(uint64_t type)
{
	static const uint8_t bytes[] = { 0, 1, 1, 2, 2, 4, 4, 8, 8, 8,	8, 1,
					 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8 };
	if (type < sizeof bytes)
		return bytes[type];
	const uint64_t number = schema_number(type);
	return number < SCHEMAS ? atomic_load_explicit(&enum_bytes[number], memory_order_relaxed) :
				  0;
}

static bool is_integer(uint64_t type)
{
	return type < 19 || type > 21; /* these are floating */
}

static bool is_signed(uint64_t type)
{
	return type < 19 && type % 2 != 0;
}

static void layout_add(struct layout *layout, const struct gp_nvtx_entry *e, struct place place)
{
	for (size_t k = 0; k < sizeof entry_names / sizeof *entry_names; k++)
		if (strcmp(e->name, entry_names[k].name) == 0)
			layout->of[entry_names[k].field] = place;
}

/* False: not a schema that can be used. */
static bool layout_read(struct layout *layout, const struct gp_nvtx_schema *s)
{
	const uint64_t needed = GP_NVTX_SCHEMA_TYPE | GP_NVTX_SCHEMA_ENTRIES | GP_NVTX_SCHEMA_COUNT;
	uint64_t end = 0; /* UINT64_MAX: unknown */
	memset(layout, 0, sizeof *layout);
	if ((s->fields & needed) != needed || s->type != GP_NVTX_SCHEMA_STATIC ||
	    s->entry == NULL || s->entries == 0 || s->entries > ENTRIES)
		return false;
	for (size_t k = 0; k < s->entries; k++) {
		const struct gp_nvtx_entry *e = &s->entry[k];
		const uint32_t bytes = e->flags == 0 ? type_bytes(e->type) : 0;
		uint64_t at = e->offset;
		if (at == 0 && k != 0)
			at = end == UINT64_MAX || bytes == 0 ? UINT64_MAX :
							       (end + bytes - 1) / bytes * bytes;
		end = UINT64_MAX;
		if (bytes == 0 || at > UINT16_MAX)
			continue;
		end = at + bytes;
		if (e->name != NULL && is_integer(e->type))
			layout_add(
				layout, e,
				(struct place){ (uint16_t)at, (uint8_t)bytes, is_signed(e->type) });
	}
	layout->bytes = s->fields & GP_NVTX_SCHEMA_BYTES && s->bytes != 0 ? s->bytes : end;
	return true;
}

void gp_nccl_schema_learn(uint32_t domain, const struct gp_nvtx_schema *s)
{
	struct layout layout;
	if (s == NULL || !(s->fields & GP_NVTX_SCHEMA_ID) || !is_nccl(domain))
		return;
	const uint64_t number = schema_number(s->id);
	if (number == SCHEMAS || !layout_read(&layout, s))
		return;
	uint32_t state = SCHEMA_FREE;
	if (atomic_compare_exchange_strong(&schemas[number].state, &state, SCHEMA_FILLING)) {
		schemas[number].layout = layout;
		/* partner: the acquire load in payload_read */
		atomic_store_explicit(&schemas[number].state, SCHEMA_READY, memory_order_release);
	} else if (state == SCHEMA_READY &&
		   memcmp(&schemas[number].layout, &layout, sizeof layout) != 0) {
		atomic_store_explicit(&schemas[number].state, SCHEMA_UNCLEAR, memory_order_relaxed);
	}
}

void gp_nccl_enum_learn(uint32_t domain, const struct gp_nvtx_enum *e)
{
	const uint64_t needed = GP_NVTX_ENUM_BYTES | GP_NVTX_ENUM_ID;
	if (e == NULL || (e->fields & needed) != needed || !is_nccl(domain))
		return;
	const uint64_t number = schema_number(e->id);
	const bool is_size = e->bytes == 1 || e->bytes == 2 || e->bytes == 4 || e->bytes == 8;
	if (number < SCHEMAS && is_size)
		atomic_store_explicit(&enum_bytes[number], (uint32_t)e->bytes,
				      memory_order_relaxed);
}

/* ---- payloads ---- */

struct values {
	uint32_t operation;
	bool has[FIELDS];
	int64_t of[FIELDS];
};

static int64_t value_read(const void *data, struct place p)
{
	uint64_t bits = 0;
	memcpy(&bits, (const char *)data + p.offset, p.bytes); /* little endian */
	const unsigned spare = 64 - 8u * p.bytes;
	return p.is_signed ? (int64_t)(bits << spare) >> spare : (int64_t)bits;
}

static bool payload_read(struct values *v, const struct gp_nvtx_payload *p)
{
	const uint64_t number = schema_number(p->schema);
	if (number == SCHEMAS || p->data == NULL ||
	    atomic_load_explicit(&schemas[number].state, memory_order_acquire) != SCHEMA_READY)
		return false;
	const struct layout *layout = &schemas[number].layout;
	uint64_t bytes = p->bytes;
	if (bytes == SIZE_MAX)
		bytes = layout->bytes != UINT64_MAX ? layout->bytes : 0;
	memset(v, 0, sizeof *v);
	v->operation = (uint32_t)number;
	for (unsigned k = 0; k < FIELDS; k++) {
		const struct place place = layout->of[k];
		if (place.bytes == 0 || place.offset + (uint64_t)place.bytes > bytes)
			continue;
		v->has[k] = true;
		v->of[k] = value_read(p->data, place);
	}
	return true;
}

/* ---- communicators ---- */

static void communicator_define(uint32_t number, const struct communicator *c)
{
	gp_define(&(struct gp_record){ .kind = GP_COMMUNICATOR,
				       .device = (uint8_t)c->device,
				       .aux = number,
				       .communicator = { .communicator = c->id,
							 .ranks = c->ranks,
							 .rank = c->rank,
							 .parent = c->parent } },
		  NULL, 0);
}

static uint32_t communicators_known(void)
{
	const uint32_t count = atomic_load_explicit(&communicators_count, memory_order_acquire);
	return count < COMMUNICATORS ? count : COMMUNICATORS;
}

static bool communicator_is_known(const struct communicator *c)
{
	const uint32_t count = communicators_known();
	for (uint32_t k = 0; k < count; k++) {
		const struct communicator *e = &communicators[k];
		/* partner: the release store in communicator_see */
		if (atomic_load_explicit(&communicators_kept[k], memory_order_acquire) != 0 &&
		    e->id == c->id && e->parent == c->parent && e->ranks == c->ranks &&
		    e->rank == c->rank && e->device == c->device)
			return true;
	}
	return false;
}

/* Its number is its place, which begins at 1. Without room it is lost, and counted. */
static void communicator_see(const struct communicator *c)
{
	if (communicator_is_known(c))
		return;
	uint32_t at = atomic_load_explicit(&communicators_count, memory_order_relaxed);
	do {
		if (at >= COMMUNICATORS)
			break;
	} while (!atomic_compare_exchange_weak(&communicators_count, &at, at + 1));
	if (at < COMMUNICATORS) {
		communicators[at] = *c;
		atomic_store_explicit(&communicators_kept[at], 1, memory_order_release);
	}
	if (atomic_load_explicit(&gp_local->word, memory_order_relaxed) == 0 ||
	    !gp_enter_level(GP_LEVEL_MEMORY))
		return;
	if (at < COMMUNICATORS)
		communicator_define(at + 1, c);
	else
		gp_count_lost(GP_COMMUNICATOR);
	gp_leave();
}

void gp_nccl_write(void)
{
	const uint32_t count = communicators_known();
	for (uint32_t k = 0; k < count; k++)
		if (atomic_load_explicit(&communicators_kept[k], memory_order_acquire) != 0)
			communicator_define(k + 1, &communicators[k]);
}

/* 1 + a rank that may be one; 0: unknown. */
static uint32_t one_more(const struct values *v, enum field field)
{
	return v->has[field] && v->of[field] >= 0 && v->of[field] < INT32_MAX ?
		       (uint32_t)v->of[field] + 1 :
		       0;
}

static void communicator_read(const struct values *v)
{
	const bool is_split = v->operation == COMMUNICATOR_SPLIT;
	struct communicator c = { .id = (uint64_t)v->of[COMMUNICATOR],
				  .parent = (uint64_t)v->of[PARENT],
				  .rank = one_more(v, RANK),
				  .device = GP_DEVICE_UNKNOWN };
	if (v->of[RANKS] > 0 && v->of[RANKS] <= INT32_MAX)
		c.ranks = (uint32_t)v->of[RANKS];
	if (v->has[DEVICE] && v->of[DEVICE] >= 0 && v->of[DEVICE] < GP_DEVICES)
		c.device = (uint32_t)v->of[DEVICE];
	if (is_split)
		c.ranks = c.rank = 0;
	communicator_see(&c);
}

/* ---- records ---- */

static void collective_record(const struct values *v)
{
	if (atomic_load_explicit(&gp_local->word, memory_order_relaxed) == 0 ||
	    !gp_enter_level(GP_LEVEL_MEMORY))
		return;
	gp_put((struct gp_record){ .kind = GP_COLLECTIVE,
				   .device = GP_DEVICE_UNKNOWN,
				   .aux = v->operation,
				   .collective = { .communicator = (uint64_t)v->of[COMMUNICATOR],
						   .bytes = (uint64_t)v->of[BYTES],
						   .peer = one_more(v, PEER),
						   .reduction = one_more(v, REDUCTION) } });
	gp_leave();
}

GP_COLD void gp_nccl_payload_see(uint32_t domain, const struct gp_nvtx_payload *payload,
				 uint64_t payloads)
{
	struct values v;
	if (payload == NULL || payloads == 0 || !is_nccl(domain) || !payload_read(&v, payload))
		return;
	if (v.has[BYTES])
		collective_record(&v);
	else if (v.has[RANKS])
		communicator_read(&v);
}
