#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: fleet.sh CHDB MACHINES TRACE...
#
# What a question to many machines costs: the p99 wait of each machine's programs (waits_by_program.sql), asked of the tables in
# a store by ClickHouse, and of the traces by sonda sql and Perfetto's trace_processor, which open each. sonda ship makes the
# tables; each machine has a copy of one TRACE with another UUID. The store is a server on loopback whose files are in a temporary
# directory (TMPDIR): 3 MB a machine for traces of 1.5 MB. CHDB is a directory in which `npm install chdb` was run: ClickHouse as
# a library.
#
# For each way: wall time and CPU time of three questions, without those of the server. The traces are asked on ten machines, and
# three with trace_processor; the figure is for all.
set -u
cd "$(dirname "$0")/.." || exit 1
[ $# -ge 3 ] || { sed -n 's/^# usage: //p' "$0" >&2; exit 2; }
CHDB=$(realpath "$1") MACHINES=$2 TRACES=("${@:3}")
[ -d "$CHDB/node_modules/chdb" ] || { echo "there is no chdb in $CHDB: npm install chdb" >&2; exit 77; }
SONDA=$PWD/${BUILD:-build}/bin/sonda
PEERS=$(tests/interop/peers.sh) || exit $?
TMP=$(mktemp -d)
server=
trap '[ "$BASHPID" != $$ ] || { [ -z "$server" ] || kill "$server"; rm -rf "$TMP"; }' EXIT
DAY=2026-01-02

# A packet that says nothing makes another trace of a trace.
add_machine() { # NUMBER
  local dir=$TMP/machine.$1 entry word name key
  mkdir -p "$dir/from"
  { cat "${TRACES[$1 % ${#TRACES[@]}]}"; printf '\n\004\240\001%b%b' "\\x$(printf %02x $((128 + $1 % 128)))" "\\x$(printf %02x $(($1 / 128)))"; } \
    >"$dir/from/m.pftrace"
  touch -d "$DAY 12:00 UTC" "$dir/from/m.pftrace"
  "$SONDA" ship --once --machine "m$1" --from "$dir/from" "$dir/spool" >"$TMP/log" 2>&1 || { cat "$TMP/log" >&2; return 1; }
  for entry in "$dir/spool"/ready/*; do
    while read -r word _ _ name key; do
      [ "$word" != file ] || { mkdir -p "$TMP/store/$(dirname "$key")" && mv "$entry/$name" "$TMP/store/$key"; }
    done <"$entry/list"
  done
  rm -rf "$dir"
}
for ((i = 0; i < MACHINES; i += 2)); do
  add_machine $i & one=$!
  [ $((i + 1)) -ge "$MACHINES" ] || add_machine $((i + 1)) || exit 1
  wait $one || exit 1
done
days=("$TMP/store/v1/program_wait_length"/date=*)
[ ${#days[@]} = 1 ] || { echo "the traces are of several days: ${days[*]##*/}" >&2; exit 1; }
"$SONDA" ship --compact "${days[0]##*date=}" "$TMP/store" >"$TMP/log" 2>&1 || { cat "$TMP/log" >&2; exit 1; }
du -sh "$TMP/store/v1/traces" "$TMP/store/v1/program_wait_length" "$TMP/store/merged/v1/program_wait_length" | sed "s,$TMP/store/,,"

# What a reader needs of a store: lists, and ranges of files.
cat >"$TMP/server.py" <<'END'
import glob, http.server, os, re, socketserver, sys, urllib.parse
os.chdir(sys.argv[1])
keys = sorted(p for p in glob.glob("**", recursive=True) if os.path.isfile(p))

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        key = urllib.parse.unquote(path).removeprefix("/bucket").lstrip("/")
        if key:
            return self.send_file(key)
        after = query.get("continuation-token", "")
        found = [k for k in keys if k.startswith(query.get("prefix", "")) and k > after]
        page, more = found[:1000], len(found) > 1000
        body = "<?xml version='1.0'?><ListBucketResult><Name>bucket</Name><KeyCount>%d</KeyCount><IsTruncated>%s</IsTruncated>" % (len(page), str(more).lower())
        body += "<NextContinuationToken>%s</NextContinuationToken>" % page[-1] if more else ""
        body += "".join("<Contents><Key>%s</Key><LastModified>2026-01-02T00:00:00.000Z</LastModified><ETag>&quot;1&quot;</ETag><Size>%d</Size>"
                        "<StorageClass>STANDARD</StorageClass></Contents>" % (k, os.path.getsize(k)) for k in page)
        body = (body + "</ListBucketResult>").encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_file(self, key):
        try:
            f = open(key, "rb")
        except OSError:
            self.send_response_only(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        with f:
            size = os.fstat(f.fileno()).st_size
            wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            first, last = (int(wanted[1]), min(int(wanted[2] or size), size - 1)) if wanted else (0, size - 1)
            self.send_response_only(206 if wanted else 200)
            self.send_header("Content-Length", str(last - first + 1))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Fri, 02 Jan 2026 00:00:00 GMT")
            if wanted:
                self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.flush()
                self.connection.sendfile(f, first, last - first + 1)

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
python3 "$TMP/server.py" "$TMP/store" >"$TMP/port" 2>"$TMP/server.log" &
server=$!
until PORT=$(cat "$TMP/port") && [ -n "$PORT" ]; do sleep 0.1; done

cat >"$TMP/ask.cjs" <<'END'
const [directory, file, store, day] = process.argv.slice(2);
const chdb = require(directory + "/node_modules/chdb");
const text = v => `'${v}'`;
const sql = require("fs").readFileSync(file, "utf8").replaceAll("{store:String}", text(store)).replaceAll("{day:String}", text(day))
  .replace(/s3\((.*?)\) AS w/, "s3($1, NOSIGN) AS w");
const wall = process.hrtime.bigint(), cpu = process.cpuUsage();
const rows = chdb.query(sql, "JSONEachRow").trim().split("\n").length;
const { user, system } = process.cpuUsage(cpu);
console.log(`${(Number(process.hrtime.bigint() - wall) / 1e9).toFixed(2)} s, CPU ${((user + system) / 1e6).toFixed(2)} s, ${rows} rows`);
END
ask_tables() { # NAME PREFIX : wall and CPU time of three questions, each by a new process
  for _ in 1 2 3; do
    printf 'ClickHouse, %s: %s\n' "$1" "$(node "$TMP/ask.cjs" "$CHDB" share/sonda/queries/clickhouse/waits_by_program.sql \
      "http://127.0.0.1:$PORT/bucket$2" "${days[0]##*date=}" 2>&1 | tail -n 1)"
  done
}
ask_tables 'merged file' /merged
ask_tables "$MACHINES files" ''

cat >"$TMP/waits.sql" <<'END'
select coalesce(p.name, t.name) program, count(*) waits, sum(s.dur) total, percentile(s.dur, 50) p50, percentile(s.dur, 99) p99, max(s.dur) longest
from thread_state s join thread t using (utid) left join process p on p.upid = t.upid
where s.state in ('R', 'R+') and s.dur > 0 group by 1 having count(*) >= 20
END
readarray -t traces < <(find "$TMP/store/v1/traces" -name '*.pftrace' | sort | awk -v n="$MACHINES" 'NR % int((n + 9) / 10) == 0' | head -n 10)
ask_traces() { # NAME COMMAND... : on each of "${asked[@]}"
  local t0=$EPOCHREALTIME t cpu
  cpu=$({ TIMEFORMAT='%U %S'; time for t in "${asked[@]}"; do "${@:2}" "$t" >"$TMP/log" 2>&1 || { tail -n 3 "$TMP/log" >&2; exit 1; }; done; } 2>&1 | tail -n 1)
  awk -v name="$1" -v n=${#asked[@]} -v all="$MACHINES" -v wall="$(echo "$EPOCHREALTIME - $t0" | bc)" -v cpu="$cpu" \
    'BEGIN { split(cpu, c, " "); printf "%s, %d traces, for %d: %.0f s, CPU %.0f s\n", name, n, all, wall * all / n, (c[1] + c[2]) * all / n }'
}
sonda_sql() { "$SONDA" sql --no-cache --json "$1" "$(cat "$TMP/waits.sql")"; }
perfetto_sql() { TP_ASSETS=$PEERS/tp node tests/interop/tpq.mjs "$1" "$(sed 's/percentile(s.dur, 50)/PERCENTILE(s.dur, 50)/' "$TMP/waits.sql")"; }
asked=("${traces[@]}")
ask_traces 'sonda sql' sonda_sql
asked=("${traces[@]:0:3}")
ask_traces trace_processor perfetto_sql
