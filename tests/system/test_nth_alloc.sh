#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each allocation in turn fails: in sondad over a session from connect to read, in sonda over a recording with a config of
# text, in a program that uses libsonda, and in one with the service in it. No process dies of it, sondad keeps no memory, and serves the next session.
# (sonda-probes and its data sources: tests/root/test_nth_alloc.sh.) EVERY=0: each n; else n grows by EVERY percent.
. "$(dirname "$0")/lib.sh"
every=${EVERY:-20}
nth=$B/tests/system/nth_alloc
preload=$B/tests/system/preload/nth_alloc.so
[ -x "$nth" ] && [ -e "$preload" ] || { echo "$nth is not built" >&2; exit 77; }
needs_built "$B/tests/library/alloc"
nm -D "$B/bin/sondad" | grep -q __asan && { echo "a sanitizer has an allocator of its own" >&2; exit 77; }

under() { # NUMBERS PROGRAM: the words that start it
  truncate -s 64 "$1"
  echo env "LD_PRELOAD=$preload" "NTH_ALLOC_FILE=$1" "NTH_ALLOC_PROGRAM=${2##*/}" ${SHOWS:+NTH_ALLOC_SHOWS=1} "$2"
}

# shellcheck disable=SC2046
start_daemon TRACED_NOTIFY_FD "$TMP/service.log" $(under "$TMP/of_sondad" "$B/bin/sondad") && sondad=${PIDS[-1]}
verdict "sondad starts" $? "$TMP/service.log"
# A command with a producer of its own, which sondad may have to refuse.
cat >"$TMP/with_producer" <<END
mkfifo "$TMP/registered"
TRACED_PROBES_NOTIFY_FD=9 "$COUNTER" run 20 2>/dev/null 9>"$TMP/registered" &
timeout 10 head -c 1 "$TMP/registered" >"$TMP/one"
rm "$TMP/registered"
"\$@"
status=\$?
kill \$! 2>/dev/null
wait
exit \$status
END

cat >"$TMP/config" <<'CONFIG'
# Values of all kinds.
buffers { size_kb: 256 fill_policy: DISCARD name: "main" }
buffers { size_kb: 64 }
data_sources { config { name: "sonda.test.counter" target_buffer: 0 } producer_name_filter: "sonda.test.producer" }
builtin_data_sources { snapshot_interval_ms: 10 }
incremental_state_config { clear_period_ms: 10 }
trace_uuid_msb: -81985529216486896
statsd_metadata { triggering_alert_id: 7 }
duration_ms: 20
flush_timeout_ms: 1000
CONFIG
sed 's/^duration_ms.*/&\nwrite_into_file: true file_write_period_ms: 100 compression_type: COMPRESSION_TYPE_DEFLATE/' \
  "$TMP/config" >"$TMP/file.config"
cat >"$TMP/detached.config" <<'CONFIG'
buffers { size_kb: 256 }
data_sources { config { name: "sonda.test.counter" } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 2000 triggers { name: "end" stop_delay_ms: 10 } }
CONFIG
cat >"$TMP/detached" <<END
"$B/bin/sonda" record --detach x -c "$TMP/detached.config" || exit
"$B/bin/sonda" sessions >/dev/null
"$B/bin/sonda" status >/dev/null
rm -f "$TMP/trace"
"$B/bin/sonda" snapshot x -o "$TMP/trace"
"$B/bin/sonda" trigger end
"$B/bin/sonda" stop x -o "$TMP/last"
END

sweep() { # WHAT NUMBERS DAEMON COMMAND...
  local what=$1
  "$nth" "$2" "$3" "$every" -- "${@:4}" >"$TMP/log" 2>"$TMP/err"
  verdict "$what" $? "$TMP/log" "$TMP/service.log"
  tail -n 1 "$TMP/log" | sed 's/^/# /'
}
record=(sh "$TMP/with_producer" "$B/bin/sonda" record -c)
sweep "sondad: a session from connect to read" "$TMP/of_sondad" "$sondad" "${record[@]}" "$TMP/config" -o "$TMP/trace"
sweep "sondad: a session that it writes into a file" "$TMP/of_sondad" "$sondad" \
  "${record[@]}" "$TMP/file.config" -o "$TMP/trace"
sweep "sondad: a detached session, snapshot, trigger, queries" "$TMP/of_sondad" "$sondad" \
  sh "$TMP/with_producer" sh "$TMP/detached"

# shellcheck disable=SC2046
sweep "sonda: a recording with a config of text" "$TMP/of_sonda" 0 \
  sh "$TMP/with_producer" $(under "$TMP/of_sonda" "$B/bin/sonda") record -c "$TMP/config" -o "$TMP/trace"

# shellcheck disable=SC2046
sweep "libsonda: a program that records its own events" "$TMP/of_library" 0 \
  $(under "$TMP/of_library" "$B/tests/library/alloc") "$TMP/trace"

# shellcheck disable=SC2046
sweep "libsonda-service: a program that records itself" "$TMP/of_program" 0 \
  $(under "$TMP/of_program" "$B/tests/library/alloc") "$TMP/trace" in-process

"${record[@]}" "$TMP/config" --strict -o "$TMP/trace" >"$TMP/log" 2>&1
verdict "afterwards sondad records as before" $? "$TMP/log"
exit $BAD
