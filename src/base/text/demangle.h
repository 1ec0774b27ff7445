/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Names of C++ and Rust functions as their programmers write them. The mangled names are hostile: a
 * short one may stand for gigabytes, or keep a demangler busy for years. The output, the depth and
 * the time of a name are limited. For a single thread of an unprivileged process (elf_reader.h). */
#define DEMANGLE_NAME_MAX 1024 /* bytes of a mangled name; longer ones are not demangled */
#define DEMANGLE_TICK_US 5000 /* CPU time that a name may take; it may take up to twice as much */

/* Starts the clock of the time limit: SIGVTALRM, while the process uses the CPU. Call it once,
 * before the sandbox is entered. Returns 0, or -errno if there is no time limit. */
int demangle_start_clock(void);

/* Writes the demangled name and a NUL to ret, which has `size` bytes. Returns its length; 0: the
 * name is not mangled, or above a limit. A name that does not fit is written without the types of
 * its parameters. */
size_t demangle_name(const char *name, char *ret, size_t size);
/* The same without the types of parameters and results: as people write the name of a function. */
size_t demangle_short_name(const char *name, char *ret, size_t size);
