#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Names of a trace are other users' text: none of them commands the terminal on which it is shown.
. "$(dirname "$0")/../lib.sh"
needs_commands script
# script runs its command by this shell; the quoted names below are written for bash.
export SHELL=/bin/bash
export SONDA_PAGER=cat TERM=xterm-256color
python3 tests/system/hostile_trace.py "$TMP/trace" || exit 77

# Shows what stays of the output without the colours of the program, if it has control characters or turns text.
commands_of() { sed 's/\x1b\[\(0\|1\|2\|3[1-7]\)m//g' "$1" | tr -d '\r' | LC_ALL=C grep -aE $'[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae|\x1b'; }
shows() { # COMMAND WITH ITS ARGUMENTS
  local r
  N=$((N + 1))
  script -qec "$SONDA $1" /dev/null </dev/null >"$TMP/out" 2>&1
  r=$?
  if [ $r = 0 ] && grep -qa 'attack' "$TMP/out" && ! commands_of "$TMP/out" >"$TMP/commands"; then
    echo "ok $N - a terminal shows sonda $(sed 's/ [^ ]*trace.*//' <<<"$1")"
    return
  fi
  echo "not ok $N - a terminal shows sonda $1"
  { echo "exit code $r"; head -n 5 "$TMP/commands"; } | cat -v | sed 's/^/#   /'
  BAD=1
}

for report in overview cpu sched slices timeline; do
  shows "report $report $TMP/trace"
  shows "report --csv $report $TMP/trace"
  shows "report --json $report $TMP/trace"
done
shows "info $TMP/trace"
for table in thread slice args metadata machine; do
  shows "sql $TMP/trace 'select * from $table'"
  shows "sql --csv $TMP/trace 'select * from $table'"
  shows "sql --json $TMP/trace 'select * from $table'"
done
shows "export --json -o - $TMP/trace"
shows "export --folded slices -o - $TMP/trace"
shows "export --folded sched -o - $TMP/trace"

# Names of files, too; a command that is suggested for such a file is one that a shell runs on it.
NAME=$'attack \e]0;x\a$(touch id)\'.pftrace'
mkdir "$TMP/names" && cp tests/data/traces/ring_losses.pftrace "$TMP/names/$NAME"
cd "$TMP/names" || exit 2
for command in "info" "report" "report sched" "split --every 1s" "cut --to 1s -o c$(printf %q "$NAME")" "export --json -o e$(printf %q "$NAME")"; do
  shows "$command $(printf %q "$NAME")"
done
N=$((N + 1))
suggested=$("$SONDA" report "$NAME" | grep -ao 'sonda report timeline [^)]*)[^)]*)')
if bash -c "sonda() { \"$SONDA\" \"\$@\"; }; ${suggested%)}" >"$TMP/out" 2>&1 && [ ! -e id ] && [[ ${suggested%)} = *"\$'"* ]]; then
  echo "ok $N - a suggested command is quoted"
else
  echo "not ok $N - a suggested command is quoted"
  { echo "$suggested"; head -5 "$TMP/out"; } | cat -v | sed 's/^/#   /'
  BAD=1
fi

N=$((N + 1))
name() { "$SONDA" sql --csv "$TMP/trace" 'select name from slice limit 1'; }
if name | LC_ALL=C grep -qaF $'\x1b]0;attack\x07'; then
  echo "ok $N - a program gets the name as it is"
else
  echo "not ok $N - a program gets the name as it is"
  name | cat -v | sed 's/^/#   /'
  BAD=1
fi
exit $BAD
