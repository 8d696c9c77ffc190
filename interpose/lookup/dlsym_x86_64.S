/*
 * The export `dlsym`: calls gp_dlsym_answer(handle, name, return address) and returns its answer.
 * If that is NULL, jumps to the next dlsym with all registers as the caller set them. This must be
 * a jump, not a call, because glibc finds the caller of RTLD_NEXT and RTLD_DEFAULT by the return
 * address. Exported under both versions that glibc has for it.
 */
	.text
	.globl	gp_export_dlsym, gp_export_dlsym_old
	.type	gp_export_dlsym, @function
	.type	gp_export_dlsym_old, @function
	.symver	gp_export_dlsym, dlsym@@GLIBC_2.34
	.symver	gp_export_dlsym_old, dlsym@GLIBC_2.2.5
	.p2align 4
gp_export_dlsym:
gp_export_dlsym_old:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	24(%rsp), %rdx
	call	gp_dlsym_answer
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jz	1f
	ret
1:	movq	gp_next_dlsym(%rip), %r11
	jmp	*%r11
	.cfi_endproc
	.size	gp_export_dlsym, . - gp_export_dlsym
	.size	gp_export_dlsym_old, . - gp_export_dlsym_old
	.hidden	gp_dlsym_answer
	.hidden	gp_next_dlsym
	.section .note.GNU-stack, "", %progbits
