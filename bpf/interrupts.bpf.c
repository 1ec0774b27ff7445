/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Time in softirqs, by vector, and in interrupts. On one CPU softirqs do not interrupt each other,
 * nor do interrupts. An interrupt does interrupt a softirq and is not part of its time. So one
 * element for each CPU is enough, and each field is written at one level only.
 */
#include "common.h"

#include "interrupts.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct interrupts_cpu);
} cpus SEC(".maps");

static __always_inline struct interrupts_cpu *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void add_interrupt_time(struct interrupts_sum *sum, __u64 *since,
					       __u64 taken)
{
	__u64 ns;

	if (!*since)
		return;
	ns = bpf_ktime_get_boot_ns() - *since;
	*since = 0;
	sum->ns += ns > taken ? ns - taken : 0;
	sum->count++;
}

SEC(HOOK(irq, softirq_entry))
int BPF_PROG(on_softirq)
{
	struct interrupts_cpu *c = this_cpu();

	if (!c)
		return 0;
	c->taken = c->handlers.ns + c->timer.ns;
	c->since = bpf_ktime_get_boot_ns();
	return 0;
}

SEC(HOOK(irq, softirq_exit))
int BPF_PROG(on_softirq_end)
{
	struct interrupts_cpu *c = this_cpu();
	__u32 vector = ARG(0, INTERRUPTS_VECTOR);

	if (c && vector < INTERRUPTS_SOFTIRQS)
		add_interrupt_time(&c->softirqs[vector], &c->since,
				   c->handlers.ns + c->timer.ns - c->taken);
	return 0;
}

SEC(HOOK(irq, irq_handler_entry))
int BPF_PROG(on_handler)
{
	struct interrupts_cpu *c = this_cpu();

	if (c)
		c->handlers_since = bpf_ktime_get_boot_ns();
	return 0;
}

SEC(HOOK(irq, irq_handler_exit))
int BPF_PROG(on_handler_end)
{
	struct interrupts_cpu *c = this_cpu();

	if (c)
		add_interrupt_time(&c->handlers, &c->handlers_since, 0);
	return 0;
}

/* Begins to measure the timer of a CPU, on machines where it is not a device with a handler
 * (x86). */
SEC(HOOK(irq_vectors, local_timer_entry))
int BPF_PROG(on_timer)
{
	struct interrupts_cpu *c = this_cpu();

	if (c)
		c->timer_since = bpf_ktime_get_boot_ns();
	return 0;
}

SEC(HOOK(irq_vectors, local_timer_exit))
int BPF_PROG(on_timer_end)
{
	struct interrupts_cpu *c = this_cpu();

	if (c)
		add_interrupt_time(&c->timer, &c->timer_since, 0);
	return 0;
}
