/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The same programs for kernels without BTF. */
#define SONDA_RAW
#include "memory.bpf.c"
