/* SPDX-License-Identifier: Apache-2.0 */
/* A 32-bit program that spins in a function. */
	.globl _start
_start:
	push	%ebp
	mov	%esp, %ebp
	call	spin32
	mov	$1, %eax		/* exit */
	xor	%ebx, %ebx
	int	$0x80

spin32:
	push	%ebp
	mov	%esp, %ebp
	mov	$400000000, %ecx
1:	dec	%ecx
	jnz	1b
	pop	%ebp
	ret

	.section .note.GNU-stack, "", @progbits
