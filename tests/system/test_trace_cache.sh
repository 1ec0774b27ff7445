#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: long
#
# The cache of large traces: the second verb reads it and gives the same answers; a trace, a program or a cache that changed is
# not used; nor is one that another user could have written. Its size is limited, and it can be switched off.
. "$(dirname "$0")/../lib.sh"
needs_commands python3
export LC_ALL=C XDG_CACHE_HOME=$TMP/cache
unset SONDA_CACHE
mkdir "$XDG_CACHE_HOME"
C=$XDG_CACHE_HOME/sonda
python3 tests/system/report_trace.py "$B/gen/fields.h" "$TMP/app.pf" || exit 1
cp tests/data/traces/*.pftrace "$TMP"

# pad FROM TO: the trace with 9 MiB of packets that have no rows, last written a minute ago.
pad() {
  python3 - "$1" "$2" <<'PY'
import sys
def field(number, data):
    out = bytearray()
    for n in (number << 3 | 2, len(data)):
        while n > 127:
            out.append(n & 127 | 128)
            n >>= 7
        out.append(n)
    return bytes(out) + data
packet = field(1, field(900, field(6, b"x" * (1 << 20))))
with open(sys.argv[2], "wb") as f:
    f.write(open(sys.argv[1], "rb").read() + packet * 9)
PY
  touch -d '1 minute ago' "$2"
}
# used: the file of the cache is the same, and was used after $TMP/before
used() {
  [ -n "$(find "$C" -name '*.store' -newer "$TMP/before")" ] && [ "$(stat -c %i "$C"/*.store)" = "$inode" ]
}
begin() { # all files of the cache were used long ago
  touch -d '10 minutes ago' "$C"/*.store
  touch -d '5 minutes ago' "$TMP/before"
  inode=$(stat -c %i "$C"/*.store)
  ln -f "$C"/*.store "$TMP/kept" # no other file gets this number
}
T=$TMP/large.pf
pad "$TMP/app.pf" "$T"
report() { "$SONDA" report --all --json=keys "$@" "$T" 2>"$TMP/err"; }

report --no-cache >"$TMP/want"
[ ! -e "$C" ] && [ -s "$TMP/want" ]
verdict "--no-cache makes nothing" $? "$TMP/err"
SONDA_CACHE=off report >"$TMP/got"
[ ! -e "$C" ] && cmp "$TMP/want" "$TMP/got"
verdict "SONDA_CACHE=off makes nothing" $? "$TMP/err"
"$SONDA" report "$TMP/app.pf" >/dev/null 2>"$TMP/err" && [ ! -e "$C" ]
verdict "a small trace is not kept" $? "$TMP/err"
touch "$T" && report >"$TMP/got" && [ -z "$(ls "$C" 2>/dev/null)" ]
verdict "a trace that was written a moment ago is not kept" $? "$TMP/err"
touch -d '1 minute ago' "$T"
report >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && [ "$(stat -c %a "$C")" = 700 ] && [ "$(stat -c %a "$C"/*)" = 600 ]
verdict "the first report makes a file that only this user can read" $? "$TMP/err"
begin
report >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && used
verdict "the second report uses it, and is the same" $? "$TMP/err"
begin
report --no-cache >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && ! used
verdict "--no-cache does not use it" $? "$TMP/err"
begin
"$SONDA" sql "$T" 'SELECT count(*) FROM sched' >"$TMP/got" 2>"$TMP/err" && used
verdict "sonda sql uses it, too" $? "$TMP/err"
begin
"$SONDA" report --all --json=keys - <"$T" >"$TMP/got" 2>"$TMP/err" && used
verdict "and the standard input, if it is that file" $? "$TMP/err"

# ---- the same answers: every row of every table, of several traces
# kernel_6.1 has compressed packets, which are unpacked again when a row needs them.
for trace in "$TMP/app.pf" "$TMP/generic_events.pftrace" "$TMP/ring_losses.pftrace" "$TMP/kernel_6.1.pftrace"; do
  pad "$trace" "$T"
  tables=$("$SONDA" sql --no-cache --csv "$T" "SELECT name FROM pragma_table_list WHERE type IN ('virtual', 'view') AND name GLOB '[a-z]*'" 2>/dev/null | tr -d '\r' | tail -n +2)
  dump() { for table in $tables; do "$SONDA" sql --csv "$@" "$T" "SELECT * FROM $table LIMIT 3000" 2>&1; done; }
  "$SONDA" report "$T" >/dev/null 2>&1
  begin
  dump --no-cache >"$TMP/want"
  dump >"$TMP/got"
  [ "$(wc -l <"$TMP/want")" -gt 100 ] && cmp "$TMP/want" "$TMP/got" && used
  verdict "every row of all tables is the same: ${trace##*/}" $? <(diff "$TMP/want" "$TMP/got" | head -5)
