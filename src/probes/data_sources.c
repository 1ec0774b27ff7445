/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/data_sources.h"

#include <stddef.h>

#include "ebpf/calls/calls_source.h"
#include "ebpf/ebpf_source.h"
#include "ebpf/members/members_source.h"
#include "ftrace/session/data_sources.h"
#include "procfs/data_sources.h"
#include "stacks/samples/perf_source.h"
#include "stacks/waits/waits_source.h"

const struct data_source *const probes_data_sources[] = {
	&ftrace_data_source,	       &boot_trace_data_source,	  &process_stats_data_source,
	&sys_stats_data_source,	       &system_info_data_source,  &sysfs_power_data_source,
	&systemd_journald_data_source, &cgroup_stats_data_source, &network_stats_data_source,
	&ebpf_counters_data_source,    &perf_data_source,	  &waits_data_source,
	&cgroup_members_data_source,   &syscalls_data_source,	  NULL,
};
