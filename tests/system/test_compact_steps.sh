#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: heavy
#
# sonda ship --compact --remove, killed before each call that changes a file, and with each fault at each request: nothing is
# lost, and nothing is there twice.
. "$(dirname "$0")/compact.sh"
PRELOAD=$B/tests/system/preload/kill_at_call.so
needs_built "$PRELOAD"

begin
add_trace web-2 1 && add_trace web-1 2 && add_trace web-1 3
copy_bucket "$TMP/original"
cp -r "$TMP/original" "$DIR"
compact_dir --remove
verdict "a directory" $? "$TMP/err"
files >"$TMP/expected"

# In a directory, after a kill, readers of the manifests find each trace in merged/ or, whole, in v1/.
nothing_is_lost() {
  python3 - "$DIR" "$TMP/original" <<'END' >"$TMP/out" 2>&1
import glob, hashlib, json, os, sys
os.chdir(sys.argv[1])
merged = set()
for path in glob.glob("merged/v1/manifests/*/*.json"):
    head, *rest = json.load(open(path))
    for f in head["files"]:
        assert hashlib.sha256(open(f["key"], "rb").read()).hexdigest() == f["sha256"], f
    merged |= {t["uuid"] for t in rest}
for path in glob.glob("v1/manifests/*/*.json"):
    m = json.load(open(path))
    if m["uuid"] not in merged:
        for f in m["files"]:
            assert hashlib.sha256(open(f["key"], "rb").read()).hexdigest() == f["sha256"], f
assert len(glob.glob("v1/manifests/*/*.json")) == len(glob.glob(sys.argv[2] + "/v1/manifests/*/*.json"))
END
}
bad="" kills=0
for ((at = 1; at < 3000; at++)); do
  rm -rf "$DIR" && cp -r "$TMP/original" "$DIR"
  { KILL_AT=$at LD_PRELOAD=$PRELOAD compact_dir --remove; } 2>/dev/null
  code=$?
  [ $code = 0 ] && break
  kills=$((kills + 1))
  nothing_is_lost || bad+=" lost:$at"
  compact_dir --remove && files | same "$TMP/expected" /dev/stdin || bad+=" $at"
done
no_offenders "a directory, killed before each of $kills calls" "$bad"
[ $kills -gt 100 ]
verdict "the calls are those of both processes" $?

fill() { # [FAULT@NUMBER,...]
  ask_store reset/
  rm -rf "$TMP/spool"
  add_trace web-2 1 && add_trace web-1 2 && add_trace web-1 3
  ask_store "faults/${1:-}"
}
fill
compact --remove && objects | same "$TMP/expected" /dev/stdin
requests=$(wc -l <"$STORE/log")
verdict "a bucket has the same, after $requests requests" $? "$TMP/diff"
for fault in 503 refuse cut lose half kill killdone; do
  bad=""
  for ((at = 1; at <= requests; at += ${STEP:-7})); do
    fill "$fault@$at"
    compact --remove
    case $fault in kill*) compact --remove ;; esac
    objects | same "$TMP/expected" /dev/stdin || bad+=" $at"
  done
  no_offenders "$fault at each request" "$bad"
done
exit $BAD
