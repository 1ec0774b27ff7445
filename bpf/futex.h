/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "process.h"

/* The family "futex": what futex.bpf.c counts and src/ebpf/families/futex.c reads. */

/* Values of a process, on one CPU: a column each. */
struct futex {
	__u64 ns;
	__u64 waits;
};
