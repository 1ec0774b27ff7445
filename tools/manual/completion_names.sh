# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# usage: completion_names.sh KIND [WORD]...
#
# The names of a kind on this machine, one a line, some with a tab and what they are. WORDs are those of the command line
# so far. completion.sh puts this script into the completion of each shell. Names of events are NAME and GROUP/NAME, as
# shells take ':' for an end of a word.
names() {
  case $1 in
  recordable) names presets; names groups; names events ;;
  describable) names recordable; names sources; names families ;;
  sessions) sonda sessions --json | grep -o '"unique_session_name":"[^"]*"' | cut -d '"' -f 4 ;;
  checks) sonda doctor --json | grep -o '"check":"[^"]*"' | cut -d '"' -f 4 ;;
  events) sonda list events --json | sed -n 's|.*"name":"\([^":]*\):\([^"]*\)".*|\2\n\1/\2|p' ;;
  syscalls) sonda list events 'syscalls:sys_enter_*' --json | sed -n 's/.*:sys_enter_\([^"]*\)".*/\1/p' ;;
  pids) grep -s . /proc/*/comm | sed -n 's|^/proc/\([0-9]*\)/comm:|\1\t|p' ;;
  keys)
    shift
    for word; do
      case $word in
      *[!a-z]*) ;;
      *) sonda report "$word" --by . 2>&1 | sed -n 's/.*; it supports //p' | tr -s ', ' '\n' ;;
      esac
    done
    ;;
  *) sonda list "$1" --json | sed -n 's/.*"name":"\([^"]*\)"\(,"title":"\([^"]*\)\)\{0,1\}.*/\1\t\3/p' ;;
  esac
}
names "$@" 2>/dev/null </dev/null
