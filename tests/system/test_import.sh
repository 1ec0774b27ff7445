#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda import of a trace.dat: each version and compression, several buffers, clocks, losses, names, damaged files. The
# files have recorded pages of real kernels (tests/data/ftrace).
. "$(dirname "$0")/../lib.sh"
. tests/system/import.sh
needs_commands python3
D=tests/data/ftrace

make_dat() { # OPTION...: $TMP/trace.dat; RECORDS is what it has
  RECORDS=$(python3 tests/system/trace_dat.py "$TMP/trace.dat" "$@")
}
EVENTS='select ts, name, cpu, utid, arg_set_id is null from ftrace_event order by ts, cpu, name'

# ---- versions and compressions ----

first=
for way in "--version 6" "--version 7" "--version 7 --compression zlib" "--version 7 --compression zstd"; do
  # shellcheck disable=SC2086 # options
  make_dat "$D/mix" $way
  run_import trace.dat && says " $(number "$RECORDS") events and 0 samples from 2 CPUs; 0 lost, 0 not imported"
  verdict "trace.dat $way: every record is in the trace" $?
  events=$(ask "$EVENTS" | md5sum)
  [ -n "$first" ] || first=$events
  same "$events" "$first" && [ "$(ask 'select count(*) from ftrace_event')" -gt 1500 ]
  verdict "trace.dat $way: the same events as of version 6" $?
done
# Two recorded markers look like those of atrace, and are malformed.
same "$(ask "select name from stats where severity = 'error' and value > 0 and name <> 'systrace_parse_failure'")" ""
verdict "the trace has no error" $?
same "$(ask "select str_value from metadata where name = 'system_release'")" 6.1.0-test
verdict "the machine's kernel is in the trace" $?

make_dat "$D/mix" --cmdlines "$(printf '4000001 some thread\n4000002 other\n')"
run_import trace.dat
same "$(ask "select name from thread where tid = 4000001")" "some thread"
verdict "the names of saved_cmdlines are in the trace" $?

"$SONDA" info "$TMP/trace.pf" >"$TMP/out" 2>&1 && grep -q 'imported from a trace.dat version 6 by trace-cmd 3.1.6, clock boot' "$TMP/out"
verdict "sonda info names the file's format, its recorder and the clock" $?

# ---- losses ----

make_dat "$D/lossy"
run_import trace.dat
lost=$(sed -nE 's/.*CPUs; ([0-9,]+) lost.*/\1/p' "$TMP/err" | tr -d ,)
[ "${lost:-0}" -gt 0 ] && "$SONDA" info "$TMP/trace.pf" >"$TMP/out" 2>&1 && ! grep -q 'lost *nothing' "$TMP/out"
verdict "lost events are counted, and the summary names them" $?
overrun=$(awk '/^overrun/ { n += $2 } END { print n }' "$D"/lossy/cpu*.stats)
same "$(ask "select sum(value) from stats where name = 'ftrace_cpu_overrun_end'")" "$overrun"
verdict "the counters of the kernel's rings are in the trace" $?

# ---- buffers ----

make_dat "$D/mix" && mix=$RECORDS
make_dat "$D/mix" --second "$D/sched" && both=$RECORDS
run_import trace.dat && says " $(number "$both") events" && says "2 buffers contain events"
verdict "all buffers are imported, with a word about it" $?
run_import trace.dat --buffer second && says " $(number $((both - mix))) events" && ! says "buffers contain events"
verdict "--buffer imports one" $?
run_import trace.dat --buffer top && says " $(number "$mix") events"
verdict "--buffer top imports that of the top level" $?
run_import trace.dat --buffer third
[ $? = 1 ] && says "the file contains no buffer named 'third'"
verdict "a buffer that is not there is an error" $?

# ---- clocks ----

make_dat "$D/mix" && run_import trace.dat && boot=$(ask 'select min(ts), max(ts) from ftrace_event')
make_dat "$D/mix" --clock mono && run_import trace.dat && says "clock mono"
same "$(ask 'select min(ts), max(ts) from ftrace_event')" "$boot"
verdict "times of another clock stay as they are, and the clock is named" $?
make_dat "$D/mix" --clock local --offset 1000000000 && run_import trace.dat && says "clock local"
same "$(ask 'select min(ts) - 1000000000, max(ts) - 1000000000 from ftrace_event')" "$boot"
verdict "the offset of the file is added to its times" $?
make_dat "$D/mix" --clock local --date 1700000000000000 && run_import trace.dat
same "$(ask "select clock_value - ts from clock_snapshot where clock_name = 'REALTIME'")" 1700000000000000000
verdict "the date of the file is CLOCK_REALTIME in the trace" $?
make_dat "$D/mix" --clock x86-tsc --tsc 2048,10,7 && run_import trace.dat && ! says "not in ns"
same "$(ask 'select (min(ts) - 7) / 2, (max(ts) - 7) / 2 from ftrace_event')" "$boot"
verdict "cycles become ns by the file's multiplier" $?
make_dat "$D/mix" --clock x86-tsc && run_import trace.dat && says "not in ns"
verdict "cycles without a multiplier stay cycles, with a word about it" $?

# ---- the command ----

make_dat "$D/mix"
"$SONDA" import -o - - <"$TMP/trace.dat" >"$TMP/trace.pf" 2>"$TMP/err"
same "$(ask "$EVENTS" | md5sum)" "$first"
verdict "from standard input to standard output" $?
# shellcheck disable=SC2002 # a pipe is the point
cat "$TMP/trace.dat" | "$SONDA" import --force -o "$TMP/trace.pf" - 2>"$TMP/err"
same "$(ask "$EVENTS" | md5sum)" "$first"
verdict "from a pipe" $?
"$SONDA" import -o "$TMP/trace.pf" "$TMP/trace.dat" 2>"$TMP/err"
[ $? = 2 ] && says "already exists"
verdict "an existing file is not replaced without --force" $?

# ---- files that cannot be read ----

echo "no recording" >"$TMP/text"
refuses "a file of another kind is refused" "the file is neither trace-cmd's trace.dat nor perf's perf.data" text
: >"$TMP/empty"
refuses "an empty file is refused" "the file is empty" empty
make_dat "$D/mix" --big-endian
refuses "a file of a big-endian machine is refused" "big-endian" trace.dat
make_dat "$D/mix" --version 8
refuses "an unknown version is refused" "version 8 is not supported; sonda reads versions 6 and 7" trace.dat
make_dat "$D/mix" && head -c 3000 "$TMP/trace.dat" >"$TMP/cut"
refuses "a file without its head is refused" "the file is damaged" cut
make_dat "$D/mix" --tail 20000
run_import trace.dat && says "the end of the file is missing" &&
  "$SONDA" info "$TMP/trace.pf" 2>&1 | grep -q '^ *the end of the file is missing' && [ "$(ask 'select count(*) from ftrace_event')" -gt 100 ]
verdict "a file without its end is imported up to there, with a word about it" $?
python3 - "$TMP/trace.dat" <<'END'
import random, sys
data = bytearray(open(sys.argv[1], 'rb').read())
random.seed(1)
for _ in range(200):
    data[random.randrange(len(data) - 40000, len(data))] ^= 255
open(sys.argv[1], 'wb').write(data)
END
run_import trace.dat && says "damaged records"
verdict "damaged pages are counted" $?
exit $BAD
