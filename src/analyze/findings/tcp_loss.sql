-- SPDX-License-Identifier: Apache-2.0
-- The share is that of the tenths of a second in which TCP retransmitted something.
--
-- @title TCP loss
-- @needs event tcp/tcp_retransmit_skb
-- @record net
-- @threshold share_pct 10 of the window, in tenths of a second
-- @threshold of_sent_pct 0.5 of the packets that the machine sent
-- @threshold retransmits 10 on all connections
-- @words TCP retransmitted {retransmits} packets, {of_sent_pct} % of the packets that the machine sent; most of them from port {sport} to {dport}
-- @more report net
WITH r AS MATERIALIZED (
  SELECT extract_arg(arg_set_id, 'sport') AS sport, extract_arg(arg_set_id, 'dport') AS dport, ts
  FROM ftrace_event
  WHERE name = 'tcp_retransmit_skb' AND ts >= :from AND ts < :to),
sent AS MATERIALIZED (
  SELECT count(*) AS n
  FROM ftrace_event
  WHERE name = 'net_dev_xmit' AND ts >= :from AND ts < :to),
total AS (
  SELECT count(*) AS n, count(DISTINCT (ts - :from) / 100000000) AS tenths
  FROM r)
SELECT sport, dport, count(*) AS here, total.n AS retransmits, min(100, 100.0 * tenths / ((:to - :from + 99999999) / 100000000)) AS
    share_pct, min(100, 100.0 * total.n / max(1, sent.n)) AS of_sent_pct, min(ts) AS at_ts, max(ts) AS last_ts
FROM r, total, sent
GROUP BY 1, 2
ORDER BY here DESC
