/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Page faults, by process and in all (bpf/faults.bpf.c). */
extern const struct ebpf_family faults_family;
