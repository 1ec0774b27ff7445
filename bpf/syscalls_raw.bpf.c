/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The programs of syscalls.bpf.c for kernels without BTF. */
#define SONDA_RAW
#include "syscalls.bpf.c"
