#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda ship against a strict S3 server: what the bucket has, and that faults and kills neither lose nor double anything.
# tests/system/test_ship_steps.sh tries each step.
. "$(dirname "$0")/ship.sh"
PRELOAD=$B/tests/system/preload/kill_at_call.so
needs_built "$PRELOAD"

fails() { # NAME CODE TEXT ARGUMENT...
  "$SONDA" ship "${@:4}" >"$TMP/out" 2>"$TMP/err" </dev/null
  [ $? = "$2" ] && grep -q -- "$3" "$TMP/err"
  verdict "$1" $?
}

# ---- what the bucket has ----

begin
ship_all
verdict "two traces are shipped" $?
ask_store state >"$TMP/expected"
python3 - "$PORT" "$TMP/expected" "$TMP/from" <<'END' >"$TMP/out" 2>&1
import hashlib, json, re, sys, urllib.request
port, state, directory = sys.argv[1:]
rows = [line.split() for line in open(state)]
assert all(r[2] == "1" for r in rows), rows
objects = {r[0]: r[1] for r in rows}
get = lambda key: urllib.request.urlopen(f"http://127.0.0.1:{port}/-get/{key}").read()
manifests = [json.loads(get(k)) for k in objects if "/manifests/" in k]
named = set()
for m in manifests:
    source = open(f"{directory}/{m['source']}", "rb").read()
    sha = hashlib.sha256(source).hexdigest()
    assert m["uuid"][:8] == sha[:8] and m["uuid"][14] == "8", m["uuid"]
    for f in m["files"]:
        key = "fleet/" + f["key"]
        body = get(key)
        assert hashlib.sha256(body).hexdigest() == f["sha256"] == objects[key] and len(body) == f["bytes"]
        assert re.fullmatch(r"v1/[a-z_]+/date=\d{4}-\d\d-\d\d/machine=web-1/" + m["uuid"] + r"\.(parquet|pftrace)", f["key"]), f["key"]
        assert "table" not in f or body[:4] == body[-4:] == b"PAR1"
        named.add(key)
    assert get("fleet/" + m["files"][-1]["key"]) == source
small, large = sorted(manifests, key=lambda m: m["source"], reverse=True)
assert {"sched", "thread", "process"} <= {f.get("table") for f in small["files"]}, small
assert small["problem"] is None and small["trace_uuid"] and large["problem"], (small, large)
assert len(large["files"]) == 1 and len(objects) == len(named) + 2
END
verdict "the manifests name every object, with its size and hash" $? "$TMP/out"
tail -n 1 "$STORE/log" | grep -q 'PUT .*/manifests/'
verdict "the manifest comes last" $?
before=$(wc -l <"$STORE/log")
ship_all && is_whole && [ "$(wc -l <"$STORE/log")" = "$before" ]
verdict "a second run sends nothing" $?
rm -rf "$TMP/spool"
ship_all && is_whole && [ $(($(wc -l <"$STORE/log") - before)) = 2 ]
verdict "with an empty spool, two requests show that all is there" $?

# ---- faults ----

begin 503@1,lose@3,cut@5,lose@6,500@8,refuse@10,200error@11,lose@13,half@15,lose@18,half@19,lose@22,cut@24
ship_all && is_whole
verdict "errors, cut connections and lost answers: everything once" $?
begin '503@*'
ship --from "$TMP/from" --retries 2 "$TMP/spool" "$URL"
[ $? = 1 ] && grep -q ': 503' "$TMP/err" && [ "$(find "$TMP/spool/ready" -name list | wc -l)" = 2 ]
verdict "a store that is away: the traces stay in the spool" $?
ask_store reset/killdone@6
ship "$TMP/spool" "$URL"
[ $? = 137 ] && ship "$TMP/spool" "$URL" && is_whole
verdict "killed when the last answer of an upload in parts is lost: everything once, without the sources" $?

# ---- clocks, keys, two at a time ----

begin
ask_store clock/1500
ship_all && is_whole && grep -q "clock differs from the store's by 1500 s" "$TMP/err"
verdict "a store whose clock is 25 minutes ahead: everything once" $?
ask_store clock/0
cp "$TMP/keys" "$STORE/keys"
begin rotate@9
ship --from "$TMP/from" --credentials "$STORE/keys" "$TMP/spool" "$URL" && is_whole && grep -q rotated "$STORE/keys"
verdict "a key that is replaced in the middle: the new one is read, and everything is there once" $?
begin
cp "$TMP/keys" "$STORE/keys"
ship --from "$TMP/from" --credentials "$STORE/keys" "$TMP/spool" && flock "$TMP/spool/upload/lock" "$SONDA" ship --once --endpoint "http://127.0.0.1:$PORT" \
  --credentials "$STORE/keys" "$TMP/spool" "$URL" 2>"$TMP/err"
