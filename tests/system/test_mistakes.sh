#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Mistakes that people make, a row each: the exit code of the table in docs/reference/messages.md, and an answer of one or two
# sentences that says what to do. No row waits for a time; the service and its producer are real.
. "$(dirname "$0")/lib.sh"
chmod 755 "$TMP"
mkdir -m 777 "$TMP/work" "$TMP/bin"
cp "$B"/bin/sonda* "$TMP/bin"
cp tests/data/traces/ring_losses.pftrace "$TMP/work/good.pftrace"
cd "$TMP/work" || exit 2
export PATH=$TMP/bin:$PATH

sources='buffers { size_kb: 4096 } data_sources { config { name: "sonda.test.counter" } }'
echo "$sources" >good.cfg
echo "$sources duration_ms: 100" >short.cfg
echo 'bufers { size_kb: 64 }' >typo.cfg
echo 'buffers { size_kb: 64 fill_policy: DISCRAD }' >enum.cfg
echo 'buffers { size_kb: lots }' >number.cfg
echo 'buffers { size_kb: 64' >open.cfg
echo 'buffers { size_kb: 64 } data_sources { config { name: "sonda.test.conuter" } } duration_ms: 100' >source.cfg
echo 'buffers { size_kb: 64 }' >nothing.cfg
echo 'activate_triggers: "x"' >trigger.cfg
echo "$sources write_into_file: true output_path: \"relative\" duration_ms: 100" >relative.cfg
echo "$sources cmd_trace_start_delay { min_delay_ms: 5 }" >delay.cfg
: >empty.cfg
echo 'no trace' >text.pftrace
printf '\n\n{"traceEvents":[]}\n' >blank.pftrace
: >empty.pftrace
mkdir directory
gzip -c good.pftrace >good.pftrace.gz
printf '\377\0\1' >bytes.pftrace
cp good.pftrace same.pftrace

# One or two lines, the first with the name of the program or of the file, and no more than the answer: no usage.
answers() { # EXIT_CODE REGEX
  local lines
  lines=$(wc -l <"$TMP/log")
  [ "$status" = "$1" ] && grep -qE -- "$2" "$TMP/log" && [ "$lines" -le "${LINES_OF_ANSWER:-2}" ] && [ ! -s "$TMP/stdout" ]
}

try() { # NAME EXIT_CODE REGEX COMMAND...
  local name=$1 code=$2 regex=$3
  shift 3
  timeout 60 "$@" >"$TMP/stdout" 2>"$TMP/log" </dev/null
  status=$?
  answers "$code" "$regex"
  verdict "$name" $? "$TMP/log" "$TMP/stdout"
}

# EXIT_CODE | ARGUMENTS OF SONDA | WHAT IT SAYS. Arguments have no blanks within.
rows() {
  local code args regex
  while IFS='|' read -r code args regex; do
    case $code in '' | '#'*) continue ;; esac
    read -ra args <<<"$args"
    try "sonda ${args[*]}" "${code// /}" "${regex# }" sonda "${args[@]}"
  done
}

# ---- no service runs

