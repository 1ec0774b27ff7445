#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: none
# kernels: none
#
# Root writes exports and pages into directories where user 4242 may write, too. While they are written, that user puts
# links in their place, or has put a pipe there before. The history of root's prompt is in that user's HOME, as under sudo.
. "$(dirname "$0")/lib.sh"
needs_commands setpriv
chmod 755 "$TMP"
SONDA=$BIN/sonda
TRACE=$PWD/tests/data/traces/ring_losses.pftrace
cp "$TRACE" "$TMP/trace" && chmod 644 "$TMP/trace"
stranger() { setpriv --reuid 4242 --regid 4242 --clear-groups "$@"; }
mkdir -m 755 "$TMP/foreign" && chown 4242:4242 "$TMP/foreign"
mkdir -m 1777 "$TMP/shared"

# Runs an export into 4242's directory that reads the trace from a pipe, and COMMAND meanwhile, as 4242, with what the
# export has made as last argument.
export_meanwhile() { # INPUT COMMAND OPTION...
  local input=$1 command=$2 pid made r
  shift 2
  rm -f "$TMP/input" && mkfifo "$TMP/input"
  "$SONDA" export "$@" -o "$TMP/foreign/x" - <"$TMP/input" >"$TMP/log" 2>&1 &
  pid=$!
  exec 7>"$TMP/input"
  for ((i = 0; i < 600; i++)); do
    made=$(find "$TMP/foreign" -mindepth 1 -maxdepth 1 -name '.x.*') && [ -n "$made" ] && break
    sleep 0.1
  done
  stranger sh -c "$command" sh "$made" >>"$TMP/log" 2>&1
  cat "$input" >&7
  exec 7>&-
  wait $pid
  r=$?
  echo "exit code $r" >>"$TMP/log"
  return 0
}
clean() { rm -rf "$TMP/foreign"/* "$TMP/foreign"/.x.*; }

link_is_not_followed() { # NAME OPTION...
  : >"$TMP/file" # SQLite writes into an empty file, too
  export_meanwhile "$TMP/trace" "mv \"\$1\" '$TMP/foreign/moved'; ln -s '$TMP/file' \"\$1\"" "${@:2}"
  [ "$(stat -c '%u %a %s' "$TMP/file")" = "0 644 0" ]
  verdict "$1" $? "$TMP/log"
  clean
}
link_is_not_followed "export --json: a link in place of the unfinished file is not followed" --json
link_is_not_followed "export --sqlite: a link in place of the unfinished file is not followed" --sqlite
link_is_not_followed "export --folded: a link in place of the unfinished file is not followed" --folded sched
mkdir "$TMP/directory"
touch "$TMP/directory/passwd" "$TMP/directory/shadow"
export_meanwhile "$TMP/trace" "mv \"\$1\" '$TMP/foreign/moved'; ln -s '$TMP/directory' \"\$1\"" --csv
[ "$(ls "$TMP/directory")" = $'passwd\nshadow' ]
verdict "export --csv: nothing is written where a link in place of the directory leads" $? "$TMP/log"
clean
export_meanwhile /dev/null "mv \"\$1\" '$TMP/foreign/moved'; ln -s '$TMP/directory' \"\$1\"" --csv
[ "$(ls "$TMP/directory")" = $'passwd\nshadow' ]
verdict "an export that fails removes nothing where a link leads" $? "$TMP/log"
clean

# A pipe or a link of a stranger, in a world-writable directory.
rm -f "$TMP/own" && mkfifo -m 666 "$TMP/own" && chown 4242 "$TMP/own"
stranger mkfifo -m 666 "$TMP/shared/pipe"
stranger ln -s "$TMP/own" "$TMP/shared/link"
page_is_not_written() { # NAME PLACE
  local reader r
  stranger timeout 20 cat "$2" >"$TMP/stolen" 2>"$TMP/log" &
  reader=$!
  timeout 20 "$SONDA" report --html -o "$2" "$TMP/trace" >>"$TMP/log" 2>&1
  r=$?
  pkill -P $reader
  wait $reader
  [ $r = 1 ] && [ ! -s "$TMP/stolen" ]
  verdict "$1" $? "$TMP/log"
}
page_is_not_written "a page is not written into a stranger's pipe" "$TMP/shared/pipe"
page_is_not_written "a page is not written into a stranger's link" "$TMP/shared/link"
"$SONDA" report --html -o /dev/stdout "$TMP/trace" 2>"$TMP/log" | grep -q '</html>'
verdict "root may write a page to a pipe of its own" $? "$TMP/log"

# The history of sonda sql -i. HOME is a directory of 4242, or one of root with a link in it.
prompt() { # NAME=VALUE...: a statement at a terminal
  # script(1) may end before its command does.
  rm -f "$TMP/has_ended"
  env -u XDG_STATE_HOME "$@" script -qec "$SONDA sql -i $TRACE; touch $TMP/has_ended" /dev/null <<<'select 40 + 2 as answer;' >"$TMP/log" 2>&1
  wait_for [ -e "$TMP/has_ended" ] && grep -q '42' "$TMP/log"
}
if command -v script >/dev/null; then
  rm -f "$TMP/own"
  mkdir -m 755 "$TMP/home" "$TMP/linked" "$TMP/own"
  chown 4242:4242 "$TMP/home"
  echo secret >"$TMP/file"
  stranger mkdir -p "$TMP/home/.local/state/sonda" && stranger ln -s "$TMP/file" "$TMP/home/.local/state/sonda/sql_history"
  prompt HOME="$TMP/home" && [ "$(cat "$TMP/file")" = secret ]
  verdict "the history of root's prompt is not written through a stranger's link" $? "$TMP/log"
  rm -r "$TMP/home/.local"
  prompt HOME="$TMP/home" && [ -z "$(ls -A "$TMP/home")" ]
  verdict "nor into a stranger's directory" $? "$TMP/log"
  ln -s "$TMP/own" "$TMP/linked/.local"
  prompt HOME="$TMP/linked" && [ -z "$(ls -A "$TMP/own")" ]
  verdict "nor through a link to a directory" $? "$TMP/log"
  prompt HOME="$TMP/own" && grep -q 40 "$TMP/own/.local/state/sonda/sql_history"
  verdict "it is written in root's own directory" $? "$TMP/log"
fi
exit $BAD
