/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The same on kernels without BTF. */
#define SONDA_TP "raw_tp/"
#define SONDA_NO_BTF
#define MEMORY_ONE_COMPACTION
#include "memory.bpf.c"
