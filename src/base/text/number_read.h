/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/text/span.h"

/*
 * Reads the number at the beginning of a text. For texts that are only a number, see str_to_u64()
 * in base/text/str.h; for tables of /proc, base/text/number_table.h.
 */

/* Cut the number at the beginning of s off it, with the white space and the sign before the number.
 * base: 10, 16 (0x may precede the number) or 0 (16 after 0x, 8 after 0, otherwise 10). The
 * accepted texts and the values are those of strtoull(3) and strtoll(3): a negative number wraps if
 * the result is unsigned. Return 0, -EINVAL if there is no number (nothing changes), or -ERANGE:
 * the number is cut off, and the result is the limit of its type. */
int span_read_u64(struct span *s, unsigned base, uint64_t *ret_v);
int span_read_i64(struct span *s, unsigned base, int64_t *ret_v);

/* Parses all of s as a number, decimal or with 0x. Returns false if it is not one. */
bool span_number(struct span s, uint32_t *ret_v);

/* As span_read_u64() and span_read_i64(), for a NUL-terminated text: advance *at instead of cutting
 * off. */
int str_read_u64(const char **at, unsigned base, uint64_t *ret_v);
int str_read_i64(const char **at, unsigned base, int64_t *ret_v);
/* The same for what strtod(3) accepts in the locale of the thread. -ERANGE: the result is infinite,
 * or so small that digits are lost. */
int str_read_double(const char **at, double *ret_v);
/* Return the number at the beginning of s, as the functions above read it: 0 if there is none, the
 * limit of the type if it is out of range. For texts of the kernel, whose form is known. */
uint64_t str_leading_u64(const char *s, unsigned base);
int64_t str_leading_i64(const char *s, unsigned base);
double str_leading_double(const char *s);
