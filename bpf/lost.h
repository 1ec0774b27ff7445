/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* What a program could not count or record, because there was no room for it. */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&lost, &zero);

	if (n)
		++*n;
}
