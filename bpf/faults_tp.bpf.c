/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The same programs for the records of events. */
#define SONDA_RECORDS
#include "faults.bpf.c"
