/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * SONDA_THREADS() defines data of each thread. A "get" returns the data of a thread, or NULL if
 * there is none. A "make" creates it first if needed, zero-initialised; if memory runs out it
 * returns NULL, which count_lost() of the family counts. The data is in task storage. On kernels
 * where task storage cannot be created in the scheduler, or without BTF, it is in a hash by thread
 * id, from which thread_end() removes the entry. current_get() and current_make() are for
 * tracepoints without a task.
 */

#define SONDA_THREADS_BY_PID(value_t)                                                              \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                               \
		__uint(max_entries, 32768);                                                        \
		__type(key, __u32);                                                                \
		__type(value, value_t);                                                            \
	} threads_by_pid SEC(".maps");                                                             \
	static __always_inline __attribute__((unused)) value_t *thread_get_by_pid(__u32 pid)       \
	{                                                                                          \
		return bpf_map_lookup_elem(&threads_by_pid, &pid);                                 \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *thread_make_by_pid(__u32 pid)      \
	{                                                                                          \
		value_t *v = bpf_map_lookup_elem(&threads_by_pid, &pid);                           \
		const value_t none = {};                                                           \
                                                                                                   \
		if (v)                                                                             \
			return v;                                                                  \
		bpf_map_update_elem(&threads_by_pid, &pid, &none, BPF_NOEXIST);                    \
		v = bpf_map_lookup_elem(&threads_by_pid, &pid);                                    \
		if (!v)                                                                            \
			count_lost();                                                              \
		return v;                                                                          \
	}

#ifdef SONDA_NO_BTF
#define SONDA_THREADS(value_t)                                                                     \
	SONDA_THREADS_BY_PID(value_t)                                                              \
	static __always_inline __attribute__((unused)) value_t *current_get(void)                  \
	{                                                                                          \
		return thread_get_by_pid((__u32)bpf_get_current_pid_tgid());                       \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *current_make(void)                 \
	{                                                                                          \
		return thread_make_by_pid((__u32)bpf_get_current_pid_tgid());                      \
	}

static __always_inline __u32 current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}
#else
#define SONDA_THREADS(value_t)                                                                     \
	SONDA_THREADS_BY_PID(value_t)                                                              \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, value_t);                                                            \
	} threads SEC(".maps");                                                                    \
	static __always_inline __attribute__((unused)) value_t *stored_make(struct task_struct *t) \
	{                                                                                          \
		value_t *v = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE); \
                                                                                                   \
		if (!v)                                                                            \
			count_lost();                                                              \
		return v;                                                                          \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *thread_get(struct task_struct *t)  \
	{                                                                                          \
		if (settings.switches & SONDA_TASK_STORAGE)                                        \
			return bpf_task_storage_get(&threads, t, 0, 0);                            \
		return thread_get_by_pid(t->pid);                                                  \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *thread_make(struct task_struct *t) \
	{                                                                                          \
		if (settings.switches & SONDA_TASK_STORAGE)                                        \
			return stored_make(t);                                                     \
		return thread_make_by_pid(t->pid);                                                 \
	}                                                                                          \
	static __always_inline __attribute__((unused)) void thread_end(struct task_struct *t)      \
	{                                                                                          \
		__u32 pid = t->pid;                                                                \
                                                                                                   \
		if (!(settings.switches & SONDA_TASK_STORAGE))                                     \
			bpf_map_delete_elem(&threads_by_pid, &pid);                                \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *current_get(void)                  \
	{                                                                                          \
		if (settings.switches & SONDA_TASK_STORAGE)                                        \
			return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);   \
		return thread_get_by_pid((__u32)bpf_get_current_pid_tgid());                       \
	}                                                                                          \
	static __always_inline __attribute__((unused)) value_t *current_make(void)                 \
	{                                                                                          \
		if (settings.switches & SONDA_TASK_STORAGE)                                        \
			return stored_make(bpf_get_current_task_btf());                            \
		return thread_make_by_pid((__u32)bpf_get_current_pid_tgid());                      \
	}

/* Reads a field of the running thread. */
#define CURRENT(field)                                                                             \
	(settings.switches & SONDA_TYPED_CURRENT                                                   \
		 ? bpf_get_current_task_btf()->field                                               \
		 : BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), field))

static __always_inline __u32 current_tgid(void)
{
	return CURRENT(tgid);
}
#endif

static __always_inline __u32 current_sums_key(void)
{
	return sums_key(current_tgid(), (__u32)bpf_get_current_pid_tgid());
}
