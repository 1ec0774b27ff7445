#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
#
# sonda list and sonda describe: what can be recorded here, as text and as JSON; every example that they print is a good
# command line; names that do not exist.
. "$(dirname "$0")/lib.sh"
export HOME=$TMP
unset XDG_CONFIG_HOME
details() { cat "$TMP/out" "$TMP/log"; }

sonda() { # EXPECTED EXIT CODE, ARGS...
  local expected=$1 status
  shift
  timeout 60 "$B/bin/sonda" "$@" >"$TMP/out" 2>"$TMP/log" </dev/null
  status=$?
  [ $status = "$expected" ] || { echo "exit code $status, not $expected" >>"$TMP/log"; return 1; }
}
shows() { grep -qE -- "$1" "$TMP/out" || { echo "not shown: $1" >>"$TMP/log"; return 1; }; }
says() { grep -qF -- "$1" "$TMP/log" || { echo "not said: $1" >>"$TMP/log"; return 1; }; }
json() { python3 -c 'import json,sys; items = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$TMP/out" "$1" 2>>"$TMP/log"; }

sonda 0 list && for kind in events groups presets sources families categories functions; do shows "^$kind " || break; done
verdict "the kinds" $?

# ---- without rights: what needs no tracefs

sonda 0 list presets mem && shows '^mem +Memory' && shows '^ +source +linux.sys_stats sys_stats_config \{ meminfo_period_ms: 1000' &&
  shows '^ +events +vmscan/' && [ "$(grep -c '^[a-z]' "$TMP/out")" = 1 ] && sonda 0 list presets && [ "$(grep -c '^[a-z]' "$TMP/out")" -gt 30 ]
verdict "presets with what they expand to" $?
sonda 0 list presets && shows '^ +made of +events, counters, eBPF \(separately: mem-events, mem-counters, mem-ebpf\)$' && shows '^ +cost +[0-9.]+ % of a CPU, ' &&
  sonda 0 describe io-ebpf && shows 'families: BLOCK' && ! shows 'block_rq_issue' && sonda 1 describe stacks-ebpf
verdict "how presets are made, and one way of them" $?
sonda 0 list sources && shows '^linux.ftrace ' && shows '^ +example +sonda record ' && shows '^ +options +ftrace_events, ' &&
  sonda 0 describe linux.sys_stats && shows '^ +meminfo_period_ms +uint32 +/proc/meminfo$' && shows '^ +presets +buddyinfo, counters, ' &&
  shows '^ +files.path +string '
verdict "data sources with their options and an example" $?
sonda 0 list families && shows '^RUNQ +Waits for a CPU .eBPF.: latency and depth' && sonda 0 list --json families && json 'len(items) == 11 and all(i["example"] for i in items)'
verdict "families of eBPF counters" $?
sonda 0 list families runq 'Cpu*' && shows '^RUNQ ' && shows '^CPU_TIME ' && sonda 0 describe runq && shows '^preset +runq ' && shows '^family +RUNQ '
verdict "families in any case" $?
for kind in presets sources families; do
  sonda 0 list --json $kind && json 'all(i["kind"] and i["name"] and i["title"] for i in items)' || break
done
verdict "JSON of each kind" $?
sonda 1 list presets shced && says "no preset matches 'shced'" && sonda 1 describe everything-chep &&
  says 'did you mean everything-cheap' && sonda 2 list --nosuch && sonda 2 describe
verdict "what does not exist" $?

# ---- programs that run now

start_daemon TRACED_NOTIFY_FD "$TMP/service.log" "$B/bin/sondad" && start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run 10
verdict "service and producer start" $? "$TMP/service.log"
sonda 0 list sources sonda.test.counter && shows 'sonda.test.counter +A data source from another program' && shows 'producers +sonda.test.producer' &&
  sonda 0 describe sonda.test.counter --json && json 'items[0]["producers"] == ["sonda.test.producer"]'
verdict "a data source of another program" $?
start_daemon EVENT_CASES_NOTIFY_FD "$TMP/cases.log" "$B/tests/library/event_cases"
verdict "a program with categories of track events starts" $? "$TMP/cases.log"
sonda 0 list categories && shows '^cases\.slow +Off by default$' && shows '^ +tags +slow$' && shows '^ +programs +[^ ]*event_cases \(pid ' &&
  sonda 0 describe cases.slow && shows "^ +example +sonda record -t 10s --app cases.slow$"
verdict "categories of track events of running programs" $?
start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$B/bin/sonda-probes" && sonda 0 list sources --json &&
  json '(ours := [i["title"] for i in items if "perfetto.traced_probes" in i.get("producers", [])]) and len(ours) > 5 and not [t for t in ours if "another program" in t]'
verdict "each data source of sonda-probes has its own line" $? "$TMP/probes.log" "$TMP/log"
stop_all

# ---- events

if [ ! -r /sys/kernel/tracing/available_events ]; then
  sonda 1 list events && says 'cannot read the kernel'
  verdict "events without the right to read them: the reason" $?
else
  sonda 0 list events && diff <(sort "$TMP/out") <(grep -v '^sonda_[0-9]*_[0-9]*_[0-9]*:' /sys/kernel/tracing/available_events | sort) | grep -v '[<>] sonda_' | grep '[<>]' >>"$TMP/log"
  [ $? = 1 ]
  verdict "events: those of the kernel" $?
  sonda 0 list events 'sched:*' && cp "$TMP/out" "$TMP/colon" && sonda 0 list events sched && cmp "$TMP/out" "$TMP/colon" &&
    sonda 0 list events 'sched/sched_swi*' sched_waking && [ "$(cat "$TMP/out")" = $'sched:sched_switch\nsched:sched_waking' ]
  verdict "events by pattern, group and name" $?
  sonda 0 list events sched_switch --fields && shows '^ +prev_comm\[16\] +char$' && shows '^ +prev_pid +pid_t$' && shows '^ +print +"prev_comm=%s' &&
    sonda 0 list events sched_switch --fields --json &&
    json '{"name": "next_prio", "type": "int"} in items[0]["fields"] and items[0]["print"].startswith("\"prev_comm=%s")'
  verdict "--fields: types and the kernel's print format" $?
  sonda 0 list groups irq && shows '^irq +[0-9]+ events$' && sonda 0 list '*sched_switch*' && shows '^event +sched:sched_switch$' &&
    sonda 0 list irq && shows '^group +irq ' && shows '^preset +irq ' && shows '^event +irq:softirq_entry'
  verdict "a pattern in all kinds" $?
  sonda 0 describe power && shows '^preset +power ' && shows '^group +power ' && sonda 0 describe sched_switch --json &&
    json 'items[0]["example"] == "sonda record sched:sched_switch"'
  verdict "a word that means two things; an event" $?
  sonda 0 list presets --json && json '"irq/softirq_entry" in [i for i in items if i["name"] == "irq"][0]["events"]'
  verdict "presets: a pattern becomes the events of this kernel" $?
fi

sonda 0 list functions 'vfs_re*' && shows '^vfs_read$' && sonda 0 describe vfs_read && shows '^function +vfs_read$' && sonda 1 describe vfs_nosuch
verdict "functions of the kernel" $?

# ---- every example is a command line that works

n=0 bad=0
: >"$TMP/bad"
sonda 0 describe sched runq linux.ftrace linux.sys_stats linux.ebpf_counters TCP everything-cheap && cp "$TMP/out" "$TMP/examples"
sonda 0 list sources && cat "$TMP/out" >>"$TMP/examples"
while read -r line; do
  n=$((n + 1))
  (eval "${line/sonda record/'"$B/bin/sonda" record --show-config'}") >/dev/null 2>>"$TMP/bad" || { echo "$line" >>"$TMP/bad"; bad=1; }
done < <(sed -n 's/^ *example *//p' "$TMP/examples")
[ $n -gt 15 ] && [ $bad = 0 ]
verdict "the examples" $? "$TMP/bad"

echo "1..$N"
exit $BAD
