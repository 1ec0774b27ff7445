/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/span.h"
#include "base/text/str.h"

/*
 * Converts the arguments of a function, as a programmer writes them, to the syntax of the kernel's
 * probe definitions (Documentation/trace/uprobetracer.rst):
 *
 *	(int fd, str path, size_t)      fd=%di:s32 path=+0(%si):string arg3=%dx:u64     x86-64
 *	(int fd, str path)              fd=%x0:s32 path=+0(%x1):string                  arm64
 *	(int fd), of a result           fd=$retval:s32
 *	(_, n=%cx:u8)                   n=%cx:u8
 *	(_, size_t n, pos), kernel      n=$arg2:u64 pos      pos: a name that the kernel's BTF has
 *
 * The n-th typed argument is the n-th integer register of the calling convention, "_" skips one. An
 * argument with '=', or that begins with one of "%+-@$\", is the kernel's, and takes no position.
 * The types are those of C with fixed sizes on 64-bit machines, those of the kernel (u8 to u64, s8
 * to s64, x8 to x64), "str" or "char *" for a string, "ustr" or "char __user *" for one in the
 * memory of the program that calls the kernel, and "ptr" or any other pointer for an address.
 */
#define PROBE_MACHINE_KERNEL                                                                       \
	UINT32_MAX /* a function of the kernel, which knows where arguments are */
#define PROBE_ARGS_MAX 32

struct probe_type {
	const char *name; /* of the kernel: "s32", "string" */
	bool is_string;
};

struct probe_arg {
	struct probe_type type; /* name NULL: it is skipped, or the kernel's */
	char name[32]; /* MAX_ARG_NAME_LEN of the kernel */
	struct span kernel; /* borrowed: an argument in the kernel's form; p NULL: it is typed */
};

/* Parses "int fd, str path". Returns 0, or -EINVAL and sets e. machine: e_machine of the
 * program. */
int probe_args_parse(struct span text, uint32_t machine,
		     struct probe_arg ret[static PROBE_ARGS_MAX], size_t *ret_n,
		     struct err_text *e);

/* Append " NAME=FETCH:TYPE" for each. Return 0, or -EINVAL and set e. */
int probe_args_put_call(struct strbuf *b, const struct probe_arg *args, size_t n, uint32_t machine,
			struct err_text *e);
int probe_args_put_result(struct strbuf *b, const struct probe_arg *args, size_t n,
			  struct err_text *e);
/* Appends " NAME=FETCH:TYPE" for a value that is in `fetch`, a register or memory. */
void probe_args_put(struct strbuf *b, const char *name, const char *fetch, struct probe_type type);
