/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * TCP retransmits, resets, and dropped packets. Most occur in softirqs on an unrelated thread, so
 * they are counted for the machine, not for a process.
 */
#include "common.h"

#include "tcp.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tcp_cpu);
} cpus SEC(".maps");

/* Atomic, because a softirq interrupts threads that count here, too. */
#define COUNT(what)                                                                                \
	do {                                                                                       \
		__u32 zero = 0;                                                                    \
		struct tcp_cpu *c = bpf_map_lookup_elem(&cpus, &zero);                             \
		if (c)                                                                             \
			__sync_fetch_and_add(&c->what, 1);                                         \
	} while (0)

SEC(HOOK(tcp, tcp_retransmit_skb))
int BPF_PROG(on_retransmit)
{
	int error = 0;

	if (settings.switches & TCP_HAS_ERROR)
		error = (int)ARG(2, TCP_ERROR);
	if (error)
		COUNT(retransmits_failed);
	else
		COUNT(retransmits);
	return 0;
}

SEC(HOOK(tcp, tcp_send_reset))
int BPF_PROG(on_reset_sent)
{
	COUNT(resets_sent);
	return 0;
}

SEC(HOOK(tcp, tcp_receive_reset))
int BPF_PROG(on_reset_received)
{
	COUNT(resets_received);
	return 0;
}

SEC(HOOK(skb, kfree_skb))
int BPF_PROG(on_drop)
{
	__u32 reason;

	COUNT(dropped);
	if (!(settings.switches & TCP_HAS_REASON))
		return 0;
	reason = (__u32)ARG(2, TCP_REASON);
	if (reason >= TCP_REASONS)
		reason = TCP_REASONS - 1;
	COUNT(reasons[reason]);
	return 0;
}
