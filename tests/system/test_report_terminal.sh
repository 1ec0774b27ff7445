#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda report on a terminal: its width, colours, the pager and Ctrl-C in it, another size of the window.
. "$(dirname "$0")/../lib.sh"
needs_commands python3 less
. tests/system/tmux.sh
cd "$TMP" || exit 2
python3 "$OLDPWD/tests/system/report_trace.py" "$B/gen/fields.h" t.pf || exit 1
report=$B/bin/sonda\ report

# What the pager gets: the report as it is made for this terminal.
paged() { # ARGUMENTS...
  rm -f paged
  terminal_run "SONDA_PAGER='cat >paged' $report $*; touch ended"
  terminal_wait test -e ended && rm ended
}
widest() { sed 's/\x1b\[[0-9;]*m//g' paged | LC_ALL=C.UTF-8 wc -L; }
run() { terminal_run "$*; echo \$? >code"; }
# Waits until the command of run() has ended; it was good.
ended() { terminal_wait test -s code && [ "$(<code)" = 0 ] && rm code; }

# ---- width and colours
terminal 200 50
paged overview t.pf
[ "$(widest)" -gt 80 ] && grep -q '/usr/bin/server' paged && ! grep -q ' +' paged
verdict "wide: nothing is cut" $? paged
grep -q $'^\e\[1mCPUs\e\[0m' paged
verdict "heads are bold" $? paged
paged timeline t.pf
LC_ALL=C.UTF-8 grep -q '█' paged && [ "$(widest)" -gt 120 ] && [ "$(widest)" -le 200 ]
verdict "wide: the timeline takes the width" $? paged
terminal 50 24
for name in overview cpu latency timeline 'why app' io counters; do
  paged "$name" t.pf
  [ -s paged ] && [ "$(widest)" -le 50 ]
  verdict "narrow: no line of $name is too long" $? paged
done
paged latency t.pf
grep -q ' +' paged
verdict "narrow: a table that lost columns says so" $? paged
terminal 100 24 NO_COLOR=1
paged 'why app' t.pf
grep -qE 'waits in .*woken by .*waker woken by +thread$' paged && ! grep -q 'waker function' paged
verdict "narrow: columns without a value make room for the others" $? paged
paged overview t.pf
! grep -q $'\e' paged
verdict "NO_COLOR" $? paged
terminal_resize 60 24
paged overview t.pf
[ "$(widest)" -le 60 ]
verdict "a report after a change of the size has the new width" $? paged
terminal_run "$report t.pf | cat >piped; touch ended"
terminal_wait test -e ended && ! grep -q $'\e' piped && grep -q '/usr/bin/server' piped
verdict "piped: no pager, no colours, nothing cut" $? piped

# ---- the pager
terminal 80 10
run "$report t.pf"
terminal_shows '^:' && [ "$(terminal_programs | wc -l)" = 1 ]
verdict "a long report waits in less" $?
terminal_keys C-c
terminal_keys g
terminal_shows '^Trace' && terminal_shows '^:' && ! terminal_has '^shell>'
verdict "Ctrl-C is the pager's: it shows on" $?
terminal_resize 100 30
terminal_shows '^Programs'
verdict "the pager follows a change of the size" $?
terminal_keys q
ended && terminal_is_restored
verdict "q ends it; the terminal is as before" $?
run "$report loss t.pf"
ended && terminal_shows '^Losses and errors'
verdict "a short report is printed and needs no key" $?
run "PATH= $report loss t.pf"
ended && terminal_shows '^Losses and errors' && ! terminal_shows 'not found'
verdict "without less it is printed, too" $?
run "$report --no-pager t.pf"
ended
verdict "--no-pager" $?
terminal 80 24 SONDA_PAGER=/no/such/pager
run "$report loss t.pf"
ended && terminal_shows '^Losses and errors'
verdict "without the pager the report is printed" $?
terminal 80 24 PAGER=false
run "$report t.pf"
ended
verdict "a pager that reads nothing is no error" $?
exit $BAD
