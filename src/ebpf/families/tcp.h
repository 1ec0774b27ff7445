/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* TCP retransmits and resets, packets that were dropped, by reason (bpf/tcp.bpf.c). */
extern const struct ebpf_family tcp_family;
