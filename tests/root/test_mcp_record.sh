#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
# kernels: none
#
# sonda mcp --allow-record on this kernel: its tool record makes a trace of a program whose behaviour is known, and its other tools
# say what the program did.
. "$(dirname "$0")/lib.sh"
needs_commands python3
cd "$TMP" || exit 2
cat >busy.py <<'PY'
import os, time
end = time.monotonic() + 15
with open("busy.dat", "wb", 0) as f:
    while time.monotonic() < end:
        f.seek(0)
        f.write(b"x" * 4096)
        os.fdatasync(f)
PY
python3 busy.py &
PIDS+=($!)
mkdir traces
python3 - "$SONDA" traces "${PIDS[-1]}" >got 2>err <<'PY'
import json, subprocess, sys
child = subprocess.Popen([sys.argv[1], "mcp", "--allow-record", sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def call(tool, **arguments):
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}) + "\n")
    child.stdin.flush()
    result = json.loads(child.stdout.readline())["result"]
    text = result["content"][0]["text"]
    print(f"== {tool} {arguments}\n{text}")
    assert not result["isError"]
    return text

assert "0 traces" in call("list")
assert "events: " in call("record", words=["sched", "waits", "syscalls"], name="busy.pf", seconds=2)
assert '"busy.pf"' in call("list")
assert "fdatasync" in call("report", trace="busy.pf", name="syscalls", who=sys.argv[3])
assert "fsync_storm" in call("findings", trace="busy.pf", who=sys.argv[3])
assert f'[{sys.argv[3]},' in call("sql", trace="busy.pf", statement="SELECT tid, sum(dur) FROM sched JOIN thread USING (utid) "
                                  f"WHERE tid = {sys.argv[3]} GROUP BY tid")
child.stdin.close()
assert child.wait(20) == 0
PY
verdict "a trace that record made answers what the program did" $? err got
ls traces | diff - <(echo busy.pf) >"$TMP/diff"
verdict "the directory has the trace, and nothing else" $? "$TMP/diff"
exit $BAD
