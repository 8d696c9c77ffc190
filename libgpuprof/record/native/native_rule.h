/*
 * How to leave a frame, by return address: the places of its caller's stack pointer, frame pointer
 * and return address. One word per rule and one table per process. All threads read and write it
 * without a lock: a word is a whole rule or none. native_learn.c learns missing rules. Code from
 * which it cannot learn gets a rule of its own.
 *
 * Key: the return address; for code that a signal interrupted, its address + 1.
 */
#ifndef GP_NATIVE_RULE_H
#define GP_NATIVE_RULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum gp_native_kind {
	GP_NATIVE_NONE = 1,    /* unknown code: foreign, or made at run time */
	GP_NATIVE_OUTERMOST,   /* it has no caller */
	GP_NATIVE_BY_STACK,    /* CFA = stack pointer + cfa */
	GP_NATIVE_BY_FRAME,    /* CFA = frame pointer + cfa */
	GP_NATIVE_BY_FRAME_AT, /* CFA = word at frame pointer + cfa; `frame` counts from there */
	GP_NATIVE_SIGNAL,      /* the registers are where the kernel saved them */
};

/*
 *	bit 0  kind (3)   3  cfa (16, signed)   19  frame (12, signed)   31  tag (33)
 *
 * Offsets in words. `frame`: where the caller's frame pointer is saved, from the CFA; 0: it is
 * still in its register. The tag and the line number together are the key times an odd number. That
 * is a bijection, so equal tags mean equal keys.
 */
#define GP_NATIVE_LINES_LOG 14
#define GP_NATIVE_WAYS 8u
#define GP_NATIVE_KEY_BITS 47
#define GP_NATIVE_RULE_BITS 31
#define GP_NATIVE_ODD 0x4f1bbcdcbfa5u

struct gp_native_rules {
	_Atomic uint64_t word[1u << GP_NATIVE_LINES_LOG][GP_NATIVE_WAYS];
};
extern struct gp_native_rules *gp_native_rules __attribute__((visibility("hidden")));
/* Number of times that all rules were forgotten. */
extern _Atomic uint32_t gp_native_epoch __attribute__((visibility("hidden")));

static inline unsigned gp_native_kind(uint32_t rule)
{
	return rule & 7;
}

static inline int64_t gp_native_cfa(uint32_t rule)
{
	return (int64_t)(int16_t)(uint16_t)(rule >> 3) * 8;
}

static inline int64_t gp_native_frame(uint32_t rule)
{
	return (int64_t)((int32_t)(rule << 1) >> 20) * 8;
}

/* 0: does not fit. Offsets in bytes. */
static inline uint32_t gp_native_rule(enum gp_native_kind kind, int64_t cfa, int64_t frame)
{
	if (cfa % 8 || frame % 8 || cfa / 8 != (int16_t)(cfa / 8) || frame / 8 < -2048 ||
	    frame / 8 > 2047)
		return 0;
	return (uint32_t)kind | (uint32_t)(uint16_t)(cfa / 8) << 3 |
	       ((uint32_t)(frame / 8) & 0xfff) << 19;
}

static inline uint64_t gp_native_hash(uintptr_t key)
{
	return ((uint64_t)key * GP_NATIVE_ODD) & ((UINT64_C(1) << GP_NATIVE_KEY_BITS) - 1);
}

/* Also searches the places after a word with another rule. 0: unknown. */
static inline uint32_t gp_native_rule_search(const _Atomic uint64_t *line, unsigned way,
					     uint64_t tag)
{
	for (unsigned k = 1; k < GP_NATIVE_WAYS; k++) {
		uint64_t word = atomic_load_explicit(&line[way ^ k], memory_order_relaxed);
		if ((word ^ tag) >> GP_NATIVE_RULE_BITS == 0)
			return (uint32_t)word & 0x7fffffff;
		if (word == 0)
			return 0;
	}
	return 0;
}

/* 0: unknown. */
static inline __attribute__((always_inline)) uint32_t gp_native_rule_find(uintptr_t key)
{
	const uint64_t hash = gp_native_hash(key);
	const uint64_t tag = hash << (64 - GP_NATIVE_KEY_BITS + GP_NATIVE_LINES_LOG);
	const _Atomic uint64_t *line =
		gp_native_rules->word[hash >> (GP_NATIVE_KEY_BITS - GP_NATIVE_LINES_LOG)];
	unsigned way = (unsigned)(hash >> (GP_NATIVE_KEY_BITS - GP_NATIVE_LINES_LOG - 3)) & 7;
	const uint64_t word = atomic_load_explicit(&line[way], memory_order_relaxed);
	if (__builtin_expect((word ^ tag) >> GP_NATIVE_RULE_BITS == 0, 1))
		return (uint32_t)word & 0x7fffffff;
	return word ? gp_native_rule_search(line, way, tag) : 0;
}

bool gp_native_rules_open(void); /* false: no memory */
/* Adds a rule; in a full line it replaces another. */
void gp_native_rule_add(uintptr_t key, uint32_t rule);
/* A library was unloaded: its addresses may have other code now. */
void gp_native_rules_forget(void);
/* A library was loaded: code without a rule may have one now. */
void gp_native_rules_forget_none(void);

#endif
