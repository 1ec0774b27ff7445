#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# symbolize_ksyms: trace_processor shows functions by the names that /proc/kallsyms has for them, stacks too; and where
# the config does not ask for names, no trace has the addresses of the kernel. (That each name is that of its address is shown by
# tests/root/test_decode_oracle.sh, from the raw records.)
. "$(dirname "$0")/lib.sh"
need_tracefs
needs_built "$BIN/sonda"
use_sockets "$TMP"
awk '$1 !~ /^0+$/ && $2 ~ /[tTwW]/ { n++ } END { exit !n }' /proc/kallsyms ||
  { echo "kallsyms shows no addresses here" >&2; exit 77; }
restrict=/proc/sys/kernel/kptr_restrict
was=
leave_restrict() {
  [ -z "$was" ] || echo "$was" >$restrict
  leave
}
trap '[ "$BASHPID" != $$ ] || leave_restrict' EXIT

awk '$2 ~ /[tTwW]/ { print $3 }' /proc/kallsyms | sort -u >"$TMP/functions"

config() { # FIELDS
  cat <<END
buffers { size_kb: 65536 }
duration_ms: 400
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "workqueue/*" ftrace_events: "timer/*" ftrace_events: "csd/*" ftrace_events: "kmem/kmalloc"
  ftrace_events: "kmem/kfree" ftrace_events: "sched/sched_process_exit" $1 } } }
END
}
record() { # NAME FIELDS
  config "$2" >"$TMP/$1.cfg"
  timeout 30 "$B/tests/root/mixed_load" "$TMP" 1 >/dev/null 2>&1 &
  PIDS+=($!)
  timeout 60 "$BIN/sonda" record -c "$TMP/$1.cfg" -o "$TMP/$1" >"$TMP/$1.log" 2>&1 </dev/null
}
# The first column of each statement, one value a line, in TRACE.1, TRACE.2 ...
columns() { # TRACE SQL...
  query "$@" >"$1.json"
  node -e 'const fs = require("fs"), trace = process.argv[1];
    fs.readFileSync(trace + ".json", "utf8").trim().split("\n").forEach((line, i) => fs.writeFileSync(
      `${trace}.${i + 1}`, JSON.parse(line).map((row) => Object.values(row)[0] + "\n").join("")))' "$1"
}
args="from ftrace_event join args using (arg_set_id)"
complaints="select name || ' ' || value from stats where severity = 'error' and value > 0"
typed="(name in ('workqueue_queue_work','workqueue_execute_start','hrtimer_expire_entry') and key = 'function')"
stack="(name = 'kernel_stack' and key = 'caller')"
stats() { # TRACE FIELD
  protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$1" | sed -n "s/^ *$2: //p" | tail -n 1
}
all_known() { # FILE: some lines, and each is a function of the kernel
  [ -s "$1" ] && grep -vxF -f "$TMP/functions" "$1" >"$TMP/strange"
  [ $? = 1 ]
}

record names 'symbolize_ksyms: true tracefs_options { name: "stacktrace" state: STATE_ENABLED }'
columns "$TMP/names" "$complaints" \
  "select distinct ifnull(string_value, int_value) $args where $typed" \
  "select distinct string_value $args where key = 'func_symbol'" \
  "select string_value $args where $stack"
[ ! -s "$TMP/names.1" ]
verdict "trace_processor has no complaint" $? "$TMP/names.1"
all_known "$TMP/names.2"
verdict "functions of work and timers by name" $? "$TMP/strange"
all_known "$TMP/names.3"
verdict "functions of events that describe themselves" $? "$TMP/strange"
grep -vxE '#[0-9]+|\[FTRACE TRAMPOLINE\]' "$TMP/names.4" | sort -u >"$TMP/frames"
all_known "$TMP/frames"
verdict "functions in stacks" $? "$TMP/strange"
n=$(stats "$TMP/names" kernel_symbols_parsed) kb=$(stats "$TMP/names" kernel_symbols_mem_kb)
echo "# $n functions in $kb kB"
[ "${n:-0}" -gt 1000 ] && [ "$((kb * 1024))" -lt "$((n * 24))" ]
verdict "FtraceStats says how many, in less than 24 bytes each" $?

record plain 'tracefs_options { name: "stacktrace" state: STATE_ENABLED }'
columns "$TMP/plain" "select name $args where ($typed or key glob '*_symbol') and string_value is not null" \
  "select string_value $args where $stack"
[ ! -s "$TMP/plain.1" ]
verdict "no names if the config does not ask for them" $? "$TMP/plain.1"
[ -s "$TMP/plain.2" ] && ! grep -vxE '#[0-9]+|\[FTRACE TRAMPOLINE\]' "$TMP/plain.2" >"$TMP/strange"
verdict "stacks say which frames are the same, and not where they are" $? "$TMP/strange"

# Hidden addresses: lowered for a moment, and as it was afterwards. Another run of this test would change the setting, too.
hold_top_level
was=$(cat $restrict)
if echo 2 >$restrict && awk '$1 !~ /^0+$/ { exit 1 }' /proc/kallsyms; then
  record hidden 'symbolize_ksyms: true'
  [ "$(cat $restrict)" = 2 ]
  verdict "kptr_restrict is what it was" $?
  echo "$was" >$restrict
  was=
  leave_top_level
  columns "$TMP/hidden" "select distinct string_value $args where $typed"
  all_known "$TMP/hidden.1"
  verdict "names in spite of kptr_restrict" $? "$TMP/hidden.log"
else
  N=$((N + 2))
  echo "ok $((N - 1)) - kptr_restrict is what it was # SKIP it hides nothing here"
  echo "ok $N - names in spite of kptr_restrict # SKIP it hides nothing here"
fi
exit $BAD
