#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/tcp_retransmissions.sh [ROUNDS [MB]]      BUILD=build
#
# CPU time, in seconds, of an upload through a router that drops packets, and of what records each retransmission with its
# addresses: nothing, sonda record, and bpftrace with the columns of tcpretrans.bt, by the tracepoint (which needs no kprobes);
# and the retransmissions that each of them has. Network namespaces as in tests/root/test_net_connections.sh. The times include
# the upload, the daemons of sonda, and the start of each program.
set -u
cd "$(dirname "$0")/.." || exit
. tests/root/lossy_router.sh
S=$PWD/${BUILD:-build}/bin/sonda
command -v bpftrace >/dev/null || { echo "bpftrace is missing" >&2; exit 77; }
mb=${2:-60}
TMP=$(mktemp -d)
A=sonda-bench-a-$$ B2=sonda-bench-b-$$ R=sonda-bench-r-$$
end() {
  for n in $A $B2 $R; do ip netns del "$n" 2>/dev/null; done
  rm -rf "$TMP"
}
trap '[ "$BASHPID" != $$ ] || end' EXIT
cd "$TMP" || exit
lossy_router $A $B2 $R 100mbit || exit 77

cat >retransmissions.bt <<'BT'
tracepoint:tcp:tcp_retransmit_skb {
  time("%H:%M:%S ");
  printf("%-8d %14s:%-6d %14s:%-6d %d\n", pid, ntop(args->saddr), args->sport, ntop(args->daddr), args->dport, args->state);
}
BT
cat >server.py <<'SERVER'
import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('', 5001))
s.listen(8)
open('listening', 'w')
c, _ = s.accept()
while c.recv(1 << 20):
    pass
SERVER
cat >client.py <<CLIENT
import socket
c = socket.create_connection(('10.71.2.1', 5001))
for _ in range($mb):
    c.sendall(b'y' * 1000000)
CLIENT
cat >load.sh <<LOAD
#!/bin/sh
rm -f listening
ip netns exec $B2 python3 -SE server.py & until [ -e listening ]; do sleep 0.02; done
ip netns exec $A python3 -SE client.py
wait
LOAD
chmod +x load.sh
retransmitted() { ip netns exec $A awk '/^Tcp: [0-9]/ { print $13 }' /proc/net/snmp; }
TIMEFORMAT='%U %S'
cpu() { # NAME COMMAND...
  before=$(retransmitted)
  { time "${@:2}" >out 2>err; } 2>times
  echo "$1 $(awk '{ print $1 + $2 }' times)   $(($(retransmitted) - before)) retransmissions, $("found_$1") found"
}
found_alone() { echo 0; }
found_sonda() { "$S" sql --csv sonda.pf "select count(*) from ftrace_event where name = 'tcp_retransmit_skb'" | tail -n 1 | tr -d '"\r'; }
found_bpftrace() { grep -c '10\.71\.2\.1:5001' out; }
for _ in $(seq "${1:-3}"); do
  cpu alone ./load.sh
  cpu sonda "$S" record -q -a -o sonda.pf tcp:tcp_retransmit_skb -- ./load.sh
  cpu bpftrace bpftrace -c "/bin/sh ./load.sh" retransmissions.bt
done
