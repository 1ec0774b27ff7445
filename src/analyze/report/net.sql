-- SPDX-License-Identifier: Apache-2.0
-- sonda report net: packets, drops, retransmissions, and the counters of interfaces and
-- protocols.
--
-- @help packets, bytes and drops, TCP by connection, and counters of interfaces and protocols
-- @records net

-- packets(way, device, n, len, good, utid): n packets that were given to a device, or that came
-- from one; good: the device took them.
-- @define PACKETS
packets AS (
  SELECT iif(f.name = 'net_dev_xmit', 'sent', 'received') AS way, $ARG(name) AS device, e.n,
      e.total AS len, f.name != 'net_dev_xmit' OR $ARG(rc) = 0 AS good, e.utid
  FROM $EVENTS(packets))

-- @define TRAFFIC
sum(good * n) AS packets, sum(iif(good, len, 0)) AS bytes, sum((NOT good) * n) AS refused

-- @define TRAFFIC_COLUMNS
packets, bytes AS size_bytes, CAST(1e9 * bytes / (:to - :from) AS INTEGER) AS per_s_bytes, refused

-- counts(device, name, grew, last): counters of devices or protocols below a group of tracks.
-- @define COUNTS(group)
counts AS (
  SELECT i.name AS device, t.name, max(c.value) - coalesce($VALUE_BEFORE, min(c.value)) AS grew,
      max(c.value) AS last
  FROM counter c
  JOIN __intrinsic_track t ON t.id = c.track_id
  JOIN __intrinsic_track i ON i.id = t.parent_id
  JOIN __intrinsic_track g ON g.id = i.parent_id
  WHERE g.name = '$group' AND c.ts >= :from AND c.ts <= :to
  GROUP BY t.id)

-- @define COUNT(name)
CAST(sum(iif(name = '$name', grew, 0)) AS INTEGER)

-- @define TCP_STATE(number)
CASE $number WHEN 1 THEN 'ESTABLISHED' WHEN 2 THEN 'SYN_SENT' WHEN 3 THEN 'SYN_RECV' WHEN 4 THEN
    'FIN_WAIT1' WHEN 5 THEN 'FIN_WAIT2' WHEN 6 THEN 'TIME_WAIT' WHEN 7 THEN 'CLOSE' WHEN 8 THEN
    'CLOSE_WAIT' WHEN 9 THEN 'LAST_ACK' WHEN 10 THEN 'LISTEN' WHEN 11 THEN 'CLOSING' WHEN 12 THEN
    'NEW_SYN_RECV' ELSE $number END

-- A socket whose addresses the trace does not have.
-- @define FAMILY
CASE family WHEN 1 THEN '(unix)' WHEN 2 THEN '(IPv4, opened before)' WHEN 10 THEN
    '(IPv6, opened before)' WHEN 16 THEN '(netlink)' WHEN 17 THEN '(packet)' WHEN 40 THEN '(vsock)'
    ELSE printf('(family %d)', family) END

-- traffic(utid, sent, n, len, failed, family, local, remote): calls that sent to sockets, or received
-- from them. A call with MSG_PEEK (2) leaves its bytes for the next one.
-- @define TRAFFIC_OF_THREADS
traffic AS (
  SELECT e.utid, f.name = 'sock_send_length' AS sent, e.n, iif(f.name = 'sock_recv_length' AND
      $ARG(flags) & 2, 0, coalesce(e.total, 0)) AS len, e.failed, $ARG(family) AS family, e.local,
      e.remote
  FROM $EVENTS(traffic))

-- @define CALL_SUMS
sum(iif(sent, len, 0)) AS sent, sum(sent * n) AS sends, sum(iif(sent, 0, len)) AS received,
    sum((NOT sent) * n) AS receives, sum(failed) AS failed

-- @define TRAFFIC_BY_WHO
g AS (
  SELECT who, $CALL_SUMS
  FROM traffic
  JOIN grp USING (utid)
  GROUP BY who)

-- @define CALLS_COLUMNS
sent AS sent_bytes, sends, received AS received_bytes, receives, failed

-- @define PACKET_WAITS
n AS packets, total / n AS mean_ns, p50 AS p50_ns, p99 AS p99_ns, worst AS max_ns,
    worst_ts AS received_at_ts

-- @section Packets, by device
-- @key packets_by_device
-- @by device
WITH $PACKETS, g AS (
  SELECT device, way, $TRAFFIC
  FROM packets
  GROUP BY device, way)
