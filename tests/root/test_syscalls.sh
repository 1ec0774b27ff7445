#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kernels: none
# check: long
#
# linux.syscalls beside strace, which traces the same run: each call of each thread has the same name, result, paths,
# addresses and command line. Hostile strings; selection by class, process and user; what a user may see; losses.
. "$(dirname "$0")/lib.sh"
HERE=$(realpath "$(dirname "$0")")
needs_built "$B/tests/root/hostile_calls"
needs_commands strace setpriv /usr/bin/python3
cd "$TMP" || exit 2
chmod 755 "$TMP"

same_as_strace() { # NAME MINIMUM COMMAND...: at least so many calls, all equal
  local name=$1 least=$2
  shift 2
  rm -rf strace && mkdir strace
  "$SONDA" record -q --strace -o trace -- strace -ff -y -s 5000 -o strace/of "$@" >log 2>&1
  verdict "$name: a recording" $? log
  "$SONDA" report --lines trace >lines 2>>log
  # A string that another thread changes is read at two times (hostile_calls).
  sed -E 's/"[ab]{60}"/"changed"/' lines >lines.compared
  sed -i -E 's/"[ab]{60}"/"changed"/' strace/of*
  /usr/bin/python3 "$HERE/strace_compare.py" lines.compared strace/of >compared
  verdict "  each call is the one that strace prints" $? compared
  [ "$(awk '{ n = $1 } END { print n }' compared)" -ge "$least" ]
  verdict "  they are at least $least" $? compared
}
lines_of() { # TRACE: without times and durations
  "$SONDA" report --lines "$1" 2>>log | sed 's/^[0-9]* *[0-9.]* //; s/ <[0-9.]*>$//'
}

# ---- the same as strace

mkdir project
printf 'all: a.o b.o c.o d.o\n\tcat *.o >prog\n%%.o: %%.c\n\tcp $< $@\n' >project/Makefile
for i in a b c d; do
  echo "$i" >project/$i.c
