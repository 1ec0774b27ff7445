/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Reclaim, compaction, OOM kills (bpf/memory.bpf.c). */
extern const struct ebpf_family memory_family;