SELECT device, way, $TRAFFIC_COLUMNS
FROM g
ORDER BY bytes DESC
LIMIT :top + :more

-- @section Packets, by the process that sent them
-- @heading Packets sent, by process
-- @key packets_by_sender
-- @by process
WITH $PACKETS, $BY_PROCESS, g AS (
  SELECT who, $TRAFFIC
  FROM packets
  JOIN grp USING (utid)
  WHERE way = 'sent'
  GROUP BY who)
SELECT $PROCESS, $TRAFFIC_COLUMNS
FROM g $PROCESS_FROM
ORDER BY bytes DESC
LIMIT :top + :more

-- @section Packets that were sent, by
-- @heading Packets sent, by
-- @key packets_by
-- @each container unit pod cgroup program
-- @on_request
WITH $PACKETS, $BY_SUBJECT, t AS (
  SELECT who, $TRAFFIC
  FROM packets
  JOIN grp USING (utid)
  WHERE way = 'sent'
  GROUP BY who)
SELECT $SUBJECT, $TRAFFIC_COLUMNS
FROM t $SUBJECT_FROM
ORDER BY bytes DESC
LIMIT :top + :more

-- @section Bytes that calls sent and received
-- @heading Bytes sent and received by calls
-- @key bytes_by_process
-- @by process
-- @note AF_INET, AF_INET6 and other sockets; from Linux 6.3 on
WITH $TRAFFIC_OF_THREADS, $BY_PROCESS, $TRAFFIC_BY_WHO
SELECT $PROCESS, $CALLS_COLUMNS
FROM g $PROCESS_FROM
ORDER BY sent + received DESC
LIMIT :top + :more

-- @section Bytes that calls sent and received, by
-- @heading Bytes sent and received by calls, by
-- @key bytes_by
-- @each container unit pod cgroup program
-- @on_request
WITH $TRAFFIC_OF_THREADS, $BY_SUBJECT, $TRAFFIC_BY_WHO
SELECT $SUBJECT, $CALLS_COLUMNS
FROM g t $SUBJECT_FROM
ORDER BY sent + received DESC
LIMIT :top + :more

-- @section Bytes that calls sent and received, by connection
-- @heading Bytes sent and received by calls, by connection
-- @key bytes_by_connection
-- @by connection
WITH $TRAFFIC_OF_THREADS, $BY_PROCESS, g AS (
  SELECT who, family, local, remote, $CALL_SUMS
  FROM traffic
  JOIN grp USING (utid)
  GROUP BY who, family, local, remote)
SELECT $PROCESS, coalesce(local, $FAMILY) AS local, remote, $CALLS_COLUMNS
FROM g $PROCESS_FROM
ORDER BY sent + received DESC
LIMIT :top + :more

-- @section From packet to reader
-- @key packet_to_reader
-- @by process
-- @note how long a received packet waited until a thread read from it
SELECT $PROCESS, $PACKET_WAITS FROM packet_waits('process') t $PROCESS_FROM
ORDER BY worst DESC
LIMIT :top + :more

-- @section From packet to reader, by thread
-- @key packet_to_reader_by_thread
-- @by thread
-- @on_request
SELECT $WHO, $PACKET_WAITS FROM packet_waits('thread') t
JOIN thread ON utid = who
LEFT JOIN process USING (upid)
ORDER BY worst DESC
LIMIT :top + :more

-- @section From packet to reader, by program
-- @key packet_to_reader_by_program
-- @by program
-- @on_request
SELECT $PROGRAM, $PACKET_WAITS FROM packet_waits('program') t
ORDER BY worst DESC
LIMIT :top + :more

-- @section From packet to reader, by
-- @key packet_to_reader_by
-- @each container unit pod cgroup
-- @on_request
SELECT $SUBJECT, $PACKET_WAITS FROM packet_waits('$subject') t $SUBJECT_FROM
ORDER BY worst DESC
LIMIT :top + :more

-- @section Packets that the kernel dropped
-- @key drops
-- @by drop
-- @note local and remote: the receiving socket, if the kernel knows it
-- @of_machine
WITH d AS (
  SELECT $ARG(location) AS place, $ARG(protocol) AS protocol, coalesce($ARG(reason_name),
      $ARG(reason)) AS reason, e.local, e.remote, e.n
  FROM $EVENTS(drops))
