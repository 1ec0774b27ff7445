#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
# kernels: none
#
# Files that sonda writes under sudo belong to the user who called sudo: traces, parts, exports, pages. Variables
# that another user sets to look like sudo's change nothing. tests/distros/installed.sh tries the same with sudo itself.
. "$(dirname "$0")/lib.sh"
needs_commands setpriv
chmod 755 "$TMP"
mkdir -m 777 "$TMP/programs" && cp "$BIN"/sonda* "$TMP/programs"
sonda=$TMP/programs/sonda
person=64001 other=64002
mkdir -m 700 "$TMP/home" "$TMP/foreign" && chown $person:$person "$TMP/home" && chown $other:$other "$TMP/foreign"
mkdir -m 1777 "$TMP/shared"
as() { # UID COMMAND...
  local uid=$1
  shift
  setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
under_sudo() { SUDO_UID=$person SUDO_GID=$person SUDO_USER=person "$@" >"$TMP/log" 2>&1 </dev/null; }
owner() { stat -c '%u:%g %a' "$@" | tee -a "$TMP/log" | sort -u; }
is() { # OWNER FILE...
  [ "$(owner "${@:2}")" = "$1" ]
}
cd "$TMP/home" || exit 2

under_sudo "$sonda" record -a -o trace sched -- sleep 0.5 && is "$person:$person 600" trace && as $person "$sonda" info trace >>"$TMP/log" 2>&1
verdict "a trace is the caller's, who can read it" $? "$TMP/log"
under_sudo "$sonda" record -o command sched -- true && is "$person:$person 600" command
verdict "a trace of a command" $? "$TMP/log"
cat >file.cfg <<'END'
buffers { size_kb: 4096 }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
write_into_file: true
file_write_period_ms: 100
duration_ms: 500
END
under_sudo "$sonda" record -c file.cfg -o written && is "$person:$person 600" written
verdict "a trace that the service writes" $? "$TMP/log"
under_sudo "$sonda" cut --from 0 -o part trace && is "$person:$person 600" part
verdict "a part of a trace" $? "$TMP/log"
under_sudo "$sonda" split --every 200ms -o piece trace && is "$person:$person 600" piece*
verdict "pieces of a trace" $? "$TMP/log"
under_sudo "$sonda" report --html -o page.html trace && is "$person:$person 600" page.html
verdict "a page" $? "$TMP/log"
under_sudo "$sonda" export --sqlite -o tables.db trace && is "$person:$person 600" tables.db
verdict "an export into a file" $? "$TMP/log"
under_sudo "$sonda" export --csv -o tables trace && is "$person:$person 600" tables/* && is "$person:$person 700" tables
verdict "an export into a directory" $? "$TMP/log"

# ---- directories of others ---------------------------------------------------------------------------------------------------

under_sudo "$sonda" record -t 300ms -o "$TMP/foreign/trace" minimal && is "$person:$person 600" "$TMP/foreign/trace" &&
  is "$other:$other 700" "$TMP/foreign"
verdict "in another user's directory the trace alone is given" $? "$TMP/log"
echo kept >"$TMP/root-only" && as $other ln -s "$TMP/root-only" "$TMP/shared/trace"
under_sudo "$sonda" record -t 300ms -o "$TMP/shared/trace" minimal
[ $? = 1 ] && is "0:0 644" "$TMP/root-only" && [ "$(cat "$TMP/root-only")" = kept ]
verdict "a link that another user has put into a shared directory is refused" $? "$TMP/log"
ln "$TMP/root-only" "$TMP/foreign/twice"
under_sudo "$sonda" record -t 300ms -o "$TMP/foreign/twice" minimal
is "0:0 644" "$TMP/root-only" && [ "$(cat "$TMP/root-only")" = kept ]
verdict "another name of a file of root's is not given away" $? "$TMP/log"

# ---- variables that are not sudo's ---------------------------------------------------------------------------------------

mkdir -m 777 "$TMP/open" && cd "$TMP/open" || exit 2
SUDO_UID=0 SUDO_GID=0 as $other "$sonda" record -t 300ms -o mine minimal >"$TMP/log" 2>&1 </dev/null && is "$other:$other 600" mine
verdict "another user's variables change nothing" $? "$TMP/log"
for wrong in '' -1 4294967295 4294967296 12x ../0 0x10; do
  SUDO_UID=$wrong SUDO_GID=$wrong "$sonda" cut --from 0 --force -o wrong ../home/trace >"$TMP/log" 2>&1 && is "0:0 600" wrong || break
done
verdict "values that are no user leave the file root's" $? "$TMP/log"
SUDO_UID=$person "$sonda" cut --from 0 --force -o wrong ../home/trace >"$TMP/log" 2>&1 && is "0:0 600" wrong
verdict "a user without a group leaves the file root's" $? "$TMP/log"
exit $BAD
