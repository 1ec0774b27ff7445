#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda record --host without ssh: with a shell of this machine, and with machines that answer wrongly.
# (tests/root/test_host.sh has a real sshd.)
. "$(dirname "$0")/lib.sh"
needs_commands python3
cd "$TMP" || exit 2
use_sockets "$TMP"
export TMPDIR=$TMP/tmp
mkdir "$TMPDIR"
VERSION=$("$SONDA" version | cut -d' ' -f2)
export VERSION
cat >shell <<'SHELL'
#!/bin/sh
shift
PATH=$OTHER_PATH:$PATH exec "$@"
SHELL
chmod +x shell
fake="python3 $OLDPWD/tests/system/fake_host.py"

run() { # SSH EXPECTED_CODE ARGS...
  SONDA_SSH=$1 timeout 60 "$SONDA" record "${@:3}" >out 2>log </dev/null
  [ $? = "$2" ]
}
details() { tail -n 20 log out; ls; }
says() { grep -qF -- "$1" log; }

# ---- this machine, through a shell ---------------------------------------------------------------

export OTHER_PATH=$BIN
run ./shell 0 --host me -t 100ms -o a minimal && "$SONDA" info a >info && says 'to a' && says 'next      sonda report a'
verdict "a recording through a shell" $?
run ./shell 3 --host me --exit-code -q -o b minimal -- sh -c 'echo "$0"; exit 3' "it's" && [ "$(cat out)" = "it's" ] && [ ! -s log ]
verdict "a command, its output, and its exit code" $?
run ./shell 0 --host me -t 100ms --json -o c minimal && python3 -c 'import json; assert json.load(open("out"))["output"] == "c"'
verdict "the summary as JSON" $?
run ./shell 0 --host me --host you -t 100ms -o d.pftrace minimal && "$SONDA" info d.pftrace >info && [ "$(grep -c '^  machine ' info)" = 2 ] && [ "$(echo d*)" = d.pftrace ] &&
  says 'you: Recorded' && says 'merged the traces from 2 machines'
verdict "two machines, one trace" $?
run ./shell 0 --host me --host you -t 100ms -o e.tar minimal && [ "$(tar tf e.tar | wc -l)" = 3 ]
verdict "two machines, one archive" $?
touch f-you.pftrace
run ./shell 1 --host me --host you -t 100ms -o f.pftrace minimal && says 'f-you.pftrace already exists' && [ ! -e f-me.pftrace ]
verdict "a file of one of them is not replaced" $?
run ./shell 0 --host me -t 100ms minimal && ls trace-me-*.pftrace >/dev/null
verdict "the default name has the machine" $?
[ -z "$(ls tmp)" ]
verdict "no files are left" $?

# ---- other machines ------------------------------------------------------------------------------

run "$fake" 0 --host good-1 --host good-2 -t 1s -o g.pftrace sched && says 'good-1: a summary' && ! says 'clocks' &&
  [ "$(sort out)" = "$(printf 'good-%s\n' '1: and more' '1: half a line' '2: and more' '2: half a line')" ]
verdict "output of several machines comes in lines with their names" $?
run "$fake" 0 --host good --host late -t 1s -o h.pftrace sched && says "the machines' clocks differ by at least 29" && says 'are aligned using ssh round trips' &&
  "$SONDA" sql --csv h.pftrace "select max(ts) - min(ts) < 1000000000 from clock_snapshot" >info 2>&1 && tail -n 1 info | grep -q ^1
verdict "clocks that differ are measured" $?
run "$fake" 1 --host cut -t 1s -o i sched && says 'cut: the connection was lost' && says begins && "$SONDA" info i >info 2>&1 && ! grep -q 'cut off' info
verdict "a trace that ends inside a packet is cut before it" $?
run "$fake" 1 --host good --host cut -t 1s -o j.pftrace sched && says 'cut: the connection was lost' && says 'merged' && [ -e j.pftrace ]
verdict "with several machines the others are merged with what has arrived" $?
run "$fake" 1 --host garbage -t 1s -o no sched && says 'garbage: the received trace is damaged' && [ ! -e no ]
verdict "bytes that are no trace" $?
run "$fake" 1 --host frames -t 1s -o no sched && says 'frames: unexpected data from the remote agent'
verdict "an unknown frame" $?
run "$fake" 1 --host long -t 1s -o no sched && says 'long: unexpected data from the remote agent'
verdict "a frame that is too long" $?
run "$fake" 1 --host noise -t 1s -o no sched && says 'noise: the remote login shell prints too much output'
verdict "a login shell that does not stop" $?
run "$fake" 1 --host banner -t 1s -o no sched && says 'banner: the remote shell exited with code 1: This account is not ?[31mavailable.'
verdict "an account that cannot log in" $?
SONDA_STATIC=$SONDA run "$fake" 1 --host escapes -t 1s -o no sched && says 'escapes: the remote machine has sonda version 9.9?' && ! grep -q $'[\e\a]' log
verdict "what a machine says is safe to print" $?
run "sh -c 'exit 255'" 1 --host x -t 1s -o no sched && says 'x: ssh cannot connect'
verdict "ssh that fails" $?
PATH=$TMP/none "$SONDA" record --host x -t 1s -o no sched >out 2>log </dev/null
[ $? = 1 ] && says 'cannot run ssh' && says 'x: ssh or the remote shell was not found' && ! says 'sonda could not be started'
verdict "no ssh" $?
[ ! -e no ]
verdict "none of these leaves a file" $?

# ---- the command line ----------------------------------------------------------------------------

usage() { # TEXT ARGS...
  run false 2 "${@:2}" && says "$1"
  verdict "refused: ${*:2}" $?
}
usage 'expected [USER@]MACHINE' --host=-oProxyCommand=x sched
usage 'expected [USER@]MACHINE' --host 'a b' sched
usage 'expected [USER@]MACHINE' --host user@ sched
usage "'web' is given twice" --host bob@web --host web sched
usage '--sudo requires --host' --sudo sched
usage '--detach cannot be combined with --host' --host web --detach x sched
usage '--json requires a single --host' --host a --host b --json sched
echo "1..$N"
exit $BAD
