#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# What `sonda record --show-config` prints is a config for Perfetto's programs, too: as text where it has only their
# fields, else serialized. The trace has the config as it was sent, and what it asks for.
. "$(dirname "$0")/lib.sh"
need_tracefs
needs_built "$BIN/sonda"
export HOME=$TMP
unset XDG_CONFIG_HOME
use_sockets "$TMP"
start_service perfetto "$TMP" && start_probes perfetto "$TMP"
verdict "Perfetto's service and probes start" $? "$TMP/service.log"

perfetto() { timeout 60 "$PEERS/run" perfetto "$@" -o "$TMP/trace" >"$TMP/log" 2>&1; }
# The lines of the config that the service put into the trace, without the indent, and those that were printed.
same_config() { # PRINTED
  protoc -Iprotos --decode=perfetto.protos.Trace protos/trace/trace.proto <"$TMP/trace" 2>>"$TMP/log" |
    awk '/^  trace_config \{/ { on = 1; next } /^  \}/ { on = 0 } on' | sed 's/^ *//' | sort >"$TMP/in_trace"
  sed 's/^ *//; /^#/d' "$1" | sort >"$TMP/printed"
  comm -13 "$TMP/in_trace" "$TMP/printed" >>"$TMP/log" # what is printed and was not sent
  [ -s "$TMP/printed" ] && [ -z "$(comm -13 "$TMP/in_trace" "$TMP/printed")" ]
}

text() { # ARGS...
  "$BIN/sonda" record --show-config -t 300ms "$@" >"$TMP/config" 2>"$TMP/log" && ! grep -q '^#' "$TMP/config" &&
    perfetto --txt -c "$TMP/config" && same_config "$TMP/config"
  verdict "text, given to Perfetto: $*" $? "$TMP/log"
}
text sched -B 1mb
text -b 16mb -C 0 'irq:*' '!irq_handler_*' --ksyms
text meminfo psi idle -P minimal --clock mono_raw
text sched --app 'net*'
"$BIN/sonda" record --show-config=binary -t 300ms sched -B 1mb network runq >"$TMP/config" 2>"$TMP/log" &&
  perfetto -c "$TMP/config" && "$BIN/sonda" info "$TMP/trace" >"$TMP/log" 2>&1 && grep -q 'events .*sched' "$TMP/log"
verdict "fields of sonda in a serialized config do not keep Perfetto from recording the rest" $? "$TMP/log"

echo "1..$N"
exit $BAD
