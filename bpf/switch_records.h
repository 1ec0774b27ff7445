/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * Switches and wakeups from the records of their events, which have the id of a thread and not its
 * process. The process is known when the thread runs in a tracepoint: when it is switched out or
 * creates a thread. So an existing thread counts from its first switch. Programs and readers
 * include this file; src/ebpf/families/families.h has its requirements.
 */

/* Indices in sonda_settings.fields. */
enum switch_field {
	SWITCH_PREV,
	SWITCH_STATE,
	SWITCH_NEXT,
	SWITCH_WOKEN,
	SWITCH_WOKEN_NEW,
	SWITCH_NEW,
	SWITCH_NEW_FLAGS,
	SWITCH_EXEC_OLD,
	SWITCH_EXEC,
	SWITCH_MIGRATED_TO,
};

#ifdef __bpf__
/* States in records, stable since 4.14. */
#define RECORD_SLEEPING 0x1
#define RECORD_BLOCKED 0x2
#define RECORD_DEAD 0x30 /* zombies, too */
#define RECORD_PREEMPTED 0x100

#define CLONE_THREAD 0x10000

struct owner {
	__u32 tgid; /* 0: not known yet */
	__u32 is_counted;
};

static __always_inline int is_state_runnable(__u64 state)
{
	return state == 0 || (state & RECORD_PREEMPTED);
}

/* Sets the process of the running thread, or of one that it creates. */
static __always_inline void set_owner(struct owner *o, __u32 tgid)
{
	o->tgid = tgid;
	o->is_counted = is_current_counted(tgid);
}

/* Each new thread gets a value whose "owner" is known. */
#define SONDA_NEW_THREADS(value_t)                                                                 \
	SEC("tp/task/task_newtask") int BPF_PROG(on_new)                                           \
	{                                                                                          \
		__u32 pid = ARG(0, SWITCH_NEW);                                                    \
		value_t *h = thread_make_by_pid(pid);                                              \
		const value_t none = {};                                                           \
                                                                                                   \
		if (!h)                                                                            \
			return 0;                                                                  \
		*h = none;                                                                         \
		set_owner(&h->owner, ARG(0, SWITCH_NEW_FLAGS) & CLONE_THREAD                       \
					     ? bpf_get_current_pid_tgid() >> 32                    \
					     : pid);                                               \
		return 0;                                                                          \
	}
#endif
