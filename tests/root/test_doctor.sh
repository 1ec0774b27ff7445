#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
# kernels: none
#
# sonda doctor on this machine: as root, as another user, without tracefs, without BTF, with another tracer at work, with
# a service and without its producer; and sonda record, which says the same sentence when that is what stopped it.
. "$(dirname "$0")/lib.sh"
needs_commands setpriv
export BIN TMP
chmod 755 "$TMP"
mkdir -m 777 "$TMP/open" "$TMP/empty"
cp "$BIN"/sonda* "$TMP/open"
other=/sys/kernel/tracing/instances/doctor-$$
trap '[ "$BASHPID" != $$ ] || { rmdir "$other" 2>/dev/null; leave; rm -rf "$TMP"; }' EXIT
cd "$TMP/open" || exit 2

doctor() { # EXIT_CODE ARGS...
  local code=$1
  shift
  "$TMP/open/sonda" doctor "$@" >"$TMP/log" 2>&1 </dev/null
  [ $? = "$code" ]
}
says() { grep -qE -- "$1" "$TMP/log"; }
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

doctor 0 && says '^ok +tracefs +mounted' && says '^ok +rights +root .uid 0. has all cap' && ! says '^fault'
verdict "root: kernel events can be recorded" $? "$TMP/log"
doctor 0 --json && python3 -c '
import json, shutil, sys
d = json.load(open(sys.argv[1]))
assert d["can_record"] is True
assert len(d["checks"]) >= 18 and all(c["text"] and c["verdict"] in ("ok", "note", "limit") for c in d["checks"])
# Without systemd there is no journal to start.
can_lack = set() if shutil.which("systemctl") else {"journal"}
assert all("remedy" in c or c["check"] in can_lack for c in d["checks"] if c["verdict"] == "limit")' "$TMP/log"
verdict "as JSON" $? "$TMP/log"

as_nobody "$TMP/open/sonda" doctor -q >"$TMP/log" 2>&1 </dev/null
[ $? = 1 ] && says '^fault +rights .*uid 65534. may not create instances in /sys/kernel/tracing.*CAP_DAC_OVERRIDE' && says '^ +run: sudo '
verdict "another user: what would do, and the command" $? "$TMP/log"
sentence=$(sed -n 's/^fault *rights *//p' "$TMP/log")
as_nobody "$TMP/open/sonda" record -t 1s -o "$TMP/open/trace" sched >"$TMP/log" 2>&1 </dev/null
[ $? = 1 ] && grep -qF "sonda: $sentence; run: sudo" "$TMP/log" && [ ! -e "$TMP/open/trace" ]
verdict "record says the same sentence" $? "$TMP/log"

cat >"$TMP/without" <<'END'
umount --recursive --lazy /sys/kernel/debug 2>/dev/null
while umount /sys/kernel/tracing 2>/dev/null; do :; done
! grep -qw tracefs /proc/self/mounts || exit 77
mount --bind "$TMP/empty" /sys/kernel/btf || exit 77
"$TMP/open/sonda" doctor -q tracefs btf; echo "root $?"
"$TMP/open/sonda" doctor -q --strict tracefs btf >/dev/null; echo "strict $?"
setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/open/sonda" record -t 1s -o x sched; echo "record $?"
END
status=77
if has_own_mounts; then
  unshare --mount --propagation private bash "$TMP/without" >"$TMP/log" 2>&1 </dev/null
  status=$?
fi
if [ $status = 77 ]; then
  skip "without tracefs and BTF" "no mounts of the test's own here, or tracefs cannot be unmounted"
elif [ -e /sys/kernel/btf ]; then
  says '^limit +tracefs +tracefs is not mounted.*sonda-probes mounts it privately' && says 'run: sudo mount -t tracefs tracefs /sys/kernel/tracing$' &&
    says '^root 0' && says '^strict 3'
  verdict "without tracefs: root records, and sees what is limited" $? "$TMP/log"
  says '^sonda: tracefs is not mounted on .*; run: sudo mount -t tracefs' && says '^record 1'
  verdict "without tracefs: record tells others how to mount it" $? "$TMP/log"
  says '^limit +btf +the kernel has no BTF.*your own BPF programs may not load'
  verdict "without BTF" $? "$TMP/log"
fi

mkdir "$other" && echo 1 >"$other/events/sched/sched_process_exit/enable" && doctor 0 tracers &&
  says "instance doctor-$$ .1 event." && says "private instance"
verdict "another tracer at work is named" $? "$TMP/log"
exec 7<"$other/events"
doctor 0 tracers && ! says "pid $$\)"
verdict "but not who has a directory of tracefs open" $? "$TMP/log"
exec 7<"$other/trace_pipe"
doctor 0 tracers && says "by .*\(pid $$\)" && says "run: sudo kill .*$$"
verdict "the reader of another tracer is named" $? "$TMP/log"
exec 7<&-
rmdir "$other"

start_ready TRACED_NOTIFY_FD "$TMP/service.log" "$BIN/sondad" && doctor 1 && says '^fault +probes +no connected producer' && says 'run: sudo .*sonda-probes'
verdict "a service without sonda-probes" $? "$TMP/log"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes" && doctor 0 && says '^ok +service +sondad.* listens on' &&
  says '^ok +probes +sonda-probes .pid [0-9]+. provides linux.ftrace' && says '^ok +rights +the service.s sonda-probes has all'
verdict "a service that works" $? "$TMP/log"
exit $BAD
