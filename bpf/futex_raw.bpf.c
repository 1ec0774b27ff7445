/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The programs of futex.bpf.c for kernels without BTF. */
#define SONDA_RAW
#include "futex.bpf.c"
