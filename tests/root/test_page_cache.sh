#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: shared
# check: long
#
# sonda report mem: pages of files in the page cache beside a line of bpftrace in the same run, the paths of files, and the
# growth of a process beside what it says of itself.
. "$(dirname "$0")/lib.sh"
needs_commands /usr/bin/python3 bpftrace
cd "$TMP" || exit 2
case $(stat -f -c %T .) in tmpfs | overlayfs) echo "$TMP is on no file system with a device" >&2; exit 77 ;; esac
DEVICE=$(stat -c %d .)

cat >load.py <<'LOAD'
import os
for n, size in ((1, 3000000), (2, 400000), (3, 9000)):
    f = os.open(f'file{n}', os.O_CREAT | os.O_RDWR)
    for i in range(0, size, 65536):
        os.write(f, bytes(min(65536, size - i)))
    os.close(f)
    print(os.stat(f'file{n}').st_ino, f'file{n}', file=open('inodes', 'a'))
x = bytearray(b'x' * (48 << 20))
open('status', 'w').write(open('/proc/self/status').read())
# Truncated, not removed: a file of another test would get the inode, and its path.
for n in 2, 3:
    os.truncate(f'file{n}', 0)
LOAD
# Before bpftrace counts, so that no file of another test had these inodes meanwhile.
touch file1 file2 file3
# Order is a field of some kernels only.
order=$(grep -q 'field:unsigned char order' $TRACEFS/events/filemap/mm_filemap_add_to_page_cache/format && echo '<<args->order')
bpftrace -e "
tracepoint:filemap:mm_filemap_add_to_page_cache { @added[args->i_ino] = sum((uint64)1$order); }
tracepoint:filemap:mm_filemap_delete_from_page_cache { @removed[args->i_ino] = sum((uint64)1$order); }" >oracle 2>oracle.err &
ORACLE=$!
PIDS+=($ORACLE)
# Attached when a page of a probe file is seen.
for _ in {1..200}; do
  [ "$(grep -c . oracle)" = 0 ] || break
  sleep 0.05
done
printf 'sleep 0.2\n/usr/bin/python3 load.py\n' >load.sh
timeout 60 "$BIN/sonda" record -a -o trace pagecache strace growth -- sh load.sh >log 2>&1
verdict "a load on the page cache is recorded" $? log
kill -INT $ORACLE && wait $ORACLE 2>/dev/null
sort -u inodes >inodes.sorted

# A file of the load: added removed name.
"$BIN/sonda" report mem --by file --top 1000000 --json trace >report 2>report.err
python3 - inodes.sorted oracle report "$DEVICE" >rows 2>&1 <<'COMPARE'
import json, os, re, sys
inodes = dict(line.split() for line in open(sys.argv[1]))
oracle = {'added': {}, 'removed': {}}
for line in open(sys.argv[2]):
    if m := re.match(r'@(added|removed)\[(\d+)\]: (\d+)', line):
        oracle[m[1]][m[2]] = int(m[3])
rows = next(r for t, r in json.load(open(sys.argv[3])).items() if t.startswith('Page cache: pages, by file'))
number = int(sys.argv[4])
device = f'{os.major(number)}:{os.minor(number)}'
bad = len(inodes) < 3
for inode, name in inodes.items():
    ours = [r for r in rows if r['file'].split('/')[-1] in (name, f'inode {inode}')]
    got = [(r['added'], r['removed']) for r in ours]
    want = (oracle['added'].get(inode, 0), oracle['removed'].get(inode, 0))
    print(name, inode, 'report', ours, 'bpftrace', want)
    bad |= got != [want] or ours[0]['file'] != name or want[0] == 0
sys.exit(bad)
COMPARE
verdict "pages added and removed, by file with its path, are those of bpftrace" $? rows report.err oracle.err
"$BIN/sonda" report mem --by cache -p python3 --top 100000 --csv trace 2>report.err | tr -d '\r' >cache
grep -q '^[^,]*python3,[0-9]*,733,0,733,file1,' cache
verdict "the process that added the pages of a file" $? cache report.err

WANT=$(awk '/^VmHWM/ { print $2 * 1024 }' status)
GOT=$("$BIN/sonda" report mem --by growth --json trace 2>report.err | python3 -c '
import json, sys
rows = next(r for t, r in json.load(sys.stdin).items() if t.startswith("Growth"))
print(max(r["growth_bytes"] for r in rows if "python3" in r["process"]))')
echo "growth $GOT, VmHWM $WANT" >growth
[ "${GOT:-0}" -gt $((WANT * 9 / 10)) ] && [ "$GOT" -lt $((WANT * 11 / 10)) ]
verdict "the growth of a process is its largest size (VmHWM), within 10 %" $? growth report.err
"$BIN/sonda" report functions -p python3 --top 1000 trace >functions 2>&1
grep -qE 'mem(set|cpy|move)|PyByteArray|_Py' functions
verdict "stacks of page faults name the code that touched the memory" $? functions
exit $BAD
