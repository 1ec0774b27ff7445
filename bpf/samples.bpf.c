/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Samples of linux.perf: attached to its perf events, which then write no samples themselves. The
 * program runs where the event interrupts, for hardware events in an NMI: there the ring may be
 * locked, and the sample is lost.
 */
#include "common.h"

#include "samples.h"
#include "unwind.h"

/* The number of further events; set before the load. */
const volatile __u32 n_followers SEC(".rodata.samples") = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024); /* resized before the load */
} samples SEC(".maps");

/* The further events of CPU c are at c * SAMPLES_FOLLOWERS_MAX. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* resized before the load */
	__type(key, __u32);
	__type(value, __u32);
} followers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_sample);
} sample_of_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_cpu);
} cpus SEC(".maps");

/* Returns true if the sample interrupted code of a process. The helper reads the registers: the
 * verifier refuses those whose place depends on the architecture. */
static __always_inline int has_interrupted_user_code(struct bpf_perf_event_data_kern *ctx)
{
	const void *regs = BPF_CORE_READ(ctx, regs);

	if (settings.switches & SONDA_ON_X86_64)
		return (BPF_CORE_READ((struct pt_regs___x86_64 *)regs, cs) & 3) == 3;
	return (BPF_CORE_READ((struct pt_regs___arm64 *)regs, pstate) & 0xf) == 0;
}

static __always_inline void read_counts(struct bpf_perf_event_data *ctx, struct stack_sample *s)
{
	__u32 first = s->cpu * SAMPLES_FOLLOWERS_MAX;
	struct bpf_perf_event_value v = {};

	bpf_perf_prog_read_value(ctx, &v, sizeof(v));
	s->count = v.counter;
	for (__u32 i = 0; i < SAMPLES_FOLLOWERS_MAX && i < n_followers; i++) {
		v.counter = 0;
		bpf_perf_event_read_value(&followers, first + i, &v, sizeof(v));
		s->followers[i] = v.counter;
	}
}

static __always_inline void add_kernel_stack(void *ctx, struct stack_sample *s)
{
	long bytes = bpf_get_stack(ctx, s->addresses, UNWIND_FRAMES_MAX * sizeof(*s->addresses), 0);

	s->n_kernel = bytes > 0 ? bytes / sizeof(*s->addresses) : 0;
}

static __always_inline void add_user_stack(void *ctx, struct stack_sample *s)
{
	struct unwind_stack *u = unwind_user(ctx);
	__u32 at = s->n_kernel, n;

	if (!u)
		return;
	n = u->n;
	if (at > UNWIND_FRAMES_MAX || n > UNWIND_FRAMES_MAX)
		return;
	bpf_probe_read_kernel(&s->addresses[at], n * sizeof(*u->addresses), u->addresses);
	s->n_user = n;
	s->error = u->error;
	s->is_by_kernel = u->is_by_kernel;
}

/* Chooses whether a record wakes the reader, which reads periodically: it is woken when the ring is
 * half full, and for tables. */
static __always_inline __u64 wakeup_flags(const struct stack_sample *s, struct sample_cpu *c)
{
	if (unwind_request_wakeup(s->error, s->time, &c->woken))
		return BPF_RB_FORCE_WAKEUP;
	return bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) * 2 >
			       bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE)
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

static __always_inline void send_sample(const struct stack_sample *s)
{
	__u32 n = s->n_kernel + s->n_user, zero = 0;
	struct sample_cpu *c = bpf_map_lookup_elem(&cpus, &zero);

	if (!c)
		return;
	if (n > 2 * UNWIND_FRAMES_MAX ||
	    bpf_ringbuf_output(&samples, (void *)s,
			       offsetof(struct stack_sample, addresses) + n * sizeof(*s->addresses),
			       wakeup_flags(s, c)) < 0)
		c->lost++;
}

/* Returns 0: the event writes no sample of its own. */
SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct stack_sample *s = bpf_map_lookup_elem(&sample_of_cpu, &zero);
	__u64 ids = bpf_get_current_pid_tgid();

	if (!s || !is_interrupted_counted(ids >> 32))
		return 0;
	s->time = settings.switches & SAMPLES_MONOTONIC ? bpf_ktime_get_ns()
							: bpf_ktime_get_boot_ns();
	s->pid = ids >> 32;
	s->tid = (__u32)ids;
	s->cpu = bpf_get_smp_processor_id();
	s->is_user = has_interrupted_user_code((void *)ctx);
	s->error = s->is_by_kernel = 0;
	s->n_kernel = s->n_user = 0;
	read_counts(ctx, s);
	if (settings.switches & SAMPLES_KERNEL)
		add_kernel_stack(ctx, s);
	if (settings.switches & SAMPLES_USER)
		add_user_stack(ctx, s);
	send_sample(s);
	return 0;
}