SELECT reason, CASE WHEN typeof(place) != 'integer' THEN place WHEN place BETWEEN 0 AND 0xffffffff
    THEN printf('(function %d; recorded without --ksyms)', place) ELSE printf('0x%x', place) END AS
    function, printf('0x%04x', protocol) AS protocol, sum(n) AS packets, local, remote
FROM d
GROUP BY reason, place, protocol, local, remote
ORDER BY 4 DESC, 1, 2
LIMIT :top + :more

-- @section TCP: retransmissions and resets
-- @key tcp_retransmissions
-- @by tcp
-- @of_machine
SELECT CASE f.name WHEN 'tcp_retransmit_skb' THEN 'retransmission' WHEN 'tcp_retransmit_synack' THEN
    'retransmission of SYN-ACK' WHEN 'tcp_send_reset' THEN 'reset sent' ELSE 'reset received' END AS
    what, e.local, e.remote, nullif($TCP_STATE($ARG(state)), 0) AS state, CASE WHEN $ARG(err) THEN
    'not sent: error ' || -$ARG(err) ELSE coalesce($ARG(reason_name), $ARG(reason)) END AS reason,
    sum(e.n) AS times, min(e.first_ts) AS first_ts, max(e.last_ts) AS last_ts
FROM $EVENTS(tcp)
GROUP BY 1, 2, 3, 4, 5
ORDER BY times DESC, first_ts
LIMIT :top + :more

-- @section Sockets: changes of their state
-- @heading Socket state changes
-- @key socket_states
-- @by tcp
-- @of_machine
WITH s AS (
  SELECT $ARG(protocol) AS protocol, $ARG(newstate) AS state, e.n
  FROM $EVENTS(sockets))
SELECT CASE protocol WHEN 6 THEN 'TCP' WHEN 132 THEN 'SCTP' WHEN 262 THEN 'MPTCP' ELSE protocol END
    AS protocol, $TCP_STATE(state) AS state, sum(n) AS times
FROM s
GROUP BY protocol, state
ORDER BY times DESC
LIMIT :top + :more

-- @section Polls of devices (NAPI)
-- @heading Device polling (NAPI)
-- @key polls
-- @by napi
-- @more irq
-- @of_machine
WITH p AS (
  SELECT $ARG(dev_name) AS device, $ARG(work) AS work, $ARG(budget) AS budget, e.n
  FROM $EVENTS(polls))
SELECT device, sum(n) AS polls, sum(work * n) AS packets, max(work) AS max_packets,
    sum((work >= budget) * n) AS exhausted
FROM p
GROUP BY device
ORDER BY 3 DESC
LIMIT :top + :more

-- @section Interfaces, by the kernel's counters
-- @heading Interface counters
-- @key interface_counters
-- @by interface
-- @more counters
-- @of_machine
WITH $COUNTS(interfaces), i AS (
  SELECT device, $COUNT(rx bytes) AS rx, $COUNT(rx packets) AS rxp, $COUNT(tx bytes) AS tx,
      $COUNT(tx packets) AS txp, $COUNT(rx errs) + $COUNT(tx errs) AS errors,
      $COUNT(rx drop) + $COUNT(tx drop) AS drops
  FROM counts
  GROUP BY device)
SELECT device AS interface, rx AS received_bytes, rxp AS received, tx AS sent_bytes, txp AS sent,
    errors, drops
FROM i
WHERE rx + tx + errors + drops > 0
ORDER BY rx + tx DESC
LIMIT :top + :more

-- @section Protocols: counters that grew
-- @key protocol_counters
-- @by protocol
-- @more counters
-- @of_machine
WITH $COUNTS(protocols)
SELECT device || ' ' || name AS counter, CAST(grew AS INTEGER) AS grew,
    1e9 * grew / (:to - :from) AS per_s
FROM counts
WHERE grew > 0
ORDER BY grew DESC
LIMIT :top + :more

-- @section Counted in the kernel
-- @key counted_in_kernel
-- @by protocol
-- @of_machine
WITH g AS ($GROWN((t.name GLOB 'TCP *' OR t.name = 'dropped packets' OR t.parent_id IN (SELECT id
    FROM __intrinsic_track WHERE name = 'dropped packets'))))
SELECT name AS counter, CAST(grown AS INTEGER) AS grew, 1e9 * grown / (:to - :from) AS per_s
FROM g
WHERE grown > 0
ORDER BY 2 DESC
LIMIT :top + :more
