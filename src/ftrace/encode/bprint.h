/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Formats like the kernel's printf, with arguments as trace_printk() stores them: a format, and a
 * buffer of arguments.
 *
 *	%d %u %x %c ...  size of the type, aligned to it, but to 4 bytes at most
 *	%s               the string with its NUL, unaligned
 *	%p %ps %pS       the pointer, as a long
 *	%pI4 %pM ...     a string that the kernel has formatted
 *
 * Format: vbin_printf() of the kernel's lib/vsprintf.c.
 */
struct bprint_args {
	const uint8_t *data;
	size_t len;
	unsigned long_size; /* 4 or 8: size of a long and of a pointer */
	unsigned min_int; /* size of the smallest integer: 1; since Linux 6.14 4, except for %c */
};

/* Writes the text for a pointer, without a NUL, up to size bytes. Returns the bytes written. */
typedef size_t (*bprint_pointer_fn)(void *ctx, uint64_t address, char *to, size_t size);

/* Formats to `to`, without a NUL, up to size bytes. Returns the bytes written. Stops at a
 * conversion that lacks an argument or that no kernel formats. Pointers are formatted by the
 * callback, because they would reveal where the kernel is loaded; %px shows them, as requested. */
size_t bprint_format(const char *format, size_t format_len, const struct bprint_args *args,
		     bprint_pointer_fn pointer, void *ctx, char *to, size_t size);
