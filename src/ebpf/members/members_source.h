/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* linux.cgroup_members: which thread is in which control group of version 2, from a BPF program, or
 * from /proc/PID/cgroup (docs/reference/containers.md). */
extern const struct data_source cgroup_members_data_source;
