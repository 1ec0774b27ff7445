#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sondad as a process: its sockets, its options, its end, and that it sleeps when there is nothing to do.
. "$(dirname "$0")/../lib.sh"
pid=""
background=""
leave() {
  [ -z "$pid$background" ] || kill $pid $background 2>/dev/null
  wait
  rm -rf "$TMP"
}
use_sockets "$TMP"
sondad=$B/bin/sondad

start() { # [ENV=VALUE]... [COMMAND...] ; sets $pid; returns when the sockets are open
  local last=${!#}
  [ $# != 0 ] || last=
  case $last in *=* | "") set -- "$@" "$sondad" ;; esac
  mkfifo "$TMP/ready"
  env TRACED_NOTIFY_FD=9 "$@" 9>"$TMP/ready" 2>"$TMP/log" &
  pid=$!
  ready=$(timeout 20 cat "$TMP/ready")
  rm "$TMP/ready"
}
stop() { # SIGNAL; the exit status is sondad's
  local status
  kill "-$1" "$pid" && wait "$pid"
  status=$?
  pid=
  return $status
}
answers() { "$B/tests/system/service_ping" >/dev/null; }
switches() { awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$pid/status"; }
refuses() { # STATUS PATTERN COMMAND...: ends with the status and one line on stderr that matches
  local status=$1 pattern=$2
  shift 2
  timeout 20 "$@" >"$TMP/out" 2>"$TMP/err"
  [ $? = "$status" ] && grep -qE "$pattern" "$TMP/err"
}

check "help tells the sockets" eval '"$sondad" --help | grep -q "$TMP/producer"'
check "version is reported" eval '"$sondad" --version | grep -q sondad'
check "an unknown option is a usage error" refuses 2 usage "$sondad" --no-such-option
check "arguments are a usage error" refuses 2 'see sondad --help' "$sondad" something

# What other machines could reach is opened only where the person says from where.
check "a TCP socket is refused without a list of addresses" refuses 1 "127.0.0.1:0: TCP and vsock do not authenticate peers; list the producers' addresses with --allow-remote" \
  env PERFETTO_PRODUCER_SOCK_NAME="$TMP/producer,127.0.0.1:0" "$sondad"
check "a vsock is refused without a list of addresses" refuses 1 "vsock://-1:5: TCP and vsock do not authenticate peers; list the producers' addresses with --allow-remote" \
  env PERFETTO_PRODUCER_SOCK_NAME=vsock://-1:5 "$sondad"
check "what was opened before is gone" test ! -e "$TMP/producer"
check "a name is no address" refuses 2 "'localhost' is not an address" "$sondad" --allow-remote localhost
check "no list opens TCP to consumers" refuses 1 "the consumer socket must be a unix socket" \
  env PERFETTO_CONSUMER_SOCK_NAME=127.0.0.1:0 "$sondad" --allow-remote 0.0.0.0/0
check "relays are taken on producer sockets only" refuses 1 "$TMP/consumer: not a producer socket" \
  "$sondad" --enable-relay-endpoint-on "$TMP/consumer"

start
check "TRACED_NOTIFY_FD gets a 1 when the sockets are open" test "$ready" = 1
check "both sockets are there" eval '[ -S "$TMP/producer" ] && [ -S "$TMP/consumer" ]'
check "a query is answered" answers
check "a second sondad on the sockets of a live one refuses" refuses 1 "$TMP/producer" "$sondad"
check "the first one is as it was" answers

# Two seconds without a request; on a busy machine what came before may still be at work in the first.
sleeps() {
  local before
  for _ in 1 2 3; do
    before=$(switches)
    sleep 2
    [ "$before" != "$(switches)" ] || return 0
  done
  return 1
}
check "an idle sondad does not wake up" sleeps

check "SIGTERM ends it well" stop TERM
check "its sockets are gone" eval '! [ -e "$TMP/producer" ] && ! [ -e "$TMP/consumer" ]'
# But what its sandbox lacks: in a build with a sanitizer, on a kernel without Landlock.
check "it had nothing to say" eval '! grep -v "no sandbox\|no Landlock" "$TMP/log"'

start
kill -KILL "$pid"
{ wait "$pid"; } 2>/dev/null
pid=
check "a killed one leaves its sockets" test -S "$TMP/producer"
start
check "the next one takes them over" answers
check "SIGINT ends it well" stop INT

start PERFETTO_PRODUCER_SOCK_NAME="$TMP/p1,$TMP/p2,@sonda-test-$$" PERFETTO_CONSUMER_SOCK_NAME="@sonda-test-$$-c"
check "a list of producer sockets is opened" eval '[ -S "$TMP/p1" ] && [ -S "$TMP/p2" ]'
check "each of them takes producers" "$B/tests/system/service_ping" "$TMP/p1" "$TMP/p2" "@sonda-test-$$"
check "abstract sockets too" env PERFETTO_CONSUMER_SOCK_NAME="@sonda-test-$$-c" "$B/tests/system/service_ping"
check "it ends well with abstract sockets" stop TERM

# ---- what it gives up

status() { awk -v field="$1:" '$1 == field { print $2 }' "/proc/${2:-$pid}/status"; } # FIELD [PID]
# Where root may not raise its limits, CAP_SYS_NICE stays in place of them.
limit_of() { awk -v what="$1" 'index($0, what) == 1 { print $4 }' "/proc/$pid/limits"; }
has_no_capability() {
  local field rest=0000000000000000
  [ "$(limit_of 'Max nice priority')" -ge 40 ] && [ "$(limit_of 'Max realtime priority')" -ge 99 ] ||
    rest=0000000000800000
  for field in CapInh CapPrm CapEff CapBnd CapAmb; do
    case $(status $field) in 0000000000000000 | "$rest") ;; *) return 1 ;; esac
  done
}
start
if grep -q "no sandbox" "$TMP/log"; then
  skip "the sandbox" "built with a sanitizer"
