#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# tracefs: shared
# check: heavy
#
# Containers of the runtimes that are installed: podman with crun and with runc, docker, containerd (ctr), LXC and
# systemd-nspawn. Of each, a container that lives for 20 ms has its name in the trace; --container records one that runs, and
# one that starts later from its first exec on, and nothing else. Their files and mounts are in a mount namespace of the
# test's own, which has the control groups of version 2 at /sys/fs/cgroup. They need no image and no network.
if [ -z "${OWN_MOUNTS:-}" ]; then
  unshare --mount --propagation private true 2>/dev/null || { echo "no mounts of the test's own" >&2; exit 77; }
  OWN_MOUNTS=1 exec unshare --mount --propagation private "$0"
fi
. "$(dirname "$0")/lib.sh"
needs_built "$SONDA"
needs_commands busybox
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
ldd "$(command -v busybox)" >/dev/null 2>&1 && { echo "busybox is not static" >&2; exit 77; }
grep -q cgroup2 /proc/filesystems || { echo "no control groups of version 2" >&2; exit 77; }
cd "$TMP" || exit 2

umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 77
controllers=$(cat /sys/fs/cgroup/cgroup.subtree_control)
mkdir -p /var/lib/{containers,docker,containerd,lxc}
for i in /run /var/lib/containers /var/lib/docker /var/lib/containerd /var/lib/lxc; do mount -t tmpfs none "$i" || exit 77; done
mkdir -p rootfs/{bin,dev,etc,proc,run,sys,tmp,var,usr}
cp "$(command -v busybox)" rootfs/bin
for i in sh true sleep; do ln -s busybox rootfs/bin/$i; done
touch rootfs/etc/{os-release,resolv.conf,hosts}
printf 'lxc.rootfs.path = dir:%s\nlxc.net.0.type = empty\nlxc.mount.auto = proc\n' "$TMP/rootfs" >lxc.config

# How a container of each runtime is run, until its shell ends; and how it is ended.
cat >runtimes.sh <<RUNTIMES
with_podman() {
  podman --cgroup-manager cgroupfs --runtime "\$1" run --ulimit nofile=1000:1000 --ulimit nproc=1000:1000 --rm --network none --log-driver none --pids-limit -1 \\
    --name "\$2" --rootfs '$TMP/rootfs' /bin/sh -c "\$3"
}
run_podman_crun() { with_podman crun "\$@"; }
run_podman_runc() { with_podman runc "\$@"; }
run_docker() { docker run --rm --network none --name "\$1" box /bin/sh -c "\$2"; }
run_containerd() { ctr run --rm --null-io --cpu-shares 0 --rootfs '$TMP/rootfs' "\$1" /bin/sh -c "\$2"; }
run_lxc() { lxc-start -F -n "\$1" -f '$TMP/lxc.config' -- /bin/sh -c "\$2"; }
# In the group that systemd makes for the unit systemd-nspawn@NAME.service.
run_nspawn() {
  mkdir -p "/sys/fs/cgroup/machine.slice/systemd-nspawn@\$1.service"
  cp -a '$TMP/rootfs' '$TMP'/rootfs-\$1 # which is locked
  (
    echo 0 >"/sys/fs/cgroup/machine.slice/systemd-nspawn@\$1.service/cgroup.procs"
    exec systemd-nspawn --quiet --keep-unit --register=no --console=pipe --directory='$TMP'/rootfs-\$1 --machine="\$1" /bin/sh -c "\$2"
  )
}
run_all() { # FIRST_PART_OF_NAME SCRIPT
  local i
  for i in \$(cat '$TMP/here'); do
    run_\$i \$1-\$i "\$2" >'$TMP'/\$1-\$i.out 2>&1 </dev/null || echo "\$i: status \$?"
  done
}
RUNTIMES
. ./runtimes.sh

leave_all() {
  local i
  for i in $(cat here 2>/dev/null); do
    case $i in
    podman*) podman --cgroup-manager cgroupfs kill "long-$i" ;;
    docker) docker kill long-docker ;;
    containerd) ctr task kill -s KILL long-containerd ;;
    lxc) lxc-stop -k -n long-lxc ;;
    nspawn) xargs -r kill -KILL </sys/fs/cgroup/machine.slice/systemd-nspawn@long-nspawn.service/payload/cgroup.procs ;;
    esac
  done >/dev/null 2>&1
  wait_for ended
  leave
  # The groups that runtimes leave empty.
  find /sys/fs/cgroup/{docker,default,libpod_parent,machine.slice,lxc.*} -depth -type d -exec rmdir {} + 2>/dev/null
  # Some also enable controllers for all groups.
  for i in $(cat /sys/fs/cgroup/cgroup.subtree_control); do
    [[ " $controllers " = *" $i "* ]] || echo "-$i" >/sys/fs/cgroup/cgroup.subtree_control
  done
}
running() { pgrep -cf "^/bin/sh -c .*sonda-long-$$"; }
ended() { [ "$(running)" = 0 ]; }
trap '[ "$BASHPID" != $$ ] || leave_all' EXIT
# Runs until it is killed, at most for a minute.
# shellcheck disable=SC2016
long='i=0; while [ $i -lt 600 ]; do /bin/true; sleep 0.1; i=$((i + 1)); done # sonda-long-'$$

