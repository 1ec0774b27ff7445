# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of this directory: root and a tracefs (mounted for the time of the test where it is not), a private
# workplace, and a picture of tracefs to compare with afterwards. Sourced.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
needs_root
# The programs of an installation whose units run (tests/interop/test_systemd_attacked.sh).
[ -z "${INSTALLED:-}" ] || BIN=$INSTALLED/bin SONDA=$INSTALLED/bin/sonda
needs_built "$BIN/sondad" "$BIN/sonda-probes"
TRACEFS=/sys/kernel/tracing

leave() {
  local i started=("${PIDS[@]}")
  stop_all KILL
  # Killed programs leave instances, and the commands that they recorded.
  for i in "${started[@]}"; do
    rmdir $TRACEFS/instances/sonda-"$i"-* 2>/dev/null
  done
  for i in $(cat "$TMP/commands" 2>/dev/null); do
    [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$i/cmdline")" != 'sleep 600 ' ] || kill "$i"
  done
  [ -z "${MOUNTED:-}" ] || umount $TRACEFS
  rm -rf "$TMP"
}

if [ ! -e $TRACEFS/trace ]; then
  mount -t tracefs none $TRACEFS 2>/dev/null || { echo "no tracefs here" >&2; exit 77; }
  MOUNTED=1
fi
# The ring of the boot grows with the first event, as it would for anybody; not between two pictures.
! grep -q expanded $TRACEFS/buffer_size_kb || echo >>$TRACEFS/set_event
# Daemons inherit this, so that those of tests that run beside this one can be distinguished.
export SONDA_TEST=$TMP
# Nothing of this machine's own tracing service may answer.
[ -n "${INSTALLED:-}" ] || use_sockets "$TMP"

# Everything at top level that a tracer could leave changed, and other people's instances.
picture() {
  local f
  find $TRACEFS/instances -mindepth 1 -maxdepth 1 ! -name 'sonda-*' | sort
  for f in tracing_on current_tracer trace_clock buffer_size_kb set_event set_event_pid tracing_cpumask buffer_percent; do
    printf '%s: ' $f
    cat $TRACEFS/$f 2>/dev/null | tr '\n' ' '
    echo
  done
  grep -l '^1' $TRACEFS/events/*/*/enable $TRACEFS/events/*/enable 2>/dev/null
  cat $TRACEFS/trace_options
}

# The same without instances: those of others may come and go.
# While the top level does not record, a session of another test switches its copies of markers off (test_markers.sh).
top_level() { picture | sed '0,/^tracing_on/{/^tracing_on/!d}; /copy_trace_marker$/d'; }

# All that can be set in an instance or at top level, as it reads. (What sessions make for themselves at top level has
# names of its own, and others may be at it.)
settings_of() { # DIR
  (
    cd "$1" || exit
    grep -H '' set_* buffer_[^t]* tracing_* {kprobe,uprobe,dynamic,synthetic}_events current_tracer trace_clock \
      max_graph_depth options/* per_cpu/*/buffer_size_kb
    find events -path 'events/sonda_*' -prune -o \( -name enable -o -name filter -o -name trigger \) -print0 |
      sort -z | xargs -0 grep -H ''
  ) 2>/dev/null | grep -v 'sonda_'
}

# Can a command have mounts of its own? Not below a root directory that is not a mount point, which most chroots are.
has_own_mounts() { unshare --mount --propagation private true 2>/dev/null; }
needs_own_mounts() { has_own_mounts || { echo "the root directory is not a mount point: no mounts of the test's own" >&2; exit 77; }; }

# How much of a load: SLOWNESS is how many times this machine is slower than a real one (guests of tests/kernels).
scaled() { # NUMBER
  echo $(($1 / ${SLOWNESS:-1}))
}

# Builds with a sanitizer have no sandbox.
is_sanitized() { grep -qaE '__[at]san_init' "$BIN/sonda-probes"; }

# Does the log have only the line that sonda-probes always writes while it records?
complains_of_nothing() { # LOG
  ! log_of "$1" | grep -v 'ring buffers are read with SCHED_'
}

# Is this a sonda-probes that this test started?
is_ours() { # PID
  [ -z "${INSTALLED:-}" ] || { [ "$1" = "$probes" ]; return; }
  [ "$(readlink "/proc/$1/exe")" = "$(readlink -f "$BIN/sonda-probes")" ] &&
    grep -qzxF "SONDA_TEST=$TMP" "/proc/$1/environ"
}

# Instances of this test's processes, also of those that were killed: they are known if they were started by
# start_ready, or seen here while they lived.
our_dirs() {
  local i pid
  for i in "$TRACEFS"/instances/sonda-*; do
    pid=${i##*/sonda-}
    pid=${pid%%-*}
    if is_ours "$pid"; then
      echo "$pid" >>"$TMP/ours"
    else
      [ ! -e "/proc/$pid" ] && grep -qsx "$pid" "$TMP/ours" || continue
    fi
    [ ! -e "$i" ] || echo "$i"
  done 2>/dev/null
}
our_instances() { [ -n "$(our_dirs)" ]; } # fails when there is none
no_instances() { ! our_instances; }

# Does one of them record? An instance is there long before it does.
we_record() {
  local i
  for i in $(our_dirs); do [ "$(cat "$i/tracing_on" 2>/dev/null)" != 1 ] || return 0; done
  return 1
}

# Starts a daemon as start does. The test ends if it is not ready.
start_ready() { # NOTIFY_VARIABLE LOG COMMAND...
  start_daemon "$@" || exit 1
  echo "${PIDS[-1]}" >>"$TMP/ours"
}

# The daemons that serve all users: those of the units, or the test's own. Sets service and probes, their processes, and
# members, the group whose members may consume.
start_for_all_users() { # PRODUCERS' GROUP:MODE
  local own=(setpriv --pdeathsig TERM) # they end with this script, also if it is killed
  if [ -n "${INSTALLED:-}" ]; then
    service=$(systemctl show -P MainPID sondad.service) probes=$(systemctl show -P MainPID sonda-probes.service)
    members=$(id -g sonda)
    return
  fi
  members=4243
  start_ready TRACED_NOTIFY_FD "$TMP/service.log" "${own[@]}" "$BIN/sondad" --set-socket-permissions "$1:$members:0660"
  service=${PIDS[-1]}
  start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "${own[@]}" "$BIN/sonda-probes"
  probes=${PIDS[-1]}
}

# Begins a recording that is on when this returns, in all its data sources. TERM to ${PIDS[-1]} ends it.
record_in_background() { # LOG ARGS...
  local log=$1
  shift
  rm -f "$TMP/is_on"
  "$BIN/sonda" record "$@" -- sh -c 'echo $$ >>"$0/commands"; echo >"$0/is_on"; exec sleep 600' "$TMP" >"$log" 2>&1 </dev/null &
  PIDS+=($!)
  wait_for [ -e "$TMP/is_on" ]
}

# How many ftrace events a trace holds.
events_in() { # TRACE
  "$B/bench/count_events" "$1" | cut -d' ' -f1
}

# A trace is whole when it reads to its last byte.
is_whole() { # TRACE
  [ -s "$1" ] && "$B/bench/count_events" "$1" >/dev/null
}
