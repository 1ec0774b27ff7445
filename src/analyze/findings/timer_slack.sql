-- SPDX-License-Identifier: Apache-2.0
-- Sleeps that the kernel may prolong by a large part of what was asked for: prctl(PR_SET_TIMERSLACK), or the default of 50 us
-- for very short sleeps. poll and select have a slack of 0.1 % of their timeout, which is not counted.
--
-- @title Timer slack
-- @needs event timer/hrtimer_start
-- @record timer sched
-- @threshold share_pct 10 of the sleep
-- @threshold per_s 5 such sleeps
-- @threshold slack_ns 100000
-- @words sleeps of {thread} may last {slack_ns} longer than requested ({asked_ns}): {per_s} such sleeps a second
-- @more report latency -p {tid}
WITH t AS (
  SELECT utid, ts, extract_arg(arg_set_id, 'softexpires') AS soft, extract_arg(arg_set_id, 'expires') AS hard
  FROM ftrace_event
  WHERE name = 'hrtimer_start' AND ts >= :from AND ts < :to AND utid IN chosen),
n AS (
  SELECT utid, count(*) AS n, avg(hard - soft) AS slack, avg(soft - ts) AS asked, max(hard - soft) AS worst, ts
  FROM t
  WHERE soft > ts AND hard - soft > (soft - ts) / 20
  GROUP BY utid)
SELECT process || ' ' || tid AS thread, tid, 100.0 * slack / (slack + asked) AS share_pct, CAST(slack AS INTEGER) AS slack_ns,
    CAST(asked AS INTEGER) AS asked_ns, 1e9 * n / (:to - :from) AS per_s, n AS sleeps, ts AS at_ts
FROM n
JOIN who USING (utid)
