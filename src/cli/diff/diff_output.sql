-- SPDX-License-Identifier: Apache-2.0
--
-- The statements of diff_output.c.

-- @statement create_sql
CREATE TABLE change(place INT, metric, level, program, thread, what, measure, unit, a, b, change_pct, low_pct, high_pct,
  low, high, p, false_rate, finding, part, is_main)

-- @statement insert_sql
INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- @statement rows_sql
SELECT CASE
    WHEN c.change_pct IS NULL AND c.b > 0 THEN 'new'
    WHEN c.b = 0 AND c.a > 0 THEN 'gone'
    ELSE printf('%+.1f %%', c.change_pct)
  END AS change,
  iif(c.low_pct IS NULL, '-', printf('%+.1f to %+.1f', c.low_pct, c.high_pct)) AS interval,
  value(c.a, c.unit) AS A,
  value(c.b, c.unit) AS B,
  c.metric || iif(c.measure = 'total', '', ' ' || c.measure) AS metric,
  c.program,
  coalesce(c.what, c.thread, '') AS what,
  iif(n.a IS NULL, '', CASE
    WHEN n.change_pct IS NULL AND n.b > 0 THEN 'new'
    WHEN n.b = 0 AND n.a > 0 THEN 'gone'
    ELSE printf('%+.1f %%', n.change_pct)
  END) AS number,
  iif(m.a IS NULL, '', CASE
    WHEN m.change_pct IS NULL AND m.b > 0 THEN 'new'
    WHEN m.b = 0 AND m.a > 0 THEN 'gone'
    ELSE printf('%+.1f %%', m.change_pct)
  END) AS each
FROM change c
LEFT JOIN change n ON n.place = c.place AND n.measure = 'count'
LEFT JOIN change m ON m.place = c.place AND m.measure = 'mean'
WHERE c.metric != 'run' AND (:all OR NOT c.part) AND c.is_main AND c.finding = :found
ORDER BY c.place LIMIT :top

-- @statement run_sql
SELECT CASE
    WHEN c.change_pct IS NULL AND c.b > 0 THEN 'new'
    WHEN c.b = 0 AND c.a > 0 THEN 'gone'
    ELSE printf('%+.1f %%', c.change_pct)
  END AS change,
  iif(c.low_pct IS NULL, '-', printf('%+.1f to %+.1f', c.low_pct, c.high_pct)) AS interval,
  value(c.a, c.unit) AS A,
  value(c.b, c.unit) AS B,
  iif(c.finding OR c.p IS NULL, '', 'not distinguishable from chance') AS verdict
FROM change c WHERE c.metric = 'run' AND c.is_main

-- @statement json_sql
SELECT metric, level, program, thread, what, measure, unit, a, b, change_pct, low_pct AS change_low_pct,
  high_pct AS change_high_pct, low AS difference_low, high AS difference_high, p, false_rate, finding,
  part AS explained_by_part
FROM change ORDER BY place, NOT is_main, measure
