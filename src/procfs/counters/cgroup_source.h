/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * linux.cgroup_stats: what the kernel counts for each control group (version 2), as counter tracks
 * in groups that are nested as the control groups are. CgroupStatsConfig; docs/counters.md.
 */
extern const struct data_source cgroup_stats_data_source;
