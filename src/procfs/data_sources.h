/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * The data sources of this directory. probes/data_sources.c lists them; each is defined in the file
 * named here.
 */

/* linux.process_stats (process/process_source.c): names, parents and threads of tasks. With
 * scan_all_processes_on_start it describes every existing task, and reports that it has started
 * when this scan is complete. Later it describes each task that the metadata bus of the session
 * reports, unless the quirk DISABLE_ON_DEMAND is set. With proc_stats_poll_ms it also polls the
 * counters of every process. Config: protos/config/process_stats/process_stats_config.proto. */
extern const struct data_source process_stats_data_source;

/* linux.sys_stats (sys/sys_stats_source.c): counters of the whole machine, each table with its own
 * period. Tables that are due at the same time share one SysStats packet. Counters without a field
 * in SysStats are written as counter tracks.
 * Config: protos/config/sys_stats/sys_stats_config.proto. */
extern const struct data_source sys_stats_data_source;

/* linux.cgroup_stats (counters/cgroup_source.c): counters of control groups (version 2) as counter
 * tracks, nested as the control groups are. Config: CgroupStatsConfig;
 * docs/reference/counters.md. */
extern const struct data_source cgroup_stats_data_source;

/* linux.network_stats (counters/network_source.c): counters of network interfaces (/proc/net/dev)
 * and of protocols (/proc/net/snmp, snmp6, netstat) as counter tracks, for the network namespace of
 * sonda-probes. Config: NetworkStatsConfig; docs/reference/counters.md. */
extern const struct data_source network_stats_data_source;

/* linux.system_info (machine/system_info_source.c): the processors and, with irq_names, the names
 * of the interrupts. Written once, at the start.
 * Config: protos/config/system_info/system_info_config.proto. */
extern const struct data_source system_info_data_source;

/* linux.sysfs_power (machine/power_source.c): charge, current, voltage, energy and power of every
 * battery, once a second. It has no config. */
extern const struct data_source sysfs_power_data_source;

/* linux.systemd_journald (machine/journald_source.c): entries added to the systemd journal during
 * the session. Config: protos/config/linux/journald_config.proto. */
extern const struct data_source systemd_journald_data_source;
