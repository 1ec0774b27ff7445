/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/probes/probe_args.h"

/*
 * Converts the arguments in the note of a static probe to the syntax of the kernel's probe
 * definitions. The compiler wrote them in the machine's assembly language. The text is hostile:
 *
 *	8@%rdi -4@12(%rsp) 4@$5         arg1=%di:u64 arg2=+12(%sp):s32 arg3=\5:u32      x86-64
 *	8@x0 -4@[sp, 12] 4@5            arg1=%x0:u64 arg2=+12(%sp):s32 arg3=\5:u32      arm64
 *
 * A value that the kernel cannot read is left out: one in a floating-point register, or at an
 * address made from two registers or a symbol.
 */
#define USDT_ARGS_MAX 12

struct usdt_arg {
	char fetch[48]; /* the kernel's: "%di"; "": the kernel cannot read it */
	struct probe_type type;
};

/* Parses the arguments of a note. Returns their number, at most USDT_ARGS_MAX. */
size_t usdt_args_parse(const char *text, uint32_t machine,
		       struct usdt_arg ret[static USDT_ARGS_MAX]);
