/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Waits for locks of the kernel. Any context may wait for a spinning lock, also for the locks of
 * our maps. So these waits are kept only in a per-CPU stack without locks, on which an interrupt
 * that waits pushes its entry above the interrupted one. A waiter that sleeps may migrate: its
 * entry is kept with the thread.
 */
#include "common.h"

#include "lock_flags.h"
#include "locks.h"
#include "thread.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct locks_cpu);
} cpus SEC(".maps");

struct sleeping {
	__u64 lock; /* 0: it waits for none */
	__u64 since;
	__u32 kind;
};

SONDA_PROCESSES(struct locks_process)
SONDA_THREADS(struct sleeping)

static __always_inline struct locks_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline __u32 lock_kind_from_flags(__u32 flags)
{
	if (flags & LCB_F_PERCPU)
		return LOCK_PERCPU_RWSEM;
	if (flags & LCB_F_RT)
		return LOCK_RT;
	if (flags & LCB_F_MUTEX)
		return LOCK_MUTEX;
	if (flags & LCB_F_SPIN)
		return flags & (LCB_F_READ | LCB_F_WRITE) ? LOCK_RWLOCK : LOCK_SPIN;
	if (flags & LCB_F_READ)
		return LOCK_RWSEM_READ;
	return flags & LCB_F_WRITE ? LOCK_RWSEM_WRITE : LOCK_OTHER;
}

/* Pushes a wait. The entry is reserved before it is filled: an interrupt in between takes the next
 * one and releases it. */
static __always_inline void begin_spin(__u64 lock, __u32 kind)
{
	struct locks_cpu *c = this_cpu();
	__u32 i;

	if (!c)
		return;
	i = c->depth;
	if (i >= LOCKS_NEST) {
		/* The ends of the entries were missed. */
		c->lost += LOCKS_NEST;
		i = 0;
	}
	c->depth = i + 1;
	barrier();
	c->spinning[i].kind = kind;
	c->spinning[i].since = bpf_ktime_get_boot_ns();
	c->spinning[i].lock = lock;
}

static __always_inline void add_lock_wait(struct lock_sum *sum, __u64 ns)
{
	__sync_fetch_and_add(&sum->ns, ns);
	__sync_fetch_and_add(&sum->count, 1);
}

/* Ends the wait for the lock and adds its time. Returns 0 if this CPU does not spin for the
 * lock. */
static __always_inline int end_spin(struct locks_cpu *c, __u64 lock)
{
#pragma clang loop unroll(full)
	for (int i = LOCKS_NEST - 1; i >= 0; i--) {
		__u32 kind = c->spinning[i].kind;

		if (i >= c->depth || c->spinning[i].lock != lock)
			continue;
		if (kind < LOCK_KINDS)
			add_lock_wait(&c->kinds[kind],
				      bpf_ktime_get_boot_ns() - c->spinning[i].since);
		/* Entries above it have ended, too. */
		c->depth = i;
		return 1;
	}
	return 0;
}

/* Begins a wait. A mutex emits the event a second time when the thread stops spinning and sleeps;
 * both belong to one wait. */
static __always_inline void begin_sleep(__u64 lock, __u32 kind)
{
	struct sleeping *s = current_make();

	if (!s || s->lock == lock)
		return;
	s->lock = lock;
	s->since = bpf_ktime_get_boot_ns();
	s->kind = kind;
}

static __always_inline void end_sleep(struct locks_cpu *c, __u64 lock)
{
	struct sleeping *s = current_get();
	struct locks_process *p;
	__u64 ns;

	if (!s || s->lock != lock)
		return;
	ns = bpf_ktime_get_boot_ns() - s->since;
	if (s->kind < LOCK_KINDS)
		add_lock_wait(&c->kinds[s->kind], ns);
	s->lock = 0;
	p = process_of(current_sums_key(), 0);
	if (!p)
		return;
	p->ns += ns;
	p->count++;
}

SEC(HOOK(lock, contention_begin))
int BPF_PROG(on_begin)
{
	__u64 lock = ARG(0, LOCKS_BEGUN);
	__u32 kind = lock_kind_from_flags(ARG(1, LOCKS_FLAGS));

	if (!is_current_counted(current_tgid()))
		return 0;
	if (kind == LOCK_SPIN || kind == LOCK_RWLOCK)
		begin_spin(lock, kind);
	else
		begin_sleep(lock, kind);
	return 0;
}

SEC(HOOK(lock, contention_end))
int BPF_PROG(on_end)
{
	struct locks_cpu *c = this_cpu();
	__u64 lock = ARG(0, LOCKS_ENDED);

	if (c && !end_spin(c, lock))
		end_sleep(c, lock);
	return 0;
}