else
  files=$(pgrep -P "$pid" -x sonda-files)
  if [ "$(id -u)" = 0 ]; then
    check "no capability is left but what sets its own priority" has_no_capability
    own=$(id -u sonda 2>/dev/null || id -u nobody)
    group=$(id -g sonda 2>/dev/null || id -g nobody)
    check "it is root no more, and has no group of root's" eval '
      [ "$(awk "/^Uid:|^Gid:/ { print \$2, \$3, \$4, \$5 }" "/proc/$pid/status" | xargs)" = \
        "$own $own $own $own $group $group $group $group" ] && [ -z "$(status Groups)" ]'
    check "clients take its sockets for root's" "$B/bin/sonda" status
    check "its child stays root's, without a capability" test "$(status Uid "$files") $(status CapEff "$files") \
$(status CapPrm "$files") $(status CapBnd "$files")" = "0 0000000000000000 0000000000000000 0000000000000000"
  fi
  check "the child's system calls are filtered, too" test "$(status NoNewPrivs "$files") $(status Seccomp "$files")" = "1 2"
  check "none can be won back" test "$(status NoNewPrivs)" = 1
  check "system calls are filtered, in each thread" test "$(sed -n 's/^Seccomp:\t//p' "/proc/$pid"/task/*/status | sort -u)" = 2
fi
stop TERM
check "the child ends with it" test ! -e "/proc/${files:-none}"
if [ "$(id -u)" = 0 ] && ! grep -q "no sandbox" "$TMP/log"; then
  start "$sondad" --output-dir "$TMP"
  files=$(pgrep -P "$pid" -x sonda-files)
  check "with an output directory it is the child that has CAP_CHOWN" test "$(status CapPrm "$files") $((0x$(status CapPrm) & 1))" = \
    "0000000000000001 0"
  stop TERM
fi
# Of a process without core dumps and ptrace /proc belongs to root.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && ! grep -q "no sandbox" "$TMP/log"; then
  chmod 755 "$TMP"
  mkdir -m 777 "$TMP/own"
  cp "$sondad" "$TMP/own/sondad"
  start PERFETTO_PRODUCER_SOCK_NAME="$TMP/own/p" PERFETTO_CONSUMER_SOCK_NAME="$TMP/own/c" \
    setpriv --reuid 4242 --regid 4242 --clear-groups "$TMP/own/sondad"
  check "processes of its user may not look into it" test "$(status Uid) $(stat -c %u "/proc/$pid/maps")" = "4242 0"
  stop TERM
