/*
 * Device memory without memory: unique addresses in reserved ranges, one range for each power of
 * two of bytes. The next allocation of a size class gets the address that was freed last, on any
 * thread and device. So a recorder must keep the right order. Alignment is 512 bytes, and 2 MiB
 * from 2 MiB on.
 */
#ifndef FAKE_MEMORY_H
#define FAKE_MEMORY_H

#include "fake_core.h"

#define FAKE_BASE (1ull << 44)
#define FAKE_RANGE_SHIFT 41 /* bytes of address space for each class */
#define FAKE_CLASS_MIN 9
#define FAKE_CLASS_MAX 40
#define FAKE_SLOTS_MAX (1u << 24)

enum fake_space {
	FAKE_FREE,
	FAKE_DEVICE,
	FAKE_ASYNC,
	FAKE_MANAGED,
	FAKE_RESERVATION,
	FAKE_OPENED,
	FAKE_BUFFER,
	FAKE_GRAPH_NODE
};

struct fake_slot {
	uint64_t bytes;
	struct fake_object *owner; /* context, or pool */
	uint32_t next;		   /* free list: index + 1 */
	uint8_t device;
	uint8_t space;
};

static struct fake_class {
	struct fake_slot *slot;
	uint32_t used, free, capacity;
} fake_classes[FAKE_CLASS_MAX + 1];

static struct {
	uint64_t used_bytes;
	uint64_t peak_bytes;
} fake_device_memory[FAKE_DEVICES];

static inline unsigned fake_class_of(uint64_t bytes)
{
	if (bytes <= 1u << FAKE_CLASS_MIN)
		return FAKE_CLASS_MIN;
	return 64u - (unsigned)__builtin_clzll(bytes - 1);
}

static inline uint64_t fake_address(unsigned bits, uint32_t index)
{
	return FAKE_BASE + ((uint64_t)(bits - FAKE_CLASS_MIN) << FAKE_RANGE_SHIFT) +
	       ((uint64_t)index << bits);
}

static inline uint64_t fake_class_at(uint64_t address)
{
	return ((address - FAKE_BASE) >> FAKE_RANGE_SHIFT) + FAKE_CLASS_MIN;
}

static inline bool fake_is_counted(uint8_t space)
{
	return space != FAKE_RESERVATION && space != FAKE_OPENED && space != FAKE_BUFFER;
}

/*
 * Prepares the first allocation of a class: reserves descriptions for all that it can have. Pages
 * are touched as they are used.
 */
static __attribute__((noinline, cold)) bool fake_class_open(struct fake_class *class, unsigned bits)
{
	uint64_t capacity = (1ull << FAKE_RANGE_SHIFT) >> bits;
	class->capacity = capacity < FAKE_SLOTS_MAX ? (uint32_t)capacity : FAKE_SLOTS_MAX;
	void *slots = mmap(NULL, class->capacity * sizeof *class->slot, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slots == MAP_FAILED)
		return false;
	class->slot = slots;
	return true;
}

/* Lock held. 0: out of memory. */
static inline uint64_t fake_take(uint64_t bytes, uint64_t alignment, int device,
				 enum fake_space space, struct fake_object *owner)
{
	unsigned bits = fake_class_of(bytes > alignment ? bytes : alignment);
	if (bits > FAKE_CLASS_MAX)
		return 0;
	struct fake_class *class = &fake_classes[bits];
	if (fake_unlikely(!class->slot) && !fake_class_open(class, bits))
		return 0;
	bool is_counted = fake_is_counted((uint8_t)space);
	if (is_counted && fake_device_memory[device].used_bytes + bytes > fake_setup.device_bytes)
		return 0;
	uint32_t index = class->free;
	if (index != 0) {
		index--;
		class->free = class->slot[index].next;
	} else if (class->used < class->capacity) {
		index = class->used++;
	} else {
		return 0;
	}
	class->slot[index] = (struct fake_slot){ bytes, owner, 0, (uint8_t)device, (uint8_t)space };
	if (is_counted) {
		uint64_t used = fake_device_memory[device].used_bytes += bytes;
		if (used > fake_device_memory[device].peak_bytes)
			fake_device_memory[device].peak_bytes = used;
	}
	return fake_address(bits, index);
}

/*
 * Lock held. Returns the live allocation that contains `address`, or NULL, and its start in *start.
 */
static inline struct fake_slot *fake_slot_around(uint64_t address, uint64_t *start)
{
	uint64_t bits = fake_class_at(address);
	if (address < FAKE_BASE || bits > FAKE_CLASS_MAX)
		return NULL;
	struct fake_class *class = &fake_classes[bits];
	uint64_t offset = (address - FAKE_BASE) & ((1ull << FAKE_RANGE_SHIFT) - 1),
		 index = offset >> bits;
	if (index >= class->used || class->slot[index].space == FAKE_FREE)
		return NULL;
	*start = address - (offset & ((1ull << bits) - 1));
	return address - *start < class->slot[index].bytes ? &class->slot[index] : NULL;
}

/* Lock held. The allocation that begins at `address`. */
static inline struct fake_slot *fake_slot_at(uint64_t address)
{
	uint64_t start;
	struct fake_slot *slot = fake_slot_around(address, &start);
	return slot && start == address ? slot : NULL;
}

/* Lock held. Makes `slot` the allocation at `address`. */
static inline void fake_give(uint64_t address, struct fake_slot *slot)
{
	struct fake_class *class = &fake_classes[fake_class_at(address)];
	if (fake_is_counted(slot->space))
		fake_device_memory[slot->device].used_bytes -= slot->bytes;
	slot->space = FAKE_FREE;
	slot->next = class->free;
	class->free = (uint32_t)(slot - class->slot) + 1;
}

/* Lock held. Frees all memory of an owner, such as a destroyed context. */
static void fake_give_all(const struct fake_object *owner)
{
	for (unsigned bits = FAKE_CLASS_MIN; bits <= FAKE_CLASS_MAX; bits++) {
		struct fake_class *class = &fake_classes[bits];
		for (uint32_t i = 0; i < class->used; i++)
			if (class->slot[i].space != FAKE_FREE && class->slot[i].owner == owner)
				fake_give(fake_address(bits, i), &class->slot[i]);
	}
}

static void fake_wait_us(unsigned us)
{
	struct timespec left = { us / 1000000, (long)(us % 1000000) * 1000 };
	while (nanosleep(&left, &left) != 0)
		;
}

#endif
