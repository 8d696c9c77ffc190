/*
 * For tests of walks that follow earlier walks: a comparison of two walks, and frames of all kinds.
 * The frames leave their memory unwritten, so that values of earlier frames stay in it.
 */
#ifndef FOLLOW_FRAMES_H
#define FOLLOW_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../libgpuprof/record/native/native_follow.h"

static inline const struct gp_native_walked *walked_of(const struct gp_native_stack *s)
{
	return (const void *)((const char *)s - offsetof(struct gp_native_walked, entry.stack));
}

static inline const char *stacks_differ(const struct gp_native_stack *a,
					const struct gp_native_stack *b)
{
	if (a->depth != b->depth)
		return "depths";
	if (memcmp(a->pc, b->pc, a->depth * sizeof *a->pc) != 0)
		return "return addresses";
	return a->end != b->end ? "ends" : NULL;
}

/* Also compares what the memo will compare and what the next walk uses. NULL: no difference. */
static inline const char *walked_differs(const struct gp_native_walked *a,
					 const struct gp_native_walked *b)
{
	const char *what = stacks_differ(&a->entry.stack, &b->entry.stack);
	if (what)
		return what;
	if (memcmp(a->entry.at + 1, b->entry.at + 1,
		   (a->entry.stack.depth - 1u) * sizeof *a->entry.at) != 0)
		return "places";
	if (a->entry.needs_frame != b->entry.needs_frame)
		return "needs of a frame pointer";
	if (a->sum != b->sum)
		return "sums";
	if (a->words != b->words)
		return "numbers of words";
	for (unsigned k = 0; k < a->words; k++)
		if (a->word[k].value != b->word[k].value || a->word[k].at != b->word[k].at ||
		    a->word[k].by != b->word[k].by)
			return "words";
	if (a->steady_from != b->steady_from)
		return "steady parts";
	if (a->frame_from != b->frame_from || a->frame_by != b->frame_by)
		return "frame pointers";
	return NULL;
}

#if defined(__x86_64__)
#define FOLLOW_FRAMES 1
/*
 * Each function calls the function that the next word of its script names. The word before that is
 * the size of the room, or the value for the frame pointer's register in follow_saving.
 */
void follow_fixed(const uintptr_t *script), follow_wide(const uintptr_t *script);
void follow_room(const uintptr_t *script), follow_saving(const uintptr_t *script);
void follow_aligned(const uintptr_t *script);
__asm__(".pushsection .text\n"
	"follow_fixed:\n"
	".cfi_startproc\n"
	"	sub $24, %rsp\n"
	".cfi_def_cfa_offset 32\n"
	"	add $8, %rdi\n"
	"	call *-8(%rdi)\n"
	"	add $24, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	"follow_wide:\n"
	".cfi_startproc\n"
	"	sub $104, %rsp\n"
	".cfi_def_cfa_offset 112\n"
	"	add $8, %rdi\n"
	"	call *-8(%rdi)\n"
	"	add $104, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	"follow_room:\n" /* frame size: from the script */
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	sub (%rdi), %rsp\n"
	"	add $16, %rdi\n"
	"	call *-8(%rdi)\n"
	"	leave\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	"follow_saving:\n" /* uses the frame pointer's register for another value */
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	sub $16, %rsp\n"
	".cfi_def_cfa_offset 32\n"
	"	mov (%rdi), %rbp\n"
	"	add $16, %rdi\n"
	"	call *-8(%rdi)\n"
	"	add $16, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	/* keeps its caller's stack pointer in a word of the frame, as compilers do */
	"follow_aligned:\n"
	".cfi_startproc\n"
	"	lea 8(%rsp), %r10\n"
	".cfi_def_cfa %r10, 0\n"
	"	and $-128, %rsp\n"
	"	push -8(%r10)\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	".cfi_escape 0x10, 0x6, 0x2, 0x76, 0\n"
	"	push %r10\n"
	".cfi_escape 0xf, 0x3, 0x76, 0x78, 0x6\n"
	"	sub $8, %rsp\n"
	"	add $8, %rdi\n"
	"	call *-8(%rdi)\n"
	"	mov -8(%rbp), %r10\n"
	".cfi_def_cfa %r10, 0\n"
	"	leave\n"
	"	lea -8(%r10), %rsp\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".popsection\n");
#else
#define FOLLOW_FRAMES 0
#endif

#endif
