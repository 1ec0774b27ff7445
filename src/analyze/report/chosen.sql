-- SPDX-License-Identifier: Apache-2.0
--
-- The statements of chosen.c.

-- trace_processor cuts the name of a process at the first blank if its command line is one word. Programs that set a
-- title ("postgres: bench COMMIT") have such a line; reports keep all of it.
-- @statement titles
CREATE TEMP VIEW process AS
SELECT upid, id, pid, iif(name GLOB '*:', coalesce(cmdline, name), name) AS name, start_ts, end_ts, parent_upid, uid,
  android_appid, android_user_id, cmdline, arg_set_id, machine_id
FROM main.process

-- @statement create
CREATE TEMP TABLE chosen(utid INTEGER PRIMARY KEY);
CREATE TEMP TABLE chosen_group(cgroup_id INTEGER PRIMARY KEY);
CREATE TEMP TABLE asked(some INTEGER NOT NULL, limited INTEGER NOT NULL);
CREATE TEMP TABLE recorded(utid INTEGER PRIMARY KEY)

-- @statement choose_number
INSERT OR REPLACE INTO chosen
SELECT utid FROM thread LEFT JOIN process USING (upid)
WHERE (pid = CAST(?1 AS INTEGER) OR tid = CAST(?1 AS INTEGER)) AND NOT is_idle

-- A pattern with '/' matches a whole path, in which no wildcard matches '/', so both have the same number of them; any
-- other matches the last part of a path. Names of threads and titles are not paths.
-- @statement choose_name
WITH named AS (
  SELECT upid FROM process
  WHERE CASE
    WHEN instr(?1, '/') THEN name GLOB ?1
      AND length(replace(name, '/', '00')) - length(name) = length(replace(?1, '/', '00')) - length(?1)
    WHEN name GLOB '*: *' THEN name GLOB ?1
    ELSE replace(name, rtrim(name, replace(name, '/', '')), '') GLOB ?1
  END
  UNION
  SELECT upid FROM thread WHERE name GLOB ?1 AND is_main_thread)
INSERT OR REPLACE INTO chosen
SELECT utid FROM thread
WHERE (name GLOB ?1 OR upid IN (SELECT upid FROM named WHERE upid IS NOT NULL)) AND NOT is_idle

-- A container by its name or the beginning of its id, a unit with or without ".service", a pod with or without its
-- namespace, or a path with all groups below it. ?2: the kind, or "".
-- @statement choose_groups
INSERT OR REPLACE INTO chosen_group
SELECT g.id FROM cgroup g
WHERE (?2 IN ('', 'container') AND (g.name = ?1 OR g.container = ?1
    OR (length(?1) >= 6 AND substr(g.container, 1, length(?1)) = ?1)))
  OR (?2 IN ('', 'unit') AND (g.unit = ?1 OR g.unit = ?1 || '.service'))
  OR (?2 IN ('', 'pod') AND (g.pod = ?1 OR g.namespace || '/' || g.pod = ?1))
  OR (?2 IN ('', 'cgroup') AND (g.path = ?1
    OR (?1 GLOB '/?*' AND substr(g.path, 1, length(?1) + 1) = ?1 || '/') OR (?2 = 'cgroup' AND ?1 = '/')))

-- @statement choose_members
INSERT OR REPLACE INTO chosen SELECT utid FROM thread_cgroup WHERE cgroup_id IN chosen_group

-- @statement record_all
INSERT INTO recorded SELECT utid FROM thread WHERE NOT is_idle

-- @statement record_one
INSERT INTO recorded VALUES (?)

-- @statement choose_recorded
INSERT INTO chosen SELECT utid FROM recorded

-- If some of the chosen threads are recorded, the others are not meant.
-- @statement prefer_recorded
DELETE FROM chosen WHERE utid NOT IN recorded AND EXISTS (SELECT 1 FROM chosen WHERE utid IN recorded)

-- @statement names
SELECT name FROM thread WHERE NOT is_idle UNION SELECT name FROM process

-- @statement ask_limited
INSERT INTO asked VALUES (?, 1)

-- @statement ask_all
INSERT INTO asked VALUES (?, 0)
