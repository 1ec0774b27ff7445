/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* System calls by process, and by name for the largest (bpf/syscalls.bpf.c). */
extern const struct ebpf_family syscalls_family;
