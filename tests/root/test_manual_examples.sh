#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# check: long
# tracefs: shared
#
# The EXAMPLES of the manual (tools/manual/examples) run, in their order: each reads what an earlier one has written. Recordings are
# shorter, and what waits for Ctrl-C gets it.
. "$(dirname "$0")/lib.sh"
needs_commands make curl
examples=$PWD/tools/manual/examples
mkdir "$TMP/work"
cd "$TMP/work" || exit 2
export PATH=$BIN:$PATH HOME=$TMP
printf 'all:\n\t@sleep 0.2\n' >Makefile
cp "$OLDPWD/tests/fuzz/corpus/import/v7" trace.dat
start_ready TRACED_NOTIFY_FD "$TMP/sondad.log" "$BIN/sondad"
start_ready TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes"

# Ctrl-C reaches the programs that wait for it, after they have begun to wait.
ctrl_c() { timeout -s INT 60 "$@" & local pid=$!; wait_for grep -qE "$WAITS" "$TMP/log" && kill -INT $pid; wait $pid; }

run() { # COMMAND
  local line status
  line=$(sed -E "s/-t [0-9]+s/-t 1200ms/; s/-d 1/-d 0.1/; s,/var/tmp/ring,$PWD/ring,; s,/var/lib/sonda/traces,$PWD," <<<"$1")
  case $line in
  "sonda attach"*) # leaves the session for "stop": another one is attached
    sonda record -q --detach attached -b 1mb sched && sleep 0.2 && eval "timeout -s INT 1 ${line/attach flight/attach attached}" ;;
  "sonda metrics"*) # another test may have the port
    timeout -s INT 2 sonda metrics --listen "$PWD/metrics" &
    wait_for curl -sf --unix-socket "$PWD/metrics" http://localhost/metrics
    status=$?
    wait $!
    return $status ;;
  "sonda recorder run"*) WAITS=recording eval "ctrl_c $line" ;;
  "sonda open"*) # the page waits for a browser; another sonda may have the port meanwhile
    for ((i = 0; i < 30; i++)); do
      eval "timeout -s INT 1 $line --no-browser"
      grep -q 'ui.perfetto.dev' "$TMP/log" && return
      sleep 1
    done
    return 1 ;;
  "sonda recorder status"*) # it has ended, which its exit code says
    eval "$line"
    [ $? = 1 ] && grep -q '^ring  *1 part' "$TMP/log" ;;
  "sonda sql -i"*) eval "$line" <<<"select 1;" ;;
  *) eval "timeout 60 $line" ;;
  esac
}

n=0
while IFS='|' read -r _ command _; do
  n=$((n + 1))
  command=$(sed 's/^ *//; s/ *$//' <<<"$command")
  run "$command" >"$TMP/log" 2>&1 </dev/null
  status=$?
  # An attached session and a recorder end at Ctrl-C: timeout exits with 124 although they have saved everything.
  [ $status != 124 ] || ! [[ $command =~ ^"sonda attach" ]] || [ ! -s all.pftrace ] || status=0
  file=$(sed -nE 's/.* -o ([a-z.]+).*/\1/p' <<<"$command")
  [ -z "$file" ] || [ -s "$file" ] || status=1
  verdict "$command" $status "$TMP/log" "$TMP/probes.log"
done < <(grep -v '^#' "$examples")
[ $n -gt 30 ]
verdict "there are examples" $?
cd /
exit $BAD
