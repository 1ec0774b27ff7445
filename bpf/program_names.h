/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * Returns true if a thread's process has one of the names of the settings s, or if these have none:
 * s.n_programs, s.programs.
 */
#define HAS_PROGRAM_NAME(t, s)                                                                     \
	(!(s).n_programs ||                                                                        \
	 is_program_name((t), (s).n_programs, (s).programs, sizeof((s).programs) / 16))

static __always_inline int is_program_name(struct task_struct *t, __u32 n,
					   const volatile char (*names)[16], __u32 max)
{
	char name[16];
	const __u64 *have = (const __u64 *)name;

	bpf_probe_read_kernel(name, sizeof(name), t->group_leader->comm);
#pragma unroll
	for (__u32 i = 0; i < max; i++) {
		const volatile __u64 *want = (const volatile __u64 *)names[i];

		if (i < n && have[0] == want[0] && have[1] == want[1])
			return 1;
	}
	return 0;
}
