-- SPDX-License-Identifier: Apache-2.0
-- sonda report loss: what is missing in the trace or could not be used.
--
-- @help what is missing from the trace, and what could not be used

-- @section Losses and errors
-- @key losses
-- @of_trace
SELECT description, name, idx, severity, value
FROM stats
WHERE severity != 'info' AND value > 0 AND NOT (name = 'mismatched_sched_switch_tids' AND (SELECT
    limited FROM asked))
ORDER BY severity, value DESC
LIMIT :top + :more

-- @section Kernel rings
-- @key kernel_rings
-- @of_trace
SELECT idx AS cpu, sum(iif(name = 'ftrace_cpu_read_events_delta', value, 0)) AS read,
    sum(iif(name = 'ftrace_cpu_overrun_delta', value, 0)) AS overrun,
    sum(iif(name = 'ftrace_cpu_dropped_events_delta', value, 0)) AS dropped,
    sum(iif(name = 'ftrace_cpu_commit_overrun_delta', value, 0)) AS commit_overrun
FROM stats
WHERE name GLOB 'ftrace_cpu_*_delta'
GROUP BY idx
