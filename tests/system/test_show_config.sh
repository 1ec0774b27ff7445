#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: none
#
# sonda record --show-config: what it prints makes the same config again, in text and in binary, and records nothing.
# Presets of directories win over those of the program.
. "$(dirname "$0")/../lib.sh"
details() { cat "$TMP/log"; }
SOURCE=$PWD
export HOME=$TMP/home
unset XDG_CONFIG_HOME
mkdir "$TMP/cwd" "$TMP/home"
cd "$TMP/cwd" || exit 2
shown() { "$B/bin/sonda" record --show-config "$@" 2>"$TMP/log"; }

# Binary, text, and binary again of the text.
round_trip() {
  shown "$@" >"$TMP/text" && "$B/bin/sonda" record --show-config=binary "$@" >"$TMP/binary" 2>>"$TMP/log" &&
    "$B/bin/sonda" record --show-config=binary -c "$TMP/text" >"$TMP/again" 2>>"$TMP/log" &&
    [ -s "$TMP/binary" ] && cmp "$TMP/binary" "$TMP/again" >>"$TMP/log" 2>&1 &&
    shown -c "$TMP/binary" | cmp - "$TMP/text" >>"$TMP/log" 2>&1
  verdict "the same config again: $*" $?
}
round_trip sched
round_trip sched runq mem net -t 10s
round_trip -b 64mb -B 1mb --subbuf 16k --clock mono_raw -C 0 irq --no-priority
round_trip 'sched:*' '!sched_stat_*' sched_switch --filter 'prev_comm ~ "a\"b*" && prev_pid != 0' --trigger 'stacktrace:5 if next_pid == 1'
round_trip --syscalls read,openat --kprobe vfs_read --kprobe 'p:mine vfs_read count=$arg3' --uprobe 'p:x /bin/ls:0x1' --uprobe-span 'x=/bin/ls:0x40' --kprobe-span 'vfs_read(_, _, size_t n) -> long' --function-graph=vfs_read
round_trip --app 'net*,disk' --max-size 1gb -p $$
round_trip -c "$SOURCE/configs/ebpf.cfg" -t 5 locks
for config in "$SOURCE"/configs/*.cfg; do
  round_trip -c "$config"
done
for preset in "$SOURCE"/share/sonda/presets/*.cfg; do
  round_trip -P "$(basename "$preset" .cfg)"
done

[ -z "$(ls -A "$TMP/cwd")" ] && shown sched -- touch ran >"$TMP/text" && grep -q '^# Not shown: tids_to_trace' "$TMP/text" && [ ! -e ran ]
verdict "nothing is recorded, and no command is run" $?
shown sched -t 10 | grep -q '^duration_ms: 10000$' && shown sched -t 10 -c <(shown irq -t 3 -b 1mb) -b 5mb >"$TMP/text" &&
  grep -q '^duration_ms: 10000$' "$TMP/text" && grep -q '^  size_kb: 5120$' "$TMP/text" && grep -q '"irq/\*"' "$TMP/text" &&
  grep -q '"sched/sched_switch"' "$TMP/text"
verdict "-c beside words, -t and -b" $?

# ---- presets of one's own

mkdir -p "$TMP/home/.config/sonda/presets" "$TMP/xdg/sonda/presets"
echo 'data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "power/cpu_idle" } } }' >"$TMP/home/.config/sonda/presets/irq.cfg"
cp "$TMP/home/.config/sonda/presets/irq.cfg" "$TMP/xdg/sonda/presets/mine.cfg"
shown irq | grep -q 'power/cpu_idle' && XDG_CONFIG_HOME=$TMP/xdg shown mine | grep -q power/cpu_idle &&
  XDG_CONFIG_HOME=$TMP/xdg shown irq | grep -q 'irq/\*'
verdict "the user's presets win" $?
echo 'data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_event: "x" } } }' >"$TMP/xdg/sonda/presets/mine.cfg"
XDG_CONFIG_HOME=$TMP/xdg shown mine >"$TMP/text"
[ $? = 2 ] && grep -q 'presets/mine.cfg:1:[0-9]*: error: no field named "ftrace_event".*; did you mean "ftrace_events"?' "$TMP/log"
verdict "a mistake in a preset: where it is, exit code 2" $?
shown -P shced >"$TMP/text"
[ $? = 2 ] && grep -q "there is no preset 'shced'; did you mean sched?" "$TMP/log"
verdict "a preset that does not exist: the nearest, exit code 2" $?

# The program needs no file, in an empty root for example; and finds those beside it.
mkdir -p "$TMP/prefix/bin" "$TMP/prefix/share/sonda/presets" && cp "$B/bin/sonda" "$TMP/prefix/bin" &&
  "$TMP/prefix/bin/sonda" record --show-config=binary counters >"$TMP/binary" 2>"$TMP/log" &&
  "$B/bin/sonda" record --show-config=binary counters 2>>"$TMP/log" | cmp - "$TMP/binary" &&
  cp "$TMP/home/.config/sonda/presets/irq.cfg" "$TMP/prefix/share/sonda/presets/beside.cfg" &&
  "$TMP/prefix/bin/sonda" record --show-config beside 2>>"$TMP/log" | grep -q power/cpu_idle
verdict "presets of the program, and beside it" $?

echo "1..$N"
exit $BAD
