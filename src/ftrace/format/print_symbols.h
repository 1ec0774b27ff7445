/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Which fields of an event the kernel itself prints as the name of a function: those that its
 * "print fmt:" gives to %ps, %pS and their like.
 *
 *	print fmt: "work=%p function=%ps", REC->work, REC->function
 *
 * Format: print fmt of tracefs' event formats, a C string and C expressions of which most are left
 * alone.
 */

/* print_fmt is what stands behind "print fmt:". */
bool print_symbols_has(const char *print_fmt, const char *field);
