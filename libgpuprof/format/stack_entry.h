/*
 * Stacks in shared memory: one array of 32-byte entries for a process. Its chunks lie in the ring
 * file beside the rings, so that a stack survives with its events. An entry is written once,
 * before its id is published, and never changes: readers need no lock.
 * Ids are indices into the array; 0 means none.
 *
 *   STACK      one native and one Python chain      the entry of a record's `stack`
 *   NATIVE     parent, return address, runs Python  a chain: the outermost frame has parent 0
 *   PYTHON     parent, code, offset, line           likewise
 *   CODE       a Python code object: its text is "file\0name"
 *   MODULE     a module of PyTorch: the one that it is in; its text is "name\0class"
 *   TEXT       bytes, continued in the following entries
 */
#ifndef GP_STACK_ENTRY_H
#define GP_STACK_ENTRY_H

#include <stdatomic.h>
#include <stdint.h>

enum gp_stack_kind {
	GP_STACK_VOID = 0, /* not written, or a duplicate made at the same time and not used */
	GP_STACK_STACK = 1,
	GP_STACK_NATIVE = 2,
	GP_STACK_PYTHON = 3,
	GP_STACK_CODE = 4,
	GP_STACK_TEXT = 5,
	GP_STACK_MODULE = 6,
};

/* Why a chain of a STACK is empty or short. On disk. */
enum gp_stack_why {
	GP_WHY_WHOLE = 0,
	GP_WHY_OFF = 1,		    /* not requested, or switched off for the rest of the run */
	GP_WHY_NO_THREAD = 2,	    /* the thread has no Python thread state */
	GP_WHY_FINALIZING = 3,	    /* the interpreter is ending */
	GP_WHY_NO_FRAMES = 4,	    /* no frame runs on it */
	GP_WHY_TRUNCATED = 5,	    /* deeper than the depth option */
	GP_WHY_GATE = 6,	    /* a fork was under way, or left this child without the means */
	GP_WHY_TABLE_FULL = 7,	    /* the limit on stacks was reached */
	GP_WHY_NO_RULE = 8,	    /* a frame without unwind information ended the walk */
	GP_WHY_BROKEN = 9,	    /* the stack is inconsistent there, or unreadable */
	GP_WHY_NO_INTERPRETER = 10, /* no Python was found in the process */
	GP_WHY_UP_TO_PYTHON = 11, /* native: ends at the caller of the innermost Python function */
};

struct gp_stack_entry {
	_Atomic uint32_t kind; /* stored last, with release */
	uint32_t parent;       /* CODE, MODULE: its TEXT; TEXT: number of bytes */
	union {
		struct {
			uint32_t native, python;
			/* why_python: from bit 8 on, the MODULE whose forward runs; 0: none */
			uint32_t why_native, why_python;
			uint64_t zero;
		} stack;
		struct {
			uint64_t pc;
			/* 1: its C frame runs Python frames, one run of the chain */
			uint64_t runs_python, zero;
		} native;
		struct {
			uint32_t code;
			int32_t offset; /* of the instruction, in bytes */
			/* entered from C; number of outer C frames without a shown frame */
			uint32_t is_entry, bare_entries;
			uint32_t line; /* 0: none */
			uint32_t zero;
		} python;
		struct {
			uint64_t address, identity;
			uint32_t first_line, zero;
		} code;
		struct {
			uint64_t within, identity, zero; /* within: MODULE; 0: it is a root */
		} module;
		uint64_t v[3];
		unsigned char text[24];
	};
};
_Static_assert(sizeof(struct gp_stack_entry) == 32, "two entries a cache line");

#define GP_STACK_MODULE_SHIFT 8 /* in stack.why_python */

#define GP_STACK_CHUNK 65536u /* entries: the bytes of a ring's slots */
#define GP_STACK_CHUNKS_MAX 64u

#endif
