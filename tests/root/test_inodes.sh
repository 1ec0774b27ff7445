#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# linux.inode_file_map on real file systems: what find(1) says of a mount point with everything in it that could lead
# astray, and the path of a file that a real event names by device and inode.
set -u
if [ -z "${IN_NAMESPACE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
  unshare -m true 2>/dev/null || { echo "no mount namespaces here" >&2; exit 77; }
  command -v protoc >/dev/null || { echo "protoc is missing" >&2; exit 77; }
  IN_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"

trap '[ "$BASHPID" != $$ ] || { rm -rf "/var/tmp/sonda.$$"; leave; }' EXIT

record() { # WHAT INODE_FILE_CONFIG FTRACE_CONFIG
  cat >"$TMP/config" <<CONFIG
duration_ms: 3000
buffers { size_kb: 32768 fill_policy: DISCARD }
data_sources { config { name: "linux.inode_file_map" inode_file_config {
  scan_delay_ms: 1 scan_interval_ms: 1 $2 } } }
$3
CONFIG
  "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" >"$TMP/log" 2>&1
  verdict "$1: records" $? "$TMP/log"
  protoc -Iprotos --decode=perfetto.protos.Trace trace/trace.proto <"$TMP/trace" >"$TMP/text" 2>"$TMP/decode.log"
  verdict "$1: a trace that protoc reads" $? "$TMP/decode.log"
}
# "inode type path" of each entry, the path as protoc writes it.
entries() {
  awk '$1 == "inode_number:" { inode = $2 } $1 == "paths:" { path = $0; sub(/^ *paths: "/, "", path); sub(/"$/, "", path) }
    $1 == "type:" { print inode, $2, path }' "$TMP/text" | sort
}

# ---- a mount point with loops, links, other file systems and odd names

disk="$TMP/my disk"
mkdir "$disk"
mount -t tmpfs none "$disk" || exit 2
mkdir -p "$disk/a/b" "$disk/a/other" "$disk/empty"
for i in $(seq 2000); do : >"$disk/a/b/$i"; done
echo x >"$disk/a/one" && ln "$disk/a/one" "$disk/a/two"
ln -s . "$disk/loop" && ln -s / "$disk/a/root"
mkfifo "$disk/pipe"
: >"$disk/a name with  blanks"
mount -t tmpfs none "$disk/a/other" && : >"$disk/a/other/not on this device"
find "$disk" -xdev -printf '%i %y %p\n' | grep -v 'a/other$' | sed 's/ f / FILE /; s/ d / DIRECTORY /; s/ [lp] / UNKNOWN /' |
  sort >"$TMP/expected"

record "batches" "scan_mount_points: \"$disk\" scan_batch_size: 300" ""
entries >"$TMP/entries"
diff "$TMP/expected" "$TMP/entries" >"$TMP/diff" && [ "$(wc -l <"$TMP/expected")" = 2010 ]
verdict "as find -xdev sees it, 2010 files in batches of 300" $? "$TMP/diff"
[ "$(awk '$1 == "block_device_id:" { print $2 }' "$TMP/text" | sort -u)" = "$(stat -c %d "$disk")" ]
verdict "the device" $? "$TMP/text"
grep -qF "mount_points: \"$disk\"" "$TMP/text"
verdict "the mount point" $? "$TMP/text"

record "a mapping" "mount_point_mapping { mountpoint: \"$disk\" scan_roots: \"$disk/a/b\" }" ""
entries >"$TMP/entries"
grep ' [^ ]* .*/a/b' "$TMP/expected" | diff - "$TMP/entries" >"$TMP/diff"
verdict "only the folders that a mapping names" $? "$TMP/diff"
umount "$disk/a/other" "$disk"

# ---- an event's inode

here=$(stat -f -c %T /)
if [ "$here" = ext2/ext3 ] && [ -d $TRACEFS/events/ext4/ext4_sync_file_enter ] && command -v python3 >/dev/null; then
  mkdir -p "/var/tmp/sonda.$$"
  file=/var/tmp/sonda.$$/synced
  python3 -c 'import os, sys, time
end = time.monotonic() + 15
while time.monotonic() < end:
    with open(sys.argv[1], "w") as f:
        f.write("x"); f.flush(); os.fsync(f.fileno())
    time.sleep(0.1)' "$file" &
  PIDS+=($!)
  wait_for test -s "$file"
  inode=$(stat -c %i "$file")
  record "with events" "mount_point_mapping { mountpoint: \"/\" scan_roots: \"/var/tmp/sonda.$$\" }" \
    'data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "ext4/ext4_sync_file_enter" } } }'
  kill "${PIDS[-1]}"
  wait "${PIDS[-1]}" 2>/dev/null
  rm -r "/var/tmp/sonda.$$"
  entries | grep -q "^$inode FILE $file$"
  verdict "a file that is written: its inode and path" $? "$TMP/log"
  awk '/ext4_sync_file_enter/ { on = 1 } on && $1 == "dev:" { dev = $2 } on && $1 == "ino:" { print dev, $2; on = 0 }' "$TMP/text" |
    sort -u >"$TMP/events"
  grep -qx "$(awk '$1 == "block_device_id:" { print $2; exit }' "$TMP/text") $inode" "$TMP/events"
  verdict "a file that is written: the same device and inode as in its events" $? "$TMP/events"
else
  N=$((N + 1))
  echo "ok $N - an event's inode # SKIP / is $here, or the kernel has no event of ext4"
fi

if PEERS=$(tests/interop/peers.sh 2>/dev/null); then
  TP_ASSETS=$PEERS/tp timeout 120 node tests/interop/tpq.mjs "$TMP/trace" \
    "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0" >"$TMP/errors" 2>/dev/null
  [ "$(cat "$TMP/errors")" = '[]' ]
  verdict "trace_processor has nothing to complain of" $? "$TMP/errors"
fi
exit $BAD
