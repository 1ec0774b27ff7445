#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
# check: long
# kernels: 5.10 6.1 6.12 newest
#
# The static program (make static) in an empty folder as root directory, with /proc, /sys and an empty /tmp: it is each
# of the three programs, and records with daemons that are itself.
set -u
. "$(dirname "$0")/lib.sh"
static=${BIN%/bin}/static/sonda
[ -x "$static" ] || { echo "$static is not built (make static)" >&2; exit 77; }
if command -v readelf >/dev/null; then
  readelf -Wd "$static" >"$TMP/dynamic"
  ! grep -q NEEDED "$TMP/dynamic" && readelf -Wh "$static" | grep -q 'Type: *DYN'
  verdict "it needs no shared library, and is position independent" $? "$TMP/dynamic"
fi

mkdir -p "$TMP/root"/{bin,proc,sys,out,tmp}
cp "$static" "$TMP/root/sonda"
in_root() { # ARGUMENT...: of the program
  unshare --mount --propagation private sh -c '
    mount --rbind /proc "$1/proc" && mount --rbind /sys "$1/sys" || exit 99
    root=$1
    shift
    exec env -i PATH="$PATH:/usr/sbin" SONDA_TEST="$SONDA_TEST" PERFETTO_PRODUCER_SOCK_NAME=/out/producer PERFETTO_CONSUMER_SOCK_NAME=/out/consumer \
      chroot "$root" "$@"' sh "$TMP/root" "$@" >"$TMP/log" 2>&1
}
for program in sonda sondad sonda-probes; do
  in_root /sonda $program --help && grep -q "^usage: $program" "$TMP/log"
  verdict "it is $program by its first argument" $? "$TMP/log"
  ln -sf ../sonda "$TMP/root/bin/$program"
  in_root "/bin/$program" --help && grep -q "^usage: $program" "$TMP/log"
  verdict "it is $program by its name" $? "$TMP/log"
done
rm -r "$TMP/root/bin"
in_root /sonda record -t 1s -o /out/trace sched
verdict "it records with private daemons" $? "$TMP/log"
[ -s "$TMP/root/out/trace" ] && [ "$(ls "$TMP/root" | tr '\n' ' ')" = "out proc sonda sys tmp " ]
verdict "the trace is all that is left in its root directory" $? "$TMP/log"
in_root /sonda info /out/trace && grep -qE 'events +sched' "$TMP/log"
verdict "it reads the trace" $? "$TMP/log"
in_root /sonda sql /out/trace 'select count(*) from sched' && grep -qE '[1-9]' "$TMP/log"
verdict "it runs SQL on the trace" $? "$TMP/log"
echo "1..$N"
exit $BAD
