# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The installed units under a real systemd: the first process of a pid namespace, with control groups, a network, /dev,
# /etc and /run of its own, and no units but ours. Nothing is started yet. Sourced after lib.sh; a machine where this
# cannot be made skips the test.
need_tracefs
for program in /lib/systemd/systemd systemctl systemd-sysusers unshare nsenter setpriv; do
  command -v $program >/dev/null || { echo "$program is missing" >&2; exit 77; }
done
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$groups" ] || { echo "no cgroup2 here" >&2; exit 77; }
! grep -qaE '__[at]san_init' "$BIN/sondad" || { echo "built with a sanitizer" >&2; exit 77; }
unset PERFETTO_PRODUCER_SOCK_NAME PERFETTO_CONSUMER_SOCK_NAME

chmod 711 "$TMP"
mkdir -m 1777 "$TMP/out"
# Not where it will run, as units may have a /tmp of their own.
tools/install.sh install "$B" "$TMP/root" /run/usr
ln -s root/run/usr "$TMP/usr"
UNITS=$TMP/usr/lib/systemd/system
# What the units would wait for is there, and does nothing.
mkdir "$TMP/none"
for target in sysinit basic sockets shutdown multi-user network-pre; do
  printf '[Unit]\nDefaultDependencies=no\n' >"$UNITS/$target.target"
done
for unit in sondad sonda-probes; do
  mkdir "$UNITS/$unit.service.d"
  # No journal here.
  printf '[Service]\nStandardError=append:%s\nRestartSec=50ms\n' "$TMP/out/$unit.log" >"$UNITS/$unit.service.d/log.conf"
done

# ---- the first process, and how to get to it -------------------------------------------------------------------------

cat >"$TMP/boot" <<'BOOT'
set -eu
mount --make-rprivate /
mount -t proc proc /proc
# What a system's first process sets for the whole kernel.
mount --bind /proc/sys /proc/sys
mount -o remount,ro,bind /proc/sys
mount -t tmpfs none /run
mkdir -p /run/dev /run/etc /run/usr
mount --bind "$1/root/run/usr" /run/usr
cp -a /etc/. /run/etc
mount --bind /run/etc /etc
for node in null zero full random urandom tty; do touch /run/dev/$node && mount --bind /dev/$node /run/dev/$node; done
mkdir /run/dev/shm /run/dev/pts
mount -t devpts none /run/dev/pts -o newinstance,ptmxmode=0666
ln -s pts/ptmx /run/dev/ptmx
ln -s /proc/self/fd /run/dev/fd
mount --rbind /run/dev /dev
mount -t tmpfs none /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /var/lib
# PrivateTmp= makes directories in both, and leaves them when systemd is killed.
mount -t tmpfs -o mode=1777 none /var/tmp
mkdir -m 1777 /run/tmp
case $1 in
/tmp/*)
  mkdir -p "/run$1"
  mount --bind "$1" "/run$1"
  ;;
esac
mount --rbind /run/tmp /tmp
systemd-sysusers "$1/usr/lib/sysusers.d/sonda.conf"
exec env -i container=sonda PATH="$PATH" SYSTEMD_UNIT_PATH="$1/usr/lib/systemd/system" SYSTEMD_GENERATOR_PATH="$1/none" \
  SYSTEMD_ENVIRONMENT_GENERATOR_PATH="$1/none" /lib/systemd/systemd --system --unit=basic.target --log-target=null
BOOT
mkdir "$groups/sonda-test-$$" || { echo "control groups cannot be made here" >&2; exit 77; }
end() {
  [ -z "${init:-}" ] || kill -KILL "$init" 2>/dev/null
  stop_all
  # The kernel lets go of the last processes a little later.
  for _ in $(seq 100); do
    find "$groups/sonda-test-$$" -depth -type d -exec rmdir {} + 2>/dev/null && break
    sleep 0.05
  done
  leave
}
trap '[ "$BASHPID" != $$ ] || end' EXIT
(
  echo 0 >"$groups/sonda-test-$$/cgroup.procs"
  exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --net bash "$TMP/boot" "$TMP" >"$TMP/boot.log" 2>&1 </dev/null
) &
PIDS+=($!)
inside() { nsenter -t "$init" --mount --pid --cgroup --uts --ipc --net --wd=/ "$@"; }
ctl() { inside systemctl --no-pager --no-ask-password "$@" >"$TMP/ctl" 2>&1; }
value() { inside systemctl show -P "$2" "$1"; } # UNIT PROPERTY
booted() {
  init=$(cat "/proc/${PIDS[0]}/task/${PIDS[0]}/children" 2>/dev/null)
  init=${init%% *}
  [ -n "$init" ] && [ "$(cat "/proc/$init/comm" 2>/dev/null)" = systemd ] && ctl is-system-running
}
if ! wait_for booted; then
  echo "systemd does not run in a namespace here: $(tail -n 1 "$TMP/boot.log")" >&2
  exit 77
fi

# ---- its units and processes -----------------------------------------------------------------------------------------

sonda() { inside "$TMP/usr/bin/sonda" "$@"; }
as_nobody() { # GROUP COMMAND...
  local group=$1
  shift
  inside setpriv --reuid=65534 --regid=65534 --groups="$group" "$@"
}
is() { [ "$(value "$1" "$2")" = "$3" ]; } # UNIT PROPERTY VALUE
mode_of() { inside stat -c '%a %U:%G' "/run/perfetto/traced-$1.sock"; }
pid_of() { # UNIT NAME: of its process of that name, as it is called outside
  local pid
  while read -r pid; do
    [ "$(cat "/proc/$pid/comm")" != "$2" ] || echo "$pid"
  done <"$groups/sonda-test-$$/system.slice/$1/cgroup.procs"
}
main_pid() { pid_of "$1" "${1%.service}" | sort -n | head -n 1; } # UNIT; a child has the name until it takes one of its own
field_of() { awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status"; } # PID FIELD
of_status() { field_of "$(main_pid "$1")" "$2"; } # UNIT FIELD

# As user 4242, who is a member of the group for what only a consumer can do. The program is root until it has become
# that user.
attacks() { # PROGRAM
  cp "$B/tests/system/$1" "$TMP/usr/bin/"
  inside setpriv --groups="$(inside id -g sonda)" "$TMP/usr/bin/$1" "$(value sondad.service MainPID)" >"$TMP/log" 2>&1
}
as_member() { inside setpriv --reuid=4242 --regid=4242 --groups="$(inside id -g sonda)" "$@"; }
attacks_as_member() { # PROGRAM
  cp "$B/tests/system/$1" "$TMP/usr/bin/"
  as_member "$TMP/usr/bin/$1" "$(value sondad.service MainPID)" >"$TMP/log" 2>&1
}
