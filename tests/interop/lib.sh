# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of this directory: sets up the peers and a private workplace, and starts either family's programs by the
# same names. Sourced; TMP is removed and every process started here is stopped on exit.

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
HERE=tests/interop
PEERS=$($HERE/peers.sh) || exit $?

leave() {
  stop_all
  # A process that has just been made may lose another signal.
  [ -z "${TPQ:-}" ] || { kill -KILL "$TPQ" && wait "$TPQ"; } 2>/dev/null
  [ -z "${MOUNTED:-}" ] || umount /sys/kernel/tracing
  rm -rf "$TMP"
}

# CLOCK_BOOTTIME, which traces have.
uptime_ns() { read -r now _ </proc/uptime; echo "${now/./}0000000"; }

need_tracefs() {
  needs_root
  if [ ! -e /sys/kernel/tracing/trace ]; then
    mount -t tracefs none /sys/kernel/tracing 2>/dev/null || { echo "no tracefs here" >&2; exit 77; }
    MOUNTED=1
  fi
}

# For the part of a "shared" test that uses the top level of tracefs: "top" tests of tests/run.sh wait meanwhile.
hold_top_level() { exec {TOP_LEVEL}</sys/kernel/tracing/events && flock $TOP_LEVEL; }
# Also where programs that were started meanwhile still have the descriptor.
leave_top_level() { flock -u $TOP_LEVEL && exec {TOP_LEVEL}<&-; }

start_service() { # sonda|perfetto DIR; OUTPUT_DIR: where sondad may make files
  case $1 in
  sonda) start_daemon TRACED_NOTIFY_FD "$2/service.log" "$BIN/sondad" ${OUTPUT_DIR:+--output-dir "$OUTPUT_DIR"} ;;
  perfetto) start_daemon TRACED_NOTIFY_FD "$2/service.log" "$PEERS/run" traced ;;
  esac
}

start_probes() { # sonda|perfetto DIR
  case $1 in
  sonda) start_daemon TRACED_PROBES_NOTIFY_FD "$2/probes.log" "${PROBES:-$BIN/sonda-probes}" ;;
  perfetto) start_daemon TRACED_PROBES_NOTIFY_FD "$2/probes.log" "$PEERS/run" traced_probes ;;
  esac
}

record() { # sonda|perfetto CONFIG OUT LOG [COMMAND...]: the command of sonda starts when all data sources have
  case $1 in
  sonda) timeout 60 "$BIN/sonda" record -c "$2" -o "$3" "${@:5}" >"$4" 2>&1 ;;
  perfetto) timeout 60 "$PEERS/run" perfetto --txt -c "$2" -o "$3" >"$4" 2>&1 ;;
  esac
}

# Makes DIR/extra.set of DIR/extra.proto, which extends TrackEvent, and DIR/protos with a TrackEvent that allows it: the
# range is all that is added.
extend_track_event() { # DIR
  mkdir -p "$1/protos/trace/track_event"
  sed 's|^message TrackEvent {|&\n  extensions 9900 to 10000;|' protos/trace/track_event/track_event.proto \
    >"$1/protos/trace/track_event/track_event.proto"
  protoc -I"$1/protos" -Iprotos -I"$1" -o "$1/extra.set" "$1/extra.proto" 2>"$1/protoc.log"
  verdict "protoc makes a descriptor set" $? "$1/protoc.log"
}

# trace_processor serves all questions of a test; it starts beside the daemons.
mkfifo "$TMP/questions" "$TMP/answers"
TP_ASSETS=$PEERS/tp node "$HERE/tpq.mjs" --serve <"$TMP/questions" >"$TMP/answers" 2>"$TMP/tpq.err" &
TPQ=$!
exec {TPQ_IN}>"$TMP/questions" {TPQ_OUT}<"$TMP/answers"

# The rows of each statement, as a line of JSON; a complaint in their place. It waits for as long as trace_processor
# lives; one that does not answer within ANSWER_SECONDS is killed, so that no late answer is read as that of another query.
query() { # TRACE SQL...
  local word answer status request=()
  for word; do request+=("$(base64 -w 0 <<<"$word")"); done
  (
    trap '' PIPE
    flock 8
    echo "${request[*]}" >&"$TPQ_IN"
    # All of it is read, also if the caller wants less; sed reads blocks, where read takes a byte at a time.
    answer=$(timeout "${ANSWER_SECONDS:-600}" sed -e '/^end$/q' -e '/^error /q' <&"$TPQ_OUT")
    status=$?
    case $answer in
    end | *$'\n'end) printf %s "${answer%end}" && exit 0 ;;
    'error '* | *$'\n''error '*) printf '%s\n' "$answer" && exit 0 ;;
    esac
    echo "trace_processor does not answer: status $status, ${#answer} characters, its process: $(cat "/proc/$TPQ/stat")"
    kill "$TPQ"
    cat "$TMP/tpq.err"
  ) 8>"$TMP/tpq.lock" 2>>"$TMP/tpq.err"
}

# trace_processor's own complaints about a trace.
trace_errors() { # TRACE
  query "$1" "select name, idx, value from stats where severity = 'error' and value > 0"
}

# A line of trace_processor's answer is exactly this one.
check_answer() { # NAME TRACE SQL LINE
  query "$2" "$3" >"$TMP/answer"
  grep -qxF "$4" "$TMP/answer"
  verdict "$1" $? "$TMP/answer"
}

# The statement for what trace_processor found missing or wrong in a trace of track events.
# shellcheck disable=SC2034 # for the tests
EVENT_ERRORS="select name, value from stats where value > 0 and (severity in ('error', 'data_loss') or name in
  ('track_event_parser_errors', 'interned_data_tokenizer_errors', 'packet_skipped_seq_needs_incremental_state_invalid'))"
