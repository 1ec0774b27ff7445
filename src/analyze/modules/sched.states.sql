-- SPDX-License-Identifier: Apache-2.0
-- Module sched.states of trace_processor's library: names of the states of threads.

CREATE PERFETTO FUNCTION sched_state_to_human_readable_string(sched_state STRING) RETURNS STRING AS
SELECT CASE $sched_state
    WHEN 'R' THEN 'Runnable'
    WHEN 'R+' THEN 'Runnable (Preempted)'
    WHEN 'S' THEN 'Sleeping'
    WHEN 'D' THEN 'Uninterruptible Sleep'
    WHEN 'I' THEN 'Idle'
    WHEN 'T' THEN 'Stopped'
    WHEN 't' THEN 'Traced'
    WHEN 'X' THEN 'Exit (Dead)'
    WHEN 'Z' THEN 'Exit (Zombie)'
    WHEN 'x' THEN 'Task Dead'
    WHEN 'K' THEN 'Wakekill'
    WHEN 'W' THEN 'Waking'
    WHEN 'P' THEN 'Parked'
    WHEN 'N' THEN 'No Load'
    ELSE $sched_state
  END;

CREATE PERFETTO FUNCTION sched_state_io_to_human_readable_string(sched_state STRING, io_wait BOOL) RETURNS STRING AS
SELECT printf('%s%s', sched_state_to_human_readable_string($sched_state),
    CASE WHEN $io_wait THEN ' (IO)' WHEN $io_wait = 0 THEN ' (non-IO)' ELSE '' END);
