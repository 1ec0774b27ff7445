-- SPDX-License-Identifier: Apache-2.0
-- Threads that ask again and again whether there is something to do: system calls that return at once, with nothing.
--
-- @title Busy polling
-- @needs event raw_syscalls/sys_exit
-- @record syscalls sched
-- @threshold share_pct 20 of the window, in which the thread ran or could have run
-- @threshold empty_per_s 2000 such calls
-- @threshold empty_pct 80 of the calls of this name
-- @words {thread} called {call} {empty_per_s} times a second with no result ({empty_pct} % of these calls)
-- @more report syscalls -p {tid}
SELECT process || ' ' || tid AS thread, tid, replace(name, 'sys_', '') AS call, min(100, coalesce(100.0 * (run + runnable) /
    (:to - :from), 100.0 * total / (:to - :from))) AS share_pct, 1e9 * empty / (:to - :from) AS empty_per_s, 100.0 * empty / n AS
    empty_pct, n AS calls, total AS in_calls_ns, run AS ran_ns, first_ts AS at_ts
FROM empty_calls
JOIN who USING (utid)
LEFT JOIN thread_time USING (utid)
WHERE name IN ('sys_poll', 'sys_ppoll', 'sys_select', 'sys_pselect6', 'sys_epoll_wait', 'sys_epoll_pwait', 'sys_epoll_pwait2',
    'sys_sched_yield', 'sys_read', 'sys_recvfrom', 'sys_recvmsg', 'sys_recvmmsg', 'sys_accept', 'sys_accept4', 'sys_io_getevents',
    'sys_io_uring_enter', 'sys_nanosleep', 'sys_clock_nanosleep')
