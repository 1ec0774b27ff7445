/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report loss: what is missing in the trace or could not be used. */
#include "analyze/report/report.h"

static const struct report_section sections[] = {
	{.title = "Losses and errors",
	 .of_trace = true,
	 .sql = "SELECT description, name, idx, severity, value FROM stats WHERE severity != "
		"'info' AND value > 0 AND NOT (name = 'mismatched_sched_switch_tids' AND (SELECT "
		"limited FROM asked)) ORDER BY severity, value DESC LIMIT :top + :more"},
	{.title = "Kernel rings",
	 .of_trace = true,
	 .sql = "SELECT idx AS cpu, sum(iif(name = 'ftrace_cpu_read_events_delta', value, 0)) AS "
		"read, sum(iif(name = 'ftrace_cpu_overrun_delta', value, 0)) AS overrun, "
		"sum(iif(name = 'ftrace_cpu_dropped_events_delta', value, 0)) AS dropped, "
		"sum(iif(name = 'ftrace_cpu_commit_overrun_delta', value, 0)) AS commit_overrun "
		"FROM stats WHERE name GLOB 'ftrace_cpu_*_delta' GROUP BY idx"},
};

REPORT(report_loss, "loss", "what is missing in the trace, and what could not be used", NULL,
       sections);
