#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
#
# linux.cgroup_members: processes and threads that move through control groups, each with the groups that it was in;
# groups that live for 10 ms, have odd names, or are made again under one path; and without BPF, from /proc.
. "$(dirname "$0")/lib.sh"
needs_built "$B/tests/root/cgroup_steps"
for MOUNT in /sys/fs/cgroup /sys/fs/cgroup/unified none; do
  [ "$(stat -f -c %T $MOUNT 2>/dev/null)" != cgroup2fs ] || break
done
[ $MOUNT != none ] || { echo "control groups of version 2 are not mounted" >&2; exit 77; }
GROUP=$MOUNT/sonda-members-$$
leave_groups() {
  leave
  find "$GROUP" -depth -type d -exec rmdir {} \; 2>/dev/null
}
trap '[ "$BASHPID" != $$ ] || leave_groups' EXIT
mkdir "$GROUP" || exit 77
cd "$TMP" || exit 2

config() { # FIELDS
  cat <<CONFIG
buffers { size_kb: 16384 }
data_sources { config { name: "linux.cgroup_members" cgroup_members_config { $1 } } }
data_sources { config { name: "linux.process_stats" } }
CONFIG
}
ask() { # TRACE QUERY: the rows, without the head, columns separated by commas
  "$SONDA" sql --csv "$1" "$2" 2>>log | tail -n +2 | tr -d '"\r'
}
below="replace(path, '/sonda-members-$$/', '')"

# ---- all moves

config '' >config
"$SONDA" record -c config -o moves.pftrace -- "$B/tests/root/cgroup_steps" "$GROUP" >expected 2>log
verdict "the steps were recorded" $? log
"$SONDA" sql --csv moves.pftrace "select tid, group_concat(p) as groups from (select tid, iif(path like '/sonda-members-%',
  $below, '-') as p from thread_cgroup c join thread using (utid) join cgroup g on g.id = c.cgroup_id order by utid, c.ts)
  group by tid" 2>>log | tail -n +2 | tr -d '"\r' | sed 's/,/ /' | sort >found
sort expected | grep -vFxf found >missing
[ -s expected ] && [ ! -s missing ]
verdict "each thread was in the groups that it moved through" $? missing
[ "$(ask moves.pftrace "select count(distinct inode) from cgroup where path = '/sonda-members-$$/again'")" = 2 ]
verdict "a group that is made again under the same path is another group" $?
[ "$(ask moves.pftrace "select count(*) from cgroup g left join cgroup u on u.id = g.parent_id
  where g.path like '/sonda-members-$$/_%' and (u.path is null or g.path not glob u.path || '/*')")" = 0 ]
verdict "each group is below its parent" $?
[ "$(ask moves.pftrace "select count(*) from thread_cgroup a join thread_cgroup b on b.utid = a.utid and b.id = a.id + 1
  where a.ts + a.dur != b.ts")" = 0 ]
verdict "a thread is in one group after the other" $?
[ "$(ask moves.pftrace "select count(*) from thread where tid != 0 and utid not in (select utid from thread_cgroup)")" = 0 ]
verdict "each thread of the trace has a group" $?
[ "$(ask moves.pftrace "select sum(value) from stats where name in ('sonda_cgroup_rows_lost', 'sonda_cgroup_rows_polled')")" = 0 ]
verdict "nothing was lost, and nothing polled" $?

# ---- names

# A file of docker, in a mount namespace of its own; and a container that lives for 20 ms.
id=$(printf '%064x' $$)
config '' >config
cat >named.sh <<NAMED
mkdir -p "$GROUP/docker/$id" "$GROUP/web.service"
(echo 0 >"$GROUP/docker/$id/cgroup.procs"; exec sleep 0.02) &
(echo 0 >"$GROUP/web.service/cgroup.procs"; exec sleep 0.02)
wait
for i in 1 2 3 4 5; do rmdir "$GROUP/docker/$id" "$GROUP/docker" "$GROUP/web.service" 2>/dev/null && break; sleep 0.01; done
NAMED
if has_own_mounts; then
  unshare --mount --propagation private sh -c "mount -t tmpfs none /var/lib && mkdir -p /var/lib/docker/containers/$id &&
    echo '{\"ID\":\"$id\",\"Name\":\"/shop\",\"Config\":{\"Image\":\"shop:7\"}}' >/var/lib/docker/containers/$id/config.v2.json &&
    '$SONDA' record -c config -o named.pftrace -- sh named.sh" 2>log
  verdict "a short container was recorded" $? log
  ask named.pftrace "select kind, runtime, name, image, unit, count(distinct utid) from thread_cgroup c join cgroup g
    on g.id = c.cgroup_id where path glob '/sonda-members-$$/*' group by path order by path" >found
  printf '%s\n' container,docker,shop,shop:7,,1 unit,,,,web.service,1 | diff - found >differences
  verdict "a container that lives for 20 ms is named, and so is a unit" $? differences
else
  skip "a container that lives for 20 ms is named, and so is a unit" "no mounts of the test's own"
fi

# ---- without BPF

config 'no_ebpf: true poll_ms: 100' >config
mkdir "$GROUP/poll"
"$SONDA" record -c config -o polled.pftrace -- sh -c "echo 0 >'$GROUP/poll/cgroup.procs'; echo \$\$ >pid; sleep 0.5" 2>log
verdict "processes were polled" $? log
[ "$(ask polled.pftrace "select $below from process_cgroup c join process using (upid) join cgroup g on g.id = c.cgroup_id
  where pid = $(cat pid) order by c.ts desc limit 1")" = poll ]
verdict "a process is in its group without BPF" $?
[ "$(ask polled.pftrace "select value from stats where name = 'sonda_cgroup_rows_polled'")" = 1 ]
verdict "the trace says that it was polled" $?
exit $BAD
