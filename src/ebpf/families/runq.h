/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Run-queue latency and depth, context switches, migrations, by CPU (bpf/runq.bpf.c). */
extern const struct ebpf_family runq_family;
