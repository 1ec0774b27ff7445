/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* The family "tcp": what tcp.bpf.c counts and src/ebpf/families/tcp.c reads. */

/* Bits of sonda_settings.switches. */
#define TCP_HAS_ERROR 1u /* tcp_retransmit_skb is also emitted for failures, with the error */
#define TCP_HAS_REASON 2u /* kfree_skb has a reason: 5.17 */

/* Indices in sonda_settings.fields. */
#define TCP_ERROR 0 /* of tcp/tcp_retransmit_skb */
#define TCP_REASON 1 /* of skb/kfree_skb */

/* Reasons of the core kernel are below; those of subsystems (mac80211 ...) share the last index. */
#define TCP_REASONS 256

/* The single value of the per-CPU array "cpus". */
struct tcp_cpu {
	__u64 retransmits, retransmits_failed;
	__u64 resets_sent, resets_received;
	__u64 dropped;
	__u64 reasons[TCP_REASONS]; /* of the dropped: by enum skb_drop_reason */
};
