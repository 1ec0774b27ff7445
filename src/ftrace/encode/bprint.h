/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The kernel's printf with its arguments as trace_printk() stores them: a format, and a buffer that
 * holds one argument after the other.
 *
 *	%d %u %x %c ...  as wide as its type, aligned to that, but to 4 bytes at most
 *	%s               the string itself, with its NUL, at the next byte
 *	%p %ps %pS       the pointer, as a long
 *	%pI4 %pM ...     the text that the kernel made of it, as a string
 *
 * Format: vbin_printf() of the kernel's lib/vsprintf.c.
 */
struct bprint_args {
	const uint8_t *data;
	size_t len;
	unsigned long_size; /* 4 or 8: of a long and a pointer */
	unsigned min_int; /* bytes of the narrowest number: 1; 4 since Linux 6.14, but for %c */
};

/* Writes what a pointer is said to be, without a NUL, up to size bytes; gives how many. */
typedef size_t (*bprint_pointer_fn)(void *ctx, uint64_t address, char *to, size_t size);

/*
 * Formats into to, without a NUL, up to size bytes; gives how many. Ends early where the format
 * asks for more than there is in the arguments, or for what no kernel formats. Pointers, which tell
 * where the kernel lies, are what pointer makes of them, but for those that ask to be shown (%px).
 */
size_t bprint_format(const char *format, size_t format_len, const struct bprint_args *args,
		     bprint_pointer_fn pointer, void *ctx, char *to, size_t size);
