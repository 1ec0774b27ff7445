/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The programs of tcp.bpf.c for kernels without BTF. */
#define SONDA_RAW
#include "tcp.bpf.c"
