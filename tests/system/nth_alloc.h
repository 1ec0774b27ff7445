/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The numbers of a process under preload/nth_alloc.c, in a file that both sides map. */
struct nth_alloc {
	uint64_t n; /* allocations since it was set to zero */
	uint64_t fail_at; /* the one that fails; 0: none does */
	int64_t live; /* blocks that are allocated */
};
