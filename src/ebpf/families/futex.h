/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Waits for futexes, by process (bpf/futex.bpf.c). */
extern const struct ebpf_family futex_family;