[ $? = 1 ] && grep -q "another 'sonda ship' is already uploading from the spool" "$TMP/err"
verdict "a second process with the same spool is refused" $?

begin
ship --from "$TMP/from" "$TMP/spool" 's3://bucket/a=b/=c' && ask_store state | sed 's,^a=b/=c/,fleet/,' | diff "$TMP/expected" - >"$TMP/diff"
verdict "a prefix with '=', which curl would sign wrongly" $? "$TMP/diff" "$TMP/err"

# ---- kills ----

begin
for at in 29 61; do
  KILL_AT=$at LD_PRELOAD=$PRELOAD ship_all
done
ship_all && is_whole
verdict "killed at some steps: everything once" $?

# ---- the spool ----

begin
rm "$TMP/from/large.pftrace"
ship --from "$TMP/from" "$TMP/spool" && [ "$(find "$TMP/spool/ready" -name list | wc -l)" = 1 ]
verdict "without a bucket it collects only" $?
printf x | dd of="$(echo "$TMP"/spool/ready/*/sched.parquet)" conv=notrunc status=none
ship --from "$TMP/from" "$TMP/spool" "$URL" && grep -q 'has changed' "$TMP/err" && ! ask_store state | grep manifests
verdict "a trace whose table has changed in the spool gets no manifest" $?
ship --from "$TMP/from" "$TMP/spool" && [ "$(ls "$TMP/spool/bad/"*/list | wc -l)" = 1 ]
verdict "and is moved to the directory bad" $?

begin
mkdir "$TMP/many" "$TMP/status"
for i in 1 2 3; do
  head -c $((3 << 20)) /dev/urandom >"$TMP/many/$i.pftrace"
  touch -d "@170000000$i" "$TMP/many/$i.pftrace"
done
ship --from "$TMP/many" --size 8mb --status "$TMP/status" "$TMP/spool"
[ "$(find "$TMP/spool/dropped" -type f | wc -l)" = 1 ] && [ "$(find "$TMP/spool/ready" -name list | wc -l)" = 2 ] &&
  grep -q 'dropped trace' "$TMP/err" && grep -q '"dropped_traces": 1' "$TMP"/spool/ready/*/manifest.json
verdict "a full spool drops its oldest trace, and says so" $?
value_of() { awk -v key="$1" '$1 == key { print $2 }' "$TMP/status/$2"; }
[ "$(value_of dropped collector)" = 1 ] && [ "$(value_of spool_bytes collector)" -gt $((6 << 20)) ] && [ "$(value_of oldest_s collector)" -gt 1700000000 ]
verdict "its status has the traces that wait, and that were dropped" $? "$TMP/status/collector"
ship --from "$TMP/many" --size 8mb --status "$TMP/status" "$TMP/spool" "$URL" && [ "$(value_of stored uploader)" = 2 ] && [ "$(value_of dropped collector)" = 1 ]
verdict "and those that were uploaded" $? "$TMP/status/uploader"
ship --from "$TMP/many" --size 8mb "$TMP/spool" "$URL" && [ "$(ask_store state | grep -c manifests)" = 2 ]
verdict "which is not collected again" $?

# ---- refusals, without waiting ----

rm -rf "$TMP/spool"
sed 's/secret+/wrong/' "$TMP/keys" >"$TMP/wrong"
chmod 600 "$TMP/wrong"
ship --from "$TMP/from" --credentials "$TMP/wrong" "$TMP/spool" "$URL"
[ $? = 1 ] && grep -q SignatureDoesNotMatch "$TMP/err" && ! grep -q "test/" "$TMP/err" && [ "$(find "$TMP/spool/ready" -name list | wc -l)" = 1 ]
verdict "a wrong key is refused at once, and the trace stays" $?
fails "another bucket needs another spool" 1 "use another spool" --once --endpoint "http://127.0.0.1:$PORT" --credentials "$TMP/keys" "$TMP/spool" s3://other
chmod 644 "$TMP/keys"
fails "keys that others may read are refused" 1 "chmod 600" --once --endpoint "http://127.0.0.1:$PORT" --credentials "$TMP/keys" "$TMP/spool" "$URL"
fails "http to another machine is refused" 2 "allow-http" --endpoint http://example.com "$TMP/spool" "$URL"
fails "a bucket has a name" 2 "is not a valid bucket name" "$TMP/spool" s3://x
fails "a prefix has plain characters" 2 "is not a valid prefix" "$TMP/spool" 's3://bucket/a b'
fails "a machine has a plain name" 2 "must begin with a letter" --machine 007 "$TMP/spool" "$URL"
fails "there is something to do" 2 "is given" "$TMP/spool"
exit $BAD
