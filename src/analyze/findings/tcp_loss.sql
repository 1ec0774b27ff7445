-- SPDX-License-Identifier: Apache-2.0
-- @title TCP loss
-- @needs event tcp/tcp_retransmit_skb
-- @record net
-- @threshold share_pct 0.5 of the packets that the machine sent
-- @threshold retransmits 10 of all connections
-- @words TCP sent {retransmits} packets again, which is {share_pct} % of the packets that the machine sent; most of them from port {sport} to {dport}
-- @more report net
WITH r AS (
  SELECT extract_arg(arg_set_id, 'sport') AS sport, extract_arg(arg_set_id, 'dport') AS dport, ts
  FROM ftrace_event
  WHERE name = 'tcp_retransmit_skb' AND ts >= :from AND ts < :to)
SELECT sport, dport, count(*) AS here, (SELECT count(*) FROM r) AS retransmits, min(100, 100.0 * (SELECT count(*) FROM r) /
    max(1, (SELECT count(*) FROM ftrace_event WHERE name = 'net_dev_xmit' AND ts >= :from AND ts < :to))) AS share_pct, min(ts) AS
    at_ts, max(ts) AS last_ts
FROM r
GROUP BY 1, 2
ORDER BY here DESC
