#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda ship --compact: the small files of a day become few, in a bucket and in a directory. What the merged files have is
# compared in tests/interop/test_compact.sh; tests/system/test_compact_steps.sh tries each step.
. "$(dirname "$0")/compact.sh"
PRELOAD=$B/tests/system/preload/kill_at_call.so
needs_built "$PRELOAD"

begin
add_trace web-2 1 && add_trace web-1 2 && add_trace web-1 3
copy_bucket "$DIR"
objects >"$TMP/before"
compact
verdict "a day is merged in a bucket" $? "$TMP/err"
objects >"$TMP/expected"
grep -v ' fleet/merged/\|^fleet/merged/' "$TMP/expected" | same "$TMP/before" /dev/stdin
verdict "without --remove the small files stay" $? "$TMP/diff"
compact_dir && files | same "$TMP/expected" /dev/stdin
verdict "a directory gets the same bytes" $? "$TMP/diff"
manifests_are_whole "$DIR"
verdict "the manifest names every merged file" $? "$TMP/out"
compact && objects | same "$TMP/expected" /dev/stdin
verdict "a second run changes nothing" $? "$TMP/diff"
tail -n 1 "$STORE/log" | grep -q 'GET .*merged%2Fv1%2Fmanifests\|GET .*manifests'
verdict "and stores nothing" $? "$STORE/log"

# Killed, then another trace comes: what the killed process stored has another name.
KILL_AT=25 LD_PRELOAD=$PRELOAD compact_dir
rm -rf "$DIR/merged"
for at in 12 30; do KILL_AT=$at LD_PRELOAD=$PRELOAD compact_dir; done 2>/dev/null
[ -n "$(find "$DIR/merged" -name '*.parquet')" ] && [ -z "$(find "$DIR/merged" -name '*.json')" ]
verdict "killed before the manifest" $?
add_trace web-3 4
copy_bucket "$TMP/more" && rm -r "$TMP/more/merged" && cp -r "$TMP/more/v1" "$DIR"
compact_dir && manifests_are_whole "$DIR"
verdict "the next run merges also what is new, and removes what no manifest names" $? "$TMP/out"

# Removal.
compact --remove
verdict "--remove" $? "$TMP/err"
[ "$(objects | grep -c '^fleet/v1/')" = 8 ] && [ "$(objects | grep -c '^fleet/v1/traces/')" = 4 ]
verdict "keeps the traces and their manifests" $? <(objects)
[ "$(objects | grep -c '^fleet/merged/v1/sched/')" = 2 ]
verdict "the trace that came later is merged into a file of its own" $? <(objects)
compact --remove && [ "$(objects | grep -c '^fleet/v1/')" = 8 ]
verdict "a second --remove changes nothing" $? "$TMP/err"
rm "$(find "$DIR/merged/v1/sched" -name '*.parquet')"
compact_dir --remove
[ $? = 1 ] && [ -n "$(find "$DIR/v1/sched" -name '*.parquet')" ]
verdict "nothing is removed if a merged file is missing" $? "$TMP/err"

# Faults of the store and of the disk; tests/system/test_compact_steps.sh has each at each request.
begin_with_two() { # [FAULT@NUMBER,...]
  begin
  add_trace web-2 1 && add_trace web-1 2
  ask_store "faults/${1:-}"
}
begin_with_two
compact --remove
objects >"$TMP/expected"
requests=$(wc -l <"$STORE/log")
begin_with_two "$(for ((i = 3, n = 0; i < requests; i += 11)); do
  faults=(503 lose half cut refuse 500)
  printf '%s@%d,' "${faults[n++ % 6]}" "$i"
done)"
compact --remove && objects | same "$TMP/expected" /dev/stdin
verdict "errors, cut connections and lost answers: each trace once" $? "$TMP/diff" "$TMP/err"
begin_with_two
bad="" at=5
for fault in kill killdone kill killdone; do
  ask_store "faults/$fault@$at"
  compact --remove
  [ $? = 137 ] || bad+=" $fault@$at: not killed"
  at=$((at + requests / 5))
done
ask_store faults/
compact --remove && objects | same "$TMP/expected" /dev/stdin || bad+=" other objects"
no_offenders "killed at some requests: each trace once" "$bad"
begin_with_two
( # like a full disk
  trap '' XFSZ
  ulimit -f 8
  compact
)
[ $? = 1 ] && grep -q 'cannot write a file: File too large' "$TMP/err" && ! grep -q 'trying again' "$TMP/err" && [ -z "$(ls -A "$TMP/spool/compact")" ]
verdict "a disk without room is reported at once, and nothing stays there" $? "$TMP/err" <(ls -l "$TMP/spool/compact")

# What another machine may have stored.
rm -rf "$DIR" && cp -r "$TMP/more" "$DIR"
sched=$(find "$DIR/v1/sched" -name '*.parquet' | head -n 1)
printf x | dd of="$sched" bs=1 seek=100 conv=notrunc 2>/dev/null
compact_dir
[ $? = 1 ] && grep -q 'was not merged: .*differs from its manifest' "$TMP/err" && manifests_are_whole "$DIR" &&
  [ "$(grep -c '"uuid"' "$DIR"/merged/v1/manifests/*/*.json)" = 3 ]
verdict "a trace with a changed table is left out" $? "$TMP/err"
compact_dir --part 1k
[ $? = 1 ]
verdict "and stays so" $?
rm -rf "$DIR" && cp -r "$TMP/more" "$DIR"
compact_dir --part 1kb && manifests_are_whole "$DIR" && [ "$(find "$DIR/merged/v1/counter" -name '*-1.parquet' | wc -l)" = 1 ]
verdict "--part limits the size of a merged file" $? "$TMP/err"
for words in "--compact 2026-1-1 $DIR" "--remove $DIR $URL" "--compact $DAY --from $DIR $DIR"; do
  # shellcheck disable=SC2086 # words
  "$SONDA" ship $words 2>"$TMP/err" </dev/null
  [ $? = 2 ]
  verdict "refused: $words" $? "$TMP/err"
done
exit $BAD
