#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: shared
#
# sonda report net: retransmissions, resets, drops and bytes of a connection through a router that drops packets. The oracles
# are ss -ti, /proc/net/snmp, the statistics of the queue, and the programs themselves.
. "$(dirname "$0")/lib.sh"
. tests/root/lossy_router.sh
needs_commands /usr/bin/python3 ss tc ip
A=sonda-net-a-$$ B2=sonda-net-b-$$ R=sonda-net-r-$$
leave_spaces() {
  leave
  for n in $A $B2 $R; do ip netns del "$n" 2>/dev/null; done
}
trap '[ "$BASHPID" != $$ ] || leave_spaces' EXIT
cd "$TMP" || exit 2

lossy_router $A $B2 $R 50mbit 2>err || { echo "no network namespaces with veth and tbf: $(head -n 1 err)" >&2; exit 77; }

cat >server.py <<'SERVER'
import socket
s = socket.socket()
s.bind(('', 5001))
s.listen(8)
open('listening', 'w')
c, _ = s.accept()
n = 0
while n < 2000000:
    n += len(c.recv(65536))
c.sendall(b'x' * 1234)
c.recv(1)
open('received', 'w').write(str(n))
SERVER
cat >client.py <<'CLIENT'
import os, socket
c = socket.create_connection(('10.71.2.1', 5001))
c.sendall(b'y' * 2000000)
c.recv(8192)
os.system('ss -Htin "( dport = :5001 )" >ss')
open('port', 'w').write(str(c.getsockname()[1]))
c.close()
try:
    socket.create_connection(('10.71.2.1', 9))
except ConnectionRefusedError:
    pass
CLIENT
cat >load.sh <<LOAD
ip netns exec $B2 python3 server.py & until [ -e listening ]; do sleep 0.02; done
ip netns exec $A python3 client.py
ip netns exec $A cat /proc/net/snmp >snmp
ip netns exec $R tc -s qdisc show dev rb >queue
wait
LOAD
timeout 60 "$BIN/sonda" record -a -o trace net -- bash load.sh >log 2>&1
verdict "a connection that loses packets is recorded" $? log
PORT=$(cat port)

rows() { # TITLE EXPRESSION: of each row r
  "$BIN/sonda" report net --top 100000 --json trace 2>report.err | python3 -c '
import json, sys
for title, rows in json.load(sys.stdin).items():
    if title.startswith(sys.argv[1]) and title.split(sys.argv[1])[1][:1] in ("", ":"):
        for r in rows if isinstance(rows, list) else rows["rows"]:
            print(*eval(sys.argv[2]), sep=" ")' "$1" "$2"
}
rows "TCP: retransmissions and resets" '(r["what"], r["local"], r["remote"], r["reason"], r["times"])' >tcp
RETRANSMITTED=$(awk -v c="10.71.1.1:$PORT" '/^retransmission / && $2 == c { n += $NF } END { print n + 0 }' tcp)
SNMP=$(awk '/^Tcp: [0-9]/ { print $13 }' snmp)
SS=$(sed -nE 's/.* retrans:[0-9]+\/([0-9]+).*/\1/p' ss)
echo "report $RETRANSMITTED, /proc/net/snmp $SNMP, ss -ti $SS" >>tcp
[ "$RETRANSMITTED" -gt 0 ] && [ "$RETRANSMITTED" = "$SNMP" ] && [ "$RETRANSMITTED" = "${SS:-0}" ]
verdict "retransmissions of the connection are those of /proc/net/snmp and of ss -ti" $? tcp log
grep -qE '^reset sent 10.71.2.1:9 10.71.1.1:[0-9]+ (NO_SOCKET|None) 1$' tcp &&
  grep -qE '^reset received 10.71.1.1:[0-9]+ 10.71.2.1:9 None 1$' tcp
verdict "a refused connection: the reset that was sent, and the same one when it is received" $? tcp

DROPPED=$(sed -nE 's/.*\(dropped ([0-9]+),.*/\1/p' queue)
if grep -q 'field:.* reason;' $TRACEFS/events/skb/kfree_skb/format; then
  rows "Packets that the kernel dropped" '(r["reason"], r["packets"])' >drops
  awk -v want="$DROPPED" '$1 ~ /^QDISC_/ { n += $2 } END { exit n < want }' drops && grep -q '^NO_SOCKET ' drops
  verdict "drops have the names of the kernel's reasons, and as many as the queue counted" $? drops queue
else
  skip "drops by reason" "this kernel tells none"
fi

if [ -e $TRACEFS/events/sock/sock_send_length ]; then
  rows "Bytes that calls sent and received, by connection" \
    '(r["local"], r["remote"], r["sent_bytes"], r["received_bytes"])' | grep 5001 | sort >bytes
  sort >want <<WANT
10.71.1.1:$PORT 10.71.2.1:5001 2000000 1234
10.71.2.1:5001 10.71.1.1:$PORT 1234 2000000
WANT
  diff want bytes >diff && [ "$(cat received)" = 2000000 ]
  verdict "bytes of a connection, of both ends, are those of the programs" $? diff
  # Each packet is read by the receiver: not before it came, and in less time than the recording took.
  rows "From packet to reader" '(r["process"], r["packets"], r["p50_ns"], r["max_ns"])' >readers
  awk '/python3/ { n += $2; if ($3 <= 0 || $4 > 60e9) exit 1 } END { exit n < 100 }' readers
  verdict "the time from a packet to its reader" $? readers
else
  skip "bytes of a connection" "Linux 6.3 is the first with sock_send_length"
fi
exit $BAD
