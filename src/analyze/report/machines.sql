-- SPDX-License-Identifier: Apache-2.0
--
-- The statements of machines.c. A view shows the rows of one machine, for which # stands. The number of a CPU among those
-- of all machines (ucpu) is machine * 4096 + cpu.

-- @statement view_machine
SELECT * FROM main.machine WHERE id = #

-- @statement view_cpu
SELECT * FROM main.cpu WHERE machine_id = #

-- @statement view_thread
SELECT * FROM main.thread WHERE machine_id = #

-- @statement view_process
SELECT * FROM main.process WHERE machine_id = #

-- @statement view_sched
SELECT id, ts, dur, cpu - (# * 4096) AS cpu, utid, end_state, priority, ucpu, ts_end
FROM main.sched WHERE ucpu >= (# * 4096) AND ucpu < (# * 4096) + 4096

-- @statement view_thread_state
SELECT id, ts, dur, cpu - (# * 4096) AS cpu, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context,
  ucpu
FROM main.thread_state WHERE utid IN (SELECT utid FROM main.thread WHERE machine_id = #)

-- @statement view_spurious_sched_wakeup
SELECT * FROM main.spurious_sched_wakeup WHERE utid IN (SELECT utid FROM main.thread WHERE machine_id = #)

-- @statement view_ftrace_event
SELECT id, ts, name, cpu - (# * 4096) AS cpu, utid, arg_set_id, common_flags, ucpu
FROM main.ftrace_event WHERE ucpu >= (# * 4096) AND ucpu < (# * 4096) + 4096

-- @statement view_track
SELECT * FROM main.__intrinsic_track WHERE machine_id = #

-- @statement view_slice
SELECT * FROM main.__intrinsic_slice WHERE track_id IN (SELECT id FROM main.__intrinsic_track WHERE machine_id = #)

-- @statement view_counter
SELECT * FROM main.counter WHERE track_id IN (SELECT id FROM main.__intrinsic_track WHERE machine_id = #)

-- @statement view_used
SELECT utid, cpu - (# * 4096) AS cpu, time, n, longest FROM main.used WHERE utid IN (SELECT utid FROM main.thread WHERE machine_id = #)

-- @statement view_spent
SELECT * FROM main.spent WHERE utid IN (SELECT utid FROM main.thread WHERE machine_id = #)

-- @statement view_chosen
SELECT utid FROM chosen_of_all WHERE utid IN (SELECT utid FROM main.thread WHERE machine_id = #)

-- @statement view_recorded
SELECT utid FROM recorded_of_all WHERE utid IN (SELECT utid FROM main.thread WHERE machine_id = #)

-- @statement list_machines
SELECT id, EXISTS (SELECT 1 FROM thread WHERE machine_id = m.id AND NOT is_idle)
  OR EXISTS (SELECT 1 FROM __intrinsic_track WHERE machine_id = m.id)
FROM machine m ORDER BY id

-- @statement find_type
SELECT type FROM temp.sqlite_schema WHERE name = ?

-- @statement make_title
SELECT 'Machine ' || id || iif(id = 0, ', where the service ran', '') || coalesce(': ' || sysname || ' ' || release, '')
FROM main.machine WHERE id = ?
