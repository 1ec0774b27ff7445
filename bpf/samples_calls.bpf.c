/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The programs of samples.bpf.c for kernels without bpf_loop(). */
#define SONDA_NO_LOOP
#include "samples.bpf.c"
