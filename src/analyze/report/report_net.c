/* SPDX-License-Identifier: Apache-2.0 */
/* sonda report net: packets, drops, retransmissions, and the counters of interfaces and
 * protocols. */
#include "analyze/report/counters_sql.h"
#include "analyze/report/report.h"
#include "analyze/report/report_sql.h"

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* Groups of kernel events, and the event f that has the arguments of each. */
#define SQL_EVENTS(subject) "events_by('" subject "') e CROSS JOIN ftrace_event f ON f.id = e.first"
#define SQL_ARG(name) "extract_arg(f.arg_set_id, '" name "')"

/* packets(way, device, n, len, good, utid): n packets that were given to a device, or that came
 * from one; good: the device took them. */
#define SQL_PACKETS                                                                                \
	"packets AS (SELECT iif(f.name = 'net_dev_xmit', 'sent', 'received') AS way, "             \
	SQL_ARG("name") " AS device, e.n, e.total AS len, f.name != 'net_dev_xmit' OR "            \
	SQL_ARG("rc") " = 0 AS good, e.utid FROM " SQL_EVENTS("packets") ")"

#define SQL_TRAFFIC                                                                                \
	"sum(good * n) AS packets, sum(iif(good, len, 0)) AS bytes, sum((NOT good) * n) AS refused"

#define SQL_TRAFFIC_COLUMNS                                                                        \
	"packets, bytes AS size_bytes, CAST(1e9 * bytes / (:to - :from) AS INTEGER) AS "           \
	"per_s_bytes, refused"

/* counts(device, name, grew, last): counters of devices or protocols below a group of tracks. */
#define SQL_COUNTS(group)                                                                          \
	"counts AS (SELECT i.name AS device, t.name, max(c.value) - coalesce(" SQL_VALUE_BEFORE    \
	", min(c.value)) AS grew, "                                                                \
	"max(c.value) AS last FROM counter c JOIN __intrinsic_track t ON t.id = c.track_id "       \
	"JOIN __intrinsic_track i ON i.id = t.parent_id JOIN __intrinsic_track g ON g.id = "       \
	"i.parent_id WHERE g.name = '" group "' AND c.ts >= :from AND c.ts <= :to GROUP BY t.id)"

#define SQL_COUNT(name) "CAST(sum(iif(name = '" name "', grew, 0)) AS INTEGER)"

