#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: shared
#
# sonda report io --by writeback: pages that a worker of the kernel writes are those of the process that dirtied them, as many
# as the kernel has charged to it (/proc/PID/io).
. "$(dirname "$0")/lib.sh"
needs_commands /usr/bin/python3
cd "$TMP" || exit 2
case $(stat -f -c %T .) in ext2/ext3 | xfs | btrfs) ;; *) echo "$TMP is on no file system with write-back" >&2; exit 77 ;; esac

# Each writes a file of its own, in blocks of its own size, and half of the shared file.
cat >writer.py <<'WRITER'
import os, sys, time
own, size, block, offset = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
f = os.open(own, os.O_CREAT | os.O_WRONLY)
for i in range(0, size, block):
    os.write(f, bytes(block))
shared = os.open('shared', os.O_CREAT | os.O_WRONLY)
for i in range(256):
    os.pwrite(shared, bytes(4096), offset + i * 4096)
io = dict(line.split(': ') for line in open('/proc/self/io').read().splitlines())
print(os.getpid(), own, size // 4096, int(io['write_bytes']) // 4096, file=open('writers', 'a'))
WRITER
cat >load.sh <<'LOAD'
/usr/bin/python3 writer.py small 2097152 4096 0
/usr/bin/python3 writer.py large 6291456 262144 1048576
sync -f small
LOAD
timeout 60 "$BIN/sonda" record -a -o trace writeback strace -- sh load.sh >log 2>&1
verdict "writers and the worker that writes for them are recorded" $? log
"$BIN/sonda" report io --by writeback --top 1000000 --json trace >report 2>report.err
python3 - writers report >rows 2>&1 <<'COMPARE'
import json, sys
rows = next(r for t, r in json.load(open(sys.argv[2])).items() if t.startswith('Write-back'))
bad = 0
for line in open(sys.argv[1]):
    pid, own, size, charged = line.split()
    mine = {r['file']: r for r in rows if r['pid'] == int(pid)}
    total = sum(r['written'] for r in mine.values() if r['file'] != '(metadata)')
    print(line.strip(), {f: (r['dirtied'], r['written'], r['own']) for f, r in mine.items()}, total)
    bad |= mine[own]['written'] != int(size) or mine['shared']['written'] not in range(230, 283)
    # Of what else the process wrote, some is metadata.
    bad |= not 0.95 * int(charged) - 16 <= total <= 1.05 * int(charged) + 16
sys.exit(bad)
COMPARE
verdict "pages are charged to the process that dirtied them, as many as it wrote" $? rows report.err log
"$BIN/sonda" report io --by program --top 1000 --json trace 2>report.err | python3 -c '
import json, sys
rows = next(r for t, r in json.load(sys.stdin).items() if t.startswith("Write-back"))
print([r for r in rows if r["program"] == "python3"])
sys.exit(not any(r["program"] == "python3" and r["written"] >= 2500 for r in rows))' >program 2>&1
verdict "programs have the sums" $? program report.err
"$BIN/sonda" report io --by charged --json trace 2>report.err | python3 -c '
import json, sys
rows = next(r for t, r in json.load(sys.stdin).items() if t.startswith("Write-back"))
print(rows)
sys.exit(sum(r["written"] for r in rows) < 2500)' >charged 2>&1
verdict "the control group that the kernel charges" $? charged report.err
exit $BAD
