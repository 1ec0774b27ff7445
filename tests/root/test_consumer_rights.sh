#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A consumer of uid 4242 may record, and that is less than to be root: it gets no probe that reads or writes memory of the
# kernel or of programs, whatever its config says of who it is. Root does.
#
# kernels: 6.12
# tracefs: shared
. "$(dirname "$0")/lib.sh"
needs_commands setpriv
[ -e $TRACEFS/uprobe_events ] || { echo "the kernel has no uprobe_events" >&2; exit 77; }

chmod 755 "$TMP"
cp "$B/tests/root/probed" "$TMP/probed"
cp "$BIN/sonda" "$TMP/sonda"
mkdir -m 777 "$TMP/out"
at=$TMP/probed:$("$TMP/probed" offset)
word=$("$TMP/probed" word </dev/null)
start_for_all_users root:0660

# A victim of root's, whose word the kernel would count in.
record() { # COMMAND that becomes sonda..., the config is in $TMP/config
  mkfifo "$TMP/input"
  "$TMP/probed" word <"$TMP/input" >/dev/null &
  victim=$!
  exec 7>"$TMP/input"
  "$@" record -c "$TMP/config" -o "$TMP/out/trace" >"$TMP/record.log" 2>&1 </dev/null
  exec 7>&-
  wait "$victim"
  changed=$?
  rm -f "$TMP/input" "$TMP/out/trace"
}
as_4242() { setpriv --reuid 4242 --regid "$members" --clear-groups "$TMP/sonda" "$@"; }
as_member() { setpriv --reuid 4244 --regid 4244 --groups "$members" "$TMP/sonda" "$@"; }
config() { # the rest of the ftrace_config, the rest of the source's
  cat >"$TMP/config" <<CONFIG
duration_ms: 500
buffers { size_kb: 1024 }
data_sources { config { name: "linux.ftrace" ${2:-} ftrace_config { ftrace_events: "sched/sched_process_exit" $1 } } }
CONFIG
}
config "uprobe_events: 'p:x $at($word)'"
record as_4242
[ "$changed" = 0 ]
verdict "uid 4242: the word of root's process is as it was" $? "$TMP/record.log"
grep -q 'uprobe_events.*only root may probe programs' "$TMP/record.log"
verdict "uid 4242: the refusal is reported" $? "$TMP/record.log"
config "uprobe_events: 'p:x $at($word)'" "consumer_uid: 0"
record as_4242
[ "$changed" = 0 ] && grep -q 'only root may' "$TMP/record.log"
verdict "uid 4242: a config that says it is root's is not believed" $? "$TMP/record.log"
record "$BIN/sonda"
[ "$changed" = 1 ] && ! grep -q 'only root may' "$TMP/record.log"
verdict "root: free definitions, and what they do" $? "$TMP/record.log"

if [ -e $TRACEFS/kprobe_events ]; then
  config "kprobe_events { definition: 'p:x/secret vfs_read secret=@jiffies_64:x64' }
          kprobe_events { definition: 'p:x/deep vfs_read secret=+0(\$arg1):x64' }
          kprobe_events { definition: 'p:x/plain vfs_read count=\$arg3:u64' } kprobe_events { probe: 'vfs_read' type: KPROBE_TYPE_BOTH }"
  record as_4242
  [ "$(grep -c 'only root may use' "$TMP/record.log")" = 2 ] && [ "$(grep -c 'option kprobe_events' "$TMP/record.log")" = 2 ]
  verdict "uid 4242: kprobes of functions and their arguments, and no others" $? "$TMP/record.log"
else
  skip "kprobes" "the kernel has none"
fi
# Another tracer's instance, with a record in it.
theirs=$TRACEFS/instances/rights-test-$$
mkdir "$theirs" && trap 'rmdir "$theirs" 2>/dev/null; [ "$BASHPID" != $$ ] || leave' EXIT
echo 1 >"$theirs/options/overwrite"
echo local >"$theirs/trace_clock"
echo "a record of theirs" >"$theirs/trace_marker"
# Without the name of the process, which the kernel knows or not by what other tracers do.
state_of_theirs() { (cd "$theirs" && sed 's/^ *[^#]*-\([0-9]* \)/\1/' trace && cat tracing_on trace_clock buffer_size_kb && cat events/sched/sched_process_exit/enable); }
state_of_theirs >"$TMP/before"
as_they_were() { # WHAT
  state_of_theirs >"$TMP/after"
  cmp -s "$TMP/before" "$TMP/after" && grep -q "only root may $1" "$TMP/record.log"
}
leaves_theirs() { # NAME COMMAND that becomes sonda: the instance is as it was after each attempt
  config "instance_name: '${theirs##*/}' buffer_size_kb: 4096"
  record "$2"
  as_they_were 'use instance_name'
  verdict "$1: instance_name is refused, and another tracer's instance is as it was" $? "$TMP/record.log" "$TMP/after"
  config "instance_name: '${theirs##*/}' preserve_ftrace_buffer: true"
  record "$2"
  as_they_were 'use preserve_ftrace_buffer'
  verdict "$1: preserve_ftrace_buffer is refused, and no record is taken" $? "$TMP/record.log" "$TMP/after"
  cat >"$TMP/config" <<CONFIG
duration_ms: 500
buffers { size_kb: 1024 }
data_sources { config { name: "linux.frozen_ftrace" frozen_ftrace_config { instance_name: "${theirs##*/}" } } }
CONFIG
  record "$2"
  as_they_were 'read the rings from another boot'
  verdict "$1: frozen_ftrace is refused, and no record is taken" $? "$TMP/record.log" "$TMP/after"
}
leaves_theirs "uid 4242" as_4242
leaves_theirs "a member of the group" as_member
config "instance_name: '${theirs##*/}'"
record "$BIN/sonda"
! grep -q 'only root may' "$TMP/record.log" && ! grep -q 'a record of theirs' "$theirs/trace"
verdict "root: attaches to it" $? "$TMP/record.log"
cat >"$TMP/config" <<CONFIG
duration_ms: 500
buffers { size_kb: 1024 }
data_sources { config { name: "linux.inode_file_map" inode_file_config { scan_mount_points: "/root" } } }
CONFIG
record as_4242
grep -q "no producer provides the data source 'linux.inode_file_map'" "$TMP/record.log"
verdict "uid 4242: there is no linux.inode_file_map that would list directories" $? "$TMP/record.log"

[ -z "${INSTALLED:-}" ] || exit "$BAD"
kill "$probes"
wait "$probes"

start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes" --trust-consumers
config "uprobe_events: 'p:x $at($word)'"
record as_4242
[ "$changed" = 1 ]
verdict "--trust-consumers: everybody is root" $? "$TMP/record.log"
exit "$BAD"
