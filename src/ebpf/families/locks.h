/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Waits for the locks of the kernel, by kind and by process (bpf/locks.bpf.c). */
extern const struct ebpf_family locks_family;
