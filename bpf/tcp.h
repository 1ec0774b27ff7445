/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* The family "tcp": what tcp.bpf.c counts and src/ebpf/families/tcp.c reads. */

/* Bits of sonda_settings.switches. */
#define TCP_ERROR_IS_TOLD 1u /* tcp_retransmit_skb comes also where it failed, with the error */
#define TCP_REASON_IS_TOLD 2u /* kfree_skb has a reason: 5.17 */

/* Of sonda_settings.fields. */
#define TCP_ERROR 0 /* of tcp/tcp_retransmit_skb */
#define TCP_REASON 1 /* of skb/kfree_skb */

/* Reasons of the kernel proper are below; those of its subsystems (mac80211 ...) are the last. */
#define TCP_REASONS 256

/* The only value of the per-CPU array "cpus". */
struct tcp_cpu {
	__u64 retransmits, retransmits_failed;
	__u64 resets_sent, resets_received;
	__u64 dropped;
	__u64 reasons[TCP_REASONS]; /* of the dropped: by enum skb_drop_reason */
};