rows <<'END'
# verbs and options
2 | recrod sched | unknown verb 'recrod'; did you mean record\?
2 | dance | unknown verb 'dance'; see sonda help
2 | help snapshto | unknown verb 'snapshto'; did you mean snapshot\?
2 | record --tiem=5 sched | unknown option --tiem
2 | record -Z sched | unknown option -Z
2 | sessions --sokcet x | unknown option --sokcet; did you mean --socket\?
2 | snapshot a b | unexpected argument 'b'
2 | stop | stop: NAME is missing$
2 | attach | attach: NAME is missing$
2 | trigger | trigger: NAME is missing$
2 | doctor traefs | unknown check 'traefs'; did you mean tracefs\?
2 | --sokcet x | unknown option --sokcet; a verb comes first: see sonda help
# words, units, numbers
2 | record | nothing to record
2 | record -t 5x sched | -t 5x
2 | record -t | -t needs a value
2 | record -t -5 sched | -t -5
2 | record -b 64xb sched | -b 64xb
2 | record -b 0 sched | -b 0
2 | record -b 64 sched | -b 64: the unit is missing; write 64mb, or 64kb
2 | record --max-size 100 sched | --max-size 100: the unit is missing; write 100mb, or 100kb
2 | record sched ls -1 | unknown option -1; put a command after --, as in: sonda record EVENT... -- ls \.\.\.
2 | record sched ls -Zx | unknown option -Z; put a command after --, as in: sonda record EVENT... -- ls \.\.\.
2 | record -F 0 | -F 0: not a number greater than 0
2 | record -B 99999gb sched | -B 99999gb
2 | record --max-size much sched | --max-size much
2 | record --max-size 1gb -b 64mb sched | --max-size cannot be combined with
2 | record -C 3-1 sched | -C 3-1: not a list of CPUs; example
2 | record -C 99999 sched | -C 99999: the CPU number is too large
2 | record -p nosuchprogram sched | -p: no process is named .nosuchprogram.
2 | record --clock tsc sched | --clock tsc is not supported; use boot or mono_raw
2 | record a/b/c | 'a/b/c' is not a valid event name
2 | record !sched | excludes all events named before it; name at least one other event
2 | record --filter x>1 sched | --filter must follow the event
2 | record sched_switch --trigger stop | unknown action .stop.; the actions are
2 | record -a -p 1 sched | -a and -p cannot be combined
2 | record sched -- | no command after --
2 | record --exit-code sched | --exit-code requires a command
2 | record --json -o - sched | --json and the trace
2 | record --detach= sched | --detach needs a name
2 | record --cpu-stacks 99 | '--cpu-stacks 99' needs an equals sign: --cpu-stacks=99
2 | record waits --waits state=Q | --waits state=Q: unknown state
2 | record waits --waits min=fast | --waits min=fast: not a time
2 | record waits --waits rate=0 | --waits rate=0: not a number of waits
2 | record waits --waits program= | --waits program=: a process name must be
2 | record waits --waits 12 | --waits 12: use min=TIME
2 | record waits --waits stacks=0 | --waits stacks=0: not a number of stacks
2 | record sched --waits min=1ms | --waits applies only to waits, and none are recorded; add
2 | record --cpu-stacks=0 | --cpu-stacks 0: not a number greater than 0
2 | record --syscalls raed | there is no system call 'raed'; did you mean read\?
2 | record --syscalls read,zzzzzzzz | there is no system call 'zzzzzzzz'$
2 | record --app , | --app needs categories; example
2 | record --txt sched | --txt needs -c
2 | record -t 0 sched | -t 0: the duration must not be 0; without -t
2 | record -t 99999999999h sched | the maximum duration is 7 days
2 | record --function-depth 5 sched | --function-depth requires --function-graph
2 | record sched_switch --trigger stacktrace:0 | '0' is not a count greater than 0
# configs
2 | record -c none.cfg | cannot read the config none.cfg: No such file or directory; see configs/
2 | record -c good.cfg -c good.cfg | only one -c can be given
2 | record -c good.cfg -o ./good.cfg | -o './good.cfg' is the config file; choose another name
2 | record -c good.pftrace | good.pftrace is a trace, not a trace config; to read it: sonda report good.pftrace
2 | record -c /dev/zero | cannot read the config /dev/zero: too large for a trace config
2 | record -c directory | cannot read the config directory: Is a directory
2 | record -c empty.cfg | empty.cfg
2 | record -c nothing.cfg | no data_sources
2 | record -c trigger.cfg | activate_triggers
2 | record -c delay.cfg | cmd_trace_start_delay needs min_delay_ms and max_delay_ms
# files
1 | info none.pftrace | none.pftrace: No such file
1 | info text.pftrace | text.pftrace is text, not a Perfetto trace; if it is a config, run: sonda record -c
1 | info blank.pftrace | blank.pftrace is text, not a Perfetto trace: it looks like JSON from Chrome.s tracing
1 | sql blank.pftrace select(1) | blank.pftrace is text, not a Perfetto trace: it looks like JSON
1 | report blank.pftrace | blank.pftrace is text, not a Perfetto trace: it looks like JSON
1 | export --sqlite blank.pftrace | blank.pftrace is text, not a Perfetto trace: it looks like JSON
1 | cut --to 1 -o x blank.pftrace | blank.pftrace is text, not a Perfetto trace: it looks like JSON
1 | open blank.pftrace | blank.pftrace is text, not a Perfetto trace: it looks like JSON
1 | info bytes.pftrace | bytes.pftrace is not a Perfetto trace
1 | info good.pftrace.gz | good.pftrace.gz is compressed with gzip; run: gunzip -k good.pftrace.gz
1 | report good.pftrace.gz | is compressed with gzip; run: gunzip -k
1 | report /dev/zero | cannot read /dev/zero: it is a device
1 | sql /dev/null select(1) | cannot read /dev/null: it is a device
1 | sql empty.pftrace select(1) | empty.pftrace is empty
1 | sql none.pftrace select | none.pftrace: No such file
1 | info directory | cannot read directory: it is not a regular file
1 | open none.pftrace | cannot open none.pftrace: No such file
1 | open directory | cannot open directory: it is not a regular file
1 | open empty.pftrace | empty.pftrace is empty
1 | open text.pftrace | text.pftrace is text, not a Perfetto trace
1 | export --sqlite none.pftrace | cannot open none.pftrace: No such file
1 | export --sqlite text.pftrace | text.pftrace is text, not a Perfetto trace
1 | export --sqlite -o none/x good.pftrace | cannot write none/x: No such file or directory
1 | export --csv -o directory good.pftrace | directory already exists; replace it with --force, or choose another name
1 | cut --to 1 -o x none.pftrace | cannot open none.pftrace: No such file
1 | cut --to 1 -o x text.pftrace | text.pftrace is text, not a Perfetto trace
1 | cut --to 1 -o x empty.pftrace | empty.pftrace is empty
1 | cut --to 1 -o x directory | cannot read directory: it is not a regular file
1 | cut --to 1 -o good.pftrace good.pftrace | already exists; replace it with --force
1 | cut --from 99 -o x good.pftrace | --from is after the end of the trace, which is
1 | split --every 1 text.pftrace | text.pftrace is text, not a Perfetto trace
1 | split --every 1 -o none/x good.pftrace | cannot write none/x.000.pftrace: No such file or directory
1 | report none.pftrace | cannot open none.pftrace: No such file
1 | report text.pftrace | text.pftrace is text, not a Perfetto trace
1 | report empty.pftrace | empty.pftrace is empty
1 | report directory | cannot read directory: Is a directory
1 | report sched --from 99 good.pftrace | the trace has no data between --from and --to; it is
1 | report sched -p nobody good.pftrace | good.pftrace has no process or thread 'nobody'
1 | report --machine 7 good.pftrace | has no data from machine 7; see sonda sql good.pftrace .select . from machine.
1 | report --html -o none/x.html good.pftrace | cannot write none/x.html: No such file or directory
1 | report --memory 1k good.pftrace | needs more than 1 KiB of memory; allow more with --memory SIZE
1 | sql text.pftrace select(1) | text.pftrace is text, not a Perfetto trace
1 | sql directory select(1) | cannot read directory: Is a directory
1 | sql good.pftrace select*from(shced) | no such table: shced; did you mean sched\?
1 | sql good.pftrace select*from(zzzzzzzz) | no such table: zzzzzzzz; to list all tables, enter .tables at the sonda sql -i prompt
1 | sql good.pftrace select(nam)from(thread) | no such column: nam
1 | sql good.pftrace selct(1) | near .selct.: syntax error
1 | sql -f none.sql good.pftrace | cannot read none.sql: No such file or directory
# what to show of a trace
2 | report schde good.pftrace | no report is named 'schde'; did you mean sched\?
2 | report good.pftrace sched | put the report before the file: sonda report sched good.pftrace
2 | report good.pftrace shed | no report is named 'shed'; did you mean sched\?
2 | report why | no process or thread is given; example: sonda report why 4711
2 | report why good.pftrace | no process or thread is given; example: sonda report why 4711 good.pftrace
2 | report sched --by nothing good.pftrace | report 'sched' does not support --by 'nothing'; it supports thread, process, container, unit, pod, cgroup, program, function
2 | report timeline --by nothing good.pftrace | report 'timeline' does not support --by 'nothing'; it supports cpu, thread, process, program
2 | report --top 0 good.pftrace | --top '0' is not a number above 0
2 | report --from soon good.pftrace | --from 'soon' is not a time; examples: 1.5, 2s, 200ms
2 | cut --from -1 -o x good.pftrace | --from '-1' is not a time; examples
2 | split --every 0 good.pftrace | --every '0' is not a time; examples
2 | report --machine guest good.pftrace | --machine 'guest' is not a number; example: 1
2 | report --html good.pftrace | --html needs an output file: -o page.html
2 | report --html -o ./good.pftrace good.pftrace | -o './good.pftrace' is the input file; choose another name
2 | report --html --json -o x good.pftrace | --json, --csv and --html cannot be combined
2 | report --json --csv good.pftrace | --json, --csv and --html cannot be combined
2 | report schde | no report is named 'schde'; did you mean sched\?
2 | report nosuchreport | no report or file is named 'nosuchreport'
2 | report nosuchreport good.pftrace | no report or file is named 'nosuchreport'
2 | report --from 2 --to 1 good.pftrace | --to must be later than --from
2 | report cpu --from 2 --to 2s good.pftrace | --to must be later than --from
2 | report good.pftrace good.pftrace | only one report and one file can be given
2 | sql --csv --json good.pftrace select(1) | --csv and --json cannot be combined
2 | export --json --force -o ./good.pftrace good.pftrace | -o './good.pftrace' is the input file; choose another name
2 | split --every 1 --size 1mb good.pftrace | choose either --every or --size; examples: --every 10s, --size 100mb
2 | cut -o --force good.pftrace | -o needs a value, but '--force' follows
2 | report -o x.txt good.pftrace | -o requires --html; redirect the output instead: > x.txt
2 | report --color red good.pftrace | --color 'red': use always, never or auto
2 | record --color red sched | --color 'red': use always, never or auto
2 | top --color red | --color 'red': use always, never or auto
2 | report --jsn good.pftrace | unknown option --jsn; did you mean --json\?
2 | sql | FILE is missing$
2 | sql good.pftrace | STATEMENT is missing; example: .select . from sched limit 5., or -i for a prompt
2 | open | FILE is missing$
2 | open --port x good.pftrace | --port 'x' is not a port; example: 9001
2 | open good.pftrace good.pftrace | only one FILE can be given
2 | describe | describe: WORD is missing$
2 | export good.pftrace | no output format; use --json, --csv, --parquet, --sqlite or --folded slices
2 | export --csv --json good.pftrace | only one output format can be given
2 | cut good.pftrace | no output file; name one with -o
2 | cut -o x good.pftrace | nothing is selected; use --from 1.5, --to 2s, or both
2 | cut --from 2 --to 1 -o x good.pftrace | --to must be later than --from
2 | cut --form 1 -o x good.pftrace | unknown option --form; did you mean --from\?
2 | split good.pftrace | choose either --every or --size; examples: --every 10s, --size 100mb
2 | sql --memory 1q good.pftrace select(1) | --memory 1q is not a size; examples: 512m, 2g; a number alone is in KiB
2 | report --memory 5000000m good.pftrace | --memory 5000000m: the size must be smaller than 4 TiB
2 | split --size 0 good.pftrace | --size 0 is not a size; examples: 100mb, 2gb
2 | top extra | unexpected word 'extra'; sonda top takes options only
2 | top -s size | -s: unknown sort key 'size'; valid keys: pid, cpu,
2 | top -d 0 | -d '0' is not a time from 0.1 to 3600 s; examples: 1, 0.5
2 | top -n 0 | -n '0' is not a number above 0
2 | top -p no-such-program | -p: no process is named 'no-such-program'
1 | top -p 4194305 | -p: no process has the ID 4194305
# no service
1 | sessions | no tracing service listens on .*; run: sudo
1 | status | no tracing service listens on .*; run: sudo
1 | snapshot x | no tracing service is running, so there is no session 'x' to save$
1 | snapshot | no tracing service is running, so there is no session to save$
1 | stop x | no tracing service is running, so there is no session 'x' to stop$
1 | attach x | no tracing service is running, so there is no session 'x' to attach to$
1 | trigger x | no tracing service is running, so no session is waiting for the trigger 'x'$
1 | stop x --socket none | no tracing service listens on none; check the address$
1 | trigger x --socket none | no tracing service listens on none; check the address$
1 | record --socket none -c good.cfg | no tracing service listens on none; check the address$
1 | sessions --socket none/at/all | no tracing service listens on none/at/all; check the address$
1 | list categories | no tracing service listens on .*; run: sudo
1 | list evnts | (no event, preset or data source matches 'evnts'; did you mean events\?|cannot read the kernel's list of events|tracefs is not mounted)
# addresses
2 | record --socket 1.2.3.4:99999 sched | --socket '1.2.3.4:99999' is not a valid socket address; examples: /
2 | sessions --socket vsock://3:x | --socket 'vsock://3:x' is not a valid socket address; examples: /
2 | top --socket @ | --socket '@' is not a valid socket address; examples: /
END
LINES_OF_ANSWER=4 rows <<'END'
2 | record -c typo.cfg | typo.cfg:1:1: error: .*did you mean "buffers"
2 | record -c enum.cfg | enum.cfg:1:.*DISCRAD
2 | record -c number.cfg | number.cfg:1:.*takes a whole number
2 | record -c open.cfg | open.cfg:1:.*
END
cmp -s good.pftrace same.pftrace
verdict "a trace that was also named as the output is as it was" $?
try "the name of a config is empty" 2 '-c needs a file name' sonda record -c ''
try "a statement is empty" 2 'STATEMENT is missing' sonda sql good.pftrace ''
try "an address is empty" 2 "--socket '' is not a valid socket address; examples: /" sonda record --socket '' sched
printf '\357\273\277%s\r\n%s\r\n' "$sources" "duration_ms: 100" >windows.cfg
sonda record -c windows.cfg --show-config >"$TMP/stdout" 2>"$TMP/log"
verdict "a config of an editor of another system: a byte order mark and CR LF" $? "$TMP/log"
# A disk that is full is reported by whatever is printed.
for words in "info good.pftrace" "info --json good.pftrace" "report good.pftrace" "export --json -o - good.pftrace" \
  "cut --to 1 -o - good.pftrace" "list presets" "doctor" "help" "version" "record --show-config -c good.cfg"; do
  read -ra args <<<"$words"
  timeout 60 sonda "${args[@]}" >/dev/full 2>"$TMP/log" </dev/null
  [ $? = 1 ] && grep -q 'No space left' "$TMP/log" && [ "$(wc -l <"$TMP/log")" = 1 ]
  verdict "sonda $words to a full disk" $? "$TMP/log"
done
# A reader of a pipe that has enough is no mistake: the command ends by the signal that the shell expects, without a word.
for words in "report --no-pager" "report --json" "info" "sql --csv"; do
  read -ra args <<<"$words"
  [ "$words" != "sql --csv" ] || statement="select * from ftrace_event"
  sonda "${args[@]}" good.pftrace ${statement:+"$statement"} 2>"$TMP/log" | :
  status=${PIPESTATUS[0]}
  { [ "$status" = 0 ] || [ "$status" = 141 ]; } && [ ! -s "$TMP/log" ]
  verdict "sonda $words into a closed pipe" $? "$TMP/log"
done
try "a daemon with an argument" 2 "^sondad: unexpected argument 'extra'; see sondad --help" sondad extra
try "another daemon with an argument" 2 "unexpected argument 'extra'; see --help" sonda-probes extra
try "an output in a directory that is not there" 1 'cannot write /nonexistent/x: No such file' sonda record -c good.cfg -o /nonexistent/x
try "an output that is a directory" 1 'cannot write directory: Is a directory' sonda record -c good.cfg -o directory
if command -v script >/dev/null; then
  script -qec 'sonda record -c good.cfg -o - 2>log; echo "code $?" >>log' /dev/null >/dev/null 2>&1 </dev/null
  grep -q 'is binary and is not written to a terminal; use -o FILE' log && grep -q 'code 2' log
  verdict "a trace to a terminal" $? log
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
  # shellcheck disable=SC2086
  try "without root" 1 'uid 65534.*; run: sudo' $as_nobody env -u PERFETTO_CONSUMER_SOCK_NAME PERFETTO_CONSUMER_SOCK_NAME="$TMP/no" sonda record -t 1 sched
fi

# ---- with a service

start_daemon TRACED_NOTIFY_FD "$TMP/service.log" sondad && start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/producer.log" "$COUNTER" run 2000
verdict "service and producer start" $?
producer=${PIDS[-1]}
sonda record --detach flight -c good.cfg 2>"$TMP/log"
verdict "a session named flight" $? "$TMP/log"
rows <<'END'
1 | snapshot flght | cannot take a snapshot of 'flght': .*; did you mean flight\?
1 | snapshot other | cannot take a snapshot of 'other': .*; see sonda sessions
1 | snapshot 99999 | cannot take a snapshot of '99999'
1 | stop flihgt | no detached session named 'flihgt'; did you mean flight\?
1 | attach fligt | no detached session named 'fligt'; did you mean flight\?
1 | record --detach flight -c good.cfg | already
1 | record -c relative.cfg | output_path
1 | snapshot flight -o /nonexistent/x | cannot write /nonexistent/x: No such file
1 | snapshot flight -o directory | cannot write directory: Is a directory
END
# A producer that does not answer: the duration is over before it has started.
echo "$sources duration_ms: 100 flush_timeout_ms: 100 data_source_stop_timeout_ms: 100" >late.cfg
kill -STOP "$producer"
try "a command that the recording does not wait for" 1 "'touch' was not run: the recording ended before all data sources had started" \
  sonda record -q -c late.cfg -o late.pftrace -- touch ran
kill -CONT "$producer"
[ ! -e ran ]
verdict "and it did not run" $?
LINES_OF_ANSWER=3 try "a full disk" 1 'No space left' sonda snapshot flight -o /dev/full
sonda record -q --json -c short.cfg -o summary.pftrace >/dev/full 2>"$TMP/log"
[ $? = 1 ] && grep -q 'cannot write to standard output: No space left' "$TMP/log"
verdict "a full disk for the summary" $? "$TMP/log"
LINES_OF_ANSWER=6 try "a full disk while it records" 1 'No space left' sonda record -q -c short.cfg -o /dev/full
sonda snapshot -q flight -o - 2>"$TMP/log" | true
[ "${PIPESTATUS[0]}" = 1 ] && grep -qE 'Broken pipe|reader' "$TMP/log" && [ "$(wc -l <"$TMP/log")" -le 2 ]
verdict "a pipe whose reader is gone" $? "$TMP/log"

# A recording that runs is one that has its file.
interrupted() { # NAME SIGNALS CODE REGEX ARGS...
  local name=$1 signals=$2 code=$3 regex=$4 pid i
  shift 4
  rm -f int.pftrace
  sonda record "$@" -o int.pftrace >"$TMP/stdout" 2>"$TMP/log" </dev/null &
  pid=$!
  for ((i = 0; i < 1000; i++)); do [ ! -e "$UNTIL" ] || break; sleep 0.02; done
  for i in $signals; do kill "-$i" $pid; done
  wait $pid
  status=$?
  [ $status = "$code" ] && grep -qE -- "$regex" "$TMP/log"
  verdict "$name" $? "$TMP/log"
}
echo "$sources write_into_file: true" >file.cfg
UNTIL=int.pftrace interrupted "Ctrl-C while it records: saved" INT 0 'stopped by SIGINT' -c file.cfg
UNTIL=int.pftrace interrupted "SIGTERM while it records: saved" TERM 0 'stopped by SIGTERM' -c file.cfg
UNTIL=int.pftrace interrupted "the terminal is closed while it records: saved" HUP 0 'stopped by SIGHUP' -c file.cfg
rm -f ran
UNTIL=ran interrupted "Ctrl-C while a command runs: the command gets it" 'INT' 0 'command' -c file.cfg -- sh -c ': >ran; exec sleep 60'

# A pipe that is full, with a reader that does not read.
mkfifo full && exec 8<>full && dd if=/dev/zero of=full bs=4096 count=16 2>/dev/null
: >"$TMP/log"
sonda record -c short.cfg -o full >"$TMP/stdout" 2>"$TMP/log" </dev/null &
pid=$!
until grep -q 'not accepting data' "$TMP/log" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -INT $pid
wait $pid
[ $? = 1 ] && grep -q 'interrupted: wrote only the first 0 bytes' "$TMP/log" && ! grep -q 'again' "$TMP/log"
verdict "Ctrl-C while it saves: the log says what the output has" $? "$TMP/log"
exec 8>&-

# A service that listens and does not answer.
kill -STOP "${PIDS[0]}"
sonda record -c good.cfg -o early.pftrace >"$TMP/stdout" 2>"$TMP/log" </dev/null &
pid=$!
blocks_signals() { # PID: it is sonda, no shell any more, and takes SIGINT from a descriptor
  local mask
  [ "$(cat "/proc/$1/comm" 2>/dev/null)" = sonda ] || return
  mask=$(awk '$1 == "SigBlk:" { print $2 }' "/proc/$1/status" 2>/dev/null)
  [ $((16#${mask:-0} & 2)) != 0 ]
}
until blocks_signals $pid || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -INT $pid
wait $pid
[ $? = 1 ] && grep -q 'interrupted before the recording started' "$TMP/log" && [ "$(wc -l <"$TMP/log")" = 1 ] && [ ! -e early.pftrace ]
verdict "Ctrl-C before the start: nothing is left" $? "$TMP/log"
: >"$TMP/log"
sonda-probes >"$TMP/stdout" 2>"$TMP/log" </dev/null &
pid=$!
until grep -qv 'no sandbox$' "$TMP/log" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill $pid && wait $pid
grep -qE '^sonda-probes: the listener on .* does not answer; waiting for it$' "$TMP/log" && [ "$(grep -vc 'no sandbox$' "$TMP/log")" = 1 ]
verdict "sonda-probes names a service that does not answer" $? "$TMP/log"
kill -CONT "${PIDS[0]}"
sonda stop -q flight -o last.pftrace 2>"$TMP/log" && [ -s last.pftrace ]
verdict "the session was not disturbed" $? "$TMP/log"
exit $BAD
