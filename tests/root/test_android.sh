#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# The programs in a root directory with Android's directories: neither /tmp nor /run, processes hidden from all but a group
# (hidepid), and sockets in /dev/socket that init binds and a service of the user nobody listens on.
. "$(dirname "$0")/lib.sh"
needs_commands python3
needs_own_mounts

# shellcheck disable=SC2016
in_android() { # LINE: for the shell there
  unshare --mount --propagation private sh -c '
    mount -t tmpfs -o mode=755 none "$1" && cd "$1" && mkdir -p data/local/tmp dev proc sys out && mount --bind "$2" out || exit 99
    for i in usr bin lib lib64; do [ ! -e /$i ] || { mkdir $i && mount --rbind /$i $i; } || exit 99; done
    mount -t proc -o hidepid=2,gid=3009 none proc && mount --rbind /sys sys && mount -o remount,ro "$1" &&
      mount -t tmpfs none data/local/tmp && cp "$3/sonda" "$3/sondad" "$3/sonda-probes" data/local/tmp &&
      mount -t tmpfs -o mode=755 none dev && mkdir dev/socket && mknod -m 666 dev/null c 1 3 || exit 99
    exec env -i PATH="$PATH:/usr/sbin:/sbin" SONDA_TEST="$SONDA_TEST" HOME=/ chroot . /bin/sh -c "cd /data/local/tmp || exit
      $4"' \
    sh "$TMP/root" "$TMP/out" "$BIN" "$1" >"$TMP/log" 2>&1
}
mkdir "$TMP/root" "$TMP/out"

in_android './sonda record -t 1s -o /out/trace minimal sched && ./sonda info /out/trace | grep "events  *sched"'
verdict "it records without /tmp and /run" $? "$TMP/log"
"$SONDA" sql "$TMP/out/trace" "select 'found' from process where pid = $$ and name like '%bash%'" >"$TMP/rows" && grep -q found "$TMP/rows"
verdict "processes that hidepid hides have names" $? "$TMP/rows" "$TMP/log"
in_android './sonda export --csv -o - /out/trace | grep -c args.csv'
verdict "it exports an archive without /tmp" $? "$TMP/log"

# As init starts traced: it binds the sockets, and the service listens as nobody.
cat >"$TMP/out/init.py" <<'PYTHON'
import os, socket, sys
for name in ("traced_producer", "traced_consumer"):
    s = socket.socket(socket.AF_UNIX)
    s.bind("/dev/socket/" + name)
    os.chmod("/dev/socket/" + name, 0o666)
    os.set_inheritable(s.fileno(), True)
    os.environ["ANDROID_SOCKET_" + name] = str(s.detach())
os.setgroups([])
os.setgid(9999)
os.setuid(9999)
os.execv("./sondad", ["sondad"])
PYTHON
# shellcheck disable=SC2016
in_android 'python3 /out/init.py & service=$!
  ./sonda-probes & probes=$!
  i=0; until ./sonda status 2>/dev/null | grep linux.ftrace || [ $((i += 1)) = 100 ]; do sleep 0.1; done
  ./sonda record -v -t 1s -o /out/trace2 sched; echo "status $?"
  chmod 777 /dev/socket
  ./sonda status
  kill $probes $service; wait'
grep -q '^linux.ftrace' "$TMP/log" && grep -q 'status 0' "$TMP/log" && ! grep -q 'a private' "$TMP/log" && [ -s "$TMP/out/trace2" ]
verdict "it records with the service whose sockets are in /dev/socket" $? "$TMP/log"
grep -q 'the listener runs as uid 9999' "$TMP/log"
verdict "a service running as nobody is not trusted if others may write to /dev/socket" $? "$TMP/log"
exit "$BAD"
