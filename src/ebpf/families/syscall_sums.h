/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/process.h"
#include "bpf/syscalls.h"
#include "client/counters/tracks.h"
#include "ebpf/tracks/top.h"

/*
 * Of the processes that have tracks, the calls that they made most, by name: up to so many a
 * process. A call that others have overtaken ends with the number that it had.
 *
 *	syscall_sums_begin(s);
 *	syscall_sums_add(s, pid, what, value);     for each element (bpf/process.h)
 *	syscall_sums_end(s, tracks, top);    after the top's own end
 */
#define SYSCALL_SUMS_SHOWN 5u /* of a process */
#define SYSCALL_SUMS_MAX (1u << 18) /* of all; further ones are not seen */

struct syscall_sum;

struct syscall_sums {
	struct syscall_sum *all; /* a uthash of owned ones */
	struct syscall_sum **order; /* owned */
	size_t order_cap;
	uint32_t period;
};

void syscall_sums_deinit(struct syscall_sums *s);
void syscall_sums_begin(struct syscall_sums *s);
void syscall_sums_add(struct syscall_sums *s, uint32_t pid, uint32_t what,
		      const struct syscalls *value);
void syscall_sums_end(struct syscall_sums *s, struct tracks *tracks, const struct top *top);
/* Removes all tracks. */
void syscall_sums_hide(struct syscall_sums *s, struct tracks *tracks);