# ---- which runtimes can run a container here

begin_docker() {
  dockerd --bridge=none --iptables=false --storage-driver=vfs >dockerd.log 2>&1 &
  PIDS+=($!)
  wait_for docker info && tar -C rootfs -c . | docker import - box
}
begin_containerd() {
  containerd >containerd.log 2>&1 &
  PIDS+=($!)
  wait_for ctr version
}
: >here
for i in podman_crun:podman,crun podman_runc:podman,runc docker:dockerd,docker containerd:containerd,ctr,runc lxc:lxc-start nspawn:systemd-nspawn; do
  name=${i%%:*}
  programs=${i##*:}
  for p in ${programs//,/ }; do command -v "$p" >/dev/null || { skip "$name" "$p is not installed"; continue 2; }; done
  ! declare -F "begin_$name" >/dev/null || "begin_$name" >log 2>&1 || { skip "$name" "it does not start here: $(tail -n 1 ./*"$name"*.log log)"; continue; }
  if "run_$name" "try-$name" true >log 2>&1 </dev/null; then
    echo "$name" >>here
  else
    skip "$name" "it does not run here: $(tail -n 1 log)"
  fi
done
[ -s here ] || exit "$BAD"
ask() { # NAME QUERY: a line for each row
  "$SONDA" sql --csv "$1.pf" "$2" 2>>log | tail -n +2 | tr -d '"\r'
}

# ---- a container of 20 ms

cat >short <<SHORT
#!/bin/bash
. '$TMP/runtimes.sh'
run_all short 'sleep 0.02'
SHORT
chmod +x short
"$SONDA" record -q -a -o short.pf sched containers -- ./short >log 2>&1
verdict "containers that live for 20 ms are recorded" $? log
ask short "select g.name, count(distinct utid) > 0 from cgroup g join thread_cgroup c on c.cgroup_id = g.id join thread using (utid)
  where g.kind = 'container' and g.name glob 'short-*' and thread.name = 'sleep' group by g.name order by 1" >found
sed 's/.*/short-&,1/' here | sort | diff - found >differences
verdict "  each has its name" $? differences log
"$SONDA" report cpu --by container --csv --top 100000 short.pf 2>>log | tr -d '"\r' | cut -d, -f1 | grep '^short-' | sort >reported
sed 's/.*/short-&/' here | sort | diff - reported >differences
verdict "  and a row of a report" $? differences log

# ---- containers that run

for i in $(cat here); do
  "run_$i" "long-$i" "$long" >"long-$i.out" 2>&1 </dev/null &
done
all_run() { [ "$(running)" = "$(wc -l <here)" ]; }
wait_for all_run
for i in $(cat here); do
  timeout 60 "$SONDA" record -q -t 1s -o "long.pf" --container "long-$i" --strace=execve sched containers >log 2>&1 || echo "$i: $(tail -n 1 log)"
  [ "$(ask long "select group_concat(distinct g.name) from slice s join thread_track t on t.id = s.track_id join thread_cgroup c
    on c.utid = t.utid join cgroup g on g.id = c.cgroup_id where s.name = 'sys_execve'")" = "long-$i" ] || echo "$i: other calls, or none"
  [ "$(ask long "select count(*) > 3 from slice where name = 'sys_execve' and extract_arg(arg_set_id, 'debug.arg0') = '/bin/true'")" = 1 ] ||
    echo "$i: no programs"
done >offenders
no_offenders "--container NAME records the calls of this container only" "$(cat offenders)"

# ---- containers that start later

cat >late <<LATE
#!/bin/bash
. '$TMP/runtimes.sh'
run_all late 'i=0; while [ \$i -lt 20 ]; do /bin/true; i=\$((i + 1)); done'
LATE
chmod +x late
"$SONDA" record -q -o late.pf --await $(sed 's/.*/--container late-&/' here) --strace=execve containers -- ./late >log 2>&1
verdict "containers are awaited" $? log
ask late "select g.name, sum(extract_arg(arg_set_id, 'debug.arg0') = '/bin/true'), sum(extract_arg(arg_set_id, 'debug.arg0') = '/bin/sh')
  from slice s join thread_track t on t.id = s.track_id join thread_cgroup c on c.utid = t.utid and s.ts >= c.ts and
  s.ts < c.ts + c.dur join cgroup g on g.id = c.cgroup_id where s.name = 'sys_execve' and g.kind = 'container' group by 1 order by 1" >found
sed 's/.*/late-&,20,1/' here | sort | diff - found >differences
verdict "  each is complete from its first exec on" $? differences log late-*.out
exit "$BAD"
