/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text/span.h"

/* Why a thread waits, in words: "futex", "read from pipe", "fsync". Names of kernel functions and
 * of system calls differ between kernels; wait_reasons.c has the table. */
struct wait_facts {
	const struct span *functions; /* of the kernel's stack, the innermost first */
	size_t n; /* 0: no stack was taken; then the system call decides */
	const char *call; /* name of the system call; "": none, such as in a page fault */
	unsigned state; /* enum wait_state of bpf/waits.h, as is the next */
	unsigned lock; /* enum wait_lock */
	bool is_kernel_thread;
};

#define WAIT_REASON_MAX 64 /* bytes with a NUL */

/* Writes the reason. A wait that no rule knows is "other: FUNCTION" with the innermost function
 * that is not the scheduler's; without a stack it is the name of the system call. */
void wait_reason_format(const struct wait_facts *f, char ret[static WAIT_REASON_MAX]);
