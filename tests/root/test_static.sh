#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tracefs: shared
# check: long
# kernels: 5.10 6.1 6.12
#
# The static program (make static) in an empty directory as root directory, with /proc, /sys and an empty /tmp: it is each
# of the four programs, records with daemons that are itself, and has every verb that reads traces.
. "$(dirname "$0")/lib.sh"
needs_own_mounts
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
for program in sonda sondad sonda-probes sonda-relay; do
  in_root /sonda $program --help && grep -q "^usage: $program" "$TMP/log"
  verdict "it is $program by its first argument" $? "$TMP/log"
  ln -sf ../sonda "$TMP/root/bin/$program"
  in_root "/bin/$program" --help && grep -q "^usage: $program" "$TMP/log"
  verdict "it is $program by its name" $? "$TMP/log"
done
rm -r "$TMP/root/bin"
in_root /sonda record -t 2s -o /out/trace sched
verdict "it records with private daemons" $? "$TMP/log"
[ -s "$TMP/root/out/trace" ] && [ "$(ls "$TMP/root" | tr '\n' ' ')" = "out proc sonda sys tmp " ] && [ "$(ls "$TMP/root/out")" = trace ]
verdict "the trace is all that is left in its root directory" $? "$TMP/log"
in_root /sonda info /out/trace && grep -qE 'events +sched' "$TMP/log"
verdict "it reads the trace" $? "$TMP/log"
in_root /sonda sql /out/trace 'select count(*) from sched' && grep -qE '[1-9]' "$TMP/log"
verdict "it runs SQL on the trace" $? "$TMP/log"
in_root /sonda report /out/trace && grep -qE '[0-9] (ms|us|s)' "$TMP/log"
verdict "it reports on the trace" $? "$TMP/log"
in_root /sonda report --html -o /out/page.html /out/trace && grep -q '</html>' "$TMP/root/out/page.html"
verdict "it writes a page" $? "$TMP/log"
in_root /sonda cut --from 0.2s -o /out/part /out/trace && in_root /sonda info /out/part && grep -qE 'events +sched' "$TMP/log"
verdict "it cuts a part out of the trace" $? "$TMP/log"
in_root /sonda split --every 500ms -o /out/piece /out/trace && in_root /sonda info /out/piece.000.pftrace
verdict "it splits the trace" $? "$TMP/log"
for form in json:traceEvents sqlite:sched folded:';'; do
  option=--${form%%:*}
  [ $option != --folded ] || option='--folded sched'
  # shellcheck disable=SC2086
  in_root /sonda export $option -o "/out/as.${form%%:*}" /out/trace && grep -qaF "${form#*:}" "$TMP/root/out/as.${form%%:*}"
  verdict "it exports the trace with $option" $? "$TMP/log"
done
in_root /sonda export --csv -o /out/tables /out/trace && [ -s "$TMP/root/out/tables/sched.csv" ]
verdict "it exports the trace as CSV" $? "$TMP/log"
in_root /sonda top -b -n 2 -d 0.5 && grep -qE 'PID .*COMMAND' "$TMP/log"
verdict "it shows what processes do" $? "$TMP/log"
# Fetches what the page would fetch; then the program ends.
fetch() {
  local address
  wait_for grep -q 'url=http://127.0.0.1:' "$TMP/log" || return
  address=$(sed -n 's,.*url=http://\(127.0.0.1:[0-9]*\)/trace$,\1,p' "$TMP/log")
  exec 9<>"/dev/tcp/${address/://}" || return
  printf 'GET /trace HTTP/1.1\r\nHost: %s\r\nOrigin: https://ui.perfetto.dev\r\nConnection: close\r\n\r\n' "$address" >&9
  cat <&9 >"$TMP/fetched"
  exec 9>&-
}
: >"$TMP/log"
in_root /sonda open --no-browser --port 0 /out/trace &
PIDS+=($!)
fetch && wait "${PIDS[-1]}" && tail -c "$(stat -c %s "$TMP/root/out/trace")" "$TMP/fetched" | cmp - "$TMP/root/out/trace"
verdict "it passes the trace to a browser" $? "$TMP/log"
in_root /sonda doctor; [ $? -le 1 ] && grep -qE '^[a-z]+ +tracefs' "$TMP/log"
verdict "it checks the machine" $? "$TMP/log"
in_root /sonda list sched:sched_switch --fields && grep -q prev_comm "$TMP/log" && in_root /sonda describe sched_switch
verdict "it lists events" $? "$TMP/log"
in_root /sonda record -t 1s -o /out/preset -P sched && in_root /sonda info /out/preset && grep -qE 'events +sched' "$TMP/log"
verdict "it knows the presets without their directory" $? "$TMP/log"
# libnss_systemd, which Debian has, crashes a static program just as well.
if command -v cc >/dev/null; then
  mkdir -p "$TMP/root/etc" "$TMP/root/lib"
  printf '%s: files planted\n' passwd group hosts >"$TMP/root/etc/nsswitch.conf"
  echo '__attribute__((constructor)) static void crash(void) { __builtin_trap(); }' |
    cc -shared -nostdlib -x c -o "$TMP/root/lib/libnss_planted.so.2" - &&
    in_root /sonda record -t 1s -o /out/names minimal && ! grep -q killed "$TMP/log"
  verdict "it loads no name service" $? "$TMP/log"
fi
echo "1..$N"
exit $BAD
