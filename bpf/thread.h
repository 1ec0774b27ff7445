/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "process.h"

/* What is kept with a thread, from its first thread_make() on: zeros then. NULL where there is no
 * memory, which is counted, or where thread_get() finds none. On kernels where storage of tasks
 * cannot be made in the scheduler it is a hash by thread id. */
#define SONDA_THREADS(value_t)                                                                     \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, value_t);                                                            \
	} threads SEC(".maps");                                                                    \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                               \
		__uint(max_entries, 32768);                                                        \
		__type(key, __u32);                                                                \
		__type(value, value_t);                                                            \
	} threads_by_pid SEC(".maps");                                                             \
	static __always_inline __attribute__((unused)) value_t *thread_get(struct task_struct *t)  \
	{                                                                                          \
		__u32 pid = t->pid;                                                                \
                                                                                                   \
		if (settings.switches & SONDA_TASK_STORAGE)                                        \
			return bpf_task_storage_get(&threads, t, 0, 0);                            \
		return bpf_map_lookup_elem(&threads_by_pid, &pid);                                 \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *thread_make(struct task_struct *t) \
	{                                                                                          \
		__u32 pid = t->pid;                                                                \
		const value_t none = {};                                                           \
		value_t *v;                                                                        \
                                                                                                   \
		if (settings.switches & SONDA_TASK_STORAGE) {                                      \
			v = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);  \
		} else {                                                                           \
			v = bpf_map_lookup_elem(&threads_by_pid, &pid);                            \
			if (!v) {                                                                  \
				bpf_map_update_elem(&threads_by_pid, &pid, &none, BPF_NOEXIST);    \
				v = bpf_map_lookup_elem(&threads_by_pid, &pid);                    \
			}                                                                          \
		}                                                                                  \
		if (!v)                                                                            \
			count_lost();                                                              \
		return v;                                                                          \
	}
