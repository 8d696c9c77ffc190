/*
 * Calls the driver from functions with wrong unwind information: frames that are larger or smaller
 * than described, and expressions that follow invalid pointers.
 */
#include "victim.h"

static struct driver driver;

__attribute__((noinline, used)) void allocate(void);
void allocate(void)
{
	must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
}

#if defined(__x86_64__)
/* clang-format off */
#define FUNCTION(name, information)                                         \
	void name(void);                                                     \
	__asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n" \
		".cfi_startproc\npushq %rbp\n" information "\ncall allocate\n"      \
		"popq %rbp\nret\n.cfi_endproc\n.size " #name ",.-" #name "\n")
FUNCTION(too_large, ".cfi_def_cfa_offset 1048576");
FUNCTION(too_small, ".cfi_def_cfa_offset 8");
FUNCTION(negative, ".cfi_def_cfa_offset -4096");
FUNCTION(not_pushed, ".cfi_def_cfa rbp, 16");
FUNCTION(no_caller, ".cfi_undefined rip");
FUNCTION(of_a_lost_register, ".cfi_def_cfa rax, 0");
FUNCTION(saved_far_away, ".cfi_offset rbp, -123456");
/* expressions: breg7 is the stack pointer, breg3 rbx, 0x06 follows a pointer */
FUNCTION(by_pointer, ".cfi_escape 0x0f,0x03,0x77,0x10,0x06");
FUNCTION(by_far_pointer, ".cfi_escape 0x0f,0x05,0x77,0x80,0xc0,0x00,0x06");
FUNCTION(by_two_far_pointers, ".cfi_escape 0x0f,0x06,0x77,0x80,0xc0,0x00,0x06,0x06");
FUNCTION(by_register, ".cfi_escape 0x0f,0x03,0x73,0x00,0x06");
FUNCTION(by_two_of_register, ".cfi_escape 0x0f,0x04,0x73,0x00,0x06,0x06");
/* clang-format on */

static void (*const functions[])(void) = {
	too_large,	too_small,	     negative,	     not_pushed,
	no_caller,	of_a_lost_register,  saved_far_away, by_pointer,
	by_far_pointer, by_two_far_pointers, by_register,    by_two_of_register,
};
#else
static void (*const functions[])(void) = { allocate };
#endif

int main(void)
{
	const unsigned count = sizeof functions / sizeof *functions;
	driver = need_driver(FROM_PROC_ADDRESS);
	for (unsigned k = 0; k < 3 * count; k++)
		functions[k % count]();
	claim("alloc", 3 * count);
	claim("complete", 1);
	claim_recordings(1);
	printf("%u functions\n", count);
	return 0;
}
