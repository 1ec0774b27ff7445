#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: top
#
# linux.inode_file_map by what events name: the same load under Perfetto's traced_probes and under ours, and the same
# paths for the same inodes; and nothing but those.
set -u
. "$(dirname "$0")/lib.sh"
need_tracefs
command -v python3 >/dev/null || { echo "python3 is missing" >&2; exit 77; }
folder=/var/tmp/sonda.$$
trap '[ "$BASHPID" != $$ ] || { rm -rf "$folder"; leave; }' EXIT
if [ "$(stat -f -c %T /var/tmp)" != ext2/ext3 ] || [ ! -d /sys/kernel/tracing/events/ext4/ext4_sync_file_enter ]; then
  echo "1..0 # SKIP /var/tmp is no ext4, or the kernel has no event of it"
  exit 77
fi

mkdir -p "$folder/deep/er" "$folder/other"
for i in $(seq 50); do : >"$folder/other/$i"; done
# Files that are synced over and over; those in other are named by no event.
python3 - "$folder" <<'PYTHON' &
import os, sys, time
files = [os.path.join(sys.argv[1], f) for f in ("one", "deep/two words", "deep/er/three")]
end = time.monotonic() + 60
while time.monotonic() < end:
    for f in files:
        with open(f, "w") as out:
            out.write("x"); out.flush(); os.fsync(out.fileno())
    time.sleep(0.05)
PYTHON
PIDS+=($!) LOAD=$!
for _ in $(seq 100); do [ -s "$folder/deep/er/three" ] && break; sleep 0.1; done

mount_point=$(stat -c %m /var/tmp)
cat >"$TMP/config" <<CONFIG
duration_ms: 4000
buffers { size_kb: 32768 fill_policy: DISCARD }
data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "ext4/ext4_sync_file_enter" } } }
data_sources { config { name: "linux.inode_file_map" inode_file_config { scan_delay_ms: 200 scan_interval_ms: 1
  mount_point_mapping { mountpoint: "$mount_point" scan_roots: "$folder" } } } }
CONFIG

# "device inode type path" of each entry below the folder.
entries() { # TRACE
  python3 - "$1" "$folder" <<'PYTHON'
import sys

def fields(b):
    i = 0
    def varint():
        nonlocal i
        v = shift = 0
        while True:
            c = b[i]; i += 1
            v |= (c & 127) << shift; shift += 7
            if c < 128: return v
    while i < len(b):
        key = varint()
        if key & 7 == 0: yield key >> 3, varint()
        elif key & 7 == 2:
            n = varint(); yield key >> 3, b[i:i + n]; i += n
        else:
            n = 8 if key & 7 == 1 else 4; yield key >> 3, b[i:i + n]; i += n

for number, packet in fields(open(sys.argv[1], "rb").read()):
    for kind, data in fields(packet):
        if kind != 4: continue  # TracePacket.inode_file_map
        file_map = list(fields(data))
        device = next((v for k, v in file_map if k == 1), 0)
        for k, entry in file_map:
            if k != 3: continue
            e = list(fields(entry))
            path = next((v for n, v in e if n == 2), b"").decode()
            if path.startswith(sys.argv[2]):
                print(device, *(next((v for n, v in e if n == f), 0) for f in (1, 3)), path)
PYTHON
}

# The event names the file and the folder that it is in.
for f in one "deep/two words" deep/er/three; do stat -c "%d %i 1 %n" "$folder/$f"; done >"$TMP/expected"
for f in deep deep/er; do stat -c "%d %i 2 %n" "$folder/$f"; done >>"$TMP/expected"
sort -o "$TMP/expected" "$TMP/expected"
load=("${PIDS[@]}")
for family in sonda perfetto; do
  PIDS=()
  mkdir "$TMP/$family"
  use_sockets "$TMP/$family"
  start_service $family "$TMP/$family" && start_probes $family "$TMP/$family" &&
    record $family "$TMP/config" "$TMP/$family.trace" "$TMP/$family.log"
  verdict "$family records" $? "$TMP/$family.log"
  stop_all
  entries "$TMP/$family.trace" >"$TMP/$family.all"
  # Perfetto does not tell where the walk begins, and repeats folders.
  grep -v " $folder\$" "$TMP/$family.all" | sort -u >"$TMP/$family.entries"
  diff "$TMP/expected" "$TMP/$family.entries" >"$TMP/diff"
  verdict "$family: the paths of the inodes that events name, and no others" $? "$TMP/diff"
done
diff "$TMP/perfetto.entries" "$TMP/sonda.entries" >"$TMP/diff"
verdict "the same under both" $? "$TMP/diff"
[ "$(sort "$TMP/sonda.all" | uniq -d)" = '' ] && grep -qx "$(stat -c "%d %i 2 %n" "$folder")" "$TMP/sonda.all"
verdict "ours has each once, and the folder where the walk begins" $? "$TMP/sonda.all"

PIDS=("${load[@]}")
kill "$LOAD"
wait "$LOAD" 2>/dev/null
PIDS=()
[ "$(trace_errors "$TMP/sonda.trace")" = '[]' ]
verdict "trace_processor has no complaint" $?
exit $BAD
