# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of sonda ship: a strict S3 server that fails on demand, and a check of what it has. Sourced.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
needs_commands python3 curl
details() { tail -n 15 "$TMP/err" "$STORE/log"; }
URL=s3://bucket/fleet
STORE=$TMP/store
printf '[default]\naws_access_key_id = test-key\naws_secret_access_key=test/secret+key\n' >"$TMP/keys"
chmod 600 "$TMP/keys"

# A trace with tables, and one of two parts, which has none.
mkdir "$TMP/from"
cp tests/data/traces/kernel_6.1.pftrace "$TMP/from/small.pftrace"
head -c $((17 << 20)) /dev/zero >"$TMP/from/large.pftrace"
touch -d @1700000000 "$TMP/from/large.pftrace"
touch -d @1700000100 "$TMP/from/small.pftrace"

mkdir "$STORE"
python3 tests/system/s3_server.py "$STORE" >"$STORE/port" 2>"$STORE/err" &
PIDS+=($!)
until PORT=$(cat "$STORE/port") && [ -n "$PORT" ]; do sleep 0.02; done

ask_store() { curl -sf "http://127.0.0.1:$PORT/-$1"; }
# An empty bucket, and an empty spool.
begin() { # [FAULT@NUMBER,...]
  rm -rf "$TMP/spool"
  ask_store "reset/${1:-}"
}
ship() { # ARGUMENT...
  { # without the shell's message about a killed process
    echo "$BASHPID" >"$STORE/pid"
    exec "$SONDA" ship --once --machine web-1 --endpoint "http://127.0.0.1:$PORT" --region eu-test-1 --credentials "$TMP/keys" \
      --retry-max 10ms "$@" >"$TMP/out" 2>"$TMP/err"
  } &
  wait $! 2>/dev/null
}
ship_all() { ship --from "$TMP/from" "$TMP/spool" "$URL"; }

# Every object is there, was stored once, and nothing waits: in the store or in the spool.
is_whole() {
  ask_store state >"$TMP/state" && cmp "$TMP/state" "$TMP/expected" && ! ls -A "$TMP/spool/ready" "$TMP/spool/upload/journal" "$TMP/spool/in" | grep -v : | grep -q .
}
