/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "process.h"

/* The family "faults": what faults.bpf.c counts and src/ebpf/families/faults.c reads. */

/* Indices in sonda_settings.fields. */
#define FAULTS_ADDRESS 0 /* of exceptions/page_fault_kernel */

/* Values of a process, on one CPU: a column each. */
struct faults {
	__u64 all;
	__u64 major;
};