done

# ---- what changed is not used
pad "$TMP/app.pf" "$T"
report --no-cache >"$TMP/want"
report >/dev/null
begin
cp -p "$SONDA" "$TMP/sonda" && touch "$TMP/sonda"
"$TMP/sonda" report --all --json=keys "$T" 2>"$TMP/err" >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && ! used
verdict "another program does not use it" $? "$TMP/err"
report >/dev/null
begin
cat "$TMP/generic_events.pftrace" >>"$T" && touch -d '1 minute ago' "$T"
report --no-cache >"$TMP/other"
report >"$TMP/got" && cmp "$TMP/other" "$TMP/got" && ! cmp -s "$TMP/want" "$TMP/got" && ! used
verdict "a trace that grew is imported again" $? "$TMP/err"
begin
printf 'X' | dd of="$T" bs=1 seek=$(($(stat -c %s "$T") - 1)) conv=notrunc 2>/dev/null && touch -d '1 minute ago' "$T"
report >"$TMP/got"
! used
verdict "a trace that was written in place is imported again, whatever its time" $? "$TMP/err"

# ---- a damaged or hostile cache
pad "$TMP/app.pf" "$T"
damaged() { # NAME COMMAND...: after the command, which damages the file $F, the report is the same and makes a new file
  local name=$1
  shift
  rm -rf "$C"
  report >/dev/null
  F=$(ls "$C"/*.store)
  begin
  "$@"
  report >"$TMP/got"
  cmp "$TMP/want" "$TMP/got" && ! used
  verdict "$name" $? "$TMP/err"
}
flip() { python3 -c 'import sys
f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2]), 2 if int(sys.argv[2]) < 0 else 0); b = f.read(1); f.seek(-1, 1); f.write(bytes([b[0] ^ 1]))' "$F" "$1"; touch -d '10 minutes ago' "$F"; }
damaged "a byte of the head is another" flip 40
damaged "a byte of the tables is another" flip -100
damaged "a byte in the middle is another" flip 3000
damaged "a file that is cut off" truncate -s 5000 "$C"/*.store
damaged "an empty file" truncate -s 0 "$C"/*.store
for mode in 640 604 666; do
  rm -rf "$C" && report >/dev/null && F=$(ls "$C"/*.store) && begin && chmod $mode "$F"
  report >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && ! used
  verdict "a file of mode $mode is not used" $? "$TMP/err"
done
rm -rf "$C" && report >/dev/null && begin && chmod 755 "$C"
report >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && ! used
verdict "a directory that others may read is not used" $? "$TMP/err"
rm -rf "$C" && report >/dev/null && F=$(ls "$C"/*.store) && mv "$F" "$TMP/elsewhere" && ln -s "$TMP/elsewhere" "$F"
report >"$TMP/got" && cmp "$TMP/want" "$TMP/got"
verdict "a link in place of the file" $? "$TMP/err"
rm -rf "$C" && mkdir "$TMP/other_dir" && chmod 700 "$TMP/other_dir" && ln -s "$TMP/other_dir" "$C"
report >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && [ -z "$(ls "$TMP/other_dir")" ]
verdict "a link in place of the directory" $? "$TMP/err"
if [ "$(id -u)" = 0 ]; then
  rm -rf "$C" && report >/dev/null && begin && chown 4242 "$C"/*.store
  report >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && ! used
  verdict "a file of another user is not used" $? "$TMP/err"
  rm -rf "$C" && chown 4242 "$XDG_CACHE_HOME"
  report >"$TMP/got" && cmp "$TMP/want" "$TMP/got" && [ ! -e "$C" ]
  verdict "root makes no directory in one of another user" $? "$TMP/err"
  chown 0 "$XDG_CACHE_HOME"
fi

# ---- its size
rm -rf "$C" && mkdir -m 700 "$C" && truncate -s 700M "$C/1-1.store" "$C/1-2.store" && touch -d '2 days ago' "$C/1-1.store"
touch -d '1 day ago' "$C/1-2.store"
report >"$TMP/got"
[ ! -e "$C/1-1.store" ] && [ -e "$C/1-2.store" ] && [ "$(ls "$C" | wc -l)" = 2 ]
verdict "above 1 GiB the file that was not used for the longest time is removed" $? <(ls -la "$C")
exit $BAD
