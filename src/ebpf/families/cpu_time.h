/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Where the time of a process's threads goes: bpf/cpu_time.bpf.c counts, docs/ebpf.md says what. */
extern const struct ebpf_family cpu_time_family;
