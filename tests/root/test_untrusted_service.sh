#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# tracefs: shared
#
# A user without rights (uid 4242) listens at the service's address before the service does. Root's programs send it
# nothing, unless SONDA_SERVICE_USER names it; and by themselves they do not look in /tmp at all.
. "$(dirname "$0")/lib.sh"
needs_commands setpriv

chmod 1777 "$TMP"
cp "$BIN/sondad" "$TMP/sondad"
start_stranger() { # COMMAND...: runs it as uid 4242, in the process $service
  setpriv --reuid 4242 --regid 4242 --clear-groups "$@" >"$TMP/service.log" 2>&1 </dev/null &
  service=$!
  PIDS+=("$service")
}

start_stranger "$TMP/sondad"
wait_for [ -S "$PERFETTO_CONSUMER_SOCK_NAME" ]
verdict "uid 4242 listens first" $? "$TMP/service.log"

"$BIN/sonda-probes" >"$TMP/probes.log" 2>&1 </dev/null &
probes=$!
PIDS+=("$probes")
wait_for grep -q 'cannot connect to .*: the listener runs as uid 4242.*SONDA_SERVICE_USER=4242' "$TMP/probes.log"
verdict "sonda-probes: says who listens there" $? "$TMP/probes.log"
kill "$probes"
wait "$probes"
[ "$(grep -c "cannot connect" "$TMP/probes.log")" = 1 ]
verdict "sonda-probes: says it once" $? "$TMP/probes.log"

refused() { # ARGUMENTS...
  ! timeout 20 "$BIN/sonda" "$@" >"$TMP/log" 2>&1 && grep -q 'the listener runs as uid 4242' "$TMP/log"
  verdict "sonda $1: refuses the service of uid 4242" $? "$TMP/log"
}
refused record -t 1s -o "$TMP/trace" sched
refused record -t 1s -o "$TMP/trace" --socket "$PERFETTO_CONSUMER_SOCK_NAME" sched
refused sessions
refused trigger hello
[ ! -e "$TMP/trace" ]
verdict "sonda record: no trace of the service of uid 4242 is left" $?

SONDA_SERVICE_USER=4242 "$BIN/sonda" sessions >"$TMP/log" 2>&1
verdict "SONDA_SERVICE_USER: the user is trusted" $? "$TMP/log"
kill "$service"
wait "$service"

# ---- the default addresses: in a /run and a /tmp of its own

# The programs are copied: the two mounts may hide the directory of the build.
alone() { # COMMAND...
  local run
  run=$(mktemp -d "$TMP/run.XXXXXX") && chmod 755 "$run" && mkdir -m 1777 "$run/tmp" &&
    cp "$BIN/sonda" "$BIN/sondad" "$run" || return
  unshare --mount sh -c '
    mount --bind "$1" /run && mount --bind /run/tmp /tmp && shift && cd / || exit 1
    unset PERFETTO_PRODUCER_SOCK_NAME PERFETTO_CONSUMER_SOCK_NAME
    exec "$@"' sh "$run" "$@"
}
if ! alone true 2>/dev/null; then
  echo "ok $((N + 1)) - the default addresses # SKIP no mount namespaces here"
  exit "$BAD"
fi
# shellcheck disable=SC2016
alone sh -c '
  setpriv --reuid 4242 --regid 4242 --clear-groups /run/sondad & stranger=$!
  i=0; while [ ! -S /tmp/perfetto-consumer ] && [ $((i += 1)) -lt 200 ]; do sleep 0.1; done
  [ -S /tmp/perfetto-consumer ] && echo "the stranger listens"
  /run/sonda sessions
  kill $stranger; wait $stranger' >"$TMP/log" 2>&1
grep -q 'the stranger listens' "$TMP/log" && grep -q 'no tracing service listens on /run/perfetto/traced-consumer.sock' "$TMP/log"
verdict "root looks for the service in /run/perfetto, not in /tmp" $? "$TMP/log"

# shellcheck disable=SC2016
alone sh -c '
  umask 077
  /run/sondad & service=$!
  i=0; while [ ! -S /run/perfetto/traced-consumer.sock ] && [ $((i += 1)) -lt 200 ]; do sleep 0.1; done
  stat -c "%a %u" /run/perfetto
  /run/sonda sessions && echo answered
  chown 4242 /run/perfetto
  kill $service; wait $service
  setpriv --reuid 4242 --regid 4242 --clear-groups env \
    PERFETTO_PRODUCER_SOCK_NAME=/run/perfetto/p PERFETTO_CONSUMER_SOCK_NAME=/run/perfetto/c /run/sondad & service=$!
  i=0; while [ ! -S /run/perfetto/c ] && [ $((i += 1)) -lt 200 ]; do sleep 0.1; done
  /run/sonda sessions --socket /run/perfetto/c && echo "the owner answered"
  kill $service; wait $service' >"$TMP/log" 2>&1
grep -qx '755 0' "$TMP/log" && grep -qx answered "$TMP/log"
verdict "root's service makes /run/perfetto, which others may search" $? "$TMP/log"
grep -qx 'the owner answered' "$TMP/log"
verdict "the owner of /run/perfetto is trusted" $? "$TMP/log"
exit "$BAD"