static const struct report_section sections[] = {
	{.by = "device",
	 .title = "Packets, by device",
	 .sql = "WITH " SQL_PACKETS ", g AS (SELECT device, way, " SQL_TRAFFIC " FROM packets "
		"GROUP BY device, way) SELECT device, way, " SQL_TRAFFIC_COLUMNS " FROM g ORDER "
		"BY bytes DESC LIMIT :top + :more"},
	{.by = "process",
	 .title = "Packets, by the process that sent them",
	 .sql = "WITH " SQL_PACKETS ", " SQL_BY_PROCESS ", g AS (SELECT who, " SQL_TRAFFIC " "
		"FROM packets JOIN grp USING (utid) WHERE way = 'sent' GROUP BY who) SELECT "
		SQL_PROCESS ", " SQL_TRAFFIC_COLUMNS " FROM g" SQL_PROCESS_FROM "ORDER BY bytes "
		"DESC LIMIT :top + :more"},
	{.by = "drop",
	 .title = "Packets that the kernel dropped",
	 .of_machine = true,
	 .sql = "WITH d AS (SELECT " SQL_ARG("location") " AS place, " SQL_ARG("protocol")
		" AS protocol, e.n FROM " SQL_EVENTS("drops") ") SELECT CASE WHEN typeof(place) != "
		"'integer' THEN place WHEN place BETWEEN 0 AND 0xffffffff THEN printf('(function "
		"%d; recorded without --ksyms)', place) ELSE printf('0x%x', place) END AS function, "
		"printf('0x%04x', protocol) AS protocol, sum(n) AS packets FROM d GROUP BY place, "
		"protocol ORDER BY 3 DESC, 1 LIMIT :top + :more"},
	{.by = "tcp",
	 .title = "TCP: retransmissions and resets",
	 .of_machine = true,
	 .sql = "SELECT replace(substr(f.name, 5), '_', ' ') AS what, " SQL_ARG("sport") " AS "
		"sport, " SQL_ARG("dport") " AS dport, sum(e.n) AS times, min(e.first_ts) AS "
		"first_ts, max(e.last_ts) AS last_ts FROM " SQL_EVENTS("tcp") " GROUP BY 1, 2, 3 "
		"ORDER BY 4 DESC LIMIT :top + :more"},
	{.by = "tcp",
	 .title = "Sockets: changes of their state",
	 .of_machine = true,
	 .sql = "WITH s AS (SELECT " SQL_ARG("protocol") " AS protocol, " SQL_ARG("newstate")
		" AS state, e.n FROM " SQL_EVENTS("sockets") ") SELECT CASE protocol WHEN "
		"6 THEN 'TCP' WHEN 132 THEN 'SCTP' WHEN 262 THEN 'MPTCP' ELSE protocol END AS "
		"protocol, CASE state WHEN 1 THEN 'ESTABLISHED' WHEN 2 THEN 'SYN_SENT' WHEN 3 "
		"THEN 'SYN_RECV' WHEN 4 THEN 'FIN_WAIT1' WHEN 5 THEN 'FIN_WAIT2' WHEN 6 THEN "
		"'TIME_WAIT' WHEN 7 THEN 'CLOSE' WHEN 8 THEN 'CLOSE_WAIT' WHEN 9 THEN 'LAST_ACK' "
		"WHEN 10 THEN 'LISTEN' WHEN 11 THEN 'CLOSING' WHEN 12 THEN 'NEW_SYN_RECV' ELSE "
		"state END AS state, sum(n) AS times FROM s GROUP BY protocol, state ORDER BY "
		"times DESC LIMIT :top + :more"},
	{.by = "napi",
	 .title = "Polls of devices (NAPI)",
	 .of_machine = true,
	 .more = "irq",
	 .sql = "WITH p AS (SELECT " SQL_ARG("dev_name") " AS device, " SQL_ARG("work") " AS "
		"work, " SQL_ARG("budget") " AS budget, e.n FROM " SQL_EVENTS("polls") ") SELECT "
		"device, sum(n) AS polls, sum(work * n) AS packets, max(work) AS max_packets, "
		"sum((work >= budget) * n) AS exhausted FROM p GROUP BY device ORDER BY 3 DESC "
		"LIMIT :top + :more"},
	{.by = "interface",
	 .title = "Interfaces, by the kernel's counters",
	 .of_machine = true,
	 .more = "counters",
	 .sql = "WITH " SQL_COUNTS("interfaces") ", i AS (SELECT device, " SQL_COUNT("rx bytes")
		" AS rx, " SQL_COUNT("rx packets") " AS rxp, " SQL_COUNT("tx bytes") " AS tx, "
		SQL_COUNT("tx packets") " AS txp, " SQL_COUNT("rx errs") " + "
		SQL_COUNT("tx errs") " AS errors, " SQL_COUNT("rx drop") " + "
		SQL_COUNT("tx drop") " AS drops FROM counts GROUP BY device) SELECT device AS "
		"interface, rx AS received_bytes, rxp AS received, tx AS sent_bytes, txp AS "
		"sent, errors, drops FROM i WHERE rx + tx + errors + drops > 0 ORDER BY rx + tx "
		"DESC LIMIT :top + :more"},
	{.by = "protocol",
	 .title = "Protocols: counters that grew",
	 .of_machine = true,
	 .more = "counters",
	 .sql = "WITH " SQL_COUNTS("protocols") " SELECT device || ' ' || name AS counter, "
		"CAST(grew AS INTEGER) AS grew, 1e9 * grew / (:to - :from) AS per_s FROM counts "
		"WHERE grew > 0 ORDER BY grew DESC LIMIT :top + :more"},
	{.by = "protocol",
	 .title = "Counted in the kernel",
	 .of_machine = true,
	 .sql = "WITH g AS ("
		SQL_GROWN("(t.name GLOB 'TCP *' OR t.name = 'dropped packets' OR t.parent_id IN (SELECT id FROM __intrinsic_track WHERE name = 'dropped packets'))")
		") SELECT name AS counter, CAST(grown AS INTEGER) AS grew, 1e9 * grown / (:to - "
		":from) AS per_s FROM g WHERE grown > 0 ORDER BY 2 DESC LIMIT :top + :more"},
};

REPORT(report_net, "net", "packets, drops, TCP, interfaces, protocols", "net", sections);
