#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# tracefs: shared
#
# The unit of sonda recorder under a real systemd: enable, a kill, other words, a snapshot by root, disable.
. "$(dirname "$0")/lib.sh"
. "$HERE/systemd_lib.sh"
unit=sonda-recorder.service ring=/var/lib/sonda/recorder
link=/etc/systemd/system/multi-user.target.wants/$unit
details() { cat "$TMP/ctl" "$TMP/said"; inside cat $ring/state; }
recorder() { sonda recorder "$@" >"$TMP/said" 2>&1; }
records() { recorder status && grep -q '^recorder  recording' "$TMP/said"; }
parts() { inside find $ring -name 'part-*' | sort; }

ctl start $unit
is $unit ActiveState inactive
verdict "the unit does not start before it is enabled" $?
recorder status
[ $? = 1 ] && grep -q 'start one with sonda recorder enable' "$TMP/said"
verdict "status names the command that enables it" $?
recorder enable nosuchpreset*
[ $? = 2 ] && inside test ! -e /etc/sonda/recorder
verdict "words that are wrong change nothing" $?
recorder enable --keep 10m --size 64mb minimal
verdict "enable starts it" $?
grep -q '^minimal: [0-9.]* % of a CPU' "$TMP/said" && grep -q '^records   minimal$' "$TMP/said"
verdict "enable says what it costs, and that it records" $?
[ "$(inside stat -c '%a %U' $ring)" = '700 root' ] && is $unit ActiveState active && inside test -L $link
verdict "the ring is root's own, the unit is enabled" $?
[ "$(inside find /run/sonda-recorder -type s | wc -l)" = 2 ]
verdict "its sockets are in its own directory" $? <(inside find /run/sonda-recorder)

first=$(parts | head -n 1)
inside kill -KILL "$(value $unit MainPID)"
again() { is $unit NRestarts 1 && records && [ "$(parts | wc -l)" -gt 1 ]; }
wait_for again
verdict "kill -9: systemd starts it again" $?
[ "$(parts | head -n 1)" = "$first" ]
verdict "kill -9: it goes on with the ring" $? <(parts)
recorder enable --keep 10m --size 64mb minimal sched_process_exec && grep -q '^records   minimal sched_process_exec$' "$TMP/said"
verdict "enable with other words: it records them" $?
inside true
sonda snapshot --last 1m -o /tmp/snapshot.pftrace recorder >"$TMP/said" 2>&1 && grep -q 'sched [0-9]' "$TMP/said"
verdict "a snapshot of the last minute" $?

recorder disable && grep -q "the ring stays in $ring" "$TMP/said" && is $unit ActiveState inactive && [ -n "$(parts)" ] &&
  inside test ! -e /etc/sonda/recorder && ! inside test -L $link
verdict "disable stops it, and the ring stays" $?
is $unit Result success
verdict "it ended well" $? <(inside systemctl status $unit)
recorder disable --remove && [ -z "$(parts)" ]
verdict "disable --remove removes the ring" $?
echo "1..$N"
exit $BAD
