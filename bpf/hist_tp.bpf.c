/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* For kernels without BTF. */
#define SONDA_RECORDS
#include "hist.bpf.c"
