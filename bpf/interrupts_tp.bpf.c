/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The programs of interrupts.bpf.c, which read the records of events: for kernels without BTF. */
#define SONDA_RECORDS
#include "interrupts.bpf.c"
