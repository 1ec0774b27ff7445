#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
# check: long
# kernels: none
#
# sonda record --host over a real sshd, which this test starts in a network namespace with keys of its own. The machines
# are this one with another PATH: each key of authorized_keys has an environment of its own.
if [ -z "${IN_NAMESPACES:-}" ] && unshare --net --mount --propagation private true 2>/dev/null; then
  IN_NAMESPACES=1 exec unshare --net --mount --propagation private "$0"
fi
. "$(dirname "$0")/lib.sh"
[ -n "${IN_NAMESPACES:-}" ] || { echo "no network and mounts of the test's own" >&2; exit 77; }
needs_commands ssh ssh-keygen ip setpriv
sshd=$(tests/root/sshd.sh) || exit $?
ip link set lo up

# ---- the machines --------------------------------------------------------------------------------

R=$TMP/remote
chmod 711 "$TMP"
mkdir -p "$R"/{tools,none,has,old,arm} "$R/tmp" "$TMP/run"
chmod 1777 "$R/tmp"
for tool in sh bash cat chmod env head id mktemp rm sleep touch true uname wc printf sudo; do
  path=$(command -v $tool) && [ -x "$path" ] && ln -s "$path" "$R/tools/$tool"
done
for program in sonda sondad sonda-probes; do ln -s "$BIN/$program" "$R/has/$program"; done
printf '#!/bin/sh\necho 1 0.0.9\n' >"$R/old/sonda"
printf '#!/bin/sh\n[ "$1" = -m ] && echo aarch64 || echo Linux\n' >"$R/arm/uname"
printf '#!/bin/sh\n[ "$1" = -n ] || exit 9\nshift\necho "$*" >>%s\nexec "$@"\n' "$TMP/sudo" >"$R/has/sudo"
chmod 755 "$R"/*/sonda "$R/arm/uname" "$R/has/sudo" 2>/dev/null

echo 'bob:*:4242:4242::/:/bin/sh' | cat /etc/passwd - >"$TMP/passwd"
grep -q ^sshd: "$TMP/passwd" || echo 'sshd:*:4243:65534::/run/sshd:/bin/false' >>"$TMP/passwd"
mount --bind "$TMP/passwd" /etc/passwd
mount -t tmpfs run /run && mkdir -m 755 /run/sshd
ssh-keygen -q -t ed25519 -N '' -f "$TMP/host_key"
for machine in none has old arm; do
  ssh-keygen -q -t ed25519 -N '' -f "$TMP/key.$machine"
  printf 'environment="PATH=%s",environment="TMPDIR=%s",environment="SONDA_TEST=%s",environment="PERFETTO_CONSUMER_SOCK_NAME=%s" %s' \
    "$R/$machine:$R/tools" "$R/tmp" "$SONDA_TEST" "$R/tmp/no-service" "$(cat "$TMP/key.$machine.pub")"
  echo
done >"$TMP/authorized_keys"
port=4022
cat >"$TMP/sshd_config" <<CONFIG
ListenAddress 127.0.0.1:$port
HostKey $TMP/host_key
PidFile none
AuthorizedKeysFile $TMP/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitUserEnvironment yes
CONFIG
chmod 644 "$TMP/authorized_keys"
setpriv --pdeathsig TERM "$sshd" -D -e -f "$TMP/sshd_config" 2>"$TMP/sshd.log" &
PIDS+=($!)
{
  for machine in none has old arm; do
    printf 'Host %s\nIdentityFile %s\n' $machine "$TMP/key.$machine"
  done
  printf 'Host stranger\nIdentityFile %s/host_key\n' "$TMP"
  printf 'Host nowhere\nPort 1\n'
  printf 'Host *\nHostName 127.0.0.1\nPort %s\nUserKnownHostsFile %s\nStrictHostKeyChecking accept-new\nIdentitiesOnly yes\nBatchMode yes\nIdentityAgent none\n' \
    $port "$TMP/known_hosts"
} >"$TMP/ssh_config"
export SONDA_SSH="ssh -F '$TMP/ssh_config'"
wait_for ssh -F "$TMP/ssh_config" has true || { cat "$TMP/sshd.log" >&2; echo "sshd does not run here" >&2; exit 77; }

remote() { # EXPECTED_CODE ARGS...: of sonda record; the output is in $TMP/out, the messages in $TMP/log
  local expected=$1
  shift
  "$SONDA" record "$@" >"$TMP/out" 2>"$TMP/log" </dev/null
  [ $? = "$expected" ]
}
says() { grep -qF -- "$1" "$TMP/log"; }
is_trace() { "$SONDA" info "$1" >"$TMP/info" 2>&1 && ! grep -qE 'cut off|ends within' "$TMP/info"; }
# What the recording has started on the machine; sshd itself has not this variable.
leftovers() {
  local i
  for i in /proc/[0-9]*; do
    [ "${i#/proc/}" != $$ ] && grep -qzxF "PERFETTO_CONSUMER_SOCK_NAME=$R/tmp/no-service" "$i/environ" 2>/dev/null && tr '\0' ' ' <"$i/cmdline"
  done
  find "$R/tmp" -mindepth 1
}
nothing_is_left() { [ -z "$(leftovers)" ]; }
details() { cat "$TMP/log"; leftovers; tail -n 5 "$TMP/sshd.log"; }

# ---- a machine with sonda ------------------------------------------------------------------------

remote 0 --host root@has -t 300ms -o "$TMP/a" sched && is_trace "$TMP/a" && says "to $TMP/a" && says 'ended    duration reached' && says 'lost     nothing'
verdict "a machine records, and its summary is shown here" $?
grep -qE 'events +sched [1-9]' "$TMP/info"
verdict "the trace has its events" $? "$TMP/info"
# shellcheck disable=SC2016
# shellcheck disable=SC1003 # a backslash is one of the words
words=('a  b' "it's" '$(touch '"$R/tmp/evil)" '`id`' $'two\nlines' '' '*' '\' '";exit 1;"' 'ü')
remote 7 --host has --exit-code -o "$TMP/b" sched -- sh -c 'printf "%s|" "$@"; echo errors >&2; exit 7' sh "${words[@]}" &&
  [ "$(cat "$TMP/out"; echo .)" = "$(printf '%s|' "${words[@]}"; echo .)" ] && says errors && says "exited with code 7" && is_trace "$TMP/b"
verdict "the command runs there with its arguments unchanged; output and exit code arrive" $? "$TMP/out"
remote 0 --host has --sudo -t 100ms -o "$TMP/c" sched && is_trace "$TMP/c" && grep -qx 'sonda record --agent' "$TMP/sudo"
verdict "--sudo runs it by sudo" $?
"$SONDA" record --host has -t 200ms -o - sched 2>"$TMP/log" </dev/null | cat >"$TMP/d" && is_trace "$TMP/d" && says 'to standard output'
verdict "the trace goes to a pipe" $?
printf 'buffers { size_kb: 4096 }\nduration_ms: 200\ndata_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }\n' >"$TMP/cfg"
remote 0 --host has -c "$TMP/cfg" -o "$TMP/e" && is_trace "$TMP/e"
verdict "a config of this machine is used there" $?
echo nonsense >"$TMP/cfg"
remote 2 --host has -c "$TMP/cfg" -o "$TMP/no" && says "$TMP/cfg:1" && [ ! -e "$TMP/no" ]
verdict "errors in it name it" $?
remote 2 --host has -t 1s -o "$TMP/no" sched_swich && says "did you mean" && [ ! -e "$TMP/no" ]
verdict "an event that does not exist there leaves no file here" $?
remote 0 --host has --show-config sched && grep -q sched/sched_switch "$TMP/out"
verdict "--show-config shows the config of that machine" $? "$TMP/out"

# ---- ends ----------------------------------------------------------------------------------------

begin() { # ARGS...: in a session of its own; ${PIDS[-1]} is sonda
  rm -f "$R/tmp/on"
  setsid "$SONDA" record "$@" >"$TMP/out" 2>"$TMP/log" </dev/null &
  PIDS+=($!)
}
ends_with() { # CODE
  { wait "${PIDS[-1]}"; } 2>/dev/null
  [ $? = "$1" ]
}
has_data() { [ -s "$1" ]; }

begin --host has -o "$TMP/f" sched
wait_for has_data "$TMP/f"
kill -INT -- "-${PIDS[-1]}" # as the terminal does: to ssh as well
ends_with 0 && is_trace "$TMP/f" && says 'stopped by SIGINT' && nothing_is_left
verdict "Ctrl-C ends both sides, and the trace is saved" $?
begin --host has --exit-code -o "$TMP/g" sched -- bash -c 'trap "exit 5" INT; touch "$TMPDIR/on"; while [ $SECONDS -lt 20 ]; do sleep 0.05; done'
begin_time=$SECONDS
wait_for [ -e "$R/tmp/on" ]
kill -INT -- "-${PIDS[-1]}"
ends_with 5 && says 'exited with code 5' && rm "$R/tmp/on" && nothing_is_left && [ $((SECONDS - begin_time)) -lt 15 ]
verdict "the command gets the first Ctrl-C" $?
begin --host has -o "$TMP/h" sched -- bash -c 'trap "" HUP TERM INT; touch "$TMPDIR/on"; while [ $SECONDS -lt 20 ]; do sleep 0.05; done'
wait_for [ -e "$R/tmp/on" ]
wait_for has_data "$TMP/h"
rm "$R/tmp/on"
kill -KILL "$(cat "/proc/${PIDS[-1]}/task/${PIDS[-1]}/children")"
ends_with 1 && says 'has: the connection was lost' && says 'ended    lost the connection to has' && is_trace "$TMP/h"
verdict "a cut connection is reported, and what has arrived is a valid trace" $? "$TMP/info"
wait_for nothing_is_left
verdict "nothing runs there afterwards, not even a command that ignores signals" $?

if [ -x "$B/static/sonda" ]; then
  export SONDA_STATIC=$B/static/sonda
  remote 0 --host none -t 200ms -o "$TMP/i" sched && is_trace "$TMP/i" && says 'lost     nothing' && says 'none has no sonda' && nothing_is_left
  verdict "a machine without sonda gets the static program, which is gone afterwards" $?
  remote 0 --host old -t 100ms -o "$TMP/j" sched && is_trace "$TMP/j"
  verdict "so does a machine with another version" $?
  begin --host none -o "$TMP/k" sched -- bash -c 'trap "" HUP; touch "$TMPDIR/on"; while [ $SECONDS -lt 20 ]; do sleep 0.05; done'
  wait_for [ -e "$R/tmp/on" ]
  wait_for has_data "$TMP/k"
  rm "$R/tmp/on"
  [ "$(find "$R/tmp" -name sonda)" = '' ] && kill -KILL "${PIDS[-1]}"
  ends_with 137
  wait_for nothing_is_left && is_trace "$TMP/k"
  verdict "SIGKILL of this side leaves no process and no file there, and a valid trace here" $?
  # A program that takes a second to be copied.
  cp "$SONDA_STATIC" "$TMP/large" && truncate -s 400M "$TMP/large"
  SONDA_STATIC=$TMP/large begin --host none -o "$TMP/no" sched
  until [ -n "$(find "$R/tmp" -name sonda -size +1M)" ] || ! kill -0 "${PIDS[-1]}"; do sleep 0.02; done 2>/dev/null
  kill -KILL "${PIDS[-1]}"
  ends_with 137
  wait_for nothing_is_left
  verdict "nor when it comes while the program is copied" $?
  remote 1 --host arm -t 1s -o "$TMP/no" sched && says "arm: the remote machine is aarch64, but $SONDA_STATIC was built for x86_64" && [ "$(wc -l <"$TMP/log")" = 1 ]
  verdict "another architecture gives one line" $?
  export SONDA_STATIC=$SONDA
  remote 1 --host none -t 1s -o "$TMP/no" sched && says "needs shared libraries"
  verdict "a program that needs libraries is not copied" $?
else
  skip "the copy of the program" "make static was not run"
fi
export SONDA_STATIC=$TMP/missing
remote 1 --host old -t 1s -o "$TMP/no" sched && says "old: the remote machine has sonda version 0.0.9, not" && says "cannot read $TMP/missing" && [ "$(wc -l <"$TMP/log")" = 1 ]
verdict "without a program to copy, another version gives one line" $?

# ---- no connection, no rights --------------------------------------------------------------------

remote 1 --host nowhere -t 1s -o "$TMP/no" sched && says 'nowhere: ssh cannot connect'
verdict "a machine that does not answer" $?
remote 1 --host stranger -t 1s -o "$TMP/no" sched && says 'Permission denied' && says 'stranger: ssh cannot connect'
verdict "a key that is not accepted" $?
remote 1 --host bob@has -t 1s -o "$TMP/no" sched && says 'has: sonda did not run as root there; use --host root@has'
verdict "a user without rights" $?
SONDA_SSH=/nonexistent/ssh remote 1 --host has -t 1s -o "$TMP/no" sched && says 'has: '
verdict "no ssh" $?
[ ! -e "$TMP/no" ]
verdict "none of these leaves a file" $?

# ---- several machines ----------------------------------------------------------------------------

SONDA_SSH="$SONDA_SSH -i '$TMP/key.has'" remote 0 --host root@has --host 127.0.0.1 -t 300ms -o "$TMP/all.pftrace" sched &&
  says 'has: Recorded' && says '127.0.0.1: Recorded' && says 'merged the traces from 2 machines' &&
  "$SONDA" info "$TMP/all.pftrace" >"$TMP/info" 2>&1 && [ "$(grep -c '^  machine ' "$TMP/info")" = 2 ] && [ "$(echo "$TMP"/all*)" = "$TMP/all.pftrace" ]
verdict "two machines give one trace" $?
wait_for nothing_is_left
verdict "nothing is left there" $?
echo "1..$N"
exit $BAD