fi
check "an output directory must be there" refuses 1 "$TMP/none: No such file" "$sondad" --output-dir "$TMP/none"
check "no socket is left" test ! -e "$TMP/producer"
# The only user that such a namespace has is root.
if [ "$(id -u)" = 0 ] && unshare --user --map-root-user true 2>/dev/null && ! grep -q "no sandbox" "$TMP/log"; then
  start unshare --user --map-root-user "$sondad"
  check "root without another user stays root, and says so" eval \
    '[ "$(status Uid)" = 0 ] && grep -q "continuing as root, without capabilities" "$TMP/log"'
  check "root that stays root has no capability" has_no_capability
  check "root that stays root has the system call filter" test "$(status Seccomp)" = 2
  stop TERM
fi
start "$sondad" --no-sandbox
check "without the sandbox they are not" test "$(status Seccomp)" = 0
check "without the sandbox it keeps its user" test "$(status Uid)" = "$(id -u)"
stop TERM

# ---- what others have added to the format

printf '\n\011\n\007x.proto' >"$TMP/set"
gzip -nc "$TMP/set" >"$TMP/set.gz"
echo 'buffers { size_kb: 4 } write_into_file: true duration_ms: 1' >"$TMP/cfg"
start "$sondad" --extension-descriptors "$TMP/set" --extension-descriptors "$TMP/set.gz"
check "a trace is written" eval '"$B/tests/system/write_into" "$TMP/cfg" >"$TMP/trace"'
stop TERM
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
has_bytes_of() { case $(hex "$TMP/trace") in *"$(hex "$1")"*) ;; *) return 1 ;; esac; }
check "descriptors of extensions are in it" has_bytes_of "$TMP/set"
check "compressed ones too" has_bytes_of "$TMP/set.gz"
check "a file of something else is refused" refuses 1 'not a descriptor set' \
  "$sondad" --extension-descriptors "$TMP/cfg"
check "a file that is not there is refused" refuses 1 'No such file' "$sondad" --extension-descriptors "$TMP/none"

# ---- who may connect

start "$sondad" --set-socket-permissions "$(id -g):0666:$(id -G | awk '{ print $NF }'):0660"
check "the producer socket has the group and mode that were asked for" \
  test "$(stat -c '%g %a' "$TMP/producer")" = "$(id -g) 666"
check "the consumer socket has its group and mode" test "$(stat -c '%g %a' "$TMP/consumer")" = "$(id -G | awk '{ print $NF }') 660"
check "it answers with those groups and modes" answers
stop TERM
umask 0
start
check "with a umask of 0 the consumer socket is its user's only" test "$(stat -c %a "$TMP/consumer")" = 600
stop TERM
umask 022
if [ "$(id -u)" = 0 ]; then
  start PERFETTO_CONSUMER_SOCK_NAME="@sonda-test-$$-c"
  check "an abstract socket serves root" env PERFETTO_CONSUMER_SOCK_NAME="@sonda-test-$$-c" "$B/tests/system/service_ping"
  refuses_user() {
    ! PERFETTO_CONSUMER_SOCK_NAME="@sonda-test-$$-c" timeout 20 setpriv --reuid "$1" --clear-groups \
      "$B/tests/system/service_ping" >/dev/null 2>&1
  }
  check "no other user connects" refuses_user 4242
  check "not even the one that it has become" refuses_user "$(id -u sonda 2>/dev/null || id -u nobody)"
  check "who is named" grep -q "of uid 4242 is refused" "$TMP/log"
  stop TERM
fi
check "three parts are a usage error" refuses 2 PGROUP:PMODE "$sondad" --set-socket-permissions root:0666:root
check "a mode that has no four octal digits is a usage error" refuses 2 '"0888" is not a mode: use four octal digits' \
  "$sondad" --set-socket-permissions root:0888:root:0660
check "a group that is not there is a usage error" refuses 2 'group "no-such-name" does not exist' \
  "$sondad" --set-socket-permissions root:0666:no-such-name:0660
