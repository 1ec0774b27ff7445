/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Waits of threads, with the code that waited and the code that ended the wait.
 *
 *	sched_switch    a thread blocks: its slot gets the begin, the state and the system call; if
 *	                the budget allows, also the hash of its user stack
 *	sched_waking    the wait ends: its time is added to a total. Only after a long wait are
 *	                kernel stacks taken: that of the sleeper, which has not changed since, and
 *	                that of the waker. So a short wait costs little
 *
 * A stack is sent once, under its hash; totals and single waits refer to it. The run queue of the
 * thread is locked in both programs and interrupts are off, so they may use the memory of the CPU.
 */
#include "common.h"

#include "lock_flags.h"
#include "short_waits.h"
#include "slots.h"
#include "throttled.h"
#include "unwind.h"
#include "waits.h"

#define SECOND 1000000000ull
#define BUDGET_PARTS 16 /* of a second, each with its part of the budget */
#define MUCH_LONGER 8 /* times the threshold: such waits take precedence */
#define LONG_MEMORY 16 /* further waits for which a thread counts as a long waiter */
/* Once half of the budget is used, one in so many waits of other threads gets a user stack. */
#define SHORT_SHARE 8

/* linux/futex.h; the other bits of an operation select the clock, and futexes of one process. */
#define FUTEX_X86_64 202
#define FUTEX_ARM64 98
#define FUTEX_OPERATION 0x7f
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
#define FUTEX_TID_MASK 0x3fffffff
/* A mutex of glibc: the value of its futex while threads wait, and where its owner is. */
#define MUTEX_LOCKED_WITH_WAITERS 2
#define MUTEX_OWNER_OFFSET 8

const volatile struct waits_settings waits_settings SEC(".rodata.waits") = {};
volatile struct waits_budget budget SEC(".data.waits") = {};

struct wait_slot {
	__u64 since; /* 0: it does not wait, or the begin was not seen; written last */
	union wait_what what; /* its lock is valid until the end of the contention */
	__u64 user; /* hash of its user stack */
	__u64 lock_address; /* the kernel's lock that it contends for */
	__u32 holder_tid; /* see wait_event */
	__u8 is_known; /* it has waited before */
	__u8 was_long; /* further waits for which it counts as a long waiter; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waits_cpu);
} cpus SEC(".maps");

static __always_inline struct waits_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void count_lost(void)
{
	struct waits_cpu *c = this_cpu();

	if (c)
		c->no_slot++;
}

SONDA_SLOTS(struct wait_slot)

#define TOTALS(name, key_t, n)                                                                     \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, n);                                                            \
		__type(key, key_t);                                                                \
		__type(value, struct wait_sum);                                                    \
	} name SEC(".maps")

TOTALS(totals, struct wait_key, WAITS_TOTALS_MAX);
/* Totals of waits without stacks: a table of their own, so that they have room when stacks have
 * filled the other table. */
TOTALS(totals_without_stacks, struct wait_key, WAITS_BARE_TOTALS_MAX);
TOTALS(totals_of_wakers, struct waker_key, WAITS_WAKERS_MAX);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} waits SEC(".maps");

/* Hashes of stacks that the reader has. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} sent SEC(".maps");

/* The stack of a program has 512 bytes for all of its functions. */
struct scratch {
	struct wait_key key;
	struct waker_key waker;
	struct wait_event event;
	struct wait_stack stack;
};

/* Two for each CPU: of the tracepoints, and of an iterator, which a tracepoint can interrupt. */
enum { OF_TRACEPOINTS, OF_ITERATORS, SCRATCHES };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* The code of interrupts: a stack that contains an address of it is that of an interrupt. */
extern const void __irqentry_text_start __ksym __weak;
extern const void __irqentry_text_end __ksym __weak;
extern const void __softirqentry_text_start __ksym __weak;
extern const void __softirqentry_text_end __ksym __weak;

/* ---- which waits ---- */

static __always_inline int is_recorder_process(__u32 tgid)
{
#pragma unroll
	for (int i = 0; i < WAITS_OWN_MAX; i++)
		if (waits_settings.own[i] && waits_settings.own[i] == tgid)
			return 1;
	return 0;
}

static __always_inline int is_kernel_thread(struct task_struct *t)
{
	return !!(t->flags & PF_KTHREAD);
}

static __always_inline int is_traced(struct task_struct *t)
{
	return settings.switches & WAITS_KERNEL_THREADS || !is_kernel_thread(t);
}

