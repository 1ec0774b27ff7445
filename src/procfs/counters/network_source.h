/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * linux.network_stats: what interfaces (/proc/net/dev) and protocols (/proc/net/snmp, netstat)
 * count, as counter tracks. Of the network namespace that sonda-probes runs in. NetworkStatsConfig;
 * docs/counters.md.
 */
extern const struct data_source network_stats_data_source;