check "an abstract socket has no permissions" refuses 1 'abstract' \
  env PERFETTO_PRODUCER_SOCK_NAME="@sonda-test-$$" "$sondad" --set-socket-permissions root:0666:root:0660
if [ "$(id -u)" != 0 ]; then
  check "a group that is not one's own is an error" refuses 1 'group 0' \
    "$sondad" --set-socket-permissions 0:0666:0:0660
  check "after an error no socket is left" test ! -e "$TMP/producer"
fi

check "a user of data sources of the system must exist" refuses 2 'user "no-such-name" does not exist' \
  "$sondad" --system-users root,no-such-name

# ---- a memory control group

cgroup=
make_cgroup() { # 64 MB of memory, in the hierarchy that has the controller; sets $cgroup
  local own
  if [ -d /sys/fs/cgroup/memory ]; then
    cgroup=/sys/fs/cgroup/memory/sonda-test-$$
    mkdir "$cgroup" 2>/dev/null && echo 67108864 >"$cgroup/memory.limit_in_bytes" && return
  elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    cgroup=/sys/fs/cgroup/sonda-test-$$
    mkdir "$cgroup" 2>/dev/null && echo 67108864 >"$cgroup/memory.max" && return
  fi
  [ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null
  cgroup=
  return 1
}
if grep -q "no sandbox" "$TMP/log" || ! make_cgroup; then
  skip "limits of a memory control group" "none can be made here"
else
  start bash -c "echo \$\$ >'$cgroup/cgroup.procs' && exec '$sondad'"
  echo 'buffers { size_kb: 65536 } write_into_file: true duration_ms: 1' >"$TMP/cfg"
  check "buffers that a memory control group has no room for are refused" \
    eval '! "$B/tests/system/write_into" "$TMP/cfg" >"$TMP/trace" 2>"$TMP/err"'
  sed -i 's/65536/16384/' "$TMP/cfg"
  check "smaller ones are not" eval '"$B/tests/system/write_into" "$TMP/cfg" >"$TMP/trace"'
  stop TERM
  for _ in {1..50}; do rmdir "$cgroup" 2>/dev/null && break; sleep 0.1; done
fi

# ---- files in the way

echo precious >"$TMP/producer"
check "a file that is no socket is not touched" refuses 1 'is not a socket' "$sondad"
check "it is as it was" grep -q precious "$TMP/producer"
rm "$TMP/producer"
start
mv "$TMP/producer" "$TMP/other" && echo precious >"$TMP/producer"
stop TERM
check "at the end only its own sockets go" grep -q precious "$TMP/producer"
rm "$TMP/producer" "$TMP/other"

# ---- sockets that were opened before

for how in systemd android; do
  mkfifo "$TMP/notified"
  "$B/tests/system/pass_sockets" $how "$TMP/producer" "$TMP/consumer" "$sondad" >"$TMP/notified" 2>"$TMP/log" &
  pid=$!
  exec 8<"$TMP/notified"
  read -r -t 20 notified <&8
  check "$how passes the sockets, and NOTIFY_SOCKET is reported" test "$notified" = READY=1
  check "$how: they answer" answers
  check "$how: it ends well" stop TERM
  check "$how: the sockets are left to their owner" test -S "$TMP/producer" -a -S "$TMP/consumer"
  exec 8<&-
  rm "$TMP/producer" "$TMP/consumer" "$TMP/notified"
done
check "half of Android's sockets are an error" refuses 1 ANDROID_SOCKET_traced_consumer \
  env ANDROID_SOCKET_traced_producer=0 "$sondad"

check "TCP is refused" refuses 1 'allow-remote' env PERFETTO_PRODUCER_SOCK_NAME=127.0.0.1:32278 "$sondad"
check "vsock is refused" refuses 1 'must be a unix socket' env PERFETTO_CONSUMER_SOCK_NAME=vsock://1:20 "$sondad"
check "a directory that is not there is named" refuses 1 "$TMP/no/such" \
  env PERFETTO_CONSUMER_SOCK_NAME="$TMP/no/such" "$sondad"
check "no socket is left by a failed start" test ! -e "$TMP/producer"

background=$("$sondad" --background)
check "--background prints the process id" test -d "/proc/$background"
check "--background answers at once" answers
exit $BAD