static __always_inline int is_wait_recorded(struct task_struct *t, __u32 state)
{
	return waits_settings.states >> state & 1 && !is_recorder_process(t->tgid) &&
	       is_counted(t->tgid, t) && HAS_PROGRAM_NAME(t, waits_settings);
}

static __always_inline int is_asleep(struct task_struct *t)
{
	if (!t->on_rq)
		return 1;
	return bpf_core_field_exists(t->se.sched_delayed) && t->se.sched_delayed;
}

/* bits: of task_struct.__state, not 0 */
static __always_inline __u32 wait_state_of(__u32 bits)
{
	if (bits & (TASK_STOPPED | TASK_TRACED))
		return WAIT_STOPPED;
	if (bits & TASK_PARKED)
		return WAIT_PARKED;
	if (bits & TASK_INTERRUPTIBLE)
		return WAIT_INTERRUPTIBLE;
	return bits & TASK_NOLOAD ? WAIT_IDLE : WAIT_UNINTERRUPTIBLE;
}

/* ---- budgets ---- */

#define ANY_WAIT (~0ull) /* ns: it has no less precedence than others */

static __always_inline void renew_budget_if_due(struct waits_cpu *c, __u64 now)
{
	if (now - c->second < SECOND / BUDGET_PARTS)
		return;
	c->second = now;
	c->used.waits = c->used.kernel_stacks = c->used.user_stacks = 0;
}

/* Returns 1 and counts the use, if this part of the second has not used up its share of the limit.
 * A wait that is hardly longer than the threshold may use half of the share. */
static __always_inline int spend_budget(volatile __u64 *used, __u64 limit, __u64 wait_ns)
{
	__u64 n = *used * BUDGET_PARTS;

	if (wait_ns < waits_settings.min_ns * MUCH_LONGER)
		n *= 2;
	if (n >= limit)
		return 0;
	++*used;
	return 1;
}

/* ---- stacks ---- */

static __always_inline struct wait_stack *get_scratch_stack(__u32 scratch)
{
	struct scratch *m = bpf_map_lookup_elem(&scratches, &scratch);

	return m ? &m->stack : NULL;
}

/*
 * The verifier follows each turn of a loop, for each state of the program that leads to it. It
 * checks a global function once. Before Linux 5.12 such a function cannot take pointers.
 */

/* Sets the hash of the stack in that scratch memory. */
__attribute__((noinline)) int hash_stack(__u32 scratch, __u64 seed)
{
	struct wait_stack *s = get_scratch_stack(scratch);

	if (!s)
		return 0;
	for (__u32 i = 0; i < WAITS_FRAMES_MAX && i < s->n; i++) {
		seed = (seed ^ s->addresses[i]) * 0x9e3779b97f4a7c15ull;
		seed ^= seed >> 32;
	}
	s->hash = seed ? seed : 1;
	return 0;
}

static __always_inline int is_between(__u64 address, const void *start, const void *end)
{
	return address >= (__u64)start && address < (__u64)end;
}

/* Ends the stack at the entry of an interrupt. Returns 1 if there is one. */
__attribute__((noinline)) int cut_at_interrupt(__u32 scratch)
{
	struct wait_stack *s = get_scratch_stack(scratch);

	if (!s)
		return 0;
	for (__u32 i = 0; i < WAITS_FRAMES_MAX && i < s->n; i++)
		if (is_between(s->addresses[i], &__irqentry_text_start, &__irqentry_text_end) ||
		    is_between(s->addresses[i], &__softirqentry_text_start,
			       &__softirqentry_text_end)) {
			s->n = i + 1;
			return 1;
		}
	return 0;
}

/* Chooses whether a record wakes the reader, which reads periodically: it is woken when the ring is
 * half full, and for tables. */
