/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * linux.sys_stats: counters of the whole machine, each family at a period of its own. Writes a
 * SysStats packet for what is due at one time, and counter tracks for what the kernel counts and
 * SysStats has no number for.
 */
extern const struct data_source sys_stats_data_source;
