-- SPDX-License-Identifier: Apache-2.0
-- Tables that the statements of findings share: findings.h describes them.

DROP TABLE IF EXISTS temp.who;
CREATE TEMP TABLE who AS
  SELECT t.utid, iif(t.is_idle, '(idle)', coalesce(t.name, p.name, '')) AS thread, t.tid,
      coalesce(replace(p.name, rtrim(p.name, replace(p.name, '/', '')), ''), t.name, '') AS process,
      coalesce(p.pid, t.tid) AS pid, coalesce(m.name, t.name, '') AS program, t.upid,
      coalesce(2 IN (p.pid, k.pid), 0) AS is_kernel
  FROM thread t
  LEFT JOIN process p USING (upid)
  LEFT JOIN process k ON k.upid = p.parent_upid
  LEFT JOIN thread m ON m.upid = t.upid AND m.is_main_thread;
CREATE INDEX temp.who_utid ON who(utid);

DROP TABLE IF EXISTS temp.thread_time;
CREATE TEMP TABLE thread_time AS
  SELECT utid, sum(iif(state = 'Running', time, 0)) AS run,
      sum(iif(state IN ('R', 'R+'), time, 0)) AS runnable,
      sum(iif(state GLOB 'D*', time, 0)) AS blocked,
      sum(iif(state GLOB 'S*' OR state GLOB 'I*', time, 0)) AS asleep,
      sum(iif(state GLOB 't*', time, 0)) AS traced
  FROM spent
  GROUP BY utid;
CREATE INDEX temp.thread_time_utid ON thread_time(utid);

DROP TABLE IF EXISTS temp.wait_reasons;
CREATE TEMP TABLE wait_reasons AS
  SELECT utid, iif(condition AND reason = 'futex', 'condition', reason) AS reason, function, file,
      time, n
  FROM code_waits('waits');

DROP TABLE IF EXISTS temp.grown;
CREATE TEMP TABLE grown AS
  SELECT t.id AS track_id, t.name, t.upid, t.utid, t.cpu, t.parent_id, min(c.ts) AS first_ts,
      max(c.ts) AS last_ts, max(c.ts) - min(c.ts) AS dur, max(c.value) - min(c.value) AS grown
  FROM __intrinsic_track t
  CROSS JOIN counter c ON c.track_id = t.id
  WHERE t.event_type = 'counter' AND c.ts >= :from AND c.ts <= :to
  GROUP BY t.id;

DROP TABLE IF EXISTS temp.held_cpu;
CREATE TEMP TABLE held_cpu AS
  SELECT w.utid, h.holder, sum(h.time) AS time, count(*) AS n, max(h.time) AS longest,
      h.first AS longest_ts, sum(iif(h.time >= 5000000, h.time, 0)) AS long_time,
      sum(h.time >= 5000000) AS long_n
  FROM holders('', 4000000) h
  CROSS JOIN thread_state w ON w.id = h.id
  WHERE h.holder IS NOT NULL
  GROUP BY w.utid, h.holder;
CREATE INDEX temp.held_cpu_utid ON held_cpu(utid);
