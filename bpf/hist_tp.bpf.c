/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The programs of hist.bpf.c for kernels without BTF. */
#define SONDA_RECORDS
#include "hist.bpf.c"