static __always_inline __u64 wakeup_flags(struct waits_cpu *c, __u32 error, __u64 now)
{
	if (unwind_request_wakeup(error, now, &c->woken))
		return BPF_RB_FORCE_WAKEUP;
	return bpf_ringbuf_query(&waits, BPF_RB_AVAIL_DATA) * 2 >
			       bpf_ringbuf_query(&waits, BPF_RB_RING_SIZE)
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Sends the stack, unless the reader has it. Returns its hash; 0 if it found no room in the
 * ring. */
static __always_inline __u64 send_stack(struct waits_cpu *c, struct wait_stack *s, __u64 now)
{
	/* A mask, because the verifier of 6.1 loses the bounds of a comparison before the size is
	 * computed. */
	__u64 n = s->n & WAITS_FRAMES_MAX;
	const __u8 yes = 1;

	if (bpf_map_lookup_elem(&sent, &s->hash))
		return s->hash;
	s->type = WAIT_RECORD_STACK;
	s->time = now;
	if (bpf_ringbuf_output(&waits, s,
			       offsetof(struct wait_stack, addresses) + n * sizeof(*s->addresses),
			       wakeup_flags(c, s->error, now)) < 0) {
		c->stack_lost++;
		return 0;
	}
	bpf_map_update_elem(&sent, &s->hash, &yes, BPF_ANY);
	return s->hash;
}

static __always_inline __u64 send_kernel_stack(struct waits_cpu *c, struct scratch *m,
					       __u32 scratch, struct task_struct *t, __u64 now)
{
	struct wait_stack *s = &m->stack;
	long bytes;

	bytes = bpf_get_task_stack(t, s->addresses, WAITS_FRAMES_MAX * sizeof(*s->addresses), 0);
	if (bytes <= 0) {
		c->kernel_failed++;
		return 0;
	}
	c->kernel_stacks++;
	s->n = bytes / sizeof(*s->addresses);
	s->tgid = s->tid = s->error = 0;
	hash_stack(scratch, 0);
	return send_stack(c, s, now);
}

/* Sends the user stack of thread t, which is running. Returns its hash; 0: the thread has none, or
 * the budget is used up. The hash contains the process and its execs, because the same addresses
 * mean other code in another process, and after an exec. */
static __always_inline __u64 send_user_stack(void *ctx, struct waits_cpu *c, struct scratch *m,
					     struct task_struct *t, __u64 now)
{
	struct wait_stack *s = &m->stack;
	struct unwind_stack *u;
	__u32 n;

	if (!(settings.switches & WAITS_USER_STACKS) || t->flags & (PF_KTHREAD | PF_IO_WORKER))
		return 0;
	renew_budget_if_due(c, now);
	if (!spend_budget(&c->used.user_stacks, budget.user_stacks, ANY_WAIT)) {
		c->user_refused++;
		return 0;
	}
	u = unwind_user(ctx);
	if (!u || !u->n) {
		c->user_failed++;
		return 0;
	}
	c->user_stacks++;
	if (u->is_by_kernel)
		c->user_by_kernel++;
	s->hash = unwind_hash_add(u->hash, (__u64)t->tgid << 32 | (__u32)t->self_exec_id) | 1;
	if (bpf_map_lookup_elem(&sent, &s->hash))
		return s->hash;
	n = u->n;
	n &= WAITS_FRAMES_MAX;
	s->n = n;
	bpf_probe_read_kernel(s->addresses, n * sizeof(*s->addresses), u->addresses);
	s->tgid = t->tgid;
	s->tid = t->pid;
	s->error = u->is_by_kernel ? 0 : u->error;
	return send_stack(c, s, now);
}

/* Sends the stack of the waker: the running thread, or an interrupt. The code that an interrupt
 * stopped did not wake the thread, so the stack ends there. Returns its hash; 0: there is none. */
static __always_inline __u64 send_waker_stack(void *ctx, struct waits_cpu *c, struct scratch *m,
					      __u64 now, __u32 *ret_is_interrupt)
{
	struct wait_stack *s = &m->stack;
	long bytes = bpf_get_stack(ctx, s->addresses, WAITS_FRAMES_MAX * sizeof(*s->addresses), 0);
	__u32 n = bytes > 0 ? bytes / sizeof(*s->addresses) : 0;

	s->n = n;
	*ret_is_interrupt = cut_at_interrupt(OF_TRACEPOINTS);
	if (!n)
		return 0;
	s->tgid = s->tid = s->error = 0;
	hash_stack(OF_TRACEPOINTS, 0);
	return send_stack(c, s, now);
}

/* ---- totals ---- */

static __always_inline struct wait_sum *find_or_add_total(void *table, const void *key)
{
	struct wait_sum *s = bpf_map_lookup_elem(table, key);
	const struct wait_sum none = {};

	if (s)
		return s;
	bpf_map_update_elem(table, key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(table, key);
}

static __always_inline void add_to_sum(struct wait_sum *s, const struct wait_sum *more)
{
	__sync_fetch_and_add(&s->ns, more->ns);
	__sync_fetch_and_add(&s->waits, more->waits);
	if (s->max_ns < more->max_ns)
		s->max_ns = more->max_ns;
	if (s->last < more->last)
		s->last = more->last;
}

static __always_inline void add_sum_without_stacks(const struct wait_key *k,
						   const struct wait_sum *sum)
{
	struct wait_sum *s = find_or_add_total(&totals_without_stacks, k);
	struct waits_cpu *c;

	if (s) {
		add_to_sum(s, sum);
		return;
	}
	c = this_cpu();
	if (c) {
		c->no_key += sum->waits;
		c->no_key_ns += sum->ns;
	}
}

static __always_inline void add_total(struct wait_key *k, __u64 ns, __u64 now)
{
	const struct wait_sum one = {.ns = ns, .waits = 1, .max_ns = ns, .last = now};
	struct wait_sum *s = NULL;

	if (k->kernel || k->user)
		s = find_or_add_total(&totals, k);
	if (s) {
		add_to_sum(s, &one);
		return;
	}
	k->kernel = k->user = 0;
	add_sum_without_stacks(k, &one);
}

/* Adds the wait to a total of its waker, if the waker's stack was sent. Waits that find no room
 * show up as the difference to the other totals. */
static __always_inline void add_total_of_waker(struct scratch *m, __u64 ns, __u64 now)
{
	const struct wait_event *e = &m->event;
	const struct wait_sum one = {.ns = ns, .waits = 1, .max_ns = ns, .last = now};
	struct waker_key *k = &m->waker;
	struct wait_sum *s;

	if (!e->waker_kernel)
		return;
	__builtin_memset(k, 0, sizeof(*k));
	k->waits.kernel = e->waker_kernel;
	k->waits.user = e->waker_user;
	k->waits.tgid = m->key.tgid;
	k->waits.tid = m->key.tid;
	k->waits.what.flags = WAIT_OF_WAKER;
	if (e->what.flags & WAIT_WAKER_IS_INTERRUPT)
		__builtin_memcpy(k->name, "interrupt", sizeof("interrupt"));
	else
		__builtin_memcpy(k->name, e->waker_comm, sizeof(k->name));
	s = find_or_add_total(&totals_of_wakers, k);
	if (s)
		add_to_sum(s, &one);
}

static __always_inline __u32 key_tid(struct task_struct *t)
{
	return settings.switches & WAITS_BY_THREAD ? t->pid : 0;
}

static __always_inline union wait_what key_what(const struct wait_slot *w)
{
	union wait_what what = w->what;

	what.flags &= WAIT_KEY_FLAGS;
	return what;
}

static __always_inline void set_key(struct wait_key *k, struct task_struct *t,
				    const struct wait_slot *w)
{
	__builtin_memset(k, 0, sizeof(*k));
	k->user = w->user;
	k->tgid = t->tgid;
	k->tid = key_tid(t);
	k->what = key_what(w);
}

/* ---- the begin of a wait ---- */

#define HAS_TASK_PT_REGS bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)

/* Before 5.15 the registers are found at the end of the stack. */
#define REGS_OF(t)                                                                                 \
	(HAS_TASK_PT_REGS ? (const void *)bpf_task_pt_regs(t)                                      \
			  : (const void *)(t)->stack + UNWIND_STACK_SIZE -                         \
				    bpf_core_type_size(struct pt_regs))

#define READ_REG(regs, arch, field)                                                                \
	({                                                                                         \
		typeof(((struct pt_regs___##arch *)0)->field) v_ = 0;                              \
		bpf_core_read(&v_, sizeof(v_), &((struct pt_regs___##arch *)(regs))->field);       \
		v_;                                                                                \
	})

/* Where the registers are, from the begin of a stack: the same for all threads. seed_waits sets it.
 * 0: not known. */
__u64 regs_offset;

/* A cast that costs nothing: kernels from 6.2 on have it. Kernels from 5.13 to 5.15 reject a program
 * with a call of such a function, even if it never runs; like others before 5.17 they have no
 * bpf_loop(), either. */
#ifdef SONDA_NO_LOOP
#define HAS_CAST 0
#define CAST_TO_REGS(t, arch) ((struct pt_regs___##arch *)NULL)
#else
extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym __weak;

enum special_kfunc_type { KF_bpf_rdonly_cast };

#define HAS_CAST bpf_core_enum_value_exists(enum special_kfunc_type, KF_bpf_rdonly_cast)
#define CAST_TO_REGS(t, arch)                                                                      \
	((struct pt_regs___##arch *)bpf_rdonly_cast(                                               \
		(t)->stack + regs_offset, bpf_core_type_id_kernel(struct pt_regs___##arch)))
#endif

/* Reads the number of the system call from the registers of the thread at its entry into the
 * kernel. The helper finds them, too, but its call takes longer than the rest of
 * describe_wait(). */
static __always_inline __s32 read_call_number(struct task_struct *t)
{
	__s32 call;

	if (HAS_CAST && regs_offset) {
		call = settings.switches & SONDA_ON_X86_64 ? (__s32)CAST_TO_REGS(t, x86_64)->orig_ax
							   : CAST_TO_REGS(t, arm64)->syscallno;
	} else if (!HAS_TASK_PT_REGS) {
		const void *regs = REGS_OF(t);

		call = settings.switches & SONDA_ON_X86_64 ? (__s32)READ_REG(regs, x86_64, orig_ax)
							   : READ_REG(regs, arm64, syscallno);
	} else if (settings.switches & SONDA_ON_X86_64) {
		call = ((struct pt_regs___x86_64 *)bpf_task_pt_regs(t))->orig_ax;
	} else {
		call = ((struct pt_regs___arm64 *)bpf_task_pt_regs(t))->syscallno;
	}
	return call < 0 ? WAIT_NO_CALL : call;
}

/* Reads the arguments of the system call, which can be read until it returns. */
static __always_inline void read_args(__u64 args[3], struct task_struct *t)
{
	const void *regs;

	if (is_kernel_thread(t))
		return;
	regs = REGS_OF(t);
	if (settings.switches & SONDA_ON_X86_64) {
		args[0] = READ_REG(regs, x86_64, di);
		args[1] = READ_REG(regs, x86_64, si);
		args[2] = READ_REG(regs, x86_64, dx);
	} else {
		args[0] = READ_REG(regs, arm64, orig_x0);
		args[1] = READ_REG(regs, arm64, regs[1]);
		args[2] = READ_REG(regs, arm64, regs[2]);
	}
}

static __always_inline int is_compat_call(struct task_struct *t)
{
	return settings.switches & SONDA_ON_X86_64 ? t->thread_info.status & TS_COMPAT
						   : t->thread_info.flags >> TIF_32BIT & 1;
}

/* Reads the thread that holds the futex, while t still runs. Its number is that in the pid
 * namespace of the process, so it is read only in the initial namespace. */
static __always_inline void read_holder(struct wait_slot *w, struct task_struct *t)
{
	__u32 operation, holder = 0;
	__u64 args[3] = {}, at;

	if (w->what.flags & WAIT_COMPAT || t->thread_pid->level)
		return;
	read_args(args, t);
	at = args[0];
	operation = args[1] & FUTEX_OPERATION;
	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2)
		w->what.flags |= WAIT_HOLDER_IS_IN_FUTEX;
	else if ((operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
		 (__u32)args[2] == MUTEX_LOCKED_WITH_WAITERS)
		at += MUTEX_OWNER_OFFSET;
	else
		return;
	if (bpf_probe_read_user(&holder, sizeof(holder), (const void *)at) == 0)
		w->holder_tid = holder & FUTEX_TID_MASK;
}

/* Sets everything but the time, which begins the wait. */
static __always_inline void describe_wait(struct wait_slot *w, struct task_struct *t, __u32 state)
{
	union wait_what what = {.call = WAIT_NO_CALL, .state = state, .lock = w->what.lock};

	if (BPF_CORE_READ_BITFIELD(t, in_iowait))
		what.flags |= WAIT_IN_IOWAIT;
	if (is_kernel_thread(t)) {
		what.flags |= WAIT_KERNEL_THREAD;
	} else {
		what.call = read_call_number(t);
		if (is_compat_call(t))
			what.flags |= WAIT_COMPAT;
	}
	w->what = what;
	w->user = 0;
	w->holder_tid = 0;
}

/* Returns the state at the switch. The field of the task may have changed since. */
static __always_inline __u32 state_at_switch(unsigned long long *ctx, struct task_struct *prev)
{
	if (settings.switches & WAITS_HAS_STATE)
		return (__u32)ctx[3];
	return (__u32)task_state(prev);
}

/* ---- the end of a wait ---- */

static __always_inline void fill_event(struct wait_event *e, struct task_struct *t,
				       const struct wait_slot *w, const struct wait_key *k,
				       __u64 since, __u64 now)
{
	__builtin_memset(e, 0, sizeof(*e));
	e->type = WAIT_RECORD_EVENT;
	e->what = w->what;
	e->since = since;
	e->until = now;
	e->kernel = k->kernel;
	e->user = w->user;
	e->lock_address = w->what.lock ? w->lock_address : 0;
	e->tgid = t->tgid;
	e->tid = t->pid;
	e->holder_tid = w->holder_tid;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), t->comm);
}

/* Adds the waker and its stacks to the event. */
static __always_inline void add_waker_to_event(void *ctx, struct waits_cpu *c, struct scratch *m,
					       __u64 now)
{
	struct wait_event *e = &m->event;
	__u32 is_interrupt = 0;

	e->waker_kernel = send_waker_stack(ctx, c, m, now, &is_interrupt);
	if (is_interrupt) {
		e->what.flags |= WAIT_WAKER_IS_INTERRUPT;
	} else {
		__u64 ids = bpf_get_current_pid_tgid();

		e->waker_tgid = ids >> 32;
		e->waker_tid = (__u32)ids;
		bpf_get_current_comm(e->waker_comm, sizeof(e->waker_comm));
		if (settings.switches & SONDA_TYPED_CURRENT)
			e->waker_user = send_user_stack(ctx, c, m, bpf_get_current_task_btf(), now);
	}
}

static __always_inline void send_event(struct waits_cpu *c, struct wait_event *e, __u64 now)
{
	if (bpf_ringbuf_output(&waits, e, sizeof(*e), wakeup_flags(c, 0, now)) < 0)
		c->ring_full++;
}

enum wait_end {
	END_AT_WAKING, /* the program runs for the wakeup that ends the wait */
	END_AT_SWITCH, /* the wakeup is over, the thread has not run since */
	END_IN_PAST, /* it has run since: its stack and its registers are those of another call */
};

static __always_inline void end_wait_without_stacks(struct task_struct *t, struct wait_slot *w,
						    __u64 ns, __u64 now)
{
	struct wait_key key;

	if (!w->user && short_wait_add(t->tgid, key_tid(t), key_what(w), ns, now))
		return;
	set_key(&key, t, w);
	add_total(&key, ns, now);
}

/* Ends a wait that is longer than the threshold: sends its stacks and its record as far as the
 * budget allows, and adds it to the totals. */
static __always_inline void end_long_wait(void *ctx, struct task_struct *t, struct wait_slot *w,
					  __u64 since, __u64 now, enum wait_end end)
{
	struct waits_cpu *c = this_cpu();
	__u32 of = OF_TRACEPOINTS;
	struct scratch *m = bpf_map_lookup_elem(&scratches, &of);
	int has_stacks, is_sent;

	w->was_long = LONG_MEMORY;
	if (!c || !m)
		return;
	renew_budget_if_due(c, now);
	has_stacks = spend_budget(&c->used.kernel_stacks, budget.kernel_stacks, now - since);
	is_sent = spend_budget(&c->used.waits, budget.waits, now - since);
	if (!has_stacks)
		c->kernel_refused++;
	if (!is_sent)
		c->left_out++;
	if (!has_stacks && !is_sent) {
		end_wait_without_stacks(t, w, now - since, now);
		return;
	}
	set_key(&m->key, t, w);
	if (has_stacks && end != END_IN_PAST && w->what.state != WAIT_THROTTLED)
		m->key.kernel = send_kernel_stack(c, m, of, t, now);
	fill_event(&m->event, t, w, &m->key, since, now);
	if (end != END_IN_PAST)
		read_args(m->event.args, t);
	if (end == END_AT_WAKING) {
		add_waker_to_event(ctx, c, m, now);
		add_total_of_waker(m, now - since, now);
	}
	if (is_sent)
		send_event(c, &m->event, now);
	add_total(&m->key, now - since, now);
}

static __always_inline void end_wait(void *ctx, struct task_struct *t, struct wait_slot *w,
				     __u64 now, enum wait_end end)
{
	__u64 since = w->since;

	w->since = 0;
	/* Another CPU's clock may be ahead by a little. */
	if (now < since)
		now = since;
	if (now - since >= waits_settings.min_ns) {
		end_long_wait(ctx, t, w, since, now, end);
		return;
	}
	if (w->was_long)
		w->was_long--;
	end_wait_without_stacks(t, w, now - since, now);
}

/* ---- tracepoints ---- */

/* A thread may be woken before it has left its CPU. Then its wait has no begin. The begin that
 * seed_waits has set may be too early, because the thread may have run since. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *t)
{
	struct wait_slot *w;

	if (!is_traced(t))
		return 0;
	w = slot_get(t);
	if (!w || !w->since || w->what.state == WAIT_THROTTLED)
		return 0;
	if (w->what.flags & WAIT_BEGAN_BEFORE && !is_asleep(t))
		w->since = 0;
	else
		end_wait(ctx, t, w, bpf_ktime_get_boot_ns(), END_AT_WAKING);
	return 0;
}

static __always_inline void begin_throttled_wait(struct task_struct *t)
{
	struct waits_cpu *c = this_cpu();
	struct wait_slot *w;

	if (!c || !is_wait_recorded(t, WAIT_THROTTLED))
		return;
	w = slot_make(t);
	if (!w)
		return;
	c->throttled++;
	describe_wait(w, t, WAIT_THROTTLED);
	w->since = bpf_ktime_get_boot_ns();
}

/* Returns 1 if the thread gets a user stack. When the budget runs short, the stacks go to threads
 * that have recently had long waits, and to others chosen by the low bits of the time. */
static __always_inline int admit_user_stack(struct waits_cpu *c, const struct wait_slot *w,
					    __u64 now)
{
	__u64 used;

	renew_budget_if_due(c, now);
	used = c->used.user_stacks * BUDGET_PARTS;
	if (used < budget.user_stacks &&
	    (used * 2 < budget.user_stacks || !w->is_known || w->was_long ||
	     (now * 0x9e3779b97f4a7c15ull >> 32) % SHORT_SHARE == 0))
		return 1;
	c->user_refused++;
	return 0;
}

/* Returns how long ago something happened to a thread on this CPU or in its queue: `then` is a
 * clock of sched_info. 0: not known. */
static __always_inline __u64 time_since(struct task_struct *t, __u64 then)
{
	__u64 now = bpf_core_field_exists(t->se.cfs_rq->rq) ? t->se.cfs_rq->rq->clock : 0;

	return then && then < now ? now - then : 0;
}

/* Ends a wait whose wakeup was not seen, nor its switch to the CPU: some kernels run no program
 * while certain processes run, such as those of the host of a virtual machine. The wait ends at
 * that switch. */
static __always_inline void end_unseen_wait(void *ctx, struct waits_cpu *c, struct task_struct *t,
					    struct wait_slot *w, __u64 now)
{
	__u64 ran = 0;

	if (bpf_core_field_exists(t->sched_info.last_arrival))
		ran = time_since(t, t->sched_info.last_arrival);
	if (!ran) {
		c->no_end++;
		return;
	}
	c->no_waking++;
	end_wait(ctx, t, w, now - ran, END_IN_PAST);
}

/* Begins the wait of a thread that leaves its CPU blocked, if such waits are recorded. First ends
 * an earlier wait whose end was not seen. */
static __always_inline void begin_blocked_wait(void *ctx, struct task_struct *t, __u32 state)
{
	__u32 of = OF_TRACEPOINTS;
	struct waits_cpu *c;
	struct wait_slot *w;
	struct scratch *m;
	__u64 now;

	if (!is_wait_recorded(t, state))
		return;
	c = this_cpu();
	w = slot_make(t);
	if (!c || !w)
		return;
	c->switches++;
	now = bpf_ktime_get_boot_ns();
	if (w->since)
		end_unseen_wait(ctx, c, t, w, now);
	describe_wait(w, t, state);
	if (w->what.call == (settings.switches & SONDA_ON_X86_64 ? FUTEX_X86_64 : FUTEX_ARM64))
		read_holder(w, t);
	if (settings.switches & WAITS_USER_STACKS && admit_user_stack(c, w, now)) {
		m = bpf_map_lookup_elem(&scratches, &of);
		if (m)
			w->user = send_user_stack(ctx, c, m, t, now);
	}
	w->is_known = 1;
	w->since = now;
}

static __always_inline void handle_thread_exit(void *ctx, struct task_struct *t)
{
	struct wait_slot *w = slot_get(t);
	struct waits_cpu *c = this_cpu();

	if (w && w->since && c)
		end_unseen_wait(ctx, c, t, w, bpf_ktime_get_boot_ns());
	slot_end(t);
}

/* Ends a throttled wait. Any other wait has ended at sched_waking, unless the waker ran between the
 * removal from the run queue and the switch, or the kernel did not run the program (see
 * end_unseen_wait). Then it ended when the thread was queued. */
static __always_inline void handle_switch_in(void *ctx, struct task_struct *t)
{
	struct wait_slot *w = slot_get(t);
	struct waits_cpu *c;
	__u64 now;

	if (!w || !w->since)
		return;
	now = bpf_ktime_get_boot_ns();
	if (w->what.state != WAIT_THROTTLED) {
		if (bpf_core_field_exists(t->sched_info.last_queued))
			now -= time_since(t, t->sched_info.last_queued);
		c = this_cpu();
		if (c)
			c->no_waking++;
	}
	end_wait(ctx, t, w, now, END_AT_SWITCH);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 state = state_at_switch(ctx, prev);

	if (next->pid && is_traced(next))
		handle_switch_in(ctx, next);
	if (!prev->pid || !is_traced(prev))
		return 0;
	if (preempt || state == TASK_RUNNING) {
		if (is_throttled(prev))
			begin_throttled_wait(prev);
	} else if (state & TASK_DEAD) {
		handle_thread_exit(ctx, prev);
	} else {
		begin_blocked_wait(ctx, prev, wait_state_of(state));
	}
	return 0;
}

/* ---- children of the processes that the config names ---- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 pid = child->tgid, of = parent->tgid;
	const __u8 yes = 1;

	if (pid != of && bpf_map_lookup_elem(&sonda_pids, &of) &&
	    bpf_map_update_elem(&sonda_pids, &pid, &yes, BPF_ANY) < 0)
		count_lost();
	return 0;
}

/* The first thread of a process is freed last. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *t)
{
	__u32 pid = t->tgid;

	if ((__u32)t->pid == pid)
		bpf_map_delete_elem(&sonda_pids, &pid);
	return 0;
}

/* ---- locks of the kernel ---- */

/* Returns the kind of a lock. A mutex emits the event also while it spins; spinning locks never
 * sleep. */
static __always_inline __u8 lock_kind_from_flags(__u32 flags)
{
	if (flags & LCB_F_MUTEX)
		return WAIT_MUTEX;
	if (flags & LCB_F_SPIN)
		return WAIT_NO_LOCK;
	if (flags & LCB_F_PERCPU)
		return WAIT_PERCPU_RWSEM;
	if (flags & LCB_F_RT)
		return WAIT_RT_MUTEX;
	if (flags & LCB_F_READ)
		return WAIT_RWSEM_READ;
	return flags & LCB_F_WRITE ? WAIT_RWSEM_WRITE : WAIT_SEMAPHORE;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_lock, void *lock, unsigned int flags)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u8 kind = lock_kind_from_flags(flags);
	struct wait_slot *w;

	if (!kind || !is_traced(t))
		return 0;
	w = slot_make(t);
	if (!w)
		return 0;
	w->lock_address = (__u64)lock;
	w->what.lock = kind;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_unlock, void *lock, int ret)
{
	struct wait_slot *w = slot_get(bpf_get_current_task_btf());

	if (w && w->what.lock && w->lock_address == (__u64)lock)
		w->what.lock = WAIT_NO_LOCK;
	return 0;
}

/* ---- iterators ---- */

/* Begins the waits of threads that sleep when the recording begins. Also finds regs_offset. */
SEC("iter/task")
int seed_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct wait_slot *w;
	__u32 bits, state;

	if (!t || !is_traced(t) || !is_asleep(t))
		return 0;
	if (HAS_CAST && HAS_TASK_PT_REGS && !is_kernel_thread(t))
		regs_offset = (__u64)bpf_task_pt_regs(t) - (__u64)t->stack;
	bits = (__u32)task_state(t);
	state = wait_state_of(bits);
	if (!bits || bits & TASK_DEAD || !is_wait_recorded(t, state))
		return 0;
	w = slot_make(t);
	if (!w || w->since)
		return 0;
	describe_wait(w, t, state);
	w->what.flags |= WAIT_BEGAN_BEFORE;
	w->is_known = 1;
	w->since = bpf_ktime_get_boot_ns();
	return 0;
}

/* Ends the waits of threads that sleep at the end of the recording. Writes a struct wait_event for
 * each, however short its wait has been so far. */
SEC("iter/task")
int open_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	__u64 now = bpf_ktime_get_boot_ns(), since;
	struct waits_cpu *c = this_cpu();
	__u32 of = OF_ITERATORS;
	struct wait_slot *w;
	struct scratch *m;

	if (!t || !c || !is_asleep(t))
		return 0;
	w = slot_get(t);
	m = bpf_map_lookup_elem(&scratches, &of);
	if (!w || !w->since || !m)
		return 0;
	since = w->since;
	w->since = 0;
	w->what.flags |= WAIT_STILL_WAITS;
	set_key(&m->key, t, w);
	m->key.kernel = send_kernel_stack(c, m, of, t, now);
	fill_event(&m->event, t, w, &m->key, since, now);
	read_args(m->event.args, t);
	bpf_seq_write(ctx->meta->seq, &m->event, sizeof(m->event));
	add_total(&m->key, now > since ? now - since : 0, now);
	return 0;
}
