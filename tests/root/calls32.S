/* SPDX-License-Identifier: Apache-2.0 */
/* For test_compat.sh: a program for x86's 32-bit kernel interface, without a library. Opens the file of that name
   (which is none) 100 times, asks 50 times for its parent, and ends. */
	.globl _start
_start:
	movl $100, %edi
1:	movl $295, %eax		/* openat(AT_FDCWD, file, O_RDONLY) */
	movl $-100, %ebx
	movl $file, %ecx
	xorl %edx, %edx
	xorl %esi, %esi
	int $0x80
	decl %edi
	jnz 1b
	movl $50, %edi
2:	movl $64, %eax		/* getppid() */
	int $0x80
	decl %edi
	jnz 2b
	movl $1, %eax		/* exit(0) */
	xorl %ebx, %ebx
	int $0x80
	.data
file:	.asciz "/nosuch/file/of/32/bits"
	.section .note.GNU-stack, "", @progbits
