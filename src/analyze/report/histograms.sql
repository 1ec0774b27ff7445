-- SPDX-License-Identifier: Apache-2.0
-- sonda report histograms: values of events, as the kernel counted them.
--
-- @help histograms of event values by key, counted in the kernel
-- @records --hist
-- @of_trace

-- r(id, histogram_id, name, what, unit, n, total): the counts of each key, whose name is what. An interval is
-- in the window if its middle is.
-- @define COUNTED
r AS MATERIALIZED (
  SELECT r.id, h.id AS histogram_id, h.name, iif(h.end_event IS NULL, '', 'ns') AS unit,
      coalesce(r.key_text, CASE h.key WHEN 'cgroup' THEN (SELECT coalesce(c.name, c.unit,
      c.path) FROM cgroup c WHERE c.inode = r.key_number AND c.machine_id = h.machine_id)
      WHEN 'pid' THEN (SELECT p.name || ' ' || p.pid FROM process p WHERE p.pid = r.key_number
      AND p.machine_id = h.machine_id ORDER BY p.upid DESC LIMIT 1) END,
      cast(r.key_number AS text), '') AS what, r.n, r.total
  FROM event_histogram_row r
  JOIN event_histogram h ON h.id = r.histogram_id
  WHERE r.ts + r.dur / 2 >= :from AND r.ts + r.dur / 2 < :to)

-- @section Histograms
-- @key histograms
WITH $COUNTED
SELECT h.name AS histogram, count(DISTINCT r.what) AS keys, coalesce(sum(r.n), 0) AS n,
    1.0 * sum(r.total) / sum(r.n) AS mean_value, r.unit, (SELECT nullif(sum(value),
    0) FROM stats WHERE name GLOB 'sonda_histogram_no_*' AND idx = h.id) AS lost
FROM event_histogram h
LEFT JOIN r ON r.histogram_id = h.id
GROUP BY h.id
ORDER BY h.id

-- @section Histograms, by key
-- @key histograms_by_key
-- @by key
WITH $COUNTED,
k AS (
  SELECT histogram_id, name, what, unit, sum(n) AS n, sum(total) AS total,
      row_number() OVER (PARTITION BY histogram_id ORDER BY sum(n) DESC, what) AS rank
  FROM r
  WHERE what != ''
  GROUP BY histogram_id, what)
SELECT iif(:text AND rank > 1, '', name) AS histogram, what AS key, n, 1.0 * total / n AS mean_value, unit
FROM k
WHERE rank <= :top
ORDER BY histogram_id, rank

-- @section Buckets
-- @key histogram_buckets
-- @note for the keys above: from <= value < to
WITH $COUNTED,
k AS (
  SELECT histogram_id, what, row_number() OVER (PARTITION BY histogram_id
      ORDER BY sum(n) DESC, what) AS rank
  FROM r
  GROUP BY histogram_id, what),
b AS (
  SELECT r.histogram_id, r.name, r.what, r.unit, k.rank, b.from_value, b.to_value, sum(b.n) AS n
  FROM r
  JOIN k USING (histogram_id, what)
  JOIN event_histogram_bucket b ON b.row_id = r.id
  WHERE k.rank <= :top
  GROUP BY r.histogram_id, r.what, b.from_value)
SELECT iif(:text AND lag(histogram_id) OVER w IS histogram_id, '', name) AS histogram,
    iif(:text AND lag(histogram_id) OVER w IS histogram_id AND lag(what) OVER w IS what, '', what) AS
    key, from_value, to_value, unit, n, $BAR(n, (max(n) OVER (PARTITION BY histogram_id, what))) AS share_bar
FROM b
WINDOW w AS (ORDER BY histogram_id, rank, from_value)
ORDER BY histogram_id, rank, from_value