done
same_as_strace "make" 1000 make -s -C project
grep -q 'openat(AT_FDCWD.*"Makefile", O_RDONLY) = [0-9]*<.*project/Makefile>' lines
verdict "  a descriptor has the path of its file" $? <(grep Makefile lines)
same_as_strace "hostile strings" 300 "$B/tests/root/hostile_calls" "$TMP"
cp lines hostile && cp trace hostile.pf
if command -v git >/dev/null; then
  git init -q repository && cp project/* repository
  same_as_strace "git status" 100 git -C repository status
fi
if command -v nginx >/dev/null && command -v curl >/dev/null; then
  cat >nginx.conf <<NGINX
daemon off; worker_processes 1; pid $TMP/nginx.pid; error_log $TMP/nginx.err;
events { worker_connections 64; }
http { access_log off; server { listen unix:$TMP/nginx.sock; root $TMP/project; } }
NGINX
  same_as_strace "nginx" 1000 sh -c "nginx -c $TMP/nginx.conf & until [ -S nginx.sock ]; do sleep 0.1; done
    for i in 1 2 3; do curl -s --unix-socket nginx.sock http://localhost/a.c; done; kill \$!; wait"
fi
if command -v redis-server >/dev/null; then
  same_as_strace "redis" 1000 sh -c "redis-server --port 0 --unixsocket $TMP/redis.sock --save '' --dir $TMP >/dev/null & until [ -S redis.sock ]; do sleep 0.1; done
    redis-benchmark -s redis.sock -n 200 -c 2 -t set,get -q >/dev/null; kill \$!; wait"
fi

# ---- hostile strings

LC_ALL=C grep -nP '[^\x20-\x7e]' hostile >unprintable
[ ! -s unprintable ]
verdict "lines have printable ASCII only" $? unprintable
grep -qF '"\377\376/\303(\342\202"' hostile && grep -qF '"\33[31mred\33[0m"' hostile && grep -qF '"line\nline\r\n"' hostile &&
  grep -qF '"\0012"' hostile
verdict "  and all of each string, as C writes it" $? <(grep 'openat.*O_CLOEXEC' hostile)
grep -oE '"x{4000,}"(\.\.\.)?' hostile | awk '{ print length($0) }' | tr '\n' ' ' >lengths
[ "$(cat lengths)" = "4096 4097 4100 4100 " ]
verdict "strings are whole up to 4095 bytes, and longer ones are marked as cut" $? lengths
grep -q 'openat(AT_FDCWD.*, "absent path", ' hostile
verdict "a string that was absent when the call began is read when it ends" $? <(grep absent hostile)
grep -qE 'openat\(AT_FDCWD.*, 0x[0-9a-f]+, O_RDONLY\|O_CLOEXEC\) = -1 EFAULT' hostile
verdict "a pointer to nothing is an address" $? <(grep EFAULT hostile)
grep -E 'access\("[^"]*"' hostile | grep -E '"[ab]+"' | grep -vE '"[ab]{60}"' >torn
[ ! -s torn ]
verdict "a string that another thread changes has its length, and no other bytes" $? torn
"$SONDA" sql --csv hostile.pf "select value from stats where name = 'sonda_syscalls_texts_absent'" >absent
[ "$(tail -n 1 absent | tr -d '\r')" = 2 ]
verdict "strings that were never there are counted" $? absent

# ---- selection

"$SONDA" record -q --strace=network,mkdir -o chosen -- sh -c 'mkdir x; rmdir x; sleep 0.01' >log 2>&1
lines_of chosen >lines
[ "$(cat lines)" = 'mkdir("x", 0777) = 0' ]
verdict "only calls of the named classes and names are recorded" $? lines log
"$SONDA" record -q --strace=mkdri -o wrong -- true >log 2>&1
"$SONDA" info wrong >>log 2>&1
grep -q "there is no system call 'mkdri'; did you mean mkdir?" log
verdict "an unknown name is refused" $? log
sleep 600 &
other=$!
PIDS+=($other)
sh -c 'while :; do mkdir '"$TMP"'/y; rmdir '"$TMP"'/y; sleep 0.05; done' &
maker=$!
PIDS+=($maker)
"$SONDA" record -q --strace=mkdir,execve -p $maker -t 500ms -o pids >log 2>&1
lines_of pids >lines
grep -q '^mkdir' lines && grep -q '^execve' lines && ! grep -vE '^(mkdir|execve)' lines
verdict "-p: children that start later are recorded, too" $? lines log

# ---- whose calls a user may see

cp "$BIN/sonda" "$TMP/sonda"
mkdir -m 777 out
cp "$(command -v mkdir)" setuid_mkdir && chown root setuid_mkdir && chmod 4755 setuid_mkdir
start_for_all_users root:0660
as_4242() { setpriv --reuid 4242 --regid "$members" --clear-groups "$@"; }
cat >out/load.sh <<LOAD
mkdir $TMP/out/mine
$TMP/setuid_mkdir $TMP/out/secret
LOAD
as_4242 "$TMP/sonda" record -q --strace=mkdir -a -t 1s -o "$TMP/out/user" >log 2>&1 &
user=$!
"$SONDA" record -q --strace=mkdir -a -t 1s --socket "$PERFETTO_CONSUMER_SOCK_NAME" -o root >root.log 2>&1 &
recorder=$!
sleep 0.5
as_4242 sh "$TMP/out/load.sh"
wait $user
verdict "uid 4242 records" $? log
wait $recorder
verdict "root records" $? root.log
lines_of out/user >lines
grep -q "mkdir(\"$TMP/out/mine\"" lines
verdict "uid 4242 has the calls of its own processes" $? lines log
no_offenders "  and none of other users, nor of programs with more rights" "$(grep -v "$TMP/out/mine" lines)"
lines_of root >lines
grep -q "mkdir(\"$TMP/out/secret\"" lines && grep -q "mkdir(\"$TMP/y\"" lines
verdict "root has all of them" $? lines
kill $maker

# ---- losses

"$SONDA" record --strace -o many -- dd if=/dev/zero of=/dev/null bs=1 count="$(scaled 400000)" >log 2>&1
verdict "a recording of very many calls" $? log
read -r slices missing < <("$SONDA" sql --csv many "select (select count(*) from slice where name in ('sys_read', 'sys_write')) || ' ' ||
  (select coalesce(sum(value), 0) from stats where name = 'sonda_syscalls_missing')" | tail -n 1 | tr -d '"\r')
[ $((slices + missing)) -ge $((2 * $(scaled 400000))) ] && [ $((slices + missing)) -lt $((2 * $(scaled 400000) + 1000)) ]
verdict "each call is there or is counted as lost" $? <(echo "$slices slices, $missing missing") log
exit $BAD
