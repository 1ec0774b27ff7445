/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Time in softirqs by vector, and in interrupts, by CPU (bpf/interrupts.bpf.c). */
extern const struct ebpf_family interrupts_family;
