/*
 * Free stacks wait in a few places, each taken by one exchange. If all are empty, a new stack is
 * mapped. Below each is an inaccessible page. A forked child keeps the free ones. libunwind uses 16
 * KiB.
 */
#include "walking_stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define WAITING 8u
#define GUARD_BYTES 4096u
#define MAPPED_BYTES (GP_WALKING_STACK_BYTES + GUARD_BYTES)

static _Atomic(char *) waiting[WAITING];

static char *stack_take(void)
{
	for (unsigned k = 0; k < WAITING; k++) {
		char *stack = atomic_load_explicit(&waiting[k], memory_order_relaxed);
		if (stack && (stack = atomic_exchange(&waiting[k], NULL)))
			return stack;
	}
	char *stack = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED)
		return NULL;
	if (mprotect(stack, GUARD_BYTES, PROT_NONE) == 0)
		return stack;
	munmap(stack, MAPPED_BYTES);
	return NULL;
}

static void stack_give(char *stack)
{
	for (unsigned k = 0; k < WAITING; k++) {
		char *none = NULL;
		if (atomic_compare_exchange_strong(&waiting[k], &none, stack))
			return;
	}
	munmap(stack, MAPPED_BYTES);
}

/*
 * Calls body(argument) with the stack pointer at `top`, a multiple of 16. Debuggers can walk
 * through it.
 */
void gp_walking_stack_call(void (*body)(void *), void *argument, char *top)
	__attribute__((visibility("hidden")));
__asm__(".text\n"
	".globl gp_walking_stack_call\n"
	".type gp_walking_stack_call, @function\n"
	"gp_walking_stack_call:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"movq %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"movq %rdi, %rax\n"
	"movq %rsi, %rdi\n"
	"movq %rdx, %rsp\n"
	"call *%rax\n"
	"movq %rbp, %rsp\n"
	"popq %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size gp_walking_stack_call, . - gp_walking_stack_call\n");

/*
 * ThreadSanitizer's, if it is in the job: that it checks no access of this thread in between, read
 * or written. It sees what libunwind's calls of libc access, but not that the exchanges above hand
 * a stack from thread to thread.
 */
extern void AnnotateIgnoreWritesBegin(const char *file, int line) __attribute__((weak));
extern void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((weak));

bool gp_walking_stack_run(void (*body)(void *), void *argument)
{
	const int error = errno;
	char *stack = stack_take();
	if (stack) {
		const bool is_ignored = AnnotateIgnoreWritesBegin && AnnotateIgnoreWritesEnd;
		if (is_ignored)
			AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
		gp_walking_stack_call(body, argument, stack + MAPPED_BYTES);
		if (is_ignored)
			AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
		stack_give(stack);
	}
	errno = error;
	return stack != NULL;
}
