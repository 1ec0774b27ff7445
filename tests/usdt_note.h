/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Assembly of a static probe as <sys/sdt.h> makes it, for a program that includes this:
 * "sonda_test:NAME" with usdt_semaphore. 64-bit machines only. `arguments` may have operands, whose
 * percent signs are doubled only in an extended asm. */
extern unsigned short usdt_semaphore;
unsigned short usdt_semaphore __attribute__((section(".probes"))) = 0;

#define USDT_NOTE(name, arguments)                                                                 \
	"990: nop\n"                                                                               \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                                               \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b, _.stapsdt.base, usdt_semaphore\n"                                       \
	".asciz \"sonda_test\"\n"                                                                  \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"" arguments "\"\n"                                                               \
	"994: .balign 4\n"                                                                         \
	".popsection\n"                                                                            \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                    \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base,1\n"                                                                 \
	".popsection\n"                                                                            \
	".endif\n"
